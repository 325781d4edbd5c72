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
    TlsContext *tls;          /* NULL: none, which is for Unix sockets, and with: */
    bool is_without_tls;      /* without TLS on a port; net/plain_server.h alone sets it */
    uint32_t connections_max; /* in all; further ones are closed at once */
    uint32_t per_origin_max;  /* from one IPv4 address or IPv6 network (/64) */
    uint32_t opening_max;     /* handshakes under way; further ones wait in the kernel */
    int64_t opening_grace_ms; /* how long an opening one may keep others waiting */
    int64_t opening_limit_ms; /* until it must stand */
    unsigned mode;            /* of a Unix socket; 0: 0600 */
    /* The connection is the receiver's from then on; it sets the events. */
    void (*accepted)(void *context, Connection *connection);
    void *context;
} ListenerOptions;

/* What fits a server of agents; the rest is the caller's. */
ListenerOptions listener_defaults(void);

typedef struct ListenerCounts {
    uint32_t standing, opening; /* now */
    uint64_t accepted;          /* handed on */
    uint64_t refused_full;      /* connections_max */
    uint64_t refused_origin;    /* per_origin_max */
    uint64_t failed;            /* did not get through the handshake */
    uint64_t evicted;           /* took too long while others waited */
} ListenerCounts;

/* A Unix socket that nobody listens on any more is replaced; one with a listener is
 * ERROR_CONFLICT, as is a port in use. A name must be an IP address. */
MUST_CHECK bool listener_open(const ListenerOptions *options, const Address *address,
                              Listener **out, Error *err);
/* Those that are opening end; those handed on stay. A Unix socket's file goes. NULL is allowed. */
void listener_close(Listener *listener);
DEFINE_AUTO(Listener, listener_close)

uint16_t listener_port(const Listener *listener); /* 0 for a Unix socket */
ListenerCounts listener_counts(const Listener *listener);
