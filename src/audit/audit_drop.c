/* Drops archived entries in batches: read the head, read a batch as of the same revision, verify
 * that it links to the floor (audit_drop_plan.h), then delete it and advance the floor in one
 * transaction that compares the head. A lost race starts over with the new head. */
#include "audit/audit_drop.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "cluster/cluster_keys.h"

typedef struct DropOperation {
    ClusterStore cluster_store;
    /* `arena` lives as long as the operation; `batch_arena` is reset for each response from the
     * store */
    Arena arena, batch_arena;
    AuditDropRequest request;
    char who[PRINCIPAL_WHO_MAX + 1];
    AuditHead head;
    int64_t head_revision;
    AuditHead next; /* the head after the current batch */
    uint64_t count;
    bool is_known; /* the head was read */
    AuditDropped *done;
    void *context;
} DropOperation;

static void drop_end(DropOperation *drop, const Error *err)
{
    drop->done(drop->context, drop->is_known ? &drop->head : NULL, drop->count, err);
    arena_clear(&drop->arena);
    arena_clear(&drop->batch_arena);
    free(drop);
}

static AuditDropLimits limits_of(const DropOperation *drop)
{
    return audit_drop_limits(&drop->head, loop_wall_ms(drop->cluster_store.loop));
}

static Str entry_key(DropOperation *drop, uint64_t sequence)
{
    return cluster_key_audit(&drop->batch_arena, drop->cluster_store.prefix, sequence);
}

static Str head_key(DropOperation *drop)
{
    return cluster_key_audit_head(&drop->batch_arena, drop->cluster_store.prefix);
}

static StoreCompare head_unchanged(DropOperation *drop)
{
    return (StoreCompare){ .target = STORE_MOD_REVISION,
                           .relation = STORE_EQUAL,
                           .key = head_key(drop),
                           .number = drop->head_revision };
}

static bool parse_head(DropOperation *drop, const StoreOpReply *reply, Error *err)
{
    audit_head_init(&drop->head);
    drop->head_revision = reply->kv_count == 0 ? 0 : reply->kvs[0].mod_revision;
    drop->is_known = reply->kv_count == 0 ||
                     audit_head_read(&drop->batch_arena, reply->kvs[0].value, &drop->head, err);
    return drop->is_known;
}

static void read_head(DropOperation *drop);

/* --- Batches --------------------------------------------------------------------------------- */

static void on_dropped(void *context, const StoreReply *reply, const Error *err)
{
    DropOperation *drop = context;
    arena_reset(&drop->batch_arena);
    if (err != NULL) {
        drop_end(drop, err);
        return;
    }
    if (reply->succeeded) {
        drop->count += drop->next.floor_sequence - drop->head.floor_sequence;
        drop->head = drop->next;
    }
    /* The comparison failed: another server has appended or dropped entries, so read the head
     * again. */
    read_head(drop);
}

static bool drop_batch(DropOperation *drop, const StoreOpReply *range, Error *err)
{
    AuditDropLimits limits = limits_of(drop);
    AuditHead *next = &drop->next;
    Str *texts = ARENA_ARRAY(&drop->batch_arena, Str, range->kv_count);
    Buf head = buf_make_in(&drop->batch_arena, BUF_UNLIMITED);
    for (uint32_t i = 0; i < range->kv_count; i++) {
        texts[i] = range->kvs[i].value;
    }
    *next = drop->head;
    if (!audit_drop_advance(next, &limits, texts, range->kv_count, err)) {
        return false;
    }
    if (next->floor_sequence != audit_drop_batch_end(&drop->head, &drop->request)) {
        return error_set(err, ERROR_CONFLICT,
                         "entry %llu is missing: the audit log is incomplete; nothing was dropped",
                         (unsigned long long)next->floor_sequence + 1);
    }
    next->floor_time_ms = loop_wall_ms(drop->cluster_store.loop);
    memcpy(next->floor_who, drop->who, sizeof next->floor_who);
    audit_head_print(next, &head);
    StoreOp ops[] = {
        { .kind = STORE_DELETE,
          .key = entry_key(drop, drop->head.floor_sequence + 1),
          .end = entry_key(drop, next->floor_sequence + 1) },
        { .kind = STORE_PUT, .key = head_key(drop), .value = buf_str(&head) },
    };
    StoreCompare compare = head_unchanged(drop);
    StoreTxn txn = { .urgent = true,
                     .compares = &compare,
                     .compare_count = 1,
                     .success = ops,
                     .success_count = COUNT_OF(ops) };
    return store_txn(drop->cluster_store.store, &txn, on_dropped, drop, err);
}

static void on_batch(void *context, const StoreReply *reply, const Error *err)
{
    DropOperation *drop = context;
    Error failure;
    if (err != NULL) {
        drop_end(drop, err);
    } else if (!reply->succeeded) {
        arena_reset(&drop->batch_arena);
        read_head(drop); /* another server may have dropped the missing entries */
    } else if (!drop_batch(drop, &reply->ops[0], &failure)) {
        drop_end(drop, &failure);
    }
}

/* As of the revision of the head: otherwise entries that another server drops would be missing. */
static bool read_batch(DropOperation *drop, Error *err)
{
    uint64_t end = audit_drop_batch_end(&drop->head, &drop->request);
    StoreOp batch = { .kind = STORE_RANGE,
                      .key = entry_key(drop, drop->head.floor_sequence + 1),
                      .end = entry_key(drop, end + 1) };
    StoreCompare compare = head_unchanged(drop);
    StoreTxn txn = {
        .compares = &compare, .compare_count = 1, .success = &batch, .success_count = 1
    };
    return store_txn(drop->cluster_store.store, &txn, on_batch, drop, err);
}

/* --- Operation ------------------------------------------------------------------------------- */

static void on_head(void *context, const StoreReply *reply, const Error *err)
{
    DropOperation *drop = context;
    Error failure;
    uint64_t remaining;
    arena_reset(&drop->batch_arena);
    if (err != NULL) {
        drop_end(drop, err);
        return;
    }
    const StoreOpReply *entry = &reply->ops[1];
    bool ok = parse_head(drop, &reply->ops[0], &failure);
    AuditDropLimits limits = limits_of(drop);
    ok = ok && audit_drop_decide(&drop->head, &limits, &drop->request,
                                 entry->kv_count > 0 ? entry->kvs[0].value : STR_EMPTY, &remaining,
                                 &failure);
    if (ok && remaining > 0) {
        ok = read_batch(drop, &failure);
        if (ok) {
            return;
        }
    }
    drop_end(drop, ok ? NULL : &failure);
}

static void read_head(DropOperation *drop)
{
    Error err;
    StoreOp ops[] = {
        { .kind = STORE_RANGE, .key = head_key(drop) },
        { .kind = STORE_RANGE, .key = entry_key(drop, drop->request.sequence) },
    };
    StoreTxn txn = { .success = ops, .success_count = COUNT_OF(ops) };
    if (!store_txn(drop->cluster_store.store, &txn, on_head, drop, &err)) {
        drop_end(drop, &err);
    }
}

void audit_drop(const ClusterStore *cluster_store, const AuditDropRequest *request, Str who,
                AuditDropped *done, void *context)
{
    DropOperation *drop = memory_new(sizeof *drop);
    arena_init(&drop->arena, ARENA_UNLIMITED);
    arena_init(&drop->batch_arena, ARENA_UNLIMITED);
    drop->cluster_store = *cluster_store;
    drop->cluster_store.prefix = arena_copy(&drop->arena, cluster_store->prefix);
    drop->request = *request;
    snprintf(drop->who, sizeof drop->who, "%" STR_FMT, STR_ARG(who));
    drop->done = done;
    drop->context = context;
    read_head(drop);
}
