/* Internal declarations of TLS. */
#pragma once

#include <openssl/ssl.h>

#include "net/tls.h"

enum {
    TLS_TICKET_NAME = 16,
    TLS_TICKET_KEY = 32,
    /* lifetime of a ticket key; tickets are valid for one to two periods */
    TLS_TICKET_ROTATE_MS = 6 * 3600 * 1000,
    /* clients: number of servers whose sessions are stored */
    TLS_SESSIONS_MAX = 4,
    TLS_TARGET_MAX = 540,
    TLS_PIN_BYTES = 32,
    TLS_DISTRUST_TEXT = 320,
    TLS_CHAIN_MAX = 16 << 10, /* size of a peer's certificate chain in bytes */
};

typedef struct TlsTicketKey {
    uint8_t name[TLS_TICKET_NAME];
    uint8_t cipher[TLS_TICKET_KEY];
    uint8_t mac[TLS_TICKET_KEY];
    int64_t made_ms;
    bool usable;
} TlsTicketKey;

typedef struct TlsStoredSession {
    SSL_SESSION *session;
    char target[TLS_TARGET_MAX];
} TlsStoredSession;

struct TlsContext {
    uint32_t streams; /* number of streams that use it */
    bool freed;
    Loop *loop;
    TlsOptions options;
    char protocols[32]; /* in ALPN format: length-prefixed, in order of preference */
    SSL_CTX *ssl;
    BIO_METHOD *socket_method;
    bool has_pin;
    bool pins_first_ca; /* accept the first CA that a server presents, and pin it */
    bool has_shown;
    uint8_t pin[TLS_PIN_BYTES];
    char distrust[TLS_DISTRUST_TEXT]; /* clients: why the last server was not trusted */
    char *ca;                         /* PEM of the pinned CA, once it has verified a server */
    TlsTicketKey ticket_keys[2];      /* current and previous */
    TlsStoredSession sessions[TLS_SESSIONS_MAX];
    uint32_t next_session; /* index of the slot to overwrite next */
};

/* Releases a stream's reference. */
void tls_context_unref(TlsContext *context);

/* "what: reason", with the reason from OpenSSL. Always returns false. */
bool tls_error(Error *err, ErrorKind kind, const char *what);

/* Socket BIOs that never raise SIGPIPE. */
BIO_METHOD *tls_socket_method_new(void);

/* Tickets are encrypted with keys of this context. */
void tls_tickets_set_up(TlsContext *context, SSL_CTX *ssl);
void tls_tickets_forget(TlsContext *context);

/* Reads the identity of the peer after the handshake. */
void tls_peer_read(const SSL *ssl, TlsPeer *out);
/* Whether `verify` accepts this certificate, which OpenSSL has verified. */
bool tls_peer_is_admitted(const TlsContext *context, const X509 *certificate);
int tls_server_verify(X509_STORE_CTX *store, void *data);
/* A pinned CA instead of configured ones. */
bool tls_pin_parse(Str text, uint8_t out[TLS_PIN_BYTES], Error *err);
int tls_pin_verify(X509_STORE_CTX *store, void *data);
bool tls_pin_of(const X509 *certificate, uint8_t out[TLS_PIN_BYTES]);
void tls_pin_text(const uint8_t pin[TLS_PIN_BYTES], char out[TLS_PIN_TEXT + 1]);
/* Unix time. */
int64_t tls_time(const ASN1_TIME *time);
/* Verifies a server as the material requires; on failure sets `distrust`. */
int tls_client_verify(X509_STORE_CTX *store, void *data);
