/* Accepts connections on an address and hands over the established ones:
 * handshake done, peer verified.
 *
 * Connections before that point are bounded in number, by origin and in time.
 * If the limit is reached, slow ones are closed in favor of new ones, so that
 * no client can block the listener with unfinished handshakes. Loop thread. */
#pragma once

#include "net/connection.h"

typedef struct Listener Listener;

typedef struct ListenerOptions {
    Loop *loop;
    TlsContext *tls;          /* NULL: no TLS, for Unix sockets, or with: */
    bool is_without_tls;      /* no TLS on a port; only set by net/plain_server.h */
    uint32_t connections_max; /* total; further connections are closed immediately */
    uint32_t per_origin_max;  /* per IPv4 address or IPv6 network (/64) */
    uint32_t opening_max;     /* concurrent handshakes; further connections wait in the kernel */
    int64_t opening_grace_ms; /* time that an opening connection has while others wait */
    int64_t opening_limit_ms; /* maximum duration of a handshake */
    unsigned mode;            /* file mode of a Unix socket; 0 means 0600 */
    /* The callee owns the connection and sets its events. */
    void (*accepted)(void *context, Connection *connection);
    void *context;
} ListenerOptions;

/* Limits suitable for a server of agents; the caller sets the other fields. */
ListenerOptions listener_defaults(void);

typedef struct ListenerCounts {
    uint32_t established, opening; /* current number of connections */
    uint64_t accepted;             /* passed to the owner */
    uint64_t refused_full;         /* closed because of connections_max */
    uint64_t refused_origin;       /* closed because of per_origin_max */
    uint64_t failed;               /* handshake failed */
    uint64_t evicted;              /* closed after opening_grace_ms */
} ListenerCounts;

/* Replaces a Unix socket without a listener. Fails with ERROR_CONFLICT if there is one, or if the
 * port is in use. The host must be an IP address. */
MUST_CHECK bool listener_open(const ListenerOptions *options, const Address *address,
                              Listener **out, Error *err);
/* Closes opening connections; those passed on stay open. Removes the file of a Unix socket. NULL is
 * allowed. */
void listener_close(Listener *listener);
DEFINE_AUTO(Listener, listener_close)

uint16_t listener_port(const Listener *listener); /* 0 for a Unix socket */
ListenerCounts listener_counts(const Listener *listener);
