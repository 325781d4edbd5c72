/* TLS 1.3 for listeners and clients: certificates from memory, identity of the peer, resumption.
 *
 * A TlsContext holds what connections have in common. Its certificates can be replaced while it is
 * in use: established connections keep theirs, new ones get the new ones. When it is freed,
 * established connections continue, and those in the handshake fail. Loop thread only.
 *
 * Trust: a peer's chain must end in one of the given CAs; then `verify` is called for every
 * connection, including one that resumes a session and presents no certificate. So a revoked peer
 * is rejected from its next connection on. */
#pragma once

#include "base/identity.h"
#include "base/own.h"
#include "sys/loop.h"

typedef struct TlsContext TlsContext;

/* Suffixes of errors that explain why a server is not trusted (names, time, CA). Callers match them
 * to add a hint. */
#define TLS_TEXT_NAMES    "it is valid for"
#define TLS_TEXT_VALIDITY "it is valid from"
#define TLS_TEXT_CA       "its CA has"
/* this side was rejected; the other texts are about a rejected server */
#define TLS_TEXT_REJECTED "the peer rejected this client"
#define TLS_TEXT_PROTOCOL "the peer does not offer this protocol on this port"
#define TLS_TEXT_NO_TLS   "the peer does not support TLS 1.3 on this port; is the port correct?"

enum {
    TLS_SERIAL_MAX = 40,      /* 20 bytes in hexadecimal, the maximum of RFC 5280 */
    TLS_FINGERPRINT_HEX = 64, /* SHA-256 of the certificate */
    TLS_PIN_TEXT = 7 + 64,    /* "sha256:" and the digits */
};

/* The proven identity of the peer. Without a certificate, all but the first two fields are zero. */
typedef struct TlsPeer {
    bool resumed;
    /* the negotiated protocol of TlsOptions; NULL before the end of the handshake */
    const char *protocol;
    bool has_certificate;
    /* The certificate has exactly one alternative name, that of a node or of a user. */
    bool has_identity, has_user;
    Identity identity;
    UserIdentity user;
    char serial[TLS_SERIAL_MAX + 1]; /* lowercase hexadecimal */
    char fingerprint[TLS_FINGERPRINT_HEX + 1];
    int64_t not_before_s, not_after_s; /* Unix time */
} TlsPeer;

/* Whether this peer may connect; its chain is already verified. The error is for our own log and
 * records; the peer only sees a failed handshake. */
typedef bool TlsVerify(void *context, const TlsPeer *peer, Error *err);

typedef enum TlsRole {
    TLS_CLIENT,
    TLS_SERVER,          /* requires a client certificate */
    TLS_SERVER_OPTIONAL, /* requests a client certificate and verifies it */
    TLS_SERVER_PUBLIC,   /* requests none */
} TlsRole;

/* PEM. */
typedef struct TlsMaterial {
    Str certificate; /* leaf first, then the chain; optional for clients */
    Str key;
    Str ca; /* all CAs that peers may have */
    /* Instead of `ca`, for a client that has no CA yet: "sha256:" and the digest of the public key
     * (SubjectPublicKeyInfo) of the CA in which the server's chain must end, and which it must
     * contain. */
    Str ca_pin;
    /* Instead of `ca` and `ca_pin`, for a client that has neither: accepts the CA at the end of the
     * first server's chain, and no other afterwards. This proves nothing about the server: the CA
     * must be verified by other means before anything relies on it. */
    bool ca_on_first_use;
} TlsMaterial;

typedef struct TlsOptions {
    TlsRole role;
    const char *protocol; /* application protocol, by ALPN: "h2"; a literal */
    /* For servers: another protocol, chosen over `protocol` if the client offers it. Then clients
     * without ALPN are accepted too and use `protocol`. May be NULL. */
    const char *preferred;
    TlsVerify *verify; /* may be NULL */
    void *verify_context;
    /* Ignores the validity period of certificates. For a client whose clock may be wrong; it
     * compares TlsPeer.not_before_s and not_after_s with the time that it learns. */
    bool ignore_validity;
} TlsOptions;

MUST_CHECK bool tls_context_new(Loop *loop, const TlsOptions *options, const TlsMaterial *material,
                                TlsContext **out, Error *err);
void tls_context_free(TlsContext *context); /* NULL is allowed */
DEFINE_AUTO(TlsContext, tls_context_free)

/* With `ca_on_first_use`: the pin of the accepted CA. Returns false if there is none yet. */
MUST_CHECK bool tls_context_accepted_ca(const TlsContext *context, char out[TLS_PIN_TEXT + 1]);

/* The certificate of the CA that was last used to trust a server by `ca_pin` or `ca_on_first_use`,
 * as PEM; empty if there is none yet. Valid until the next handshake. */
Str tls_context_ca(const TlsContext *context);

/* Applies to new connections. Earlier sessions cannot be resumed, so that all peers are verified
 * against the new CAs. On failure nothing changes. */
MUST_CHECK bool tls_context_reload(TlsContext *context, const TlsMaterial *material, Error *err);
