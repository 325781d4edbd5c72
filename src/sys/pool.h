/* Threads for work that blocks.
 *
 * The owner submits tasks and takes finished ones back; it alone touches them outside of their
 * function. Workers have all signals blocked: those are the owner's. */
#pragma once

#include <stdint.h>

#include "base/own.h"

typedef struct Pool Pool;
typedef void (*PoolFunction)(void *task);

/* At most `workers` threads, started when needed. With none, submitting runs the task at once, in
 * the owner's thread. */
Pool *pool_new(uint32_t workers);
void pool_free(Pool *pool); /* waits for what still runs; NULL is fine */
DEFINE_AUTO(Pool, pool_free)

void pool_submit(Pool *pool, PoolFunction function, void *task);
/* A finished task. NULL when none is there after `timeout_ms` (negative: no limit), or when
 * `watched` (a descriptor; negative: none) can be read. */
void *pool_wait(Pool *pool, int64_t timeout_ms, int watched);
