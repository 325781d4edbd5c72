/* The state of a machine that is a node: its session with the servers, pending records, received
 * data, its certificate. It exists while node.json does (membership/node_state.h). Loop thread.
 *
 * Its files are in the agent's directory and are tagged with the enrollment they belong to: a
 * machine that joins again, even with the same name, starts without them. */
#pragma once

#include "agent/facts_feed.h"
#include "agent/node_leave.h"
#include "agent/session_link.h"
#include "agent/spool.h"
#include "agent/trust.h"
#include "lang/value.h"
#include "membership/node_state.h"
#include "sys/cgroup.h"

typedef struct Membership Membership;

typedef struct MembershipOptions {
    Loop *loop;
    const Directory *directory; /* the agent's; borrowed, like everything here */
    const char *path;           /* path of that directory */
    const Directory *state;     /* the state directory, which contains it */
    const char *state_dir, *config_dir;
    const char *root;        /* root directory for facts and runs: "/" */
    CgroupLimits run_limits; /* of each run */
    /* The status has changed; may be NULL. Never called from within a function of the
     * membership. */
    void (*changed)(void *context);
    void *context;
} MembershipOptions;

/* Starts the session. Fails with ERROR_NOT_FOUND if this machine is not a node, or with errors of
 * reading its files. */
MUST_CHECK bool membership_open(const MembershipOptions *options, Membership **out, Error *err);
/* Ends the session and saves pending records. NULL is allowed. */
void membership_close(Membership *membership);
DEFINE_AUTO(Membership, membership_close)

/* Rereads node.json, including the list of servers. Fails with ERROR_NOT_FOUND if the file is gone,
 * ERROR_CONFLICT if it belongs to a different node, cluster or enrollment: then this membership has
 * ended. On any other error the file is unreadable and nothing has changed. */
MUST_CHECK bool membership_reload(Membership *membership, Error *err);
/* Called when the machine may have changed: collects facts. */
void membership_check(Membership *membership);

/* Asks the server to remove this node (node_leave.h), replacing an earlier attempt. Fails with
 * ERROR_UNAVAILABLE if there is no session. `done` may close the membership. */
MUST_CHECK bool membership_leave(Membership *membership, NodeLeaveDone *done, void *context,
                                 Error *err);
/* Deletes all files of the node, node.json first. The membership must be closed. */
MUST_CHECK bool membership_forget(const Directory *directory, Error *err);

typedef struct MembershipStatus {
    const NodeState *state;
    Str boot_id;
    SessionNodeStatus session;
    const NodeServer *server; /* server of the session, or the one being tried */
    int64_t session_since_ms; /* Unix time of the last change of the session's state */
    int64_t next_try_ms;      /* from now, while waiting */
    OutboxCounts outbox;
    SpoolStatus spool;
    TrustStatus trust;
    FactsFeedStatus facts;
    WatchPosition node; /* position of the watch of its own record */
    Value labels;       /* a map, or missing; in the given arena */
} MembershipStatus;
void membership_status(const Membership *membership, Arena *arena, MembershipStatus *out);
Trust *membership_trust(Membership *membership);
