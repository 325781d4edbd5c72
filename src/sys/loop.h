/* The loop of a daemon: time, chance, timers and tasks, all on one thread.
 *
 * Whatever lives longer than a function call lives on a loop, and asks it, never the clock, what
 * time it is. So the same code runs on a real loop (libuv) and on a virtual one, where time jumps
 * to the next timer and chance follows from a seed: there a run is repeated exactly.
 *
 * Timers and tasks are embedded in their owner and cost nothing else. An owner stops what it has
 * started before its memory goes; stopped means that `run` is not called any more.
 *
 * All functions are for the loop's thread, the one that made it or runs it; loop_post and
 * loop_stop are for any. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/own.h"

typedef struct Loop Loop;
typedef void LoopRun(void *context);

/* A real one. That the kernel has no descriptor left for it ends the program. */
Loop *loop_new(void);
/* A virtual one, at 0 ms. */
Loop *loop_new_virtual(uint64_t seed);
/* NULL is fine. Nobody may be on it any more: timers and tasks are stopped, and handles on
 * loop_uv() are closing, whose callbacks are still called. */
void loop_free(Loop *loop);
DEFINE_AUTO(Loop, loop_free)

/* Runs until loop_stop, and can run again then; a virtual one also ends when nothing is left to
 * do. */
void loop_run(Loop *loop);
/* The run ends with this turn or the next; while none is under way, the one to come ends at
 * once. */
void loop_stop(Loop *loop);

/* Monotonic, for durations and deadlines; it says nothing about the date. */
int64_t loop_now_ms(const Loop *loop);
/* Since 1970, for records and people; it may jump. */
int64_t loop_wall_ms(const Loop *loop);
/* On a real loop from the kernel, good enough for names nobody shall guess. */
uint64_t loop_random(Loop *loop);

/* --- Timers ---------------------------------------------------------------------------------- */

typedef struct LoopTimer {
    Loop *loop;
    LoopRun *run;
    void *context;
    int64_t due_ms;
    uint64_t order; /* of equal moments the one started first comes first */
    uint32_t place; /* among the loop's timers, from 1 on; 0: not started */
} LoopTimer;

void loop_timer_init(LoopTimer *timer, Loop *loop, LoopRun *run, void *context);
/* Runs once, not before the delay is over and never within this call, also for 0 and less.
 * Replaces an earlier start. */
void loop_timer_start(LoopTimer *timer, int64_t delay_ms);
void loop_timer_stop(LoopTimer *timer); /* fine when not started */

static inline bool loop_timer_started(const LoopTimer *timer)
{
    return timer->place != 0;
}

/* --- Tasks ----------------------------------------------------------------------------------- */

typedef struct LoopTask LoopTask;
struct LoopTask {
    LoopRun *run;
    void *context;
    LoopTask *next, *previous;
    uint8_t queue; /* the one it waits in; 0: none */
};

void loop_task_init(LoopTask *task, LoopRun *run, void *context);
/* Runs in the next turn of the loop, in the order of calls. One that waits already runs once. */
void loop_defer(Loop *loop, LoopTask *task);
/* The same from any thread; what the caller has written before is seen by `run`. A task is either
 * deferred or posted, never both at a time. */
void loop_post(Loop *loop, LoopTask *task);
/* It is not going to run; fine when it waits nowhere. No other thread may be posting it. */
void loop_task_stop(Loop *loop, LoopTask *task);

/* --- For net alone --------------------------------------------------------------------------- */

/* The uv_loop_t; NULL when virtual. */
void *loop_uv(Loop *loop);

/* --- Virtual loops --------------------------------------------------------------------------- */

bool loop_is_virtual(const Loop *loop);
/* Does all there is to do up to that moment, which it is afterwards, unless loop_stop ended it. A
 * loop that never gets past one moment is a bug of those on it. */
void loop_run_virtual_until(Loop *loop, int64_t now_ms);
/* The date changes, monotonic time does not. */
void loop_virtual_set_wall(Loop *loop, int64_t wall_ms);
