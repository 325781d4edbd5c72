/* Store requests and responses on the wire. Pure.
 *
 * Decoding validates the form: known kinds, and counts within the store's limits before memory is
 * allocated. The store itself validates the meaning of a request. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "store/store.h"

/* Results are allocated in `arena`. They fail with ERROR_INVALID or ERROR_LIMIT. */
MUST_CHECK bool txn_request_decode(Arena *arena, Str bytes, StoreTxn *out, Error *err);
void txn_request_encode(const StoreTxn *txn, Buf *out);

/* Sets `ttl_s` and `id` of a grant. */
MUST_CHECK bool lease_grant_decode(Arena *arena, Str bytes, StoreLease *out, Error *err);
MUST_CHECK bool lease_request_decode(Arena *arena, Str bytes, int64_t *id, Error *err);
/* Sets key, end, from and previous. */
MUST_CHECK bool watch_request_decode(Arena *arena, Str bytes, StoreWatchSpec *out, Error *err);
MUST_CHECK bool compact_request_decode(Arena *arena, Str bytes, int64_t *revision, Error *err);
/* A request without fields; unknown fields are ignored. */
MUST_CHECK bool empty_request_decode(Arena *arena, Str bytes, Error *err);

/* --- For clients ----------------------------------------------------------------------------- */

void lease_grant_encode(const StoreLease *lease, Buf *out);
void lease_request_encode(int64_t id, Buf *out);
void watch_request_encode(const StoreWatchSpec *spec, Buf *out);
void compact_request_encode(int64_t revision, Buf *out);

/* `kind` of the parts is not transmitted: they are in the order of the operations. */
MUST_CHECK bool txn_reply_decode(Arena *arena, Str bytes, StoreReply *out, Error *err);
MUST_CHECK bool lease_reply_decode(Arena *arena, Str bytes, StoreLease *out, Error *err);
MUST_CHECK bool lease_list_reply_decode(Arena *arena, Str bytes, const int64_t **ids,
                                        uint32_t *count, Error *err);
MUST_CHECK bool watch_reply_decode(Arena *arena, Str bytes, StoreBatch *out, Error *err);
MUST_CHECK bool status_reply_decode(Arena *arena, Str bytes, StoreStatus *out, Error *err);

/* --- Responses ------------------------------------------------------------------------------- */

void txn_reply_encode(const StoreReply *reply, Buf *out);
void lease_reply_encode(const StoreLease *lease, Buf *out);
void lease_list_reply_encode(const int64_t *ids, uint32_t count, Buf *out);
void watch_reply_encode(const StoreBatch *batch, Buf *out);
void compact_reply_encode(const StoreReply *reply, Buf *out);
void status_reply_encode(const StoreStatus *status, int64_t revision, Buf *out);
