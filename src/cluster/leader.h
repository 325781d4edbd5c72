/* Leader election among the servers of a cluster. The leader runs the controllers, such as those
 * that delete expired data. It is elected by a key with a lease: the first server to write the key
 * leads until it resigns or fails to renew the lease in time. Loop thread only.
 *
 * By its own clock, a leader considers itself deposed before its lease can have expired. That is
 * not enough: a server may be paused between checking the clock and writing. So every transaction
 * of a controller includes the fence, which holds only while the key is the one this leader
 * wrote. */
#pragma once

#include "cluster/cluster_store.h"
#include "lang/value.h"
#include "pki/certificate.h"

typedef struct Leader Leader;

enum {
    LEADER_LEASE_S = 10, /* lifetime of the lease, which is renewed after a third of it */
    /* time before the expiration at which the leader considers itself deposed */
    LEADER_MARGIN_MS = 1000
};

typedef struct LeaderOptions {
    ClusterStore cluster_store; /* with a state; copied, including its prefix */
    Str server;                 /* name of this server; copied */
    /* This server is the leader: controllers may start, with leader_fence(). */
    void (*elected)(void *context);
    /* This server is no longer the leader: controllers must stop. Neither function may free the
     * leader. */
    void (*deposed)(void *context);
    void *context;
} LeaderOptions;

/* Tries to lead, and retries whenever no server does. A key that an earlier process of the same
 * server left behind is removed first: names are unique, and late writes of that process are
 * fenced. No callback runs during this call. */
Leader *leader_new(const LeaderOptions *options);
/* For a clean stop: calls `deposed` if it leads, revokes the lease so that others do not have to
 * wait until it expires, then calls `done`, possibly within this call; even if the store does not
 * respond in time. It does not try to lead again. */
void leader_resign(Leader *leader, LoopRun *done, void *context);
/* Must be called before the state and the store are freed. No callback runs. Without leader_resign
 * the lease expires by itself. NULL is allowed. */
void leader_free(Leader *leader);
DEFINE_AUTO(Leader, leader_free)

bool leader_is_elected(const Leader *leader);
/* The comparison for every transaction of a controller, from the last election. Valid from
 * `elected` until leader_free; it no longer holds once another server leads. */
const StoreCompare *leader_fence(const Leader *leader);
/* Sets the error of a transaction whose fence does not hold: ERROR_CONFLICT. Always returns
 * false. */
bool leader_fenced_out(Error *err);

/* --- Record ---------------------------------------------------------------------------------- */

/* "eden.leader/1" under leader/<role>. */
typedef struct LeaderRecord {
    char server[NODE_NAME_MAX + 1];
    int64_t since_ms;
    Value unknown; /* fields that a newer server wrote */
} LeaderRecord;

/* The current leader according to the state. Returns false if there is none. */
bool leader_find(Arena *arena, const State *state, Str prefix, LeaderRecord *out);
