/* Requests as values: validates them, checks the limits, and copies them. Pure. */
#pragma once

#include "store/store.h"

/* Fails with ERROR_INVALID or ERROR_LIMIT. `*bytes` is how large it is. */
MUST_CHECK bool request_check_txn(const StoreTxn *txn, size_t *bytes, Error *err);
MUST_CHECK bool request_check_range(Str key, Str end, Error *err);
/* All that it points to as well. */
StoreTxn request_copy_txn(Arena *arena, const StoreTxn *txn);
/* Whether a branch puts or deletes. */
bool request_writes(const StoreTxn *txn);

/* Whether `key` is in the range, as `end` is of a StoreOp. */
bool range_has(Str key, Str end, Str candidate);
