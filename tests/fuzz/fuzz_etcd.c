/* Input: a response of etcd. Invariants: it is rejected as invalid, or what was decoded fits the
 * request, events are in order, and members have different ids. */
#include "base/bug.h"
#include "etcd/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const StoreOp ops[] = {
    { .kind = STORE_RANGE, .key = { "a", 1 }, .end = { "b", 1 }, .limit = 10 },
    { .kind = STORE_PUT, .key = { "a", 1 }, .previous = true },
    { .kind = STORE_DELETE, .key = { "a", 1 }, .previous = true },
};

static void check_reply(const StoreReply *reply)
{
    BUG_IF(reply->op_count != (reply->succeeded ? COUNT_OF(ops) : 1));
    for (uint32_t i = 0; i < reply->op_count; i++) {
        const StoreOpReply *op = &reply->ops[i];
        BUG_IF(op->kind != ops[i].kind || op->count < 0 || (op->more && op->kv_count == 0));
        for (uint32_t j = 0; j < op->kv_count; j++) {
            BUG_IF(op->kvs[j].key.len > 0 && op->kvs[j].key.data == NULL);
        }
    }
}

static void decode_txns(Arena *arena, Str bytes)
{
    const StoreTxn txn = {
        .success = ops, .success_count = COUNT_OF(ops), .failure = ops, .failure_count = 1
    };
    EtcdHeader header;
    StoreReply reply;
    Error err;
    bool held;
    if (etcd_txn_decode(arena, bytes, &txn, &header, &reply, &err)) {
        check_reply(&reply);
    }
    if (etcd_guarded_txn_decode(arena, bytes, &txn, &header, &held, &reply, &err) && held) {
        check_reply(&reply);
    }
}

static void decode_watch(Arena *arena, Str bytes)
{
    EtcdHeader header;
    EtcdWatchReply reply;
    Error err;
    int64_t last = 1;
    if (!etcd_watch_decode(arena, bytes, &header, &reply, &err)) {
        BUG_IF(err.kind != ERROR_INVALID);
        return;
    }
    for (uint32_t i = 0; i < reply.count; i++) {
        BUG_IF(reply.events[i].kv.mod_revision < last);
        last = reply.events[i].kv.mod_revision;
    }
}

static void decode_members(Arena *arena, Str bytes)
{
    EtcdHeader header;
    EtcdMembers members;
    uint64_t added;
    Error err;
    bool ok[] = { etcd_members_decode(arena, bytes, &header, &members, &err),
                  etcd_member_add_decode(arena, bytes, &header, &members, &added, &err) };
    if (!ok[0] && !ok[1]) {
        BUG_IF(err.kind != ERROR_INVALID);
        return;
    }
    BUG_IF(ok[1] && added == 0);
    for (uint32_t i = 0; i < members.count; i++) {
        BUG_IF(members.items[i].id <= (i == 0 ? 0 : members.items[i - 1].id));
        BUG_IF(members.items[i].name.data == NULL || members.items[i].peer_url.data == NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str bytes = str_from((const char *)data, size);
    EtcdHeader header;
    EtcdMemberStatus status;
    StoreLease lease;
    const int64_t *ids;
    uint32_t count;
    Error err;
    decode_txns(&arena, bytes);
    decode_watch(&arena, bytes);
    decode_members(&arena, bytes);
    bool any = etcd_header_decode(bytes, &header, &err);
    any |= etcd_lease_decode(bytes, &header, &lease, &err);
    any |= etcd_time_to_live_decode(&arena, bytes, &header, &lease, &err);
    any |= etcd_status_decode(&arena, bytes, &header, &status, &err);
    if (etcd_leases_decode(&arena, bytes, &header, &ids, &count, &err)) {
        for (uint32_t i = 1; i < count; i++) {
            BUG_IF(ids[i] < ids[i - 1]);
        }
    }
    (void)any;
    return 0;
}
