/* The node's side of a session: finds a server, tells it what is in the outbox until each record has
 * arrived, and takes the changes that it watches. A machine on a loop; the connection, the outbox's
 * storage and what changes are for belong to its owner. Loop thread.
 *
 *     idle -> connecting -> greeting -> live
 *                ^              |         |
 *                |              v         v
 *                +----------- waiting (until, why)
 *
 * Between two tries it waits longer with each failure, by chance (backoff.h), and goes on to the
 * next server. None of the owner's functions may call back into the machine before it returns,
 * except where it is said. */
#pragma once

#include "rpc/outbox.h"
#include "sys/loop.h"

typedef struct SessionNode SessionNode;

typedef enum SessionNodeState {
    SESSION_IDLE,
    SESSION_CONNECTING,
    SESSION_GREETING,
    SESSION_LIVE,
    SESSION_WAITING,
} SessionNodeState;

enum {
    SESSION_OPEN_MS = 15 * 1000, /* for a connection, and then for the server's hello */
    SESSION_GOOD_MS = 10 * 1000, /* so long live makes earlier failures forgotten */
};

typedef struct SessionNodeOps {
    /* Opens a connection and the stream to a server, by its place in the owner's list. Then come
     * session_node_connected, _message, _writable, and _closed once, in later turns. */
    void (*connect)(void *context, uint32_t server);
    /* Ends it; nothing more is told of it. */
    void (*disconnect)(void *context);
    bool (*can_send)(void *context);
    /* Takes a copy of any one message when it can send. */
    void (*send)(void *context, Str message);

    /* How far a watch is, durably; valid until the next call. Nothing that was told before becomes
     * durable after this was asked. */
    WatchPosition (*position)(void *context, uint32_t watch);
    /* Borrowed for the call. When it is dealt with, session_node_taken with the ticket, also from
     * within; before that there is no other of this watch in this connection. The changes up to a complete one belong together: they
     * and the new position, which is that of `store`, become durable at one moment, or not at all;
     * then they are told again. */
    void (*changes)(void *context, const Changes *changes, Str store, uint64_t ticket);

    /* These may be NULL. */
    /* Nothing will be told of this watch in this session: the server does not know its name. */
    void (*watch_refused)(void *context, uint32_t watch, Str reason);
    void (*moved)(void *context, SessionNodeState state);
    void (*refused)(void *context, const Refusal *refusal); /* the server will never take it */
    void (*skewed)(void *context, int64_t server_ms, int64_t node_ms);
    /* The next records wait so long: this node has used up the rate that the server gives it. */
    void (*delayed)(void *context, uint64_t delay_ms);
} SessionNodeOps;

typedef struct SessionNodeOptions {
    Loop *loop;
    const SessionNodeOps *ops;
    void *context;
    Outbox *outbox; /* borrowed */
    Str node, boot_id, version;
    const char *const *watches; /* names, borrowed */
    uint32_t watch_count;
    uint32_t server_count; /* at least 1 */
} SessionNodeOptions;

SessionNode *session_node_new(const SessionNodeOptions *options);
void session_node_free(SessionNode *session); /* stops it first; NULL is allowed */
DEFINE_AUTO(SessionNode, session_node_free)

void session_node_start(SessionNode *session);
void session_node_stop(SessionNode *session);
/* The owner's list is another one. A connection that stands is not touched. */
void session_node_set_servers(SessionNode *session, uint32_t count);

/* --- What happens to the connection ---------------------------------------------------------- */

void session_node_connected(SessionNode *session);
void session_node_message(SessionNode *session, Str message);
void session_node_writable(SessionNode *session); /* it can send again */
/* ERROR_DENIED and ERROR_INVALID say that trying again soon is no use. */
void session_node_closed(SessionNode *session, const Error *why);

/* --- What happens at home -------------------------------------------------------------------- */

void session_node_wake(SessionNode *session); /* the outbox may have something to send */
/* A ticket of an earlier connection is ignored. */
void session_node_taken(SessionNode *session, uint32_t watch, uint64_t ticket);

/* --- For people ------------------------------------------------------------------------------ */

typedef struct SessionNodeStatus {
    SessionNodeState state;
    uint32_t server;  /* the one that it has, tries, or is going to try */
    int64_t until_ms; /* of waiting, by the loop */
    const Error *why; /* of waiting; else NULL */
    uint32_t failures;
} SessionNodeStatus;

SessionNodeStatus session_node_status(const SessionNode *session);
const char *session_node_state_name(SessionNodeState state);
