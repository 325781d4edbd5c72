/* Encodes and decodes store requests on the server's side; store_message_client.c is the other
 * side. */
#include "service/store_message.h"

#include "rpc/eden.pb-c.h"
#include "rpc/wire.h"

/* --- Decoding -------------------------------------------------------------------------------- */

static bool compare_in(const Eden__V1__Compare *wire, StoreCompare *out, Error *err)
{
    if ((unsigned)wire->target > STORE_VALUE || (unsigned)wire->relation > STORE_GREATER) {
        return error_set(err, ERROR_INVALID, "a comparison of unknown kind");
    }
    *out = (StoreCompare){ .target = (StoreTarget)wire->target,
                           .relation = (StoreRelation)wire->relation,
                           .key = wire_bytes(wire->key),
                           .number = wire->number,
                           .value = wire_bytes(wire->value) };
    return true;
}

static bool op_in(const Eden__V1__Operation *wire, StoreOp *out, Error *err)
{
    switch (wire->of_case) {
    case EDEN__V1__OPERATION__OF_RANGE:
        *out = (StoreOp){ .kind = STORE_RANGE,
                          .key = wire_bytes(wire->range->key),
                          .end = wire_bytes(wire->range->end),
                          .revision = wire->range->revision,
                          .limit = wire->range->limit,
                          .keys_only = wire->range->keys_only,
                          .count_only = wire->range->count_only,
                          .descending = wire->range->descending };
        return true;
    case EDEN__V1__OPERATION__OF_PUT:
        *out = (StoreOp){ .kind = STORE_PUT,
                          .key = wire_bytes(wire->put->key),
                          .value = wire_bytes(wire->put->value),
                          .lease = wire->put->lease,
                          .previous = wire->put->previous };
        return true;
    case EDEN__V1__OPERATION__OF_DELETE:
        *out = (StoreOp){ .kind = STORE_DELETE,
                          .key = wire_bytes(wire->delete_->key),
                          .end = wire_bytes(wire->delete_->end),
                          .previous = wire->delete_->previous };
        return true;
    default: return error_set(err, ERROR_INVALID, "an operation of unknown kind");
    }
}

static bool ops_in(Arena *arena, Eden__V1__Operation **wire, size_t count, const StoreOp **out,
                   uint32_t *out_count, Error *err)
{
    if (count > STORE_OPS_MAX) {
        return error_set(err, ERROR_LIMIT, "more than %d operations", STORE_OPS_MAX);
    }
    StoreOp *ops = ARENA_ARRAY(arena, StoreOp, count);
    for (size_t i = 0; i < count; i++) {
        if (!op_in(wire[i], &ops[i], err)) {
            return false;
        }
    }
    *out = ops;
    *out_count = (uint32_t)count;
    return true;
}

bool txn_request_decode(Arena *arena, Str bytes, StoreTxn *out, Error *err)
{
    const Eden__V1__TxnRequest *wire = (const Eden__V1__TxnRequest *)wire_unpack(
        arena, &eden__v1__txn_request__descriptor, bytes, err);
    if (wire == NULL) {
        return false;
    }
    if (wire->n_compares > STORE_OPS_MAX) {
        return error_set(err, ERROR_LIMIT, "more than %d comparisons", STORE_OPS_MAX);
    }
    StoreCompare *compares = ARENA_ARRAY(arena, StoreCompare, wire->n_compares);
    for (size_t i = 0; i < wire->n_compares; i++) {
        if (!compare_in(wire->compares[i], &compares[i], err)) {
            return false;
        }
    }
    StoreTxn txn = { .compares = compares,
                     .compare_count = (uint32_t)wire->n_compares,
                     .relaxed = wire->relaxed };
    if (!ops_in(arena, wire->success, wire->n_success, &txn.success, &txn.success_count, err) ||
        !ops_in(arena, wire->failure, wire->n_failure, &txn.failure, &txn.failure_count, err)) {
        return false;
    }
    *out = txn;
    return true;
}

bool lease_grant_decode(Arena *arena, Str bytes, StoreLease *out, Error *err)
{
    const Eden__V1__LeaseGrantRequest *wire = (const Eden__V1__LeaseGrantRequest *)wire_unpack(
        arena, &eden__v1__lease_grant_request__descriptor, bytes, err);
    if (wire == NULL) {
        return false;
    }
    *out = (StoreLease){ .id = wire->id, .ttl_s = wire->ttl_s };
    return true;
}

bool lease_request_decode(Arena *arena, Str bytes, int64_t *id, Error *err)
{
    const Eden__V1__LeaseRequest *wire = (const Eden__V1__LeaseRequest *)wire_unpack(
        arena, &eden__v1__lease_request__descriptor, bytes, err);
    if (wire == NULL) {
        return false;
    }
    *id = wire->id;
    return true;
}

bool watch_request_decode(Arena *arena, Str bytes, StoreWatchSpec *out, Error *err)
{
    const Eden__V1__WatchRequest *wire = (const Eden__V1__WatchRequest *)wire_unpack(
        arena, &eden__v1__watch_request__descriptor, bytes, err);
    if (wire == NULL) {
        return false;
    }
    *out = (StoreWatchSpec){ .key = wire_bytes(wire->key),
                             .end = wire_bytes(wire->end),
                             .from = wire->from,
                             .previous = wire->previous };
    return true;
}

bool compact_request_decode(Arena *arena, Str bytes, int64_t *revision, Error *err)
{
    const Eden__V1__CompactRequest *wire = (const Eden__V1__CompactRequest *)wire_unpack(
        arena, &eden__v1__compact_request__descriptor, bytes, err);
    if (wire == NULL) {
        return false;
    }
    *revision = wire->revision;
    return true;
}

bool empty_request_decode(Arena *arena, Str bytes, Error *err)
{
    return wire_unpack(arena, &eden__v1__status_request__descriptor, bytes, err) != NULL;
}

/* --- Encoding -------------------------------------------------------------------------------- */

static Eden__V1__Operation *op_out(Arena *arena, const StoreOp *op)
{
    Eden__V1__Operation *wire = ARENA_NEW(arena, Eden__V1__Operation);
    eden__v1__operation__init(wire);
    switch (op->kind) {
    case STORE_RANGE:
        wire->of_case = EDEN__V1__OPERATION__OF_RANGE;
        wire->range = ARENA_NEW(arena, Eden__V1__Range);
        eden__v1__range__init(wire->range);
        wire->range->key = wire_data(op->key);
        wire->range->end = wire_data(op->end);
        wire->range->revision = op->revision;
        wire->range->limit = op->limit;
        wire->range->keys_only = op->keys_only;
        wire->range->count_only = op->count_only;
        wire->range->descending = op->descending;
        break;
    case STORE_PUT:
        wire->of_case = EDEN__V1__OPERATION__OF_PUT;
        wire->put = ARENA_NEW(arena, Eden__V1__Put);
        eden__v1__put__init(wire->put);
        wire->put->key = wire_data(op->key);
        wire->put->value = wire_data(op->value);
        wire->put->lease = op->lease;
        wire->put->previous = op->previous;
        break;
    case STORE_DELETE:
        wire->of_case = EDEN__V1__OPERATION__OF_DELETE;
        wire->delete_ = ARENA_NEW(arena, Eden__V1__Delete);
        eden__v1__delete__init(wire->delete_);
        wire->delete_->key = wire_data(op->key);
        wire->delete_->end = wire_data(op->end);
        wire->delete_->previous = op->previous;
        break;
    }
    return wire;
}

static Eden__V1__Operation **ops_out(Arena *arena, const StoreOp *ops, uint32_t count)
{
    Eden__V1__Operation **wire = ARENA_ARRAY(arena, Eden__V1__Operation *, count);
    for (uint32_t i = 0; i < count; i++) {
        wire[i] = op_out(arena, &ops[i]);
    }
    return wire;
}

void txn_request_encode(const StoreTxn *txn, Buf *out)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Eden__V1__TxnRequest wire = EDEN__V1__TXN_REQUEST__INIT;
    wire.n_compares = txn->compare_count;
    wire.compares = ARENA_ARRAY(&arena, Eden__V1__Compare *, txn->compare_count);
    for (uint32_t i = 0; i < txn->compare_count; i++) {
        const StoreCompare *compare = &txn->compares[i];
        Eden__V1__Compare *item = ARENA_NEW(&arena, Eden__V1__Compare);
        eden__v1__compare__init(item);
        item->target = (Eden__V1__CompareTarget)compare->target;
        item->relation = (Eden__V1__CompareRelation)compare->relation;
        item->key = wire_data(compare->key);
        item->number = compare->number;
        item->value = wire_data(compare->value);
        wire.compares[i] = item;
    }
    wire.n_success = txn->success_count;
    wire.success = ops_out(&arena, txn->success, txn->success_count);
    wire.n_failure = txn->failure_count;
    wire.failure = ops_out(&arena, txn->failure, txn->failure_count);
    wire.relaxed = txn->relaxed;
    wire_pack(&wire.base, out);
}

static Eden__V1__KeyValue *kv_out(Arena *arena, const StoreKv *kv)
{
    Eden__V1__KeyValue *wire = ARENA_NEW(arena, Eden__V1__KeyValue);
    eden__v1__key_value__init(wire);
    wire->key = wire_data(kv->key);
    wire->value = wire_data(kv->value);
    wire->create_revision = kv->create_revision;
    wire->mod_revision = kv->mod_revision;
    wire->version = kv->version;
    wire->lease = kv->lease;
    return wire;
}

void txn_reply_encode(const StoreReply *reply, Buf *out)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Eden__V1__TxnReply wire = EDEN__V1__TXN_REPLY__INIT;
    wire.revision = reply->revision;
    wire.succeeded = reply->succeeded;
    wire.n_replies = reply->op_count;
    wire.replies = ARENA_ARRAY(&arena, Eden__V1__OperationReply *, reply->op_count);
    for (uint32_t i = 0; i < reply->op_count; i++) {
        const StoreOpReply *op = &reply->ops[i];
        Eden__V1__OperationReply *item = ARENA_NEW(&arena, Eden__V1__OperationReply);
        eden__v1__operation_reply__init(item);
        item->count = op->count;
        item->more = op->more;
        item->n_kvs = op->kv_count;
        item->kvs = ARENA_ARRAY(&arena, Eden__V1__KeyValue *, op->kv_count);
        for (uint32_t k = 0; k < op->kv_count; k++) {
            item->kvs[k] = kv_out(&arena, &op->kvs[k]);
        }
        wire.replies[i] = item;
    }
    wire_pack(&wire.base, out);
}

void lease_reply_encode(const StoreLease *lease, Buf *out)
{
    Eden__V1__LeaseReply wire = EDEN__V1__LEASE_REPLY__INIT;
    wire.id = lease->id;
    wire.ttl_s = lease->ttl_s;
    wire.remaining_s = lease->remaining_s;
    wire.revision = lease->revision;
    wire_pack(&wire.base, out);
}

void lease_list_reply_encode(const int64_t *ids, uint32_t count, Buf *out)
{
    Eden__V1__LeaseListReply wire = EDEN__V1__LEASE_LIST_REPLY__INIT;
    wire.n_ids = count;
    wire.ids = (int64_t *)(uintptr_t)ids; /* protobuf-c only reads it */
    wire_pack(&wire.base, out);
}

void watch_reply_encode(const StoreBatch *batch, Buf *out)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Eden__V1__WatchReply wire = EDEN__V1__WATCH_REPLY__INIT;
    wire.revision = batch->revision;
    wire.resync = batch->resync;
    wire.compacted = batch->compacted;
    wire.n_events = batch->count;
    wire.events = ARENA_ARRAY(&arena, Eden__V1__Event *, batch->count);
    for (uint32_t i = 0; i < batch->count; i++) {
        const StoreEvent *event = &batch->events[i];
        Eden__V1__Event *item = ARENA_NEW(&arena, Eden__V1__Event);
        eden__v1__event__init(item);
        item->deleted = event->deleted;
        item->kv = kv_out(&arena, &event->kv);
        item->previous = event->has_previous ? kv_out(&arena, &event->previous) : NULL;
        wire.events[i] = item;
    }
    wire_pack(&wire.base, out);
}

void compact_reply_encode(const StoreReply *reply, Buf *out)
{
    Eden__V1__CompactReply wire = EDEN__V1__COMPACT_REPLY__INIT;
    wire.revision = reply->revision;
    wire_pack(&wire.base, out);
}

void status_reply_encode(const StoreStatus *status, int64_t revision, Buf *out)
{
    Eden__V1__StatusReply wire = EDEN__V1__STATUS_REPLY__INIT;
    wire.revision = revision;
    wire.compacted = status->compacted;
    wire.bytes = status->bytes;
    wire.pending = status->pending;
    wire.watches = status->watches;
    wire.watches_behind = status->watches_behind;
    wire.leases = status->leases;
    wire.writable = status->writable;
    wire.reason = (char *)(uintptr_t)status->reason;
    wire.commits = status->commits;
    wire.writes = status->writes;
    wire_pack(&wire.base, out);
}
