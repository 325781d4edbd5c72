/* A connection: bytes to and from a peer over TCP with TLS, or over a Unix socket. Loop thread.
 *
 * Life: connection_connect or connection_adopt; `ready` once it stands (connected, handshake done,
 * peer verified); `received` for what comes, `drained` when unsent bytes are gone; `closed` once,
 * as the last call, when it ends by itself. connection_free ends it at any time, also from within
 * these functions and also before or after `closed`; nothing is called after it. Nothing is called
 * within connection_connect and connection_adopt either.
 *
 * An open connection that has nothing to send holds no buffers: bytes are read into the stack and
 * handed on at once, and only what the kernel does not take is kept. */
#pragma once

#include <sys/types.h>

#include "net/address.h"
#include "net/tls.h"

typedef struct Connection Connection;

/* Who is at the other end. */
typedef struct Peer {
    bool is_local; /* came over a Unix socket; then the kernel says who it is */
    uid_t uid;
    gid_t gid;
    pid_t pid;
    bool is_own_user;               /* the user of this process */
    bool is_own_group;              /* in the group of this process, unless that is root's */
    TlsPeer tls;                    /* zero without TLS */
    char address[ADDRESS_TEXT_MAX]; /* for logs: "10.0.0.1:4242", "unix" */
} Peer;

typedef struct ConnectionEvents {
    void (*ready)(void *context);
    void (*received)(void *context, Str bytes); /* the bytes are borrowed for the call */
    void (*drained)(void *context);
    /* `why` has the kind ERROR_NONE when the peer or connection_finish ended it in order. */
    void (*closed)(void *context, const Error *why);
} ConnectionEvents;

typedef struct ConnectionOptions {
    Loop *loop;
    TlsContext *tls;         /* NULL: none */
    const char *tls_host;    /* a client: the name that the certificate must have; may be NULL */
    int64_t open_timeout_ms; /* until it stands: connecting and handshake together */
    const ConnectionEvents *events;
    void *context;
} ConnectionOptions;

/* Looks a name up, tries its addresses one after another. Fails by `closed`. */
Connection *connection_connect(const ConnectionOptions *options, const Address *address);
/* Takes over a connected socket, as the side that `options->tls` is for. */
Connection *connection_adopt(const ConnectionOptions *options, int descriptor);
void connection_free(Connection *connection); /* NULL is allowed */
DEFINE_AUTO(Connection, connection_free)

/* Another owner takes over. */
void connection_set_events(Connection *connection, const ConnectionEvents *events, void *context);

/* Takes all bytes; those that the kernel does not take are kept, and `drained` comes when they are
 * gone. A writer looks at connection_unsent and waits. Only when it is ready; after a failure,
 * which `closed` tells in a later turn, bytes are dropped. */
void connection_write(Connection *connection, Str bytes);
size_t connection_unsent(const Connection *connection);
/* Nothing is read any more, nor noticed that the peer has left, until it is resumed; so the peer has
 * to wait once the kernel's buffers are full. What is read then comes in a later turn. */
void connection_pause(Connection *connection);
void connection_resume(Connection *connection); /* fine when not paused */
/* Sends what is unsent, says goodbye and ends with `closed`; after `timeout_ms` in any case. What
 * the peer still says is dropped. */
void connection_finish(Connection *connection, int64_t timeout_ms);

bool connection_is_ready(const Connection *connection);
Loop *connection_loop(const Connection *connection);
/* Valid as long as the connection, and complete once it is ready. */
const Peer *connection_peer(const Connection *connection);
/* This end, as in Peer.address. Asks the kernel each time, so that nobody keeps what few need. */
void connection_own_address(const Connection *connection, char out[ADDRESS_TEXT_MAX]);
