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
static inline State *new_state(const ClusterStore *at, uint32_t *stale)
{
    StateEvents events = { .ready = ready_state_ignore,
                           .stale = ready_state_stale,
                           .current = ready_state_ignore,
                           .context = stale,
                           .stores_values = ready_state_keeps };
    return state_new(at, &events);
}

/* `stale` counts how often it became stale; may be NULL. */
static inline State *ready_state(const ClusterStore *at, uint32_t *stale)
{
    State *state = new_state(at, stale);
    for (int turn = 0; turn < 1000 && !state_age(state).is_ready; turn++) {
        loop_run_virtual_until(at->loop, loop_now_ms(at->loop) + 1);
    }
    BUG_IF(!state_age(state).is_ready);
    return state;
}

/* State and roster of a store with a real or virtual loop; both are complete when the state is
 * ready. */
static inline void follow_store(ClusterStore *at)
{
    at->state = new_state(at, NULL);
    at->roster =
        roster_new(at->state, at->prefix, &(RosterEvents){ .changed = ready_state_ignore });
}

/* Before the store is closed, and after it. */
static inline void follow_stop(ClusterStore *at)
{
    state_stop(at->state);
}

static inline void follow_free(ClusterStore *at)
{
    roster_free(TAKE(at->roster));
    state_free(TAKE(at->state));
}
