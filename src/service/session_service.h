/* Node sessions as a gRPC service: the method SESSION of rpc/methods.def. Loop thread only.
 *
 * This module does the I/O for the state machine of a session (rpc/session_server.h): messages go
 * through a call; records and the node's position are written to the store in one transaction
 * (session_records.h); liveness is a key with a lease (presence.h); watches are read from the store
 * (session_feed.h, session_range.h).
 *
 * Only a node that has a record (nodes/<node>) can write: every transaction checks that.
 *
 * A session ends with its call, whatever ends that: the node, the connection, or a server that
 * disconnects revoked nodes. Requests that the store has received by then are still executed, and
 * are found when the node reconnects. */
#pragma once

#include "cluster/state.h"
#include "rpc/dispatch.h"
#include "rpc/session_ping.h"
#include "service/node_budget.h"
#include "store/store.h"

typedef struct SessionService SessionService;

typedef struct SessionServiceOptions {
    Loop *loop;
    Store *store;
    const State *state; /* NULL: watches are read from the store */
    Str prefix;         /* of keys; copied, as are the next two */
    Str server;         /* name of this server */
    Str store_id;       /* changes after a restore */
    NodeLimits limits;
    /* Identifies the node of a peer, if it may call. NULL: by its certificate. Fails with
     * ERROR_DENIED. */
    bool (*identify)(void *context, const Peer *peer, Identity *out, Error *err);
    void *context;
} SessionServiceOptions;

SessionService *session_service_new(const SessionServiceOptions *options);
/* Ends all sessions and rejects new ones, so that nodes connect to another server. */
void session_service_stop(SessionService *service);
/* Must be called when all sessions have ended: one iteration of the loop after the last server with
 * its binding is freed, and before the store is closed. NULL is allowed. */
void session_service_free(SessionService *service);
DEFINE_AUTO(SessionService, session_service_free)

/* Returns the binding for dispatch_new. */
MethodBinding session_service_binding(SessionService *service);

/* Pings the node. `done` is called once, possibly within the call: ERROR_UNAVAILABLE if the node
 * has no session here or the session ends, ERROR_TIMEOUT. */
void session_service_ping(SessionService *service, Str node, SessionPinged *done, void *context);

typedef struct SessionServiceCounts {
    uint32_t sessions; /* current number, including those about to end */
    uint32_t live;
    uint64_t records; /* total number of records */
    uint64_t refused;
} SessionServiceCounts;
/* The budgets of nodes, for other services. Valid as long as the service. */
NodeBudgets *session_service_budgets(const SessionService *service);
SessionServiceCounts session_service_counts(const SessionService *service);
