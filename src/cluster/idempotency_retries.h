/* Results of claims that have not been written yet because the store had no space. They are
 * retried, so that a repeated request is not considered in progress. Loop thread only. */
#pragma once

#include "cluster/idempotency.h"

typedef struct IdempotencyRetries IdempotencyRetries;

enum {
    IDEMPOTENCY_RETRIES_MAX = 2000,
    IDEMPOTENCY_RETRIES_BYTES = 16 << 20, /* maximum total size of the responses */
    IDEMPOTENCY_RETRIES_MS = 1000,        /* delay between two attempts */
};

/* `cluster_store` is copied, including its prefix. */
IdempotencyRetries *idempotency_retries_new(const ClusterStore *cluster_store);
/* Must be called before the store is closed. Unwritten results are dropped. NULL is allowed. */
void idempotency_retries_free(IdempotencyRetries *retries);
DEFINE_AUTO(IdempotencyRetries, idempotency_retries_free)

/* Adds the result of a claim, which is copied: of idempotency_finish or, if `response` is NULL, of
 * idempotency_forget. The first attempt is immediate. If the limits are exceeded, the result is
 * dropped and its claim expires. */
void idempotency_retries_add(IdempotencyRetries *retries, const IdempotentRequest *request,
                             const IdempotentResponse *response, bool holds_secret);
uint32_t idempotency_retries_count(const IdempotencyRetries *retries);
