/* Threads for blocking work.
 *
 * The owner submits tasks and collects the finished ones; only the owner accesses them outside of
 * their function. Workers have all signals blocked, so that the owner receives them. */
#pragma once

#include <stdint.h>

#include "base/own.h"

typedef struct Pool Pool;
typedef void (*PoolFunction)(void *task);

/* At most `workers` threads, started on demand. With 0, pool_submit runs the task immediately, on
 * the owner's thread. */
Pool *pool_new(uint32_t workers);
void pool_free(Pool *pool); /* waits for running tasks; NULL is allowed */
DEFINE_AUTO(Pool, pool_free)

void pool_submit(Pool *pool, PoolFunction function, void *task);
/* Returns a finished task, or NULL after `timeout_ms` (negative: no limit) or when the descriptor
 * `watched` (negative: none) becomes readable. */
void *pool_wait(Pool *pool, int64_t timeout_ms, int watched);
