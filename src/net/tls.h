/* TLS 1.3 for listeners and clients: certificates from memory, who the peer is, resumption.
 *
 * A TlsContext holds what connections have in common. It can be given new certificates while it is
 * in use: connections that stand keep theirs, new ones get the new ones. When it is freed, those that
 * stand go on, and those that are still shaking hands fail. Everything is for the loop's thread.
 *
 * Trust: a peer's chain must end in one of the given CAs, and then `verify` is asked, for every
 * connection, also for one that resumes an earlier session and shows no certificate again. So
 * whoever is revoked is refused from the next connection on. */
#pragma once

#include "base/identity.h"
#include "base/own.h"
#include "sys/loop.h"

typedef struct TlsContext TlsContext;

/* How errors go on that tell what of a server is not as it should be, for who knows
 * what to do about it: its names, its time, its CA. */
#define TLS_IS_FOR     "it is valid for"
#define TLS_IS_GOOD    "it is valid from"
#define TLS_SHOWS      "its CA has"
#define TLS_NOT_LET_IN "the peer rejected this client" /* and not the other way round */
#define TLS_OTHER_USE  "the peer does not offer this protocol on this port"
#define TLS_NO_TLS     "the peer does not support TLS 1.3 here; is it the right port?"

enum {
    TLS_SERIAL_MAX = 40,      /* hexadecimal digits of 20 bytes, the most that RFC 5280 allows */
    TLS_FINGERPRINT_HEX = 64, /* SHA-256 of the certificate */
    TLS_PIN_TEXT = 7 + 64,    /* "sha256:" and its digits */
};

/* What the peer proved. Without a certificate everything is zero but the first two. */
typedef struct TlsPeer {
    bool resumed;
    const char *protocol; /* the agreed one of TlsOptions; NULL before the handshake is over */
    bool has_certificate;
    /* Its certificate has exactly one alternative name, which is that of a node, or of a user. */
    bool has_identity, has_user;
    Identity identity;
    UserIdentity user;
    char serial[TLS_SERIAL_MAX + 1]; /* lower-case hexadecimal */
    char fingerprint[TLS_FINGERPRINT_HEX + 1];
    int64_t not_before_s, not_after_s; /* since 1970 */
} TlsPeer;

/* Whether this peer may connect; the chain was checked already. The error goes to our own log and
 * records, the peer sees that the connection ends. */
typedef bool TlsVerify(void *context, const TlsPeer *peer, Error *err);

typedef enum TlsRole {
    TLS_CLIENT,
    TLS_SERVER,          /* demands a certificate of its peer */
    TLS_SERVER_OPTIONAL, /* takes one and checks it */
    TLS_SERVER_PUBLIC,   /* asks for none */
} TlsRole;

/* PEM. */
typedef struct TlsMaterial {
    Str certificate; /* the own one first, then the chain; a client may have none */
    Str key;
    Str ca; /* every CA that peers may come from */
    /* Instead of `ca`, for a client that has no CA yet: "sha256:" and the digest of the public key
     * (SubjectPublicKeyInfo) of the CA that the server's chain must hold and end in. */
    Str ca_pin;
    /* Instead of both, for a client that was told of no CA: takes the one that the first server
     * shows, at the end of its chain, and from then on no other. That says nothing of who it is: it
     * must be vouched for in another way before anything is built upon it. */
    bool ca_shown;
} TlsMaterial;

typedef struct TlsOptions {
    TlsRole role;
    const char *protocol; /* the application protocol, by ALPN: "h2"; a literal */
    /* A server's other one, taken before `protocol` with whoever offers it. Then a peer that knows
     * nothing of ALPN may come too, and speaks `protocol`. May be NULL. */
    const char *preferred;
    TlsVerify *verify; /* may be NULL */
    void *verify_context;
    /* Certificates of another time are taken too. For who does not know yet whether its own clock is
     * right, and compares TlsPeer.not_before_s and not_after_s with what it learns. */
    bool any_time;
} TlsOptions;

MUST_CHECK bool tls_context_new(Loop *loop, const TlsOptions *options, const TlsMaterial *material,
                                TlsContext **out, Error *err);
void tls_context_free(TlsContext *context); /* NULL is allowed */
DEFINE_AUTO(TlsContext, tls_context_free)

/* The pin of the CA that was shown, with `ca_shown`. False: nobody has shown one yet. */
MUST_CHECK bool tls_context_shown_ca(const TlsContext *context, char out[TLS_PIN_TEXT + 1]);

/* The certificate of the CA by which the last server was trusted that was checked with `ca_pin` or
 * `ca_shown`, as PEM; empty: there was none yet. Borrowed until the next handshake. */
Str tls_context_ca(const TlsContext *context);

/* For connections from now on. Sessions of before cannot be resumed, so that all are checked
 * against the new CAs. On failure everything stays as it was. */
MUST_CHECK bool tls_context_reload(TlsContext *context, const TlsMaterial *material, Error *err);
