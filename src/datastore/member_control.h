/* Changes the membership of an etcd cluster, step by step, as member_plan() decides. Every server
 * with a member has one of these; it acts only while that member leads. Loop thread.
 *
 * Each round asks the members for their state, and executes at most one step. etcd cannot make a
 * change conditional on leadership, so the results of a round that took too long, for example
 * because the process was paused, are discarded; members are addressed by ids that are never used
 * again; and etcd itself rejects what would endanger the quorum. */
#pragma once

#include "datastore/member_link.h"
#include "datastore/member_plan.h"

enum {
    MEMBER_ROUND_MS = 1000,       /* between rounds, while there is nothing to do */
    MEMBER_FRESH_MS = 5000,       /* for how long the responses of a round are used */
    MEMBER_START_MS = 60 * 1000,  /* time limit for starting a learner */
    MEMBER_STALL_MS = 300 * 1000, /* time limit for a learner to make progress */
    /* How long a server is skipped after its learner failed to; doubles each time. */
    MEMBER_QUARANTINE_MS = 60 * 1000,
};

typedef struct MemberControl MemberControl;

typedef struct MemberControlStatus {
    MemberStep step;   /* the last step, or what the control is waiting for */
    const char *error; /* why the round failed; "": it did not */
    uint64_t own, leader;
    const EtcdMember *members; /* as of the last round; may be NULL */
    uint32_t member_count;
} MemberControlStatus;

typedef struct MemberControlOptions {
    Loop *loop;
    TlsContext *tls; /* of a client, for "h2"; borrowed */
    Address own;     /* where the member of this server listens for clients */
    /* Fills in all servers of the cluster, at most MEMBERS_MAX, and returns their number. Strings
     * stay valid until the loop's next iteration. */
    uint32_t (*servers)(void *context, MemberServer *out);
    /* A step was executed, or the control is waiting for something else. Must not free the control.
     * May be NULL. */
    void (*changed)(void *context, const MemberControlStatus *status);
    void *context;
    int64_t round_ms, start_ms, stall_ms, quarantine_ms; /* 0: the defaults above */
} MemberControlOptions;

/* Starts with the first round. */
MemberControl *member_control_new(const MemberControlOptions *options);
void member_control_free(MemberControl *control); /* NULL is allowed */
DEFINE_AUTO(MemberControl, member_control_free)

/* Begins the next round now: a server has changed. */
void member_control_wake(MemberControl *control);
/* Valid until the next iteration. */
MemberControlStatus member_control_status(const MemberControl *control);
