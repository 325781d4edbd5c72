#include "audit/audit_drop.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "cluster/cluster_keys.h"

typedef struct Dropping {
    ClusterStore at;
    Arena own, step; /* of all of it; of one answer of the store */
    AuditDropWish wish;
    char who[PRINCIPAL_WHO_MAX + 1];
    AuditHead head;
    int64_t head_revision;
    AuditHead next; /* the head after the batch that is under way */
    uint64_t count;
    bool is_known; /* the head is */
    AuditDropped *done;
    void *context;
} Dropping;

static void dropping_end(Dropping *dropping, const Error *err)
{
    dropping->done(dropping->context, dropping->is_known ? &dropping->head : NULL, dropping->count,
                   err);
    arena_clear(&dropping->own);
    arena_clear(&dropping->step);
    free(dropping);
}

static AuditDropLimits limits_of(const Dropping *dropping)
{
    return audit_drop_limits(&dropping->head, loop_wall_ms(dropping->at.loop));
}

static Str entry_key(Dropping *dropping, uint64_t sequence)
{
    return cluster_key_audit(&dropping->step, dropping->at.prefix, sequence);
}

static Str head_key(Dropping *dropping)
{
    return cluster_key_audit_head(&dropping->step, dropping->at.prefix);
}

static StoreCompare head_unchanged(Dropping *dropping)
{
    return (StoreCompare){ .target = STORE_MOD_REVISION,
                           .relation = STORE_EQUAL,
                           .key = head_key(dropping),
                           .number = dropping->head_revision };
}

static bool take_head(Dropping *dropping, const StoreOpReply *reply, Error *err)
{
    audit_head_init(&dropping->head);
    dropping->head_revision = reply->kv_count == 0 ? 0 : reply->kvs[0].mod_revision;
    dropping->is_known =
        reply->kv_count == 0 ||
        audit_head_read(&dropping->step, reply->kvs[0].value, &dropping->head, err);
    return dropping->is_known;
}

static void look(Dropping *dropping);

/* --- A batch --------------------------------------------------------------------------------- */

static void dropped(void *context, const StoreReply *reply, const Error *err)
{
    Dropping *dropping = context;
    arena_reset(&dropping->step);
    if (err != NULL) {
        dropping_end(dropping, err);
        return;
    }
    if (reply->succeeded) {
        dropping->count += dropping->next.floor_sequence - dropping->head.floor_sequence;
        dropping->head = dropping->next;
    }
    /* Else somebody has appended, or dropped some too: as it is now, then. */
    look(dropping);
}

static bool drop_batch(Dropping *dropping, const StoreOpReply *range, Error *err)
{
    AuditDropLimits limits = limits_of(dropping);
    AuditHead *next = &dropping->next;
    Str *texts = ARENA_ARRAY(&dropping->step, Str, range->kv_count);
    Buf head = buf_make_in(&dropping->step, BUF_UNLIMITED);
    for (uint32_t i = 0; i < range->kv_count; i++) {
        texts[i] = range->kvs[i].value;
    }
    *next = dropping->head;
    if (!audit_drop_advance(next, &limits, texts, range->kv_count, err)) {
        return false;
    }
    if (next->floor_sequence != audit_drop_batch_end(&dropping->head, &dropping->wish)) {
        return error_set(err, ERROR_CONFLICT,
                         "entry %llu is missing: the audit log is incomplete, nothing is dropped",
                         (unsigned long long)next->floor_sequence + 1);
    }
    next->floor_time_ms = loop_wall_ms(dropping->at.loop);
    memcpy(next->floor_who, dropping->who, sizeof next->floor_who);
    audit_head_print(next, &head);
    StoreOp ops[] = {
        { .kind = STORE_DELETE,
          .key = entry_key(dropping, dropping->head.floor_sequence + 1),
          .end = entry_key(dropping, next->floor_sequence + 1) },
        { .kind = STORE_PUT, .key = head_key(dropping), .value = buf_str(&head) },
    };
    StoreCompare compare = head_unchanged(dropping);
    StoreTxn txn = { .urgent = true,
                     .compares = &compare,
                     .compare_count = 1,
                     .success = ops,
                     .success_count = COUNT_OF(ops) };
    return store_txn(dropping->at.store, &txn, dropped, dropping, err);
}

static void batch_came(void *context, const StoreReply *reply, const Error *err)
{
    Dropping *dropping = context;
    Error failure;
    if (err != NULL) {
        dropping_end(dropping, err);
    } else if (!reply->succeeded) {
        arena_reset(&dropping->step);
        look(dropping); /* what is missing, somebody else may have dropped */
    } else if (!drop_batch(dropping, &reply->ops[0], &failure)) {
        dropping_end(dropping, &failure);
    }
}

/* As of the head that is known: else entries are missing that somebody else drops too. */
static bool read_batch(Dropping *dropping, Error *err)
{
    uint64_t end = audit_drop_batch_end(&dropping->head, &dropping->wish);
    StoreOp batch = { .kind = STORE_RANGE,
                      .key = entry_key(dropping, dropping->head.floor_sequence + 1),
                      .end = entry_key(dropping, end + 1) };
    StoreCompare compare = head_unchanged(dropping);
    StoreTxn txn = {
        .compares = &compare, .compare_count = 1, .success = &batch, .success_count = 1
    };
    return store_txn(dropping->at.store, &txn, batch_came, dropping, err);
}

/* --- What is to be done ---------------------------------------------------------------------- */

static void looked(void *context, const StoreReply *reply, const Error *err)
{
    Dropping *dropping = context;
    Error failure;
    uint64_t left;
    arena_reset(&dropping->step);
    if (err != NULL) {
        dropping_end(dropping, err);
        return;
    }
    const StoreOpReply *entry = &reply->ops[1];
    bool ok = take_head(dropping, &reply->ops[0], &failure);
    AuditDropLimits limits = limits_of(dropping);
    ok = ok &&
         audit_drop_decide(&dropping->head, &limits, &dropping->wish,
                           entry->kv_count > 0 ? entry->kvs[0].value : STR_EMPTY, &left, &failure);
    if (ok && left > 0) {
        ok = read_batch(dropping, &failure);
        if (ok) {
            return;
        }
    }
    dropping_end(dropping, ok ? NULL : &failure);
}

static void look(Dropping *dropping)
{
    Error err;
    StoreOp ops[] = {
        { .kind = STORE_RANGE, .key = head_key(dropping) },
        { .kind = STORE_RANGE, .key = entry_key(dropping, dropping->wish.sequence) },
    };
    StoreTxn txn = { .success = ops, .success_count = COUNT_OF(ops) };
    if (!store_txn(dropping->at.store, &txn, looked, dropping, &err)) {
        dropping_end(dropping, &err);
    }
}

void audit_drop(const ClusterStore *at, const AuditDropWish *wish, Str who, AuditDropped *done,
                void *context)
{
    Dropping *dropping = memory_new(sizeof *dropping);
    arena_init(&dropping->own, ARENA_UNLIMITED);
    arena_init(&dropping->step, ARENA_UNLIMITED);
    dropping->at = *at;
    dropping->at.prefix = arena_copy(&dropping->own, at->prefix);
    dropping->wish = *wish;
    snprintf(dropping->who, sizeof dropping->who, "%" STR_FMT, STR_ARG(who));
    dropping->done = done;
    dropping->context = context;
    look(dropping);
}
