/* Decides the next change of the membership of an etcd cluster, so that its voters become those
 * that are wanted. Pure: takes a snapshot and returns one step, or what is waited for and why; the
 * caller executes the step, takes another snapshot, and calls it again.
 *
 * Rules, which hold for every step:
 *
 *   - Only the member that leads changes anything; without a majority, no member does.
 *   - One change at a time, and at most one learner.
 *   - After the step, the voters that respond are a majority. A new voter is counted as one that
 *     does not, except for the second voter of a cluster: without it there could be no third.
 *   - A new member is a learner first, and becomes a voter when it has caught up.
 *   - A dead voter is removed before its replacement is added: etcd accepts no new member while one
 *     does not respond. One that responds is removed after its replacement was added.
 *   - A leader that is to be removed hands over first.
 *   - The number of voters does not stay even if an odd number is wanted.
 *
 * Times are judged by the caller: how long a server may be silent before it is lost, and a learner
 * without progress before it is stalled. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum {
    MEMBERS_MAX = 16,
    MEMBERS_WANTED_MAX = MEMBERS_MAX / 2, /* while all are replaced, there are twice as many */
    /* Entries that a learner may lack when it is promoted, if that is at most a tenth of the log:
     * etcd only has the latter rule. */
    MEMBER_LAG_MAX = 1000,
};

typedef enum ServerState {
    SERVER_READY,  /* responds, and can start a member */
    SERVER_SILENT, /* does not respond, or cannot start a member now; its member may be fine */
    SERVER_LOST,   /* given up: its member is replaced */
} ServerState;

/* A server of the cluster. */
typedef struct MemberServer {
    Str name;       /* that of its member, too */
    Str peer_url;   /* where its member listens for others */
    bool is_wanted; /* it is to have a voter */
    ServerState state;
    uint64_t data_of; /* the member whose data it has; 0: none */
} MemberServer;

/* A member of etcd's list. */
typedef struct ListedMember {
    uint64_t id;
    Str name; /* empty: it has never been started */
    Str peer_url;
    bool is_learner;
    bool is_healthy; /* responds, and follows the same leader */
    bool is_stalled; /* a learner that has made no progress for too long */
    uint64_t lag;    /* entries that it lacks; only if healthy */
} ListedMember;

typedef struct MemberSnapshot {
    const MemberServer *servers; /* all of them, at most MEMBERS_MAX */
    uint32_t server_count;
    const ListedMember *members; /* at most MEMBERS_MAX; as of a linearizable read */
    uint32_t member_count;
    uint64_t own;    /* the member that asks */
    uint64_t leader; /* 0: none */
    uint64_t index;  /* the number of entries in the leader's log */
} MemberSnapshot;

typedef enum MemberAction {
    MEMBER_REST, /* the voters are those that are wanted */
    MEMBER_WAIT, /* until the snapshot changes */
    MEMBER_REFUSE,
    MEMBER_ADD,     /* as a learner */
    MEMBER_PROMOTE, /* the learner becomes a voter */
    MEMBER_REMOVE,
    MEMBER_UPDATE,      /* its peer URL */
    MEMBER_MOVE_LEADER, /* to this member */
} MemberAction;

typedef enum MemberReason {
    MEMBER_NO_REASON,
    /* of MEMBER_WAIT */
    MEMBER_NO_LEADER,
    MEMBER_NOT_LEADER,       /* the leader decides */
    MEMBER_QUORUM_LOST,      /* too few voters respond; only an operator may change anything */
    MEMBER_VOTER_DOWN,       /* a wanted voter does not respond */
    MEMBER_LEARNER_STARTING, /* the learner has not been started yet */
    MEMBER_LEARNER_DOWN,     /* it does not respond */
    MEMBER_LEARNER_LAGS,     /* it has not caught up yet */
    MEMBER_SERVER_NOT_READY, /* a wanted server without a member cannot start one */
    MEMBER_NO_REPLACEMENT,   /* a dead voter stays listed until another server is ready */
    MEMBER_EVEN_VOTERS,      /* the learner stays one until another server is ready */
    MEMBER_NO_SUCCESSOR,     /* no voter that could lead instead responds */
    MEMBER_QUORUM_AT_RISK,   /* after the step, too few voters would respond */
    /* of MEMBER_REFUSE */
    MEMBER_NONE_WANTED,
    MEMBER_TOO_MANY_WANTED,
    MEMBER_DUPLICATE_NAME,
    MEMBER_DUPLICATE_URL,
    MEMBER_NOT_LISTED, /* the member that asks is not in the list */
    MEMBER_URL_TAKEN,  /* another member has the URL of a wanted server */
    /* of a step; for messages */
    MEMBER_IS_UNWANTED,
    MEMBER_IS_LOST,      /* its server was given up */
    MEMBER_DATA_IS_LOST, /* its server has no data of it anymore */
    MEMBER_IS_STALLED,
} MemberReason;

typedef struct MemberStep {
    MemberAction action;
    MemberReason reason;
    uint64_t member; /* that the step or the reason is about; 0: none */
    uint32_t server; /* index, for MEMBER_ADD, MEMBER_UPDATE and MEMBER_SERVER_NOT_READY */
    /* An even number of voters tolerates no more failures than one less. */
    bool is_even;
} MemberStep;

MemberStep member_plan(const MemberSnapshot *snapshot);

const char *member_action_name(MemberAction action);
/* Continues a sentence: "waiting: a voter does not respond". */
const char *member_reason_text(MemberReason reason);
