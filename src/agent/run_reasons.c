#include "agent/run_reasons.h"

#include <stdio.h>

#include "base/utc.h"
#include "run/lock.h"

void describe_running_step(const Directory *agent, const LocalRun *run, char *out, size_t size)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str text, step = STR_EMPTY;
    Error ignored;
    if (local_run_events(agent, run, &arena, &text, &ignored)) {
        step = run_events_running(text, &arena);
    }
    if (step.len > 0) {
        snprintf(out, size, "step '%.*s'", (int)step.len, step.data);
    } else {
        snprintf(out, size, "a running step");
    }
}

Str wait_reason(const WaitReason *why, Arena *arena)
{
    Str holder;
    switch (why->wait) {
    case WAIT_RUN: return arena_format(arena, "waiting for run %s", why->blocking_run);
    case WAIT_LOCK:
        return run_lock_holder(why->state, arena, &holder)
                   ? arena_format(arena, "waiting for %" STR_FMT, STR_ARG(holder))
                   : STR("waiting for another run on this node");
    case WAIT_SITE:
        return why->fetch_error == NULL ? arena_format(arena, "fetching version %s", why->version)
                                        : arena_format(arena, "cannot fetch version %s: %s",
                                                       why->version, why->fetch_error);
    case WAIT_NONE: break;
    }
    return STR("starting");
}

Str stop_reason(const LocalRun *run, const char *step, Arena *arena)
{
    const LocalState *state = &run->state;
    const char *why = run->order.is_canceled ? "canceling" : "over its time limit",
               *what = step[0] != '\0' ? step : "a running step";
    if (state->signals == 1) {
        Str until = utc_text(arena, state->signaled_ms + QUEUE_CANCEL_MS);
        return arena_format(arena,
                            "%s: %s has until %" STR_FMT
                            " to finish; then it gets SIGTERM and is killed 2s later",
                            why, what, STR_ARG(until));
    }
    return arena_format(
        arena,
        "%s: %s was sent SIGTERM and will be killed after 2s; any remaining processes will be "
        "killed at %" STR_FMT,
        why, what, STR_ARG(utc_text(arena, state->signaled_ms + QUEUE_STOP_MS)));
}
