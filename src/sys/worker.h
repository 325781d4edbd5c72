/* A thread that sleeps until it is woken. Its owner stores the work to do. */
#pragma once

#include <stdint.h>

#include "base/own.h"

typedef struct Worker Worker;

/* Calls `work` on the thread, once after any number of wakeups, and again after wakeups that arrive
 * in the meantime. The thread has all signals blocked. */
Worker *worker_new(void (*work)(void *context), void *context);
/* Waits until `work` has returned; pending wakeups are dropped. NULL is allowed. */
void worker_free(Worker *worker);
DEFINE_AUTO(Worker, worker_free)

/* Can be called on any thread. */
void worker_wake(Worker *worker);
/* Called by `work`, which must check for work afterwards: sleeps until the next wakeup, for
 * `duration_us` at most. Earlier wakeups are dropped. */
void worker_sleep(Worker *worker, int64_t duration_us);
