/* The node's side of a session: finds a server, sends it the records in the outbox until each is
 * acknowledged, and receives the changes of its watches. A state machine on a loop; its owner
 * implements the connection, the storage of the outbox and the processing of changes. Loop thread
 * only.
 *
 *     idle -> connecting -> greeting -> live
 *                ^              |         |
 *                |              v         v
 *                +----------- waiting (until, why)
 *
 * Between two attempts it waits with exponential backoff and jitter (backoff.h), and tries the next
 * server. Unless noted otherwise, the owner's functions must not call back into the state machine
 * before they return. */
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
    SESSION_OPEN_MS = 15 * 1000, /* maximum time to connect, and then for the server's hello */
    SESSION_STABLE_MS =
        10 * 1000, /* earlier failures are forgotten after this long in state live */
};

typedef struct SessionNodeOps {
    /* Connects to a server, given its index in the owner's list, and opens the stream. Then the
     * owner calls session_node_connected, _message, _writable, and _closed once, in later
     * iterations of the loop. */
    void (*connect)(void *context, uint32_t server);
    /* Closes the connection, without further notifications by the owner. */
    void (*disconnect)(void *context);
    bool (*can_send)(void *context);
    /* Copies the message. Called only if the stream can send. */
    void (*send)(void *context, Str message);

    /* The durable position of a watch; valid until the next call. Changes passed on earlier must
     * not become durable after this call. */
    WatchPosition (*position)(void *context, uint32_t watch);
    /* Borrowed for the call. Once they are processed, the owner calls session_node_processed with
     * the ticket, possibly from within; until then there are no further changes for this watch on
     * this connection. The changes up to a complete one belong together: they and the new position
     * in `store` must become durable atomically or not at all; in the latter case they are sent
     * again. */
    void (*changes)(void *context, const Changes *changes, Str store, uint64_t ticket);

    /* The following may be NULL. */
    /* This watch gets no changes in this session, because the server does not support it. */
    void (*watch_rejected)(void *context, uint32_t watch, Str reason);
    void (*state_changed)(void *context, SessionNodeState state);
    /* the server permanently rejects this record */
    void (*record_rejected)(void *context, const RejectedRecord *refusal);
    void (*clock_skewed)(void *context, int64_t server_ms, int64_t node_ms);
    /* The next records are delayed: this node has exceeded its rate limit on the server. */
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
void session_node_free(SessionNode *session); /* stops the session first; NULL is allowed */
DEFINE_AUTO(SessionNode, session_node_free)

void session_node_start(SessionNode *session);
void session_node_stop(SessionNode *session);
/* The owner's list has changed. An established connection is not affected. */
void session_node_set_servers(SessionNode *session, uint32_t count);

/* --- Events of the connection ---------------------------------------------------------------- */

void session_node_connected(SessionNode *session);
void session_node_message(SessionNode *session, Str message);
void session_node_writable(SessionNode *session); /* the stream can send again */
/* With ERROR_DENIED or ERROR_INVALID the session waits longer before it retries. */
void session_node_closed(SessionNode *session, const Error *why);

/* --- Events of the owner --------------------------------------------------------------------- */

void session_node_wake(SessionNode *session); /* the outbox may have something to send */
/* A ticket of an earlier connection is ignored. */
void session_node_processed(SessionNode *session, uint32_t watch, uint64_t ticket);

/* --- Status ---------------------------------------------------------------------------------- */

typedef struct SessionNodeStatus {
    SessionNodeState state;
    uint32_t server;  /* current server, or the next one to try */
    int64_t until_ms; /* end of the wait, by the loop's clock; for state waiting */
    const Error *why; /* the last error; NULL unless waiting */
    uint32_t failures;
} SessionNodeStatus;

SessionNodeStatus session_node_status(const SessionNode *session);
const char *session_node_state_name(SessionNodeState state);
