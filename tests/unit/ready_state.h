/* A state of the cluster that has read its store, for tests on top of it. */
#pragma once

#include "base/bug.h"
#include "membership/roster.h"

static inline void ready_state_ignore(void *context)
{
}

static inline void ready_state_stale(void *context, const Error *err)
{
    if (context != NULL) {
        ++*(uint32_t *)context;
    }
}

static inline bool ready_state_keeps(Str kind)
{
    return true;
}

/* On the test's own loop, which runs until it is ready. */
static inline State *new_state(const ClusterStore *cluster_store, uint32_t *stale)
{
    StateEvents events = { .ready = ready_state_ignore,
                           .stale = ready_state_stale,
                           .current = ready_state_ignore,
                           .context = stale,
                           .stores_values = ready_state_keeps };
    return state_new(cluster_store, &events);
}

/* `stale` counts how often it became stale; may be NULL. */
static inline State *ready_state(const ClusterStore *cluster_store, uint32_t *stale)
{
    State *state = new_state(cluster_store, stale);
    for (int turn = 0; turn < 1000 && !state_age(state).is_ready; turn++) {
        loop_run_virtual_until(cluster_store->loop, loop_now_ms(cluster_store->loop) + 1);
    }
    BUG_IF(!state_age(state).is_ready);
    return state;
}

/* State and roster of a store with a real or virtual loop; both are complete when the state is
 * ready. */
static inline void follow_store(ClusterStore *cluster_store)
{
    cluster_store->state = new_state(cluster_store, NULL);
    cluster_store->roster = roster_new(cluster_store->state, cluster_store->prefix,
                                       &(RosterEvents){ .changed = ready_state_ignore });
}

/* Before the store is closed, and after it. */
static inline void follow_stop(ClusterStore *cluster_store)
{
    state_stop(cluster_store->state);
}

static inline void follow_free(ClusterStore *cluster_store)
{
    roster_free(TAKE(cluster_store->roster));
    state_free(TAKE(cluster_store->state));
}
