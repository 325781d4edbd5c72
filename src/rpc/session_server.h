/* The server's side of one session: applies each record of a node once, keeps the node's lease
 * alive, and forwards the changes that the node watches. A state machine on a loop; its owner
 * implements the stream, the store and the source of changes. Loop thread only.
 *
 *     greeting -> loading -> live -> closed
 *
 * Exactly once: a record and the cursor that covers it become durable in one transaction, which
 * fails if the cursor has changed. So two sessions of the same node, one of which has not noticed
 * yet that its connection is dead, cannot both apply a record, even on different servers.
 *
 * The owner's functions must not call back into the state machine before they return. */
#pragma once

#include "rpc/session_message.h"
#include "rpc/session_ping.h"
#include "sys/loop.h"

typedef struct SessionServer SessionServer;

enum {
    SESSION_HELLO_MS = 15 * 1000, /* maximum time until the node's hello */
    SESSION_LEASE_S = 15,         /* time after which a disconnected node counts as silent */
    SESSION_RENEW_MS = 10 * 1000, /* maximum interval between renewals of its lease */
    SESSION_RENEW_STEP_MS = 500,  /* renewals happen at multiples of this */
    SESSION_RETRY_MS = 1000,      /* approximate delay before a write is retried */
    /* memory for records that have not been applied yet; one more message is accepted */
    SESSION_INBOX_BYTES = 1024 * 1024,
};

/* The last record of a node that was applied. */
typedef struct SessionCursor {
    uint64_t epoch; /* 0: none yet */
    uint64_t sequence;
} SessionCursor;

typedef struct SessionServerOps {
    bool (*can_send)(void *context);
    /* Copies the message. Called only if the stream can send. */
    void (*send)(void *context, Str message);
    void (*pause)(void *context); /* stops delivering messages until `resume` */
    void (*resume)(void *context);
    /* Closes the stream. The session is closed; the owner frees it in a later iteration of the
     * loop. */
    void (*finish)(void *context, const Error *why);

    /* The hello of the node, whose name was verified. Borrowed for the call. May be NULL. */
    void (*hello_received)(void *context, const NodeHello *hello, bool skewed);
    /* Reads the cursor; followed by session_server_loaded. */
    void (*load)(void *context);
    /* Applies the records and moves the cursor from `from` to `to` in one transaction, if it is at
     * `from`. Followed by session_server_applied; the arguments are valid until then. */
    void (*apply)(void *context, SessionCursor from, SessionCursor to, const Record *records,
                  uint32_t count);
    /* Renews the lease. Called when the session becomes live, and then every SESSION_RENEW_MS. */
    void (*renew_lease)(void *context);

    /* Starts a watch; the node chooses the name. With `reset` a full snapshot comes first, marked
     * as such; otherwise the changes after `revision`, or a reset if they are no longer available.
     * Changes are passed to session_server_changes. Returning false with ERROR_DENIED rejects this
     * watch, and the node is notified; any other error ends the session. */
    bool (*watch)(void *context, uint32_t watch, Str name, bool reset, int64_t revision,
                  Error *err);
    /* The node has processed the last changes: the next may be sent. */
    void (*changes_acknowledged)(void *context, uint32_t watch, int64_t revision);
    void (*stop_watch)(void *context, uint32_t watch);

    /* The node has responded to a ping. May be NULL if the owner sends no pings. */
    void (*ping_answered)(void *context, const SessionPing *ping);
} SessionServerOps;

typedef struct SessionServerOptions {
    Loop *loop;
    const SessionServerOps *ops;
    void *context;
    Str node;   /* from its certificate */
    Str server; /* name of this server */
    Str store;  /* ID of the store, which changes when a backup is restored */
} SessionServerOptions;

/* Creates the session for a stream that was just opened. */
SessionServer *session_server_new(const SessionServerOptions *options);
/* Ends the session first. Must not be called while an operation of the owner is pending, since
 * records passed to `apply` are freed. NULL is allowed. */
void session_server_free(SessionServer *session);
DEFINE_AUTO(SessionServer, session_server_free)

/* --- Events of the stream -------------------------------------------------------------------- */

void session_server_message(SessionServer *session, Str message);
void session_server_writable(SessionServer *session);
void session_server_closed(SessionServer *session); /* no function is called afterward */

/* --- Results. Ignored if the session is closed. ---------------------------------------------- */

/* `err` is NULL on success. ERROR_UNAVAILABLE, ERROR_LIMIT and ERROR_TIMEOUT are retried;
 * ERROR_CONFLICT means that the cursor has changed; any other error ends the session. */
void session_server_loaded(SessionServer *session, SessionCursor cursor, const Error *err);
void session_server_applied(SessionServer *session, const RejectedRecord *refusals, uint32_t count,
                            const Error *err);
/* Notifies the node that the records passed to `apply` are delayed by this time. */
void session_server_delayed(SessionServer *session, uint64_t delay_ms);
/* Sends changes of a watch. Allowed only after `watch` or `changes_acknowledged`, since at most one
 * message may be in flight. */
void session_server_changes(SessionServer *session, const Changes *changes);

/* Sends a ping: `ping_answered` follows when the response arrives. Does nothing while a ping is in
 * flight or if the session is not live. */
void session_server_ping(SessionServer *session);

bool session_server_is_live(const SessionServer *session);
