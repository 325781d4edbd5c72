#include "pki/certificate.h"

#include <openssl/x509_vfy.h>
#include <time.h>

#include "base/buf.h"
#include "base/bug.h"
#include "base/hex.h"
#include "base/utc.h"
#include "base/vec.h"
#include "pki/crypto_fault.h"
#include "pki/handle.h"
#include "pki/pem.h"

static const char label[] = "CERTIFICATE";

static X509 *open_der(Str der, Error *err)
{
    if (der.len > CERTIFICATE_MAX) {
        error_set(err, ERROR_INVALID, "certificate larger than %d bytes", CERTIFICATE_MAX);
        return NULL;
    }
    const unsigned char *at = (const unsigned char *)der.data;
    AUTO(X509) *opened = d2i_X509(NULL, &at, (long)der.len);
    if (opened == NULL) {
        crypto_fail(err, ERROR_INVALID, "not a certificate");
        return NULL;
    }
    if (at != (const unsigned char *)der.data + der.len) {
        crypto_fail(err, ERROR_INVALID, "trailing data after the certificate");
        return NULL;
    }
    return TAKE(opened);
}

static bool read_time(const ASN1_TIME *time, int64_t *out, Error *err)
{
    struct tm parts;
    if (time == NULL || ASN1_TIME_to_tm(time, &parts) != 1) {
        return crypto_fail(err, ERROR_INVALID, "the certificate has an invalid time");
    }
    *out = (int64_t)timegm(&parts) * 1000;
    return true;
}

static bool read_serial(const X509 *x, char out[SERIAL_TEXT + 1], Error *err)
{
    const ASN1_INTEGER *serial = X509_get0_serialNumber(x);
    int len = ASN1_STRING_length(serial);
    const unsigned char *bytes = ASN1_STRING_get0_data(serial);
    /* libcrypto represents a negative number as a positive one with another type. */
    if (len <= 0 || len > SERIAL_TEXT / 2 || ASN1_STRING_type(serial) != V_ASN1_INTEGER) {
        return error_set(err, ERROR_INVALID, "the certificate has an invalid serial number");
    }
    hex_encode(bytes, (size_t)len, out);
    return true;
}

static Str read_subject(Arena *arena, const X509 *x)
{
    char *line = X509_NAME_oneline(X509_get_subject_name(x), NULL, 0);
    if (line == NULL) {
        return STR_EMPTY;
    }
    Str subject = arena_copy(arena, str_from_c(line[0] == '/' ? line + 1 : line));
    OPENSSL_free(line);
    return subject;
}

/* Sets the identity if there is exactly one SAN extension with exactly one name, which is an
 * identity. */
static void read_identity(const X509 *x, Certificate *out)
{
    int critical = 0;
    AUTO(GENERAL_NAMES) *names = X509_get_ext_d2i(x, NID_subject_alt_name, &critical, NULL);
    if (names == NULL || sk_GENERAL_NAME_num(names) != 1) {
        return;
    }
    const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, 0);
    if (name->type != GEN_URI) {
        return;
    }
    const ASN1_IA5STRING *text = name->d.uniformResourceIdentifier;
    Str uri = str_from((const char *)ASN1_STRING_get0_data(text), (size_t)ASN1_STRING_length(text));
    Error ignored;
    out->has_identity = identity_parse(uri, &out->identity, &ignored);
    out->has_user = !out->has_identity && user_identity_parse(uri, &out->user, &ignored);
}

static void read_uses(X509 *x, Certificate *out)
{
    uint32_t flags = X509_get_extension_flags(x);
    uint32_t uses = (flags & EXFLAG_XKUSAGE) != 0 ? X509_get_extended_key_usage(x) : 0;
    out->is_ca = (flags & EXFLAG_CA) != 0;
    out->for_client = (uses & XKU_SSL_CLIENT) != 0;
    out->for_server = (uses & XKU_SSL_SERVER) != 0;
    const ASN1_OCTET_STRING *issuer = X509_get0_authority_key_id(x);
    if (issuer != NULL && ASN1_STRING_length(issuer) == KEY_ID_BYTES) {
        memcpy(out->issuer_id, ASN1_STRING_get0_data(issuer), KEY_ID_BYTES);
        out->has_issuer_id = true;
    }
}

bool certificate_parse(Arena *arena, Str der, Certificate *out, Error *err)
{
    crypto_begin();
    AUTO(X509) *x = open_der(der, err);
    if (x == NULL) {
        return false;
    }
    Certificate read = { .der = der };
    if (X509_get_version(x) != X509_VERSION_3) {
        return crypto_fail(err, ERROR_INVALID, "the certificate does not have version 3");
    }
    if ((X509_get_extension_flags(x) & EXFLAG_INVALID) != 0) {
        return crypto_fail(err, ERROR_INVALID, "cannot read an extension of the certificate");
    }
    if (!read_serial(x, read.serial, err) ||
        !read_time(X509_get0_notBefore(x), &read.not_before_ms, err) ||
        !read_time(X509_get0_notAfter(x), &read.not_after_ms, err)) {
        return false;
    }
    if (!p256_public_read(X509_get_X509_PUBKEY(x), &read.key, err)) {
        return error_wrap(err, "the certificate");
    }
    p256_public_pin(&read.key, &read.pin);
    read.subject = read_subject(arena, x);
    read_uses(x, &read);
    if (!read.is_ca && strlen(read.serial) == SERIAL_DIGITS) {
        read_identity(x, &read);
    }
    if (read.has_identity) {
        memcpy(read.enrollment, read.serial, ENROLLMENT_TEXT);
    }
    *out = read;
    return crypto_done();
}

bool certificates_from_pem(Arena *arena, Str pem, Certificate **out, uint32_t *count, Error *err)
{
    VEC(Certificate) found = { 0 };
    for (;;) {
        PemBlock block;
        Certificate certificate;
        Str der;
        bool more;
        if (!pem_next(&pem, &block, &more, err)) {
            return false;
        }
        if (!more) {
            break;
        }
        if (!str_eq_c(block.label, label)) {
            return error_set(err, ERROR_INVALID, "unexpected '%" STR_FMT "' among the certificates",
                             STR_ARG(block.label));
        }
        if (found.len == CERTIFICATES_MAX || block.body.len > 2 * CERTIFICATE_MAX) {
            return error_set(err, ERROR_LIMIT,
                             "more than %d certificates, or one larger than %d bytes",
                             CERTIFICATES_MAX, CERTIFICATE_MAX);
        }
        if (!pem_bytes_in(arena, &block, &der, err) ||
            !certificate_parse(arena, der, &certificate, err)) {
            return error_wrap(err, "certificate %u", found.len + 1);
        }
        VEC_PUSH(arena, &found, certificate);
    }
    if (found.len == 0) {
        return error_set(err, ERROR_INVALID, "no certificate found");
    }
    *out = found.items;
    *count = found.len;
    return true;
}

Str certificate_pem(Arena *arena, const Certificate *certificate)
{
    return pem_text(arena, label, certificate->der);
}

Str certificates_pem(Arena *arena, CertificateSet set)
{
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    for (uint32_t i = 0; i < set.count; i++) {
        buf_put(&text, certificate_pem(arena, &set.items[i]));
    }
    return buf_str(&text);
}

bool certificate_names_issuer(const Certificate *certificate, const Pin *pin)
{
    return certificate->has_issuer_id &&
           memcmp(certificate->issuer_id, pin->bytes, KEY_ID_BYTES) == 0;
}

const Certificate *certificate_find_pin(const Certificate *bundle, uint32_t count, const Pin *pin)
{
    for (uint32_t i = 0; i < count; i++) {
        if (pin_equal(&bundle[i].pin, pin)) {
            return &bundle[i];
        }
    }
    return NULL;
}

/* --- Verification ---------------------------------------------------------------------------- */

enum {
    DEPTH_MAX = 3, /* the cluster's CA, possibly through a cross-signed certificate */
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

static Chain *open_intermediates(CertificateSet chain)
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

/* Reports the time in the certificate and the clock of this machine: unless the certificate was
 * simply forgotten, one of the clocks is wrong. */
static bool refuse_time(X509_STORE_CTX *context, const char *subject, int64_t now_ms, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    const X509 *x = X509_STORE_CTX_get_current_cert(context);
    bool expired = X509_STORE_CTX_get_error(context) == X509_V_ERR_CERT_HAS_EXPIRED;
    Str moment = STR("?"), now = utc_text(&arena, now_ms);
    if (x != NULL) {
        moment = moment_text(&arena, expired ? X509_get0_notAfter(x) : X509_get0_notBefore(x));
    }
    return error_set(err, ERROR_DENIED, "%s %s %" STR_FMT "; this machine's clock shows %" STR_FMT,
                     subject, expired ? "expired at" : "is not valid before", STR_ARG(moment),
                     STR_ARG(now));
}

static bool reject(X509_STORE_CTX *context, int64_t now_ms, Error *err)
{
    int code = X509_STORE_CTX_get_error(context);
    bool is_leaf = X509_STORE_CTX_get_error_depth(context) == 0;
    const char *subject = is_leaf ? "the certificate" : "the CA certificate";
    crypto_done();
    switch (code) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CERT_NOT_YET_VALID: return refuse_time(context, subject, now_ms, err);
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
        return error_set(err, ERROR_DENIED, "the certificate was not issued by a trusted CA");
    default:
        return error_set(err, ERROR_DENIED, "%s: %s", subject, X509_verify_cert_error_string(code));
    }
}

bool certificate_verify(CertificateSet chain, CertificateSet trusted, CertificateUse use,
                        int64_t now_ms, Error *err)
{
    BUG_IF(chain.count == 0 || chain.count > CERTIFICATES_MAX || trusted.count > CERTIFICATES_MAX);
    crypto_begin();
    AUTO(X509) *leaf = reopen(&chain.items[0]);
    AUTO(Chain) *rest = open_intermediates(chain);
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
        return reject(context, now_ms, err);
    }
    /* Without an explicit use, libcrypto accepts a certificate for every use. */
    const Certificate *certificate = &chain.items[0];
    if (certificate->is_ca ||
        !(use == USE_CLIENT ? certificate->for_client : certificate->for_server)) {
        crypto_done();
        return error_set(err, ERROR_DENIED, "the certificate is not valid for %s",
                         use == USE_CLIENT ? "clients" : "servers");
    }
    return crypto_done();
}
