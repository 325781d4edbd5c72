/* A thread that sleeps until it is woken. What there is to do is for its owner to keep. */
#pragma once

#include <stdint.h>

#include "base/own.h"

typedef struct Worker Worker;

/* `work` is called on the thread, once after any number of wakes, and again after those that come
 * meanwhile. The thread has all signals blocked. */
Worker *worker_new(void (*work)(void *context), void *context);
/* Waits until `work` has returned; it is not called for wakes of which it has not heard. NULL is
 * fine. */
void worker_free(Worker *worker);
DEFINE_AUTO(Worker, worker_free)

/* From any thread. */
void worker_wake(Worker *worker);
/* From within `work`, which must look for work afterwards: sleeps until the next wake, but no longer
 * than that. Earlier wakes are forgotten. */
void worker_rest(Worker *worker, int64_t duration_us);
