/* A state of the cluster that has read its store, for tests of what stands on it. */
#pragma once

#include "base/bug.h"
#include "cluster/state.h"

static inline void ready_state_ignore(void *context)
{
}

static inline void ready_state_stale(void *context, const Error *err)
{
    if (context != NULL) {
        ++*(uint32_t *)context;
    }
}

/* `stale` counts how often it became so; may be NULL. */
static inline State *ready_state(const ClusterStore *at, uint32_t *stale)
{
    StateEvents events = { .ready = ready_state_ignore,
                           .stale = ready_state_stale,
                           .current = ready_state_ignore,
                           .context = stale };
    State *state = state_new(at, &events);
    for (int turn = 0; turn < 1000 && !state_age(state).is_ready; turn++) {
        loop_run_virtual_until(at->loop, loop_now_ms(at->loop) + 1);
    }
    BUG_IF(!state_age(state).is_ready);
    return state;
}
