/* The state of a machine that is a node: its session with the servers, pending
 * records, received data, its certificate. It exists while node.json does
 * (membership/node_state.h). Loop thread.
 *
 * Its files are in the agent's directory and contain the enrollment they belong
 * to: a machine that joins again, even under the same name, starts without them. */
#pragma once

#include "agent/departure.h"
#include "agent/facts_feed.h"
#include "agent/session_link.h"
#include "agent/spool.h"
#include "agent/trust.h"
#include "lang/value.h"
#include "membership/node_state.h"

typedef struct Membership Membership;

typedef struct MembershipOptions {
    Loop *loop;
    const Directory *directory; /* of the agent; borrowed, as all here */
    const char *root;           /* whose facts are told: "/" */
    /* What it says of itself is another; may be NULL. Not from within a function of its owner. */
    void (*changed)(void *context);
    void *context;
} MembershipOptions;

/* Starts the session. Fails with ERROR_NOT_FOUND when this machine is no node, and as reading its
 * files does. */
MUST_CHECK bool membership_open(const MembershipOptions *options, Membership **out, Error *err);
/* The session ends; what is to be told is written. NULL is allowed. */
void membership_close(Membership *membership);
DEFINE_AUTO(Membership, membership_close)

/* node.json may be another one: the list of servers is taken from it. Fails with ERROR_NOT_FOUND when
 * it is gone, ERROR_CONFLICT when it is of another node, cluster or enrolment: then this membership
 * is over. Another failure means that it cannot be read, and nothing has changed. */
MUST_CHECK bool membership_reload(Membership *membership, Error *err);
/* The machine may have changed. */
void membership_look(Membership *membership);

/* Asks the server to remove this node (departure.h), in place of an earlier try. Fails with
 * ERROR_UNAVAILABLE without a session. `left` may close this. */
MUST_CHECK bool membership_leave(Membership *membership, DepartureLeft *left, void *context,
                                 Error *err);
/* Takes away all that a machine has as a node; node.json first. To be closed before. */
MUST_CHECK bool membership_forget(const Directory *directory, Error *err);

typedef struct MembershipStatus {
    const NodeState *state;
    Str boot_id;
    SessionNodeStatus session;
    const NodeServer *server; /* of the session, or the one that it tries */
    int64_t session_since_ms; /* since 1970, of the session's state */
    int64_t next_try_ms;      /* from now, while it waits */
    OutboxCounts outbox;
    SpoolStatus spool;
    TrustStatus trust;
    FactsFeedStatus facts;
    WatchPosition node; /* how far the watch of its own record is */
    Value labels;       /* a map, or missing; in the arena given */
} MembershipStatus;
void membership_status(const Membership *membership, Arena *arena, MembershipStatus *out);
Trust *membership_trust(Membership *membership);
