/* Results of claims that could not be written yet because the store had no space:
 * retried, so that a repeated request is not considered in progress. Loop thread. */
#pragma once

#include "cluster/idempotency.h"

typedef struct IdempotencyDebts IdempotencyDebts;

enum {
    IDEMPOTENCY_DEBTS_MAX = 2000,
    IDEMPOTENCY_DEBTS_BYTES = 16 << 20, /* of their answers */
    IDEMPOTENCY_DEBTS_MS = 1000,        /* between two tries */
};

/* `at` is copied, its prefix too. */
IdempotencyDebts *idempotency_debts_new(const ClusterStore *at);
/* Before the store is closed. What is not written stays so. NULL is allowed. */
void idempotency_debts_free(IdempotencyDebts *debts);
DEFINE_AUTO(IdempotencyDebts, idempotency_debts_free)

/* The end of a claim, as idempotency_finish has it, or, with `answer` NULL, idempotency_forget; copied. It
 * is tried at once. One that there is no place for is dropped: its claim runs out. */
void idempotency_debts_add(IdempotencyDebts *debts, const IdempotentRequest *request,
                           const IdempotencyAnswer *answer, bool holds_secret);
uint32_t idempotency_debts_count(const IdempotencyDebts *debts);
