/* TLS contexts: loading certificates, choosing the protocol, and storing sessions for resumption. A
 * reload creates a new SSL_CTX; existing connections keep a reference to the old one, and sessions
 * of the old one are not resumed. */
#include "net/tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/memory.h"
#include "net/tls_inner.h"

bool tls_error(Error *err, ErrorKind kind, const char *what)
{
    unsigned long code = ERR_peek_last_error();
    const char *reason = code == 0 ? NULL : ERR_reason_error_string(code);
    error_set(err, kind, "%s: %s", what, reason == NULL ? "no reason given" : reason);
    ERR_clear_error();
    return false;
}

/* Calls `use` for every certificate; there must be at least one. */
static bool each_certificate(Str pem, const char *what, bool (*use)(SSL_CTX *, X509 *, uint32_t),
                             SSL_CTX *ssl, Error *err)
{
    uint32_t count = 0;
    bool fine = true;
    ERR_clear_error();
    BIO *bio = BIO_new_mem_buf(pem.len == 0 ? "" : pem.data, (int)pem.len);
    for (X509 *one;
         fine && bio != NULL && (one = PEM_read_bio_X509(bio, NULL, NULL, NULL)) != NULL;) {
        fine = use(ssl, one, count++);
        X509_free(one);
    }
    BIO_free(bio);
    /* The reader ends with "no start line", its way of reporting that there are no more. */
    unsigned long last = ERR_peek_last_error();
    bool over = ERR_GET_LIB(last) == ERR_LIB_PEM && ERR_GET_REASON(last) == PEM_R_NO_START_LINE;
    if (!fine || !over) {
        return tls_error(err, ERROR_INVALID, what);
    }
    ERR_clear_error();
    return count > 0 || error_set(err, ERROR_INVALID, "%s: it contains no certificate", what);
}

static bool use_certificate(SSL_CTX *ssl, X509 *certificate, uint32_t position)
{
    return (position == 0 ? SSL_CTX_use_certificate(ssl, certificate)
                          : SSL_CTX_add1_chain_cert(ssl, certificate)) == 1;
}

static bool use_ca(SSL_CTX *ssl, X509 *certificate, uint32_t position)
{
    return X509_STORE_add_cert(SSL_CTX_get_cert_store(ssl), certificate) == 1;
}

static bool use_material(SSL_CTX *ssl, const TlsOptions *options, const TlsMaterial *material,
                         Error *err)
{
    bool public = options->role == TLS_SERVER_PUBLIC;
    if (material->certificate.len > INT32_MAX || material->key.len > INT32_MAX ||
        material->ca.len > INT32_MAX) {
        return error_set(err, ERROR_LIMIT, "certificate or key too large");
    }
    if (!public && material->ca_pin.len == 0 && !material->ca_on_first_use &&
        !each_certificate(material->ca, "CA bundle", use_ca, ssl, err)) {
        return false;
    }
    if (material->certificate.len == 0 && options->role == TLS_CLIENT) {
        return true;
    }
    if (!each_certificate(material->certificate, "certificate", use_certificate, ssl, err)) {
        return false;
    }
    BIO *bio =
        BIO_new_mem_buf(material->key.len == 0 ? "" : material->key.data, (int)material->key.len);
    /* An empty password: without it OpenSSL would prompt on the terminal. */
    char password[] = "";
    EVP_PKEY *key = bio == NULL ? NULL : PEM_read_bio_PrivateKey(bio, NULL, NULL, password);
    BIO_free(bio);
    if (key == NULL) {
        return tls_error(err, ERROR_INVALID, "private key");
    }
    bool fits = SSL_CTX_use_PrivateKey(ssl, key) == 1 && SSL_CTX_check_private_key(ssl) == 1;
    EVP_PKEY_free(key);
    return fits || tls_error(err, ERROR_INVALID, "private key and certificate");
}

static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_len,
                           const unsigned char *offered, unsigned int offered_len, void *data)
{
    TlsContext *context = data;
    unsigned char *found;
    int result = SSL_select_next_proto(&found, out_len, (const unsigned char *)context->protocols,
                                       (unsigned)strlen(context->protocols), offered, offered_len);
    if (result != OPENSSL_NPN_NEGOTIATED) {
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    }
    *out = found;
    return SSL_TLSEXT_ERR_OK;
}

static int store_session(SSL *ssl, SSL_SESSION *session)
{
    TlsContext *context = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
    const char *target = SSL_get_app_data(ssl);
    /* A session from before a reload would bypass the new certificates. */
    if (target == NULL || SSL_get_SSL_CTX(ssl) != context->ssl) {
        return 0;
    }
    TlsStoredSession *slot = NULL;
    for (uint32_t i = 0; i < TLS_SESSIONS_MAX && slot == NULL; i++) {
        TlsStoredSession *stored = &context->sessions[i];
        slot = stored->session != NULL && strcmp(stored->target, target) == 0 ? stored : NULL;
    }
    if (slot == NULL) {
        slot = &context->sessions[context->next_session++ % TLS_SESSIONS_MAX];
    }
    SSL_SESSION_free(slot->session);
    slot->session = session;
    snprintf(slot->target, sizeof slot->target, "%s", target);
    return 1; /* the session now belongs to the slot */
}

static void set_up_protocol(TlsContext *context, SSL_CTX *ssl)
{
    SSL_CTX_set_app_data(ssl, context);
    SSL_CTX_set_mode(ssl, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                              SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_NO_AUTO_CHAIN);
    SSL_CTX_set_options(ssl, SSL_OP_IGNORE_UNEXPECTED_EOF | SSL_OP_NO_RENEGOTIATION |
                                 SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_read_ahead(ssl, 1);
    SSL_CTX_set_max_cert_list(ssl, TLS_CHAIN_MAX);
    SSL_CTX_set_verify_depth(ssl, 3);
    if (context->options.role == TLS_CLIENT) {
        SSL_CTX_set_session_cache_mode(ssl,
                                       SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL_STORE);
        SSL_CTX_sess_set_new_cb(ssl, store_session);
        SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER, NULL);
        SSL_CTX_set_cert_verify_callback(ssl, tls_client_verify, context);
    } else {
        /* The server stores no sessions: they are in the tickets that clients keep. */
        SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
        SSL_CTX_set_num_tickets(ssl, 1);
        tls_tickets_set_up(context, ssl);
        SSL_CTX_set_alpn_select_cb(ssl, choose_protocol, context);
        SSL_CTX_set_cert_verify_callback(ssl, tls_server_verify, context);
        SSL_CTX_set_verify(ssl,
                           context->options.role == TLS_SERVER_PUBLIC ? SSL_VERIFY_NONE
                           : context->options.role == TLS_SERVER
                               ? SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT
                               : SSL_VERIFY_PEER,
                           NULL);
    }
}

static bool set_up(TlsContext *context, SSL_CTX *ssl, const TlsMaterial *material, Error *err)
{
    static const unsigned char session_scope[] = "eden";
    set_up_protocol(context, ssl);
    bool fine = SSL_CTX_set_min_proto_version(ssl, TLS1_3_VERSION) == 1 &&
                SSL_CTX_set_ciphersuites(ssl, "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:"
                                              "TLS_CHACHA20_POLY1305_SHA256") == 1 &&
                SSL_CTX_set1_groups_list(ssl, "X25519:P-256") == 1 &&
                SSL_CTX_set_session_id_context(ssl, session_scope, sizeof session_scope) == 1 &&
                SSL_CTX_set_alpn_protos(ssl, (const unsigned char *)context->protocols,
                                        (unsigned)strlen(context->protocols)) == 0;
    if (!fine) {
        return tls_error(err, ERROR_OS, "cannot set up TLS 1.3");
    }
    return use_material(ssl, &context->options, material, err);
}

bool tls_context_reload(TlsContext *context, const TlsMaterial *material, Error *err)
{
    uint8_t pin[TLS_PIN_BYTES];
    bool has_pin = material->ca_pin.len > 0 && context->options.role == TLS_CLIENT;
    if (has_pin && !tls_pin_parse(material->ca_pin, pin, err)) {
        return false;
    }
    ERR_clear_error();
    SSL_CTX *ssl = SSL_CTX_new(context->options.role == TLS_CLIENT ? TLS_client_method()
                                                                   : TLS_server_method());
    if (ssl == NULL) {
        return tls_error(err, ERROR_OS, "cannot create a TLS context");
    }
    bool had_pin = context->has_pin, pinned_first_ca = context->pins_first_ca;
    context->has_pin = has_pin;
    context->pins_first_ca = material->ca_on_first_use && context->options.role == TLS_CLIENT;
    if (!set_up(context, ssl, material, err)) {
        context->has_pin = had_pin;
        context->pins_first_ca = pinned_first_ca;
        SSL_CTX_free(ssl);
        return false;
    }
    if (has_pin) {
        memcpy(context->pin, pin, sizeof pin);
    }
    context->has_shown = false;
    SSL_CTX_free(context->ssl);
    context->ssl = ssl;
    tls_tickets_forget(context);
    return true;
}

static void add_protocol(TlsContext *context, const char *protocol)
{
    size_t at = strlen(context->protocols), len = protocol == NULL ? 0 : strlen(protocol);
    BUG_IF(at + len + 2 > sizeof context->protocols);
    if (len > 0) {
        context->protocols[at] = (char)len;
        memcpy(context->protocols + at + 1, protocol, len);
    }
}

bool tls_context_new(Loop *loop, const TlsOptions *options, const TlsMaterial *material,
                     TlsContext **out, Error *err)
{
    TlsContext *context = memory_new(sizeof *context);
    context->loop = loop;
    context->options = *options;
    BUG_IF(options->preferred != NULL && options->role == TLS_CLIENT);
    add_protocol(context, options->preferred);
    add_protocol(context, options->protocol);
    context->socket_method = tls_socket_method_new();
    if (!tls_context_reload(context, material, err)) {
        tls_context_free(context);
        return false;
    }
    *out = context;
    return true;
}

void tls_context_free(TlsContext *context)
{
    if (context == NULL) {
        return;
    }
    context->freed = true;
    context->streams++;
    tls_context_unref(context);
}

void tls_context_unref(TlsContext *context)
{
    if (--context->streams > 0 || !context->freed) {
        return;
    }
    tls_tickets_forget(context);
    free(context->ca);
    SSL_CTX_free(context->ssl);
    BIO_meth_free(context->socket_method);
    OPENSSL_cleanse(context, sizeof *context);
    free(context);
}
