/* Changes the membership of an etcd cluster, step by step, as decided by member_plan(). Every
 * server that runs a member has a MemberControl, which is active only while that member is the
 * leader. Loop thread.
 *
 * Each round queries the state of all members and executes at most one step. etcd cannot make a
 * change conditional on leadership. Therefore the results of a round that took too long, for
 * example because the process was paused, are discarded. In addition, member IDs are never reused,
 * and etcd itself rejects changes that endanger the quorum. */
#pragma once

#include "datastore/member_link.h"
#include "datastore/member_plan.h"

enum {
    MEMBER_ROUND_MS = 1000,       /* between rounds, while there is nothing to do */
    MEMBER_FRESH_MS = 5000,       /* maximum age of the responses of a round */
    MEMBER_START_MS = 60 * 1000,  /* time limit for starting a learner */
    MEMBER_STALL_MS = 300 * 1000, /* time limit for a learner to make progress */
    /* How long a server is skipped after its learner failed to start or to make progress; doubles
     * with each failure. */
    MEMBER_QUARANTINE_MS = 60 * 1000,
};

typedef struct MemberControl MemberControl;

typedef struct MemberControlStatus {
    MemberStep step;    /* last step, or what it is waiting for */
    const char *error;  /* why the last round failed; empty if it succeeded */
    bool is_responding; /* this server's member responded in the last round */
    bool is_learner;    /* it was a learner then */
    uint64_t own, leader;
    const EtcdMember *members; /* as of the last round; may be NULL */
    uint32_t member_count;
} MemberControlStatus;

typedef struct MemberControlOptions {
    Loop *loop;
    TlsContext *tls; /* for datastore clients, protocol "h2"; borrowed */
    Address own;     /* client address of this server's member */
    /* Fills in all servers of the cluster, at most MEMBERS_MAX, and returns their number. Strings
     * stay valid until the loop's next iteration. */
    uint32_t (*servers)(void *context, MemberServer *out);
    /* Called after each step and when the reason for waiting changes. Must not free the controller.
     * May be NULL. */
    void (*changed)(void *context, const MemberControlStatus *status);
    void *context;
    int64_t round_ms, start_ms, stall_ms, quarantine_ms; /* 0: the defaults above */
} MemberControlOptions;

/* Begins the first round. */
MemberControl *member_control_new(const MemberControlOptions *options);
void member_control_free(MemberControl *control); /* NULL is allowed */
DEFINE_AUTO(MemberControl, member_control_free)

/* Begins the next round immediately, for example because a server has changed. */
void member_control_wake(MemberControl *control);
/* Valid until the next loop iteration. */
MemberControlStatus member_control_status(const MemberControl *control);
