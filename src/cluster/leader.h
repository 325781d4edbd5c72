/* Which of the servers of a cluster leads: the one whose controllers act, such as those that delete what is
 * over. Elected by a key with a lease: the first server to put it leads until it resigns or does not renew
 * the lease in time. Loop thread.
 *
 * A leader counts itself as deposed before the store can have ended its lease, by its own clock. That is
 * not enough: a server may be paused between looking at the clock and writing. So every transaction of a
 * controller carries the fence, which holds only as long as the key is the one that this leader has put. */
#pragma once

#include "cluster/cluster_store.h"
#include "lang/value.h"
#include "pki/certificate.h"

typedef struct Leader Leader;

enum {
    LEADER_LEASE_S = 10,    /* renewed when a third of it is over */
    LEADER_MARGIN_MS = 1000 /* before its end: then the leader counts itself as deposed */
};

typedef struct LeaderOptions {
    ClusterStore at; /* with a state; copied, its prefix too */
    Str server;      /* name of this one; copied */
    /* This server leads: controllers may start, with leader_fence(). */
    void (*elected)(void *context);
    /* It does not any more: controllers stop. Neither function may free the leader. */
    void (*deposed)(void *context);
    void *context;
} LeaderOptions;

/* Tries to lead, and again whenever no server does. A key that an earlier process of the same server has left
 * is removed first: names are unique, and what that process may still try to write is fenced. Calls nothing
 * within. */
Leader *leader_new(const LeaderOptions *options);
/* For a clean stop: calls `deposed` if it leads, gives up the lease so that others need not wait for its
 * end, then calls `done`, perhaps within; also when the store does not answer in time. It does not try
 * again. */
void leader_resign(Leader *leader, LoopRun *done, void *context);
/* Before the state and the store; calls nothing. Without leader_resign the lease ends by itself. NULL is
 * fine. */
void leader_free(Leader *leader);
DEFINE_AUTO(Leader, leader_free)

bool leader_leads(const Leader *leader);
/* What every transaction of a controller compares. Of the last election: it may be asked for from `elected`
 * on, also when that is over and it does not hold any more. Valid until leader_free. */
const StoreCompare *leader_fence(const Leader *leader);
/* What a transaction fails with whose fence does not hold: ERROR_CONFLICT. Always false. */
bool leader_fenced_out(Error *err);

/* --- The record ------------------------------------------------------------------------------ */

/* "eden.leader/1" under leader/<role>. */
typedef struct LeaderRecord {
    char server[NODE_NAME_MAX + 1];
    int64_t since_ms;
    Value unknown; /* what a newer server wrote */
} LeaderRecord;

/* Who leads, as the state knows it. False: no server does. */
bool leader_find(Arena *arena, const State *state, Str prefix, LeaderRecord *out);
