/* What the files of the loop share; nobody else's.
 *
 * The real and the virtual loop have the timers and the tasks in common and differ in who turns
 * them: libuv, with one timer, one idle and one async handle, or loop_virtual.c. */
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

/* When a timer is due stands here again: looking for the next one touches no timer. */
typedef struct TimerEntry {
    int64_t due_ms;
    uint64_t order;
    LoopTimer *timer;
} TimerEntry;

struct Loop {
    bool is_virtual;
    pthread_t thread;
    atomic_bool stopping;

    /* A heap by due_ms and order; timers[i].timer->place is i + 1. */
    TimerEntry *timers;
    uint32_t timer_count, timer_cap;
    uint64_t timer_order; /* of the next one that is started */

    LoopQueue deferred;
    LoopQueue running;     /* those of this turn that are still to come */
    LoopQueue posted;      /* with the mutex held, as is the queue of every posted task */
    LoopQueue posted_runs; /* the same */
    pthread_mutex_t mutex;

    uv_loop_t uv;
    uv_timer_t uv_timer;
    int64_t uv_timer_due_ms; /* INT64_MAX: not started */
    uv_idle_t uv_idle;       /* started while there are deferred tasks: keeps libuv from waiting */
    uv_async_t uv_async;
    uint64_t random[LOOP_RANDOM_WORDS];
    uint32_t random_left;

    int64_t virtual_ms;
    int64_t virtual_wall_ms; /* what the wall is ahead of virtual_ms */
    uint64_t virtual_random;
};

/* When the next timer is due; INT64_MAX: there is none. */
int64_t loop_timers_due_ms(const Loop *loop);
/* Runs those that are due; those that are started meanwhile wait for the next call. True when
 * there was one. */
bool loop_timers_run(Loop *loop, int64_t now_ms);
/* Told by the timers: the first one is now due earlier than any was before. */
void loop_timers_earlier(Loop *loop);

/* Told by the tasks: there is a deferred one again. */
void loop_tasks_wait(Loop *loop);
/* Run what was there when called. True when something was. */
bool loop_run_deferred(Loop *loop);
bool loop_run_posted(Loop *loop);

/* Only the loop's own thread may come here. */
void loop_check_thread(const Loop *loop);
