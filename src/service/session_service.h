/* Sessions of nodes as a gRPC service: the method SESSION of rpc/methods.def. Loop thread.
 *
 * What the machine of a session (rpc/session_server.h) wants done is done here: messages go through
 * a call, records and the mark that says how far the node is go into the store in one transaction
 * (session_records.h), liveness is a key with a lease (presence.h), what the node watches is read
 * from the store (session_feed.h, session_range.h).
 *
 * Only a node that has a record (nodes/<node>) writes: that is part of every transaction.
 *
 * A session ends with its call, whoever ends that: the node, the connection, a server that drops
 * revoked nodes. What the store has been asked by then happens all the same, and is found when the
 * node comes again. */
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
    const State *state; /* NULL: what nodes watch is read from the store */
    Str prefix;         /* of keys; copied, as are the next two */
    Str server;         /* what this server is called */
    Str store_id;       /* another one after a backup was restored */
    NodeLimits limits;
    /* Which node a peer is, that may call. NULL: as its certificate says. Fails with ERROR_DENIED. */
    bool (*identify)(void *context, const Peer *peer, Identity *out, Error *err);
    void *context;
} SessionServiceOptions;

SessionService *session_service_new(const SessionServiceOptions *options);
/* Ends every session, and those that still come, so that nodes look for another server. */
void session_service_stop(SessionService *service);
/* When every session has ended: a turn after the last server that has its binding; and before the
 * store is closed. NULL is fine. */
void session_service_free(SessionService *service);
DEFINE_AUTO(SessionService, session_service_free)

/* For dispatch_new. */
MethodBinding session_service_binding(SessionService *service);

/* Asks the node whether it answers. `done` is called once, also within: ERROR_UNAVAILABLE when it has
 * no session here or that ends, ERROR_TIMEOUT. */
void session_service_ping(SessionService *service, Str node, SessionPinged *done, void *context);

typedef struct SessionServiceCounts {
    uint32_t sessions; /* now, also those that are about to end */
    uint32_t live;
    uint64_t taken; /* records, ever */
    uint64_t refused;
} SessionServiceCounts;
SessionServiceCounts session_service_counts(const SessionService *service);
