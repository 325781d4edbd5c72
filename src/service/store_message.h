/* Requests to the store and its answers, on the wire. Pure.
 *
 * Reading checks the form: kinds that exist, numbers of parts within the store's limits before
 * memory is taken for them. What a request means, the store itself checks. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "store/store.h"

/* What they point to is in `arena`. Fail with ERROR_INVALID or ERROR_LIMIT. */
MUST_CHECK bool txn_request_decode(Arena *arena, Str bytes, StoreTxn *out, Error *err);
void txn_request_encode(const StoreTxn *txn, Buf *out);

/* Of a grant, `ttl_s` and `id` are set. */
MUST_CHECK bool lease_grant_decode(Arena *arena, Str bytes, StoreLease *out, Error *err);
MUST_CHECK bool lease_request_decode(Arena *arena, Str bytes, int64_t *id, Error *err);
/* key, end, from and previous are set. */
MUST_CHECK bool watch_request_decode(Arena *arena, Str bytes, StoreWatchSpec *out, Error *err);
MUST_CHECK bool compact_request_decode(Arena *arena, Str bytes, int64_t *revision, Error *err);
/* A request without fields; those of others are passed over. */
MUST_CHECK bool empty_request_decode(Arena *arena, Str bytes, Error *err);

/* --- The same for clients --------------------------------------------------------------------- */

void lease_grant_encode(const StoreLease *wish, Buf *out);
void lease_request_encode(int64_t id, Buf *out);
void watch_request_encode(const StoreWatchSpec *spec, Buf *out);
void compact_request_encode(int64_t revision, Buf *out);

/* `kind` of the parts is not told: they come in the order of the operations. */
MUST_CHECK bool txn_reply_decode(Arena *arena, Str bytes, StoreReply *out, Error *err);
MUST_CHECK bool lease_reply_decode(Arena *arena, Str bytes, StoreLease *out, Error *err);
MUST_CHECK bool lease_list_reply_decode(Arena *arena, Str bytes, const int64_t **ids,
                                        uint32_t *count, Error *err);
MUST_CHECK bool watch_reply_decode(Arena *arena, Str bytes, StoreBatch *out, Error *err);
MUST_CHECK bool status_reply_decode(Arena *arena, Str bytes, StoreStatus *out, Error *err);

/* --- Answers ---------------------------------------------------------------------------------- */

void txn_reply_encode(const StoreReply *reply, Buf *out);
void lease_reply_encode(const StoreLease *lease, Buf *out);
void lease_list_reply_encode(const int64_t *ids, uint32_t count, Buf *out);
void watch_reply_encode(const StoreBatch *batch, Buf *out);
void compact_reply_encode(const StoreReply *reply, Buf *out);
void status_reply_encode(const StoreStatus *status, int64_t revision, Buf *out);
