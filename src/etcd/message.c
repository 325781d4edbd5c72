#include "etcd/message.h"

#include <stdlib.h>

#include "etcd/etcd.pb-c.h"
#include "rpc/wire.h"

/* --- Requests -------------------------------------------------------------------------------- */

static void compare_out(const StoreCompare *compare, Etcd__Compare *out)
{
    static const Etcd__Compare__Result results[] = {
        [STORE_EQUAL] = ETCD__COMPARE__RESULT__EQUAL,
        [STORE_NOT_EQUAL] = ETCD__COMPARE__RESULT__NOT_EQUAL,
        [STORE_LESS] = ETCD__COMPARE__RESULT__LESS,
        [STORE_GREATER] = ETCD__COMPARE__RESULT__GREATER,
    };
    etcd__compare__init(out);
    out->result = results[compare->relation];
    out->key = wire_data(compare->key);
    switch (compare->target) {
    case STORE_VERSION:
        out->target = ETCD__COMPARE__TARGET__VERSION;
        out->operand_case = ETCD__COMPARE__OPERAND_VERSION;
        out->version = compare->number;
        break;
    case STORE_CREATE_REVISION:
        out->target = ETCD__COMPARE__TARGET__CREATE;
        out->operand_case = ETCD__COMPARE__OPERAND_CREATE_REVISION;
        out->create_revision = compare->number;
        break;
    case STORE_MOD_REVISION:
        out->target = ETCD__COMPARE__TARGET__MOD;
        out->operand_case = ETCD__COMPARE__OPERAND_MOD_REVISION;
        out->mod_revision = compare->number;
        break;
    case STORE_LEASE:
        out->target = ETCD__COMPARE__TARGET__LEASE;
        out->operand_case = ETCD__COMPARE__OPERAND_LEASE;
        out->lease = compare->number;
        break;
    case STORE_VALUE:
        out->target = ETCD__COMPARE__TARGET__VALUE;
        out->operand_case = ETCD__COMPARE__OPERAND_VALUE;
        out->value = wire_data(compare->value);
        break;
    }
}

static void range_out(Arena *arena, const StoreOp *op, bool serializable, Etcd__RequestOp *out)
{
    Etcd__RangeRequest *range = ARENA_NEW(arena, Etcd__RangeRequest);
    etcd__range_request__init(range);
    range->key = wire_data(op->key);
    range->range_end = wire_data(op->end);
    range->limit = op->limit;
    range->revision = op->revision;
    range->sort_order = op->descending ? ETCD__RANGE_REQUEST__SORT_ORDER__DESCEND
                                       : ETCD__RANGE_REQUEST__SORT_ORDER__NONE;
    range->serializable = serializable;
    range->keys_only = op->keys_only;
    range->count_only = op->count_only;
    out->request_case = ETCD__REQUEST_OP__REQUEST_RANGE;
    out->range = range;
}

static void op_out(Arena *arena, const StoreOp *op, bool serializable, Etcd__RequestOp *out)
{
    etcd__request_op__init(out);
    switch (op->kind) {
    case STORE_RANGE: range_out(arena, op, serializable, out); break;
    case STORE_PUT: {
        Etcd__PutRequest *put = ARENA_NEW(arena, Etcd__PutRequest);
        etcd__put_request__init(put);
        put->key = wire_data(op->key);
        put->value = wire_data(op->value);
        put->lease = op->lease;
        put->prev_kv = op->previous;
        out->request_case = ETCD__REQUEST_OP__REQUEST_PUT;
        out->put = put;
        break;
    }
    case STORE_DELETE: {
        Etcd__DeleteRangeRequest *delete_range = ARENA_NEW(arena, Etcd__DeleteRangeRequest);
        etcd__delete_range_request__init(delete_range);
        delete_range->key = wire_data(op->key);
        delete_range->range_end = wire_data(op->end);
        delete_range->prev_kv = op->previous;
        out->request_case = ETCD__REQUEST_OP__REQUEST_DELETE_RANGE;
        out->delete_range = delete_range;
        break;
    }
    }
}

static Etcd__RequestOp **ops_out(Arena *arena, const StoreOp *ops, uint32_t count,
                                 bool serializable)
{
    Etcd__RequestOp **list = ARENA_ARRAY(arena, Etcd__RequestOp *, count);
    Etcd__RequestOp *items = ARENA_ARRAY(arena, Etcd__RequestOp, count);
    for (uint32_t i = 0; i < count; i++) {
        op_out(arena, &ops[i], serializable, &items[i]);
        list[i] = &items[i];
    }
    return list;
}

void etcd_txn_encode(const StoreTxn *txn, bool serializable, Buf *out)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Etcd__TxnRequest request = ETCD__TXN_REQUEST__INIT;
    Etcd__Compare **list = ARENA_ARRAY(&arena, Etcd__Compare *, txn->compare_count);
    Etcd__Compare *items = ARENA_ARRAY(&arena, Etcd__Compare, txn->compare_count);
    for (uint32_t i = 0; i < txn->compare_count; i++) {
        compare_out(&txn->compares[i], &items[i]);
        list[i] = &items[i];
    }
    request.n_compare = txn->compare_count;
    request.compare = list;
    request.n_success = txn->success_count;
    request.success = ops_out(&arena, txn->success, txn->success_count, serializable);
    request.n_failure = txn->failure_count;
    request.failure = ops_out(&arena, txn->failure, txn->failure_count, serializable);
    wire_pack(&request.base, out);
}

void etcd_guarded_txn_encode(const StoreTxn *txn, const EtcdGuard *guards, uint32_t count, Buf *out)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    AUTO_CLEAR(Buf) nested = buf_make(BUF_UNLIMITED);
    etcd_txn_encode(txn, false, &nested);
    Etcd__RequestOp op = ETCD__REQUEST_OP__INIT, *op_list = &op;
    op.request_case = ETCD__REQUEST_OP__REQUEST_TXN;
    op.txn = wire_data(buf_str(&nested));
    Etcd__TxnRequest request = ETCD__TXN_REQUEST__INIT;
    Etcd__Compare **list = ARENA_ARRAY(&arena, Etcd__Compare *, count);
    Etcd__Compare *items = ARENA_ARRAY(&arena, Etcd__Compare, count);
    for (uint32_t i = 0; i < count; i++) {
        StoreCompare compare = { STORE_MOD_REVISION, STORE_LESS, guards[i].key,
                                 .number = guards[i].revision + 1 };
        compare_out(&compare, &items[i]);
        items[i].range_end = wire_data(guards[i].end);
        list[i] = &items[i];
    }
    request.n_compare = count;
    request.compare = list;
    request.n_success = 1;
    request.success = &op_list;
    wire_pack(&request.base, out);
}

void etcd_probe_encode(Buf *out)
{
    Etcd__RangeRequest range = ETCD__RANGE_REQUEST__INIT;
    range.key = wire_data(STR("\0"));
    range.count_only = true;
    wire_pack(&range.base, out);
}

void etcd_compact_encode(int64_t revision, Buf *out)
{
    Etcd__CompactionRequest request = ETCD__COMPACTION_REQUEST__INIT;
    request.revision = revision;
    wire_pack(&request.base, out);
}

/* --- Responses ------------------------------------------------------------------------------- */

static bool header_in(const Etcd__ResponseHeader *wire, EtcdHeader *out, Error *err)
{
    if (wire == NULL || wire->revision < 0 || wire->revision > STORE_REVISION_MAX) {
        return error_set(err, ERROR_INVALID, "a response from etcd has no valid revision");
    }
    *out = (EtcdHeader){ wire->cluster_id, wire->member_id, wire->revision };
    return true;
}

bool etcd_header_decode(Str bytes, EtcdHeader *out, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    const Etcd__HeaderResponse *wire = (const Etcd__HeaderResponse *)wire_unpack(
        &arena, &etcd__header_response__descriptor, bytes, err);
    return wire != NULL && header_in(wire->header, out, err);
}

static bool unexpected(Error *err)
{
    return error_set(err, ERROR_INVALID, "a response from etcd does not match the request");
}

static StoreKv kv_in(const Etcd__KeyValue *wire)
{
    return (StoreKv){ .key = wire_bytes(wire->key),
                      .value = wire_bytes(wire->value),
                      .create_revision = wire->create_revision,
                      .mod_revision = wire->mod_revision,
                      .version = wire->version,
                      .lease = wire->lease };
}

static void kvs_in(Arena *arena, Etcd__KeyValue *const *wire, size_t count, StoreOpReply *out)
{
    StoreKv *kvs = ARENA_ARRAY(arena, StoreKv, count);
    for (size_t i = 0; i < count; i++) {
        kvs[i] = kv_in(wire[i]);
    }
    out->kvs = kvs;
    out->kv_count = (uint32_t)count;
}

static bool op_in(Arena *arena, const Etcd__ResponseOp *wire, const StoreOp *op, StoreOpReply *out)
{
    *out = (StoreOpReply){ .kind = op->kind };
    switch (op->kind) {
    case STORE_RANGE:
        if (wire->response_case != ETCD__RESPONSE_OP__RESPONSE_RANGE || wire->range->count < 0) {
            return false;
        }
        kvs_in(arena, wire->range->kvs, wire->range->n_kvs, out);
        out->count = wire->range->count;
        out->more = wire->range->more;
        return !out->more || out->kv_count > 0;
    case STORE_PUT:
        if (wire->response_case != ETCD__RESPONSE_OP__RESPONSE_PUT) {
            return false;
        }
        if (wire->put->prev_kv != NULL) {
            kvs_in(arena, &wire->put->prev_kv, 1, out);
        }
        return true;
    case STORE_DELETE:
        if (wire->response_case != ETCD__RESPONSE_OP__RESPONSE_DELETE_RANGE ||
            wire->delete_range->deleted < 0) {
            return false;
        }
        kvs_in(arena, wire->delete_range->prev_kvs, wire->delete_range->n_prev_kvs, out);
        out->count = wire->delete_range->deleted;
        return true;
    }
    return false;
}

static bool txn_in(Arena *arena, const Etcd__TxnResponse *wire, const StoreTxn *txn,
                   StoreReply *out, Error *err)
{
    const StoreOp *ops = wire->succeeded ? txn->success : txn->failure;
    uint32_t count = wire->succeeded ? txn->success_count : txn->failure_count;
    if (wire->n_responses != count) {
        return unexpected(err);
    }
    StoreOpReply *replies = ARENA_ARRAY(arena, StoreOpReply, count);
    for (uint32_t i = 0; i < count; i++) {
        if (!op_in(arena, wire->responses[i], &ops[i], &replies[i])) {
            return unexpected(err);
        }
    }
    out->succeeded = wire->succeeded;
    out->ops = replies;
    out->op_count = count;
    return true;
}

static const Etcd__TxnResponse *txn_unpack(Arena *arena, Str bytes, Error *err)
{
    return (const Etcd__TxnResponse *)wire_unpack(arena, &etcd__txn_response__descriptor, bytes,
                                                  err);
}

bool etcd_txn_decode(Arena *arena, Str bytes, const StoreTxn *txn, EtcdHeader *header,
                     StoreReply *out, Error *err)
{
    const Etcd__TxnResponse *wire = txn_unpack(arena, bytes, err);
    if (wire == NULL || !header_in(wire->header, header, err) ||
        !txn_in(arena, wire, txn, out, err)) {
        return false;
    }
    out->revision = header->revision;
    return true;
}

bool etcd_guarded_txn_decode(Arena *arena, Str bytes, const StoreTxn *txn, EtcdHeader *header,
                             bool *guards_hold, StoreReply *out, Error *err)
{
    const Etcd__TxnResponse *wire = txn_unpack(arena, bytes, err);
    if (wire == NULL || !header_in(wire->header, header, err)) {
        return false;
    }
    *guards_hold = wire->succeeded;
    *out = (StoreReply){ 0 };
    if (wire->succeeded) {
        bool is_txn = wire->n_responses == 1 &&
                      wire->responses[0]->response_case == ETCD__RESPONSE_OP__RESPONSE_TXN;
        const Etcd__TxnResponse *nested =
            is_txn ? txn_unpack(arena, wire_bytes(wire->responses[0]->txn), err) : NULL;
        if (!is_txn) {
            return unexpected(err);
        }
        if (nested == NULL || !txn_in(arena, nested, txn, out, err)) {
            return false;
        }
    }
    out->revision = header->revision;
    return true;
}

/* --- Watches --------------------------------------------------------------------------------- */

void etcd_watch_encode(int64_t start_revision, Buf *out)
{
    Etcd__WatchCreateRequest create = ETCD__WATCH_CREATE_REQUEST__INIT;
    create.key = wire_data(STR("\0"));
    create.range_end = wire_data(STR("\0"));
    create.start_revision = start_revision;
    create.prev_kv = true;
    create.fragment = true;
    Etcd__WatchRequest request = ETCD__WATCH_REQUEST__INIT;
    request.request_case = ETCD__WATCH_REQUEST__REQUEST_CREATE;
    request.create = &create;
    wire_pack(&request.base, out);
}

static bool events_in(Arena *arena, const Etcd__WatchResponse *wire, EtcdWatchReply *out,
                      Error *err)
{
    StoreEvent *events = ARENA_ARRAY(arena, StoreEvent, wire->n_events);
    int64_t last = 1;
    for (size_t i = 0; i < wire->n_events; i++) {
        const Etcd__Event *event = wire->events[i];
        if (event->kv == NULL || event->kv->mod_revision < last ||
            event->kv->mod_revision > STORE_REVISION_MAX) {
            return error_set(err, ERROR_INVALID,
                             "an event from etcd has no key or is out of order");
        }
        last = event->kv->mod_revision;
        events[i] = (StoreEvent){ .deleted = event->type == ETCD__EVENT__TYPE__DELETE,
                                  .kv = kv_in(event->kv) };
        if (events[i].deleted) {
            events[i].kv = (StoreKv){ .key = events[i].kv.key, .mod_revision = last };
        }
        if (event->prev_kv != NULL) {
            events[i].has_previous = true;
            events[i].previous = kv_in(event->prev_kv);
        }
    }
    out->events = events;
    out->count = (uint32_t)wire->n_events;
    return true;
}

bool etcd_watch_decode(Arena *arena, Str bytes, EtcdHeader *header, EtcdWatchReply *out, Error *err)
{
    const Etcd__WatchResponse *wire = (const Etcd__WatchResponse *)wire_unpack(
        arena, &etcd__watch_response__descriptor, bytes, err);
    if (wire == NULL || !header_in(wire->header, header, err)) {
        return false;
    }
    *out = (EtcdWatchReply){ .is_created = wire->created,
                             .is_canceled = wire->canceled,
                             .compacted = wire->compact_revision,
                             .reason = wire->cancel_reason,
                             .is_fragment = wire->fragment };
    return events_in(arena, wire, out, err);
}

/* --- Leases ---------------------------------------------------------------------------------- */

void etcd_lease_grant_encode(int64_t ttl_s, int64_t id, Buf *out)
{
    Etcd__LeaseGrantRequest request = ETCD__LEASE_GRANT_REQUEST__INIT;
    request.ttl = ttl_s;
    request.id = id;
    wire_pack(&request.base, out);
}

void etcd_lease_encode(int64_t id, bool keys, Buf *out)
{
    Etcd__LeaseRequest request = ETCD__LEASE_REQUEST__INIT;
    request.id = id;
    request.keys = keys;
    wire_pack(&request.base, out);
}

void etcd_empty_encode(Buf *out)
{
    Etcd__EmptyRequest request = ETCD__EMPTY_REQUEST__INIT;
    wire_pack(&request.base, out);
}

bool etcd_lease_decode(Str bytes, EtcdHeader *header, StoreLease *out, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    const Etcd__LeaseResponse *wire = (const Etcd__LeaseResponse *)wire_unpack(
        &arena, &etcd__lease_response__descriptor, bytes, err);
    if (wire == NULL || !header_in(wire->header, header, err)) {
        return false;
    }
    *out = (StoreLease){
        .id = wire->id, .ttl_s = wire->ttl, .remaining_s = wire->ttl, .revision = header->revision
    };
    return true;
}

bool etcd_time_to_live_decode(Arena *arena, Str bytes, EtcdHeader *header, StoreLease *out,
                              Error *err)
{
    const Etcd__LeaseTimeToLiveResponse *wire = (const Etcd__LeaseTimeToLiveResponse *)wire_unpack(
        arena, &etcd__lease_time_to_live_response__descriptor, bytes, err);
    if (wire == NULL || !header_in(wire->header, header, err)) {
        return false;
    }
    Str *keys = ARENA_ARRAY(arena, Str, wire->n_keys);
    for (size_t i = 0; i < wire->n_keys; i++) {
        keys[i] = wire_bytes(wire->keys[i]);
    }
    *out = (StoreLease){ .id = wire->id,
                         .ttl_s = wire->granted_ttl,
                         .remaining_s = wire->ttl,
                         .keys = keys,
                         .key_count = (uint32_t)wire->n_keys,
                         .revision = header->revision };
    return true;
}

static int by_id(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

bool etcd_leases_decode(Arena *arena, Str bytes, EtcdHeader *header, const int64_t **ids,
                        uint32_t *count, Error *err)
{
    const Etcd__LeaseLeasesResponse *wire = (const Etcd__LeaseLeasesResponse *)wire_unpack(
        arena, &etcd__lease_leases_response__descriptor, bytes, err);
    if (wire == NULL || !header_in(wire->header, header, err)) {
        return false;
    }
    int64_t *list = ARENA_ARRAY(arena, int64_t, wire->n_leases);
    for (size_t i = 0; i < wire->n_leases; i++) {
        list[i] = wire->leases[i]->id;
    }
    if (wire->n_leases > 0) {
        qsort(list, wire->n_leases, sizeof *list, by_id);
    }
    *ids = list;
    *count = (uint32_t)wire->n_leases;
    return true;
}

/* --- Members --------------------------------------------------------------------------------- */

bool etcd_status_decode(Arena *arena, Str bytes, EtcdHeader *header, EtcdMemberStatus *out,
                        Error *err)
{
    const Etcd__StatusResponse *wire = (const Etcd__StatusResponse *)wire_unpack(
        arena, &etcd__status_response__descriptor, bytes, err);
    if (wire == NULL || !header_in(wire->header, header, err)) {
        return false;
    }
    *out = (EtcdMemberStatus){ .version = wire->version,
                               .leader = wire->leader,
                               .index = wire->raft_index,
                               .db_bytes = wire->db_size,
                               .is_learner = wire->is_learner,
                               .has_errors = wire->n_errors > 0 };
    return true;
}

void etcd_move_leader_encode(uint64_t target, Buf *out)
{
    Etcd__MoveLeaderRequest request = ETCD__MOVE_LEADER_REQUEST__INIT;
    request.target_id = target;
    wire_pack(&request.base, out);
}

void etcd_member_add_encode(Str peer_url, Buf *out)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    char *urls[] = { arena_copy_c(&arena, peer_url) };
    Etcd__MemberAddRequest request = ETCD__MEMBER_ADD_REQUEST__INIT;
    request.n_peer_urls = COUNT_OF(urls);
    request.peer_urls = urls;
    request.is_learner = true;
    wire_pack(&request.base, out);
}

void etcd_member_update_encode(uint64_t id, Str peer_url, Buf *out)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    char *urls[] = { arena_copy_c(&arena, peer_url) };
    Etcd__MemberUpdateRequest request = ETCD__MEMBER_UPDATE_REQUEST__INIT;
    request.id = id;
    request.n_peer_urls = COUNT_OF(urls);
    request.peer_urls = urls;
    wire_pack(&request.base, out);
}

void etcd_member_encode(uint64_t id, Buf *out)
{
    Etcd__MemberRequest request = ETCD__MEMBER_REQUEST__INIT;
    request.id = id;
    wire_pack(&request.base, out);
}

static int by_member_id(const void *a, const void *b)
{
    const EtcdMember *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

static bool members_in(Arena *arena, Etcd__Member *const *wire, size_t count, EtcdMembers *out,
                       Error *err)
{
    EtcdMember *list = ARENA_ARRAY(arena, EtcdMember, count);
    for (size_t i = 0; i < count; i++) {
        const Etcd__Member *member = wire[i];
        list[i] = (EtcdMember){
            .id = member->id,
            .name = str_from_c(member->name),
            .peer_url = str_from_c(member->n_peer_urls == 0 ? "" : member->peer_urls[0]),
            .client_url = str_from_c(member->n_client_urls == 0 ? "" : member->client_urls[0]),
            .is_learner = member->is_learner,
        };
    }
    if (count > 0) {
        qsort(list, count, sizeof *list, by_member_id);
    }
    for (size_t i = 0; i < count; i++) {
        if (list[i].id == (i == 0 ? 0 : list[i - 1].id)) {
            return error_set(err, ERROR_INVALID, "etcd sent an invalid list of members");
        }
    }
    *out = (EtcdMembers){ list, (uint32_t)count };
    return true;
}

bool etcd_members_decode(Arena *arena, Str bytes, EtcdHeader *header, EtcdMembers *out, Error *err)
{
    const Etcd__MembersResponse *wire = (const Etcd__MembersResponse *)wire_unpack(
        arena, &etcd__members_response__descriptor, bytes, err);
    return wire != NULL && header_in(wire->header, header, err) &&
           members_in(arena, wire->members, wire->n_members, out, err);
}

bool etcd_member_add_decode(Arena *arena, Str bytes, EtcdHeader *header, EtcdMembers *out,
                            uint64_t *added, Error *err)
{
    const Etcd__MemberAddResponse *wire = (const Etcd__MemberAddResponse *)wire_unpack(
        arena, &etcd__member_add_response__descriptor, bytes, err);
    if (wire == NULL || !header_in(wire->header, header, err) ||
        !members_in(arena, wire->members, wire->n_members, out, err)) {
        return false;
    }
    if (wire->member == NULL || wire->member->id == 0) {
        return unexpected(err);
    }
    *added = wire->member->id;
    return true;
}
