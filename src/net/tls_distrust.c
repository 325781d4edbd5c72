/* Explains why a client does not trust a server, with the facts that an operator can compare: the
 * names, the validity and the CA of its certificate. */
#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <string.h>

#include "base/utc.h"
#include "base/visible.h"
#include "net/tls_inner.h"

enum {
    NAMES_SHOWN = 8,
};

/* --- Names ----------------------------------------------------------------------------------- */

/* Returns false for a kind of name that clients do not connect to. */
static bool put_name(Buf *out, const GENERAL_NAME *name, bool is_first)
{
    char text[INET6_ADDRSTRLEN];
    const ASN1_STRING *bytes = name->type == GEN_DNS ? name->d.dNSName : name->d.iPAddress;
    if (name->type != GEN_DNS && name->type != GEN_IPADD) {
        return false;
    }
    Str value =
        str_from((const char *)ASN1_STRING_get0_data(bytes), (size_t)ASN1_STRING_length(bytes));
    if (name->type == GEN_IPADD) {
        int family = value.len == sizeof(struct in_addr) ? AF_INET : AF_INET6;
        bool is_address = family == AF_INET || value.len == sizeof(struct in6_addr);
        if (!is_address || inet_ntop(family, value.data, text, sizeof text) == NULL) {
            return false;
        }
        value = str_from_c(text);
    }
    buf_put_c(out, is_first ? "" : ", ");
    visible_put(out, value);
    return true;
}

static void put_names(Buf *out, const X509 *certificate)
{
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    int shown = 0, count = names == NULL ? 0 : sk_GENERAL_NAME_num(names);
    buf_put_c(out, TLS_TEXT_NAMES " ");
    for (int i = 0; i < count; i++) {
        if (shown == NAMES_SHOWN) {
            buf_put_c(out, " and others");
            break;
        }
        shown += put_name(out, sk_GENERAL_NAME_value(names, i), shown == 0);
    }
    if (shown == 0) {
        buf_put_c(out, "no server name");
    }
    GENERAL_NAMES_free(names);
}

/* --- CA -------------------------------------------------------------------------------------- */

static void put_pin(Buf *out, const X509 *certificate)
{
    uint8_t pin[TLS_PIN_BYTES];
    char text[TLS_PIN_TEXT + 1] = "?";
    if (tls_pin_of(certificate, pin)) {
        tls_pin_text(pin, text);
    }
    buf_put_c(out, text);
}

/* The CA at the end of the server's chain, and the expected one. */
static void put_ca(Buf *out, const TlsContext *context, X509_STORE_CTX *store)
{
    const STACK_OF(X509) *shown = X509_STORE_CTX_get0_untrusted(store);
    int count = sk_X509_num(shown);
    if (count < 2) {
        buf_put_c(out, "it includes no CA");
    } else {
        buf_put_c(out, TLS_TEXT_CA " the pin ");
        put_pin(out, sk_X509_value(shown, count - 1));
    }
    if (context->has_pin) {
        char text[TLS_PIN_TEXT + 1];
        tls_pin_text(context->pin, text);
        buf_put_format(out, ", not %s", text);
    } else if (!context->pins_first_ca) {
        STACK_OF(X509) *known = X509_STORE_get1_all_certs(X509_STORE_CTX_get0_store(store));
        if (known != NULL && sk_X509_num(known) > 0) {
            buf_put_c(out, ", but the trusted CA has the pin ");
            put_pin(out, sk_X509_value(known, 0));
        }
        sk_X509_pop_free(known, X509_free);
    }
}

/* --- Validity -------------------------------------------------------------------------------- */

static void put_times(Buf *out, const TlsContext *context, const X509 *certificate)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str from = utc_text(&arena, tls_time(X509_get0_notBefore(certificate)) * 1000),
        until = utc_text(&arena, tls_time(X509_get0_notAfter(certificate)) * 1000),
        now = utc_text(&arena, loop_wall_ms(context->loop));
    buf_put_format(out,
                   TLS_TEXT_VALIDITY " %" STR_FMT " until %" STR_FMT
                                     ", but this machine's clock shows %" STR_FMT,
                   STR_ARG(from), STR_ARG(until), STR_ARG(now));
}

/* --- Explanation ----------------------------------------------------------------------------- */

/* Empty if there is nothing to add to OpenSSL's message. */
static void explain(TlsContext *context, X509_STORE_CTX *store, Buf *out)
{
    const X509 *current = X509_STORE_CTX_get_current_cert(store);
    switch (X509_STORE_CTX_get_error(store)) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH: put_names(out, X509_STORE_CTX_get0_cert(store)); break;
    case X509_V_ERR_CERT_NOT_YET_VALID:
    case X509_V_ERR_CERT_HAS_EXPIRED:
        put_times(out, context, current == NULL ? X509_STORE_CTX_get0_cert(store) : current);
        break;
    case X509_V_ERR_CERT_UNTRUSTED:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE: put_ca(out, context, store); break;
    default: break;
    }
}

int tls_client_verify(X509_STORE_CTX *store, void *data)
{
    TlsContext *context = data;
    bool is_pinned = context->has_pin || context->pins_first_ca;
    context->distrust[0] = '\0';
    if ((is_pinned ? tls_pin_verify(store, context) : X509_verify_cert(store)) > 0) {
        return 1;
    }
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    explain(context, store, &text);
    snprintf(context->distrust, sizeof context->distrust, "%s", buf_c(&text));
    return 0;
}
