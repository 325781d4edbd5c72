/* Decides on the next change to the membership of an etcd cluster, so that the wanted servers
 * become its voters. Pure: takes a snapshot and returns one step, or the reason to wait. The caller
 * executes the step, takes another snapshot, and calls it again.
 *
 * Rules, which hold for every step:
 *
 *   - Only the leader changes anything. Without a majority, nothing is changed.
 *   - One change at a time, and at most one learner.
 *   - After the step, the healthy voters are a majority. A new voter is counted as unhealthy,
 *     except for the second voter of a cluster: otherwise a cluster could never grow beyond one.
 *   - A new member starts as a learner and becomes a voter when it has caught up.
 *   - A dead voter is removed before its replacement is added, because etcd accepts no new members
 *     while a voter is down. A healthy voter is removed after its replacement has been added.
 *   - A leader hands over leadership before it is removed.
 *   - If an odd number of voters is wanted, the number does not remain even.
 *
 * Timeouts are up to the caller: when a silent server is considered lost, and when a learner
 * without progress is considered stalled. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum {
    MEMBERS_MAX = 16,
    MEMBERS_WANTED_MAX =
        MEMBERS_MAX / 2, /* replacing all members temporarily doubles their number */
    /* Maximum number of entries that a learner may lag behind when it is promoted. The lag must
     * also be at most a tenth of the log, which is etcd's only rule. */
    MEMBER_LAG_MAX = 1000,
};

typedef enum ServerState {
    SERVER_READY,       /* responds and can start a member */
    SERVER_UNREACHABLE, /* cannot start a member now; its member may be healthy */
    SERVER_LOST,        /* considered lost; its member is replaced */
} ServerState;

/* A server of the cluster. */
typedef struct MemberServer {
    Str name;       /* also the name of its member */
    Str peer_url;   /* where its member listens for peers */
    bool is_wanted; /* should run a voter */
    ServerState state;
    uint64_t data_member_id; /* member whose data it has; 0: none */
} MemberServer;

/* An entry of etcd's member list. */
typedef struct ListedMember {
    uint64_t id;
    Str name; /* empty until the member has been started */
    Str peer_url;
    bool is_learner;
    bool is_healthy; /* responds and follows the same leader */
    bool is_stalled; /* learner that has made no progress for too long */
    uint64_t lag;    /* number of missing entries; only valid if healthy */
} ListedMember;

typedef struct MemberSnapshot {
    const MemberServer *servers; /* all of them, at most MEMBERS_MAX */
    uint32_t server_count;
    const ListedMember *members; /* at most MEMBERS_MAX; as of a linearizable read */
    uint32_t member_count;
    uint64_t own;    /* ID of this server's member */
    uint64_t leader; /* 0: none */
    uint64_t index;  /* the number of entries in the leader's log */
} MemberSnapshot;

typedef enum MemberAction {
    MEMBER_NO_ACTION, /* all wanted servers are voters */
    MEMBER_WAIT,      /* until the snapshot changes */
    MEMBER_REFUSE,
    MEMBER_ADD,     /* as a learner */
    MEMBER_PROMOTE, /* the learner becomes a voter */
    MEMBER_REMOVE,
    MEMBER_UPDATE,      /* change the peer URL */
    MEMBER_MOVE_LEADER, /* to `member` */
} MemberAction;

typedef enum MemberReason {
    MEMBER_NO_REASON,
    /* Reasons for MEMBER_WAIT. */
    MEMBER_NO_LEADER,
    MEMBER_NOT_LEADER,       /* the leader makes the changes */
    MEMBER_QUORUM_LOST,      /* too few voters are responding; an operator must act */
    MEMBER_VOTER_DOWN,       /* a wanted voter is not responding */
    MEMBER_LEARNER_STARTING, /* the learner has not been started yet */
    MEMBER_LEARNER_DOWN,     /* the learner is not responding */
    MEMBER_LEARNER_LAGS,     /* the learner has not caught up yet */
    MEMBER_SERVER_NOT_READY, /* a wanted server cannot start a member */
    MEMBER_NO_REPLACEMENT,   /* a dead voter is kept until another server is ready */
    MEMBER_EVEN_VOTERS,      /* the learner is not promoted until another server is ready */
    MEMBER_NO_SUCCESSOR,     /* no other voter can become the leader */
    MEMBER_QUORUM_AT_RISK,   /* after the step, too few voters would be healthy */
    /* Reasons for MEMBER_REFUSE. */
    MEMBER_NONE_WANTED,
    MEMBER_TOO_MANY_WANTED,
    MEMBER_DUPLICATE_NAME,
    MEMBER_DUPLICATE_URL,
    MEMBER_NOT_LISTED, /* this server's member is not in the list */
    MEMBER_URL_IN_USE, /* another member has the URL of a wanted server */
    /* Reasons for removals; for messages. */
    MEMBER_UNWANTED,
    MEMBER_SERVER_LOST, /* its server is lost */
    MEMBER_DATA_LOST,   /* its server no longer has its data */
    MEMBER_STALLED,
} MemberReason;

typedef struct MemberStep {
    MemberAction action;
    MemberReason reason;
    uint64_t member; /* affected member; 0: none */
    uint32_t server; /* index, for MEMBER_ADD, MEMBER_UPDATE and MEMBER_SERVER_NOT_READY */
    /* The number of voters is even, which tolerates no more failures than with one voter fewer. */
    bool is_even;
} MemberStep;

MemberStep member_plan(const MemberSnapshot *snapshot);

const char *member_action_name(MemberAction action);
/* Text to append to a message, as in "waiting: a voter is not responding". */
const char *member_reason_text(MemberReason reason);
