/* Results of claims that could not be written yet because the store had no space. They are retried,
 * so that a repeated request is not considered in progress. Loop thread only. */
#pragma once

#include "cluster/idempotency.h"

typedef struct IdempotencyDebts IdempotencyDebts;

enum {
    IDEMPOTENCY_DEBTS_MAX = 2000,
    IDEMPOTENCY_DEBTS_BYTES = 16 << 20, /* maximum total size of the responses */
    IDEMPOTENCY_DEBTS_MS = 1000,        /* delay between two attempts */
};

/* `cluster_store` is copied, including its prefix. */
IdempotencyDebts *idempotency_debts_new(const ClusterStore *cluster_store);
/* Must be called before the store is closed. Unwritten results are dropped. NULL is allowed. */
void idempotency_debts_free(IdempotencyDebts *debts);
DEFINE_AUTO(IdempotencyDebts, idempotency_debts_free)

/* Adds the result of a claim, which is copied: of idempotency_finish or, if `answer` is NULL, of
 * idempotency_forget. The first attempt is immediate. Beyond the limits the result is dropped, and
 * its claim expires. */
void idempotency_debts_add(IdempotencyDebts *debts, const IdempotentRequest *request,
                           const IdempotencyAnswer *answer, bool holds_secret);
uint32_t idempotency_debts_count(const IdempotencyDebts *debts);
