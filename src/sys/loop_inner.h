/* Shared by the loop_*.c files; private.
 *
 * Real and virtual loops share timers and tasks and differ in what drives them: libuv, with one
 * timer, one idle and one async handle, or loop_virtual.c. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <uv.h>

#include "sys/loop.h"

enum {
    LOOP_DEFERRED = 1,
    LOOP_POSTED,
    LOOP_RANDOM_WORDS = 32,
};

typedef struct LoopQueue {
    LoopTask *first, *last;
} LoopQueue;

/* The due time is repeated here, so that finding the next timer does not touch the timers
 * themselves. */
typedef struct TimerEntry {
    int64_t due_ms;
    uint64_t order;
    LoopTimer *timer;
} TimerEntry;

struct Loop {
    bool is_virtual;
    pthread_t thread;
    atomic_bool stopping;

    /* A heap ordered by due_ms and order; timers[i].timer->heap_index is i + 1. */
    TimerEntry *timers;
    uint32_t timer_count, timer_cap;
    uint64_t timer_order; /* for the next timer that is started */

    LoopQueue deferred;
    LoopQueue running;     /* the rest of the current iteration */
    LoopQueue posted;      /* protected by the mutex, like the queue field of posted tasks */
    LoopQueue posted_runs; /* same */
    pthread_mutex_t mutex;

    uv_loop_t uv;
    uv_timer_t uv_timer;
    int64_t uv_timer_due_ms; /* INT64_MAX: not started */
    uv_idle_t uv_idle;       /* active while there are deferred tasks: keeps libuv from blocking */
    uv_async_t uv_async;
    uint64_t random[LOOP_RANDOM_WORDS];
    uint32_t random_left;

    int64_t virtual_ms;
    int64_t virtual_wall_ms; /* wall clock minus virtual_ms */
    uint64_t virtual_random;
};

/* When the next timer is due; INT64_MAX: no timer. */
int64_t loop_timers_due_ms(const Loop *loop);
/* Runs the timers that are due; those started in the meantime wait for the next call. True if there
 * was one. */
bool loop_timers_run(Loop *loop, int64_t now_ms);
/* Called when the earliest due time has become earlier. */
void loop_timers_earlier(Loop *loop);

/* Called when the queue of deferred tasks becomes non-empty. */
void loop_tasks_wait(Loop *loop);
/* Run the tasks that are queued at the time of the call. True if there was one. */
bool loop_run_deferred(Loop *loop);
bool loop_run_posted(Loop *loop);

/* Aborts on any thread but the loop's. */
void loop_check_thread(const Loop *loop);
