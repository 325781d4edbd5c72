/* Requests as values: validates them, checks the limits, and copies them. Pure. */
#pragma once

#include "store/store.h"

/* Fails with ERROR_INVALID or ERROR_LIMIT. Sets `*bytes` to the size of the request. */
MUST_CHECK bool request_check_txn(const StoreTxn *txn, size_t *bytes, Error *err);
MUST_CHECK bool request_check_range(Str key, Str end, Error *err);
/* Returns a deep copy. */
StoreTxn request_copy_txn(Arena *arena, const StoreTxn *txn);
/* Whether a branch contains a put or delete. */
bool request_writes(const StoreTxn *txn);

/* Whether the range contains `candidate`; see StoreOp.end. */
bool range_has(Str key, Str end, Str candidate);
