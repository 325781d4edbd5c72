/* Internal declarations of TLS. */
#pragma once

#include <openssl/ssl.h>

#include "net/tls.h"

enum {
    TLS_TICKET_NAME = 16,
    TLS_TICKET_KEY = 32,
    TLS_TICKET_ROTATE_MS = 6 * 3600 * 1000, /* a ticket is good for one to two of these */
    TLS_SESSIONS_KEPT = 4,                  /* of a client: servers to come back to */
    TLS_TARGET_MAX = 540,
    TLS_PIN_BYTES = 32,
    TLS_DISTRUST_TEXT = 320,
    TLS_CHAIN_MAX = 16 << 10, /* bytes of the certificates that a peer shows */
};

typedef struct TlsTicketKey {
    uint8_t name[TLS_TICKET_NAME];
    uint8_t cipher[TLS_TICKET_KEY];
    uint8_t mac[TLS_TICKET_KEY];
    int64_t made_ms;
    bool usable;
} TlsTicketKey;

typedef struct TlsKeptSession {
    SSL_SESSION *session;
    char target[TLS_TARGET_MAX];
} TlsKeptSession;

struct TlsContext {
    uint32_t streams; /* that use it */
    bool freed;
    Loop *loop;
    TlsOptions options;
    char protocols[32]; /* as ALPN has them: each with its length in front, the best first */
    SSL_CTX *ssl;
    BIO_METHOD *socket_method;
    bool has_pin;
    bool takes_shown; /* the pin is that of the first CA that is shown; until then there is none: */
    bool has_shown;
    uint8_t pin[TLS_PIN_BYTES];
    char distrust[TLS_DISTRUST_TEXT]; /* of a client: why the last server was not trusted */
    char *ca;                    /* PEM of the one with the pin, once a server was trusted by it */
    TlsTicketKey ticket_keys[2]; /* the current one, the one before */
    TlsKeptSession sessions[TLS_SESSIONS_KEPT];
    uint32_t next_session; /* whose place is taken next */
};

/* A stream lets go of it. */
void tls_context_leave(TlsContext *context);

/* "what: reason", with what OpenSSL has to say. Always false. */
bool tls_error(Error *err, ErrorKind kind, const char *what);

/* Sockets as BIOs that never raise SIGPIPE. */
BIO_METHOD *tls_socket_method_new(void);

/* Tickets are sealed with keys of this context. */
void tls_tickets_set_up(TlsContext *context, SSL_CTX *ssl);
void tls_tickets_forget(TlsContext *context);

/* Reads who the peer of a finished handshake is. */
void tls_peer_read(const SSL *ssl, TlsPeer *out);
/* Whether `verify` lets in who has that certificate, which OpenSSL has verified. */
bool tls_peer_welcome(const TlsContext *context, const X509 *certificate);
int tls_server_verify(X509_STORE_CTX *store, void *data);
/* Pinned CA instead of known ones. */
bool tls_pin_parse(Str text, uint8_t out[TLS_PIN_BYTES], Error *err);
int tls_pin_verify(X509_STORE_CTX *store, void *data);
bool tls_pin_of(const X509 *certificate, uint8_t out[TLS_PIN_BYTES]);
void tls_pin_text(const uint8_t pin[TLS_PIN_BYTES], char out[TLS_PIN_TEXT + 1]);
/* Seconds since 1970. */
int64_t tls_time(const ASN1_TIME *time);
/* As the material wants it; what is wrong then stands in `distrust`. */
int tls_client_verify(X509_STORE_CTX *store, void *data);
