/* Encodes store requests and decodes responses on the client's side. */
#include "rpc/eden.pb-c.h"
#include "rpc/wire.h"
#include "service/store_message.h"

void lease_grant_encode(const StoreLease *lease, Buf *out)
{
    Eden__V1__LeaseGrantRequest wire = EDEN__V1__LEASE_GRANT_REQUEST__INIT;
    wire.ttl_s = lease->ttl_s;
    wire.id = lease->id;
    wire_pack(&wire.base, out);
}

void lease_request_encode(int64_t id, Buf *out)
{
    Eden__V1__LeaseRequest wire = EDEN__V1__LEASE_REQUEST__INIT;
    wire.id = id;
    wire_pack(&wire.base, out);
}

void watch_request_encode(const StoreWatchSpec *spec, Buf *out)
{
    Eden__V1__WatchRequest wire = EDEN__V1__WATCH_REQUEST__INIT;
    wire.key = wire_data(spec->key);
    wire.end = wire_data(spec->end);
    wire.from = spec->from;
    wire.previous = spec->previous;
    wire_pack(&wire.base, out);
}

void compact_request_encode(int64_t revision, Buf *out)
{
    Eden__V1__CompactRequest wire = EDEN__V1__COMPACT_REQUEST__INIT;
    wire.revision = revision;
    wire_pack(&wire.base, out);
}

static StoreKv kv_in(const Eden__V1__KeyValue *wire)
{
    return (StoreKv){ .key = wire_bytes(wire->key),
                      .value = wire_bytes(wire->value),
                      .create_revision = wire->create_revision,
                      .mod_revision = wire->mod_revision,
                      .version = wire->version,
                      .lease = wire->lease };
}

bool txn_reply_decode(Arena *arena, Str bytes, StoreReply *out, Error *err)
{
    const Eden__V1__TxnReply *wire = (const Eden__V1__TxnReply *)wire_unpack(
        arena, &eden__v1__txn_reply__descriptor, bytes, err);
    if (wire == NULL) {
        return false;
    }
    StoreOpReply *ops = ARENA_ARRAY(arena, StoreOpReply, wire->n_replies);
    for (size_t i = 0; i < wire->n_replies; i++) {
        const Eden__V1__OperationReply *item = wire->replies[i];
        StoreKv *kvs = ARENA_ARRAY(arena, StoreKv, item->n_kvs);
        for (size_t k = 0; k < item->n_kvs; k++) {
            kvs[k] = kv_in(item->kvs[k]);
        }
        ops[i] = (StoreOpReply){
            .kvs = kvs, .kv_count = (uint32_t)item->n_kvs, .count = item->count, .more = item->more
        };
    }
    *out = (StoreReply){ wire->revision, wire->succeeded, ops, (uint32_t)wire->n_replies };
    return true;
}

bool lease_reply_decode(Arena *arena, Str bytes, StoreLease *out, Error *err)
{
    const Eden__V1__LeaseReply *wire = (const Eden__V1__LeaseReply *)wire_unpack(
        arena, &eden__v1__lease_reply__descriptor, bytes, err);
    if (wire == NULL) {
        return false;
    }
    *out = (StoreLease){ .id = wire->id,
                         .ttl_s = wire->ttl_s,
                         .remaining_s = wire->remaining_s,
                         .revision = wire->revision };
    return true;
}

bool lease_list_reply_decode(Arena *arena, Str bytes, const int64_t **ids, uint32_t *count,
                             Error *err)
{
    const Eden__V1__LeaseListReply *wire = (const Eden__V1__LeaseListReply *)wire_unpack(
        arena, &eden__v1__lease_list_reply__descriptor, bytes, err);
    if (wire == NULL) {
        return false;
    }
    *ids = wire->ids;
    *count = (uint32_t)wire->n_ids;
    return true;
}

bool watch_reply_decode(Arena *arena, Str bytes, StoreBatch *out, Error *err)
{
    const Eden__V1__WatchReply *wire = (const Eden__V1__WatchReply *)wire_unpack(
        arena, &eden__v1__watch_reply__descriptor, bytes, err);
    if (wire == NULL) {
        return false;
    }
    StoreEvent *events = ARENA_ARRAY(arena, StoreEvent, wire->n_events);
    for (size_t i = 0; i < wire->n_events; i++) {
        const Eden__V1__Event *item = wire->events[i];
        if (item->kv == NULL) {
            return error_set(err, ERROR_INVALID, "an event without a key");
        }
        events[i] = (StoreEvent){ .deleted = item->deleted,
                                  .kv = kv_in(item->kv),
                                  .has_previous = item->previous != NULL };
        if (item->previous != NULL) {
            events[i].previous = kv_in(item->previous);
        }
    }
    *out = (StoreBatch){ .events = events,
                         .count = (uint32_t)wire->n_events,
                         .revision = wire->revision,
                         .resync = wire->resync,
                         .compacted = wire->compacted };
    return true;
}

bool status_reply_decode(Arena *arena, Str bytes, StoreStatus *out, Error *err)
{
    const Eden__V1__StatusReply *wire = (const Eden__V1__StatusReply *)wire_unpack(
        arena, &eden__v1__status_reply__descriptor, bytes, err);
    if (wire == NULL) {
        return false;
    }
    *out = (StoreStatus){ .revision = wire->revision,
                          .compacted = wire->compacted,
                          .bytes = wire->bytes,
                          .pending = wire->pending,
                          .watches = wire->watches,
                          .watches_behind = wire->watches_behind,
                          .leases = wire->leases,
                          .writable = wire->writable,
                          .commits = wire->commits,
                          .writes = wire->writes };
    Str reason = str_slice(str_from_c(wire->reason), 0, sizeof out->reason - 1);
    memcpy(out->reason, reason.data, reason.len);
    return true;
}
