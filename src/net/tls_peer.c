/* Reads the identity of a peer from its certificate, and verifies pins.
 *
 * An identity is the one alternative name of a certificate, a URI of a node or a user; any second
 * name makes it no identity at all. Verification hooks into OpenSSL's own: it is extended on
 * servers, where `verify` decides within the handshake so that the peer receives an alert, and its
 * trust anchors are replaced for clients with a pinned CA. */
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "net/tls_inner.h"

/* The only alternative name, if it is one of our URIs. A certificate with several names has no
 * single identity, so it has none. */
static void read_identity(const X509 *certificate, TlsPeer *out)
{
    int critical;
    /* Also NULL if the extension occurs twice. */
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, &critical, NULL);
    if (names != NULL && sk_GENERAL_NAME_num(names) == 1) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, 0);
        if (name->type == GEN_URI) {
            const ASN1_IA5STRING *text = name->d.uniformResourceIdentifier;
            Str uri = str_from((const char *)ASN1_STRING_get0_data(text),
                               (size_t)ASN1_STRING_length(text));
            Error ignored;
            out->has_identity = identity_parse(uri, &out->identity, &ignored);
            out->has_user = !out->has_identity && user_identity_parse(uri, &out->user, &ignored);
        }
    }
    GENERAL_NAMES_free(names);
}

int64_t tls_time(const ASN1_TIME *time)
{
    int days = 0, seconds = 0;
    ASN1_TIME *epoch = ASN1_TIME_set(NULL, 0);
    bool known = epoch != NULL && ASN1_TIME_diff(&days, &seconds, epoch, time) == 1;
    ASN1_TIME_free(epoch);
    return known ? (int64_t)days * 86400 + seconds : 0;
}

static void read_certificate(const X509 *certificate, TlsPeer *out)
{
    ERR_clear_error();
    out->has_certificate = true;
    read_identity(certificate, out);
    out->not_before_s = tls_time(X509_get0_notBefore(certificate));
    out->not_after_s = tls_time(X509_get0_notAfter(certificate));
    const ASN1_INTEGER *serial = X509_get0_serialNumber(certificate);
    int len = ASN1_STRING_length(serial);
    if (len > 0 && len <= TLS_SERIAL_MAX / 2) {
        hex_encode(ASN1_STRING_get0_data(serial), (size_t)len, out->serial);
    }
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned digest_len = 0;
    if (X509_digest(certificate, EVP_sha256(), digest, &digest_len) == 1) {
        hex_encode(digest, digest_len, out->fingerprint);
    }
    ERR_clear_error();
}

void tls_peer_read(const SSL *ssl, TlsPeer *out)
{
    *out = (TlsPeer){ .resumed = SSL_session_reused(ssl) == 1 };
    const X509 *certificate = SSL_get0_peer_certificate(ssl);
    if (certificate != NULL) {
        read_certificate(certificate, out);
    }
}

bool tls_peer_is_admitted(const TlsContext *context, const X509 *certificate)
{
    TlsPeer peer = { 0 };
    Error err;
    if (context->options.verify == NULL) {
        return true;
    }
    read_certificate(certificate, &peer);
    return context->options.verify(context->options.verify_context, &peer, &err);
}

/* OpenSSL's verification, then `verify`: a rejection within the handshake is reported to the
 * peer. */
int tls_server_verify(X509_STORE_CTX *store, void *data)
{
    if (X509_verify_cert(store) <= 0) {
        return 0;
    }
    if (!tls_peer_is_admitted(data, X509_STORE_CTX_get0_cert(store))) {
        X509_STORE_CTX_set_error(store, X509_V_ERR_CERT_REVOKED);
        return 0;
    }
    return 1;
}

bool tls_pin_parse(Str text, uint8_t out[TLS_PIN_BYTES], Error *err)
{
    Str digits = str_from_offset(text, 7);
    bool fine = str_starts(text, STR("sha256:")) && digits.len == 2 * TLS_PIN_BYTES;
    for (size_t i = 0; fine && i < TLS_PIN_BYTES; i++) {
        int high = ascii_hex_value(digits.data[2 * i]),
            low = ascii_hex_value(digits.data[2 * i + 1]);
        fine = high >= 0 && low >= 0;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return fine ||
           error_set(err, ERROR_INVALID, "a CA pin is \"sha256:\" and 64 hexadecimal digits");
}

bool tls_pin_of(const X509 *certificate, uint8_t out[TLS_PIN_BYTES])
{
    uint8_t digest[EVP_MAX_MD_SIZE], *der = NULL;
    unsigned digest_len = 0;
    int len = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &der);
    bool ok = len > 0 &&
              EVP_Digest(der, (size_t)len, digest, &digest_len, EVP_sha256(), NULL) == 1 &&
              digest_len == TLS_PIN_BYTES;
    if (ok) {
        memcpy(out, digest, TLS_PIN_BYTES);
    }
    OPENSSL_free(der);
    return ok;
}

static bool is_pinned(const TlsContext *context, const X509 *certificate)
{
    uint8_t pin[TLS_PIN_BYTES];
    return tls_pin_of(certificate, pin) && memcmp(pin, context->pin, TLS_PIN_BYTES) == 0;
}

static void keep_ca(TlsContext *context, const X509 *certificate)
{
    BIO *bio = BIO_new(BIO_s_mem());
    char *text;
    if (bio != NULL && PEM_write_bio_X509(bio, certificate) == 1) {
        long len = BIO_get_mem_data(bio, &text);
        free(context->ca);
        context->ca = strndup(text, (size_t)len);
    }
    BIO_free(bio);
}

/* Replaces OpenSSL's verification: only CAs in the chain with the pinned key are trusted. The
 * remainder is verified as usual. */
int tls_pin_verify(X509_STORE_CTX *store, void *data)
{
    TlsContext *context = data;
    STACK_OF(X509) *shown = X509_STORE_CTX_get0_untrusted(store);
    if (context->pins_first_ca && !context->has_shown) {
        /* The last certificate of the chain is the CA; a single certificate is its own CA. */
        int count = sk_X509_num(shown);
        if (count < 2 || !tls_pin_of(sk_X509_value(shown, count - 1), context->pin)) {
            X509_STORE_CTX_set_error(store, X509_V_ERR_CERT_UNTRUSTED);
            return 0;
        }
    }
    STACK_OF(X509) *trusted = sk_X509_new_null();
    for (int i = 0; trusted != NULL && i < sk_X509_num(shown); i++) {
        X509 *one = sk_X509_value(shown, i);
        if (X509_check_ca(one) > 0 && is_pinned(context, one)) {
            sk_X509_push(trusted, one);
        }
    }
    int result = 0;
    if (trusted == NULL || sk_X509_num(trusted) == 0) {
        X509_STORE_CTX_set_error(store, X509_V_ERR_CERT_UNTRUSTED);
    } else {
        X509_STORE_CTX_set0_trusted_stack(store, trusted);
        /* Pins identify the key, so another certificate of the CA with the same key matches too. */
        X509_STORE_CTX_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
        result = X509_verify_cert(store);
    }
    if (result > 0) {
        keep_ca(context, sk_X509_value(trusted, 0));
    }
    sk_X509_free(trusted);
    context->has_shown = context->pins_first_ca && (context->has_shown || result > 0);
    return result > 0 ? 1 : 0;
}

Str tls_context_ca(const TlsContext *context)
{
    return str_from_c(context->ca == NULL ? "" : context->ca);
}

void tls_pin_text(const uint8_t pin[TLS_PIN_BYTES], char out[TLS_PIN_TEXT + 1])
{
    memcpy(out, "sha256:", 7);
    hex_encode(pin, TLS_PIN_BYTES, out + 7);
}

bool tls_context_accepted_ca(const TlsContext *context, char out[TLS_PIN_TEXT + 1])
{
    tls_pin_text(context->pin, out);
    return context->has_shown;
}
