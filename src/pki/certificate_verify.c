#include <time.h>

#include <openssl/x509_vfy.h>

#include "base/bug.h"
#include "base/utc.h"
#include "pki/certificate.h"
#include "pki/crypto_fault.h"
#include "pki/handle.h"

enum {
    DEPTH_MAX = 3, /* a CA of the cluster, perhaps a cross-signed one between */
};

typedef STACK_OF(X509) Chain;

static void chain_free(Chain *chain)
{
    sk_X509_pop_free(chain, X509_free);
}
DEFINE_AUTO(Chain, chain_free)

static X509 *reopen(const Certificate *certificate)
{
    const unsigned char *at = (const unsigned char *)certificate->der.data;
    return d2i_X509(NULL, &at, (long)certificate->der.len);
}

static Chain *open_rest(CertificateSet chain)
{
    AUTO(Chain) *rest = sk_X509_new_null();
    for (uint32_t i = 1; rest != NULL && i < chain.count; i++) {
        AUTO(X509) *x = reopen(&chain.items[i]);
        if (x == NULL || sk_X509_push(rest, x) == 0) {
            return NULL;
        }
        (void)TAKE(x);
    }
    return TAKE(rest);
}

static X509_STORE *open_trusted(CertificateSet trusted)
{
    AUTO(X509_STORE) *store = X509_STORE_new();
    for (uint32_t i = 0; store != NULL && i < trusted.count; i++) {
        AUTO(X509) *x = reopen(&trusted.items[i]);
        if (x == NULL || X509_STORE_add_cert(store, x) != 1) {
            return NULL;
        }
    }
    return TAKE(store);
}

static Str moment_text(Arena *arena, const ASN1_TIME *moment)
{
    struct tm parts;
    return moment != NULL && ASN1_TIME_to_tm(moment, &parts) == 1
               ? utc_text(arena, (int64_t)timegm(&parts) * 1000)
               : STR("?");
}

/* What the certificate says and what this machine takes for now: one of the two clocks is wrong
 * when it was not simply forgotten. */
static bool refuse_time(X509_STORE_CTX *context, const char *which, int64_t now_ms, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    const X509 *x = X509_STORE_CTX_get_current_cert(context);
    bool expired = X509_STORE_CTX_get_error(context) == X509_V_ERR_CERT_HAS_EXPIRED;
    Str moment = STR("?"), now = utc_text(&arena, now_ms);
    if (x != NULL) {
        moment = moment_text(&arena, expired ? X509_get0_notAfter(x) : X509_get0_notBefore(x));
    }
    return error_set(err, ERROR_DENIED,
                     "%s %s %" STR_FMT "; the clock of this machine says %" STR_FMT, which,
                     expired ? "expired at" : "is not valid before", STR_ARG(moment), STR_ARG(now));
}

static bool refuse(X509_STORE_CTX *context, int64_t now_ms, Error *err)
{
    int code = X509_STORE_CTX_get_error(context);
    bool own = X509_STORE_CTX_get_error_depth(context) == 0;
    const char *which = own ? "the certificate" : "the CA certificate";
    crypto_done();
    switch (code) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CERT_NOT_YET_VALID: return refuse_time(context, which, now_ms, err);
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
        return error_set(err, ERROR_DENIED, "the certificate is not from a trusted CA");
    default:
        return error_set(err, ERROR_DENIED, "%s: %s", which, X509_verify_cert_error_string(code));
    }
}

bool certificate_verify(CertificateSet chain, CertificateSet trusted, CertificateUse use,
                        int64_t now_ms, Error *err)
{
    BUG_IF(chain.count == 0 || chain.count > CERTIFICATES_MAX || trusted.count > CERTIFICATES_MAX);
    crypto_begin();
    AUTO(X509) *leaf = reopen(&chain.items[0]);
    AUTO(Chain) *rest = open_rest(chain);
    AUTO(X509_STORE) *store = open_trusted(trusted);
    AUTO(X509_STORE_CTX) *context = X509_STORE_CTX_new();
    if (leaf == NULL || rest == NULL || store == NULL || context == NULL ||
        X509_STORE_CTX_init(context, store, leaf, rest) != 1 ||
        X509_STORE_CTX_set_default(context, use == USE_CLIENT ? "ssl_client" : "ssl_server") != 1) {
        return crypto_fail(err, ERROR_OS, "cannot verify a certificate");
    }
    X509_VERIFY_PARAM *rules = X509_STORE_CTX_get0_param(context);
    X509_VERIFY_PARAM_set_time(rules, (time_t)(now_ms / 1000));
    X509_VERIFY_PARAM_set_depth(rules, DEPTH_MAX);
    X509_VERIFY_PARAM_set_auth_level(rules, 2);
    X509_VERIFY_PARAM_set_flags(rules, X509_V_FLAG_X509_STRICT | X509_V_FLAG_CHECK_SS_SIGNATURE);
    if (X509_verify_cert(context) != 1) {
        return refuse(context, now_ms, err);
    }
    /* Without a word on its use, libcrypto takes a certificate for good for every use. */
    const Certificate *one = &chain.items[0];
    if (one->is_ca || !(use == USE_CLIENT ? one->for_client : one->for_server)) {
        crypto_done();
        return error_set(err, ERROR_DENIED, "the certificate is not valid for %s",
                         use == USE_CLIENT ? "clients" : "servers");
    }
    return crypto_done();
}
