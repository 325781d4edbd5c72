/* The event loop of a daemon: time, random numbers, timers and tasks, all on one thread.
 *
 * Which code runs on which thread: everything that outlives a function call lives on a loop and
 * runs on its thread, without locks: connections, sessions, state machines, handlers of requests.
 * Blocking work runs on other threads (sys/pool.h, sys/worker.h, sys/process_task.h), which get
 * copies and hand results back with loop_post. Headers say "Loop thread" where it matters.
 *
 * Code on a loop asks the loop for the time, never the clock. So the same code runs on a real loop
 * (libuv) and on a virtual one, where time jumps to the next timer and random numbers come from a
 * seed: there a run can be repeated exactly.
 *
 * Timers and tasks are embedded in their owner and need no allocation. The owner stops them before
 * its memory is freed; a stopped timer or task is not called anymore.
 *
 * All functions must be called on the loop's thread, the one that creates or runs it; only
 * loop_post and loop_stop may be called on any thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/own.h"

typedef struct Loop Loop;
typedef void LoopRun(void *context);

/* A real loop. Aborts if the kernel has no file descriptors left. */
Loop *loop_new(void);
/* A virtual loop, at 0 ms. */
Loop *loop_new_virtual(uint64_t seed);
/* NULL is allowed. The loop must be unused: timers and tasks are stopped, and handles on loop_uv()
 * are closing; their close callbacks are still called. */
void loop_free(Loop *loop);
DEFINE_AUTO(Loop, loop_free)

/* Runs until loop_stop, and can be run again; a virtual loop also returns when nothing is left to
 * do. */
void loop_run(Loop *loop);
/* The run ends with this iteration or the next; if the loop is not running, the next run ends at
 * once. */
void loop_stop(Loop *loop);

/* Monotonic, for durations and deadlines; unrelated to the date. */
int64_t loop_now_ms(const Loop *loop);
/* Milliseconds since 1970, for records and messages; it may jump. */
int64_t loop_wall_ms(const Loop *loop);
/* On a real loop from the kernel, suitable for unguessable names. */
uint64_t loop_random(Loop *loop);

/* --- Timers ---------------------------------------------------------------------------------- */

typedef struct LoopTimer {
    Loop *loop;
    LoopRun *run;
    void *context;
    int64_t due_ms;
    uint64_t order;      /* timers due at the same time run in the order they were started */
    uint32_t heap_index; /* index in the loop's heap, plus 1; 0: not started */
} LoopTimer;

void loop_timer_init(LoopTimer *timer, Loop *loop, LoopRun *run, void *context);
/* Runs once, after the delay and never within this call, even for delays of 0 or less. Restarts a
 * running timer. */
void loop_timer_start(LoopTimer *timer, int64_t delay_ms);
void loop_timer_stop(LoopTimer *timer); /* does nothing if it is not started */

static inline bool loop_timer_started(const LoopTimer *timer)
{
    return timer->heap_index != 0;
}

/* --- Tasks ----------------------------------------------------------------------------------- */

typedef struct LoopTask LoopTask;
struct LoopTask {
    LoopRun *run;
    void *context;
    LoopTask *next, *previous;
    uint8_t queue; /* the queue it is in; 0: none */
};

void loop_task_init(LoopTask *task, LoopRun *run, void *context);
/* Runs in the next iteration, in the order of calls. A task that is queued already runs once. */
void loop_defer(Loop *loop, LoopTask *task);
/* The same from any thread; writes before the call are visible to `run`. A task is either deferred
 * or posted, never both at the same time. */
void loop_post(Loop *loop, LoopTask *task);
/* Removes it from its queue; does nothing if it is not queued. No other thread may be posting
 * it. */
void loop_task_stop(Loop *loop, LoopTask *task);

/* --- For net only ---------------------------------------------------------------------------- */

/* The uv_loop_t; NULL for a virtual loop. */
void *loop_uv(Loop *loop);

/* --- Virtual loops --------------------------------------------------------------------------- */

bool loop_is_virtual(const Loop *loop);
/* Runs everything due up to that time, and sets the time to it, unless loop_stop ends the run.
 * Aborts if the same time never ends. */
void loop_run_virtual_until(Loop *loop, int64_t now_ms);
/* Changes the wall clock, but not the monotonic time. */
void loop_virtual_set_wall(Loop *loop, int64_t wall_ms);
