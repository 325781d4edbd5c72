/* Session tickets, encrypted with keys that only this context has and that rotate every few
 * hours. */
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include "base/bug.h"
#include "net/tls_inner.h"

static void make_key(TlsContext *context, TlsTicketKey *key)
{
    if (RAND_bytes(key->name, sizeof key->name) != 1 ||
        RAND_priv_bytes(key->cipher, sizeof key->cipher) != 1 ||
        RAND_priv_bytes(key->mac, sizeof key->mac) != 1) {
        BUG("OpenSSL cannot generate random bytes");
    }
    key->made_ms = loop_now_ms(context->loop);
    key->usable = true;
}

/* Rotates the keys if they are due. */
static void rotate(TlsContext *context)
{
    TlsTicketKey *keys = context->ticket_keys;
    int64_t age = loop_now_ms(context->loop) - keys[0].made_ms;
    if (keys[0].usable && age < TLS_TICKET_ROTATE_MS) {
        return;
    }
    keys[1] = keys[0];
    keys[1].usable = keys[0].usable && age < 2 * (int64_t)TLS_TICKET_ROTATE_MS;
    make_key(context, &keys[0]);
}

static bool use_key(TlsTicketKey *key, const unsigned char *iv, EVP_CIPHER_CTX *cipher,
                    EVP_MAC_CTX *mac, int encrypt)
{
    char digest[] = "SHA256";
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, key->mac, sizeof key->mac),
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_end(),
    };
    return EVP_CipherInit_ex(cipher, EVP_aes_256_cbc(), NULL, key->cipher, iv, encrypt) == 1 &&
           EVP_MAC_CTX_set_params(mac, params) == 1;
}

/* OpenSSL's protocol: negative is failure, 0 an unknown key, 1 success, 2 success and issue a new
 * ticket. */
static int ticket_key(SSL *ssl, unsigned char *name, unsigned char *iv, EVP_CIPHER_CTX *cipher,
                      EVP_MAC_CTX *mac, int encrypt)
{
    TlsContext *context = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
    TlsTicketKey *keys = context->ticket_keys;
    rotate(context);
    if (encrypt == 1) {
        memcpy(name, keys[0].name, TLS_TICKET_NAME);
        return RAND_bytes(iv, EVP_CIPHER_get_iv_length(EVP_aes_256_cbc())) == 1 &&
                       use_key(&keys[0], iv, cipher, mac, 1)
                   ? 1
                   : -1;
    }
    for (int i = 0; i < 2; i++) {
        if (keys[i].usable && memcmp(name, keys[i].name, TLS_TICKET_NAME) == 0) {
            /* Always issue a new one, because a ticket is used only once. */
            return use_key(&keys[i], iv, cipher, mac, 0) ? 2 : -1;
        }
    }
    return 0;
}

/* A peer that would no longer be admitted is not resumed: it has to present its certificate, so
 * that it receives the reason for the rejection. */
static SSL_TICKET_RETURN ticket_opened(SSL *ssl, SSL_SESSION *session, const unsigned char *name,
                                       size_t name_len, SSL_TICKET_STATUS status, void *data)
{
    const X509 *certificate = session == NULL ? NULL : SSL_SESSION_get0_peer(session);
    if (status != SSL_TICKET_SUCCESS && status != SSL_TICKET_SUCCESS_RENEW) {
        return SSL_TICKET_RETURN_IGNORE_RENEW;
    }
    if (certificate != NULL && !tls_peer_is_admitted(data, certificate)) {
        return SSL_TICKET_RETURN_IGNORE_RENEW;
    }
    return SSL_TICKET_RETURN_USE_RENEW;
}

static int on_new_ticket(SSL *ssl, void *data)
{
    return 1;
}

void tls_tickets_set_up(TlsContext *context, SSL_CTX *ssl)
{
    SSL_CTX_set_tlsext_ticket_key_evp_cb(ssl, ticket_key);
    SSL_CTX_set_session_ticket_cb(ssl, on_new_ticket, ticket_opened, context);
}

void tls_tickets_forget(TlsContext *context)
{
    OPENSSL_cleanse(context->ticket_keys, sizeof context->ticket_keys);
    for (int i = 0; i < TLS_SESSIONS_MAX; i++) {
        SSL_SESSION_free(context->sessions[i].session);
        context->sessions[i] = (TlsStoredSession){ 0 };
    }
}
