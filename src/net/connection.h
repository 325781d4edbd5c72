/* A connection: bytes to and from a peer over TCP with TLS, or over a Unix socket. Loop thread
 * only.
 *
 * Lifecycle: connection_connect or connection_adopt; `ready` once it is established (connected,
 * handshake done, peer verified); `received` for incoming data, `drained` when all unsent bytes are
 * sent; `closed` once, as the last callback, when the connection ends other than by
 * connection_free. connection_free is allowed at any time, even from callbacks and before or after
 * `closed`; no callback runs after it. No callback runs during connection_connect or
 * connection_adopt either.
 *
 * An open connection with nothing to send has no buffers: data is read onto the stack and passed on
 * immediately, and only what the kernel does not accept is buffered. */
#pragma once

#include <sys/types.h>

#include "net/address.h"
#include "net/tls.h"

typedef struct Connection Connection;

/* The other end of a connection. */
typedef struct Peer {
    bool is_local; /* connected over a Unix socket; identified by the kernel */
    uid_t uid;
    gid_t gid;
    pid_t pid;
    bool is_own_user; /* peer runs as the same user as this process */
    /* peer is in the primary group of this process, unless that is root */
    bool is_own_group;
    TlsPeer tls;                    /* zero without TLS */
    char address[ADDRESS_TEXT_MAX]; /* for log messages: "10.0.0.1:4242", "unix" */
} Peer;

typedef struct ConnectionEvents {
    void (*ready)(void *context);
    void (*received)(void *context, Str bytes); /* `bytes` is valid during the call */
    void (*drained)(void *context);
    /* The kind of `why` is ERROR_NONE if the peer or connection_finish closed it properly. */
    void (*closed)(void *context, const Error *why);
} ConnectionEvents;

typedef struct ConnectionOptions {
    Loop *loop;
    TlsContext *tls; /* NULL: no TLS */
    /* for clients: the name that the certificate must contain; may be NULL */
    const char *tls_host;
    int64_t open_timeout_ms; /* covers connecting and the TLS handshake */
    const ConnectionEvents *events;
    void *context;
} ConnectionOptions;

/* Resolves the name and tries its addresses sequentially. Failures are reported by `closed`. */
Connection *connection_connect(const ConnectionOptions *options, const Address *address);
/* Takes ownership of a connected socket, as the side (client or server) of `options->tls`. */
Connection *connection_adopt(const ConnectionOptions *options, int descriptor);
void connection_free(Connection *connection); /* NULL is allowed */
DEFINE_AUTO(Connection, connection_free)

/* Transfers the connection to another owner. */
void connection_set_events(Connection *connection, const ConnectionEvents *events, void *context);

/* Accepts all bytes. What the kernel does not accept is buffered, and `drained` is called once it
 * is sent; check connection_unsent to limit it. Allowed once the connection is ready. After a
 * failure, which `closed` reports in a later iteration of the loop, bytes are dropped. */
void connection_write(Connection *connection, Str bytes);
size_t connection_unsent(const Connection *connection);
/* Stops reading, so a close by the peer goes unnoticed until connection_resume. The peer has to
 * wait once the kernel's buffers are full. After connection_resume, data is delivered in a later
 * iteration of the loop. */
void connection_pause(Connection *connection);
void connection_resume(Connection *connection); /* no effect unless paused */
/* Sends what is unsent, shuts down the connection and ends with `closed`, after at most
 * `timeout_ms`. Data that still arrives is dropped. */
void connection_finish(Connection *connection, int64_t timeout_ms);

bool connection_is_ready(const Connection *connection);
Loop *connection_loop(const Connection *connection);
/* Valid as long as the connection exists; complete once it is ready. */
const Peer *connection_peer(const Connection *connection);
/* The local address, formatted as in Peer.address. Queried from the kernel each time instead of
 * stored, because it is rarely needed. */
void connection_own_address(const Connection *connection, char out[ADDRESS_TEXT_MAX]);
