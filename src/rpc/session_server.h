/* The server's side of one session: takes each record of a node once, keeps the node's lease alive,
 * and hands on the changes that the node watches. A machine on a loop; the stream, the store and
 * where changes come from belong to its owner. Loop thread.
 *
 *     greeting -> loading -> live -> over
 *
 * Once: a record and the cursor that says so become durable in one transaction, which fails when
 * the cursor is not what it was. So two sessions of the same node, one of which is about to learn
 * that its connection is dead, cannot both take a record, whichever servers they are on.
 *
 * None of the owner's functions may call back into the machine before it returns. */
#pragma once

#include "rpc/session_message.h"
#include "rpc/session_ping.h"
#include "sys/loop.h"

typedef struct SessionServer SessionServer;

enum {
    SESSION_HELLO_MS = 15 * 1000,      /* for the node's hello */
    SESSION_LEASE_S = 15,              /* so long a node that was cut off counts as alive */
    SESSION_BEAT_MS = 10 * 1000,       /* that often, at least, its lease is kept alive */
    SESSION_BEAT_STEP_MS = 500,        /* at multiples of this */
    SESSION_RETRY_MS = 1000,           /* about so long until a write is tried again */
    SESSION_INBOX_BYTES = 1024 * 1024, /* of memory for what waits to be taken; one message more */
};

/* The last record of a node that is taken. */
typedef struct SessionCursor {
    uint64_t epoch; /* 0: none was yet */
    uint64_t sequence;
} SessionCursor;

typedef struct SessionServerOps {
    bool (*can_send)(void *context);
    /* Takes a copy of any one message when it can send. */
    void (*send)(void *context, Str message);
    void (*pause)(void *context); /* no messages until it is resumed */
    void (*resume)(void *context);
    /* Ends the stream. It is over; the owner frees the machine in a later turn. */
    void (*finish)(void *context, const Error *why);

    /* Who it is, as it says; the name is right. Borrowed for the call. May be NULL. */
    void (*greeted)(void *context, const NodeHello *hello, bool skewed);
    /* Reads the cursor: session_server_loaded follows. */
    void (*load)(void *context);
    /* Takes the records and moves the cursor from `from` to `to`, in one transaction, if it is at
     * `from`: session_server_applied follows, until which everything given here is valid. */
    void (*apply)(void *context, SessionCursor from, SessionCursor to, const Record *records,
                  uint32_t count);
    /* Once when it is live, and then every SESSION_BEAT_MS: keep the lease alive. */
    void (*beat)(void *context);

    /* Begins to watch; the name is the node's wish. With `reset` everything there is comes first,
     * marked so; else what is after `revision`, or a reset when that cannot be told any more.
     * Changes come with session_server_changes. False with ERROR_DENIED refuses this watch, which the
     * node is told; any other error ends the session. */
    bool (*watch)(void *context, uint32_t watch, Str name, bool reset, int64_t revision,
                  Error *err);
    /* The node has dealt with the last ones: the next may come. */
    void (*taken)(void *context, uint32_t watch, int64_t revision);
    void (*unwatch)(void *context, uint32_t watch);

    /* The node has answered a ping. May be NULL when there are none. */
    void (*ponged)(void *context, const SessionPing *ping);
} SessionServerOps;

typedef struct SessionServerOptions {
    Loop *loop;
    const SessionServerOps *ops;
    void *context;
    Str node;   /* from its certificate */
    Str server; /* what we are called */
    Str store;  /* the id of the store: another one after a backup was restored */
} SessionServerOptions;

/* For a stream that has just been opened. */
SessionServer *session_server_new(const SessionServerOptions *options);
/* Ends it first. Not while an answer is owed: records given to `apply` go. NULL is allowed. */
void session_server_free(SessionServer *session);
DEFINE_AUTO(SessionServer, session_server_free)

/* --- What happens to the stream -------------------------------------------------------------- */

void session_server_message(SessionServer *session, Str message);
void session_server_writable(SessionServer *session);
void session_server_closed(SessionServer *session); /* nothing is called any more */

/* --- Answers. Those to a session that is over are ignored. ------------------------------------- */

/* `err` is NULL when it went well. ERROR_UNAVAILABLE, ERROR_LIMIT and ERROR_TIMEOUT are tried
 * again; ERROR_CONFLICT says that the cursor was elsewhere; anything else ends the session. */
void session_server_loaded(SessionServer *session, SessionCursor cursor, const Error *err);
void session_server_applied(SessionServer *session, const Refusal *refusals, uint32_t count,
                            const Error *err);
/* The records that `apply` was given wait so long before they are taken: the node is told. */
void session_server_delayed(SessionServer *session, uint64_t delay_ms);
/* Changes of a watch, of which none may be on their way: after `watch` or `taken` only. */
void session_server_changes(SessionServer *session, const Changes *changes);

/* Asks the node for an answer: `ponged` follows when it comes. Nothing happens while one is on its
 * way, and when the session is not live. */
void session_server_ping(SessionServer *session);

bool session_server_is_live(const SessionServer *session);
