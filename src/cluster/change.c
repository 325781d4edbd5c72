/* One optimistic transaction: read the keys, let `decide` add operations, write them with a compare
 * on the revision of every key that was read, and start over if a compare fails. A TTL needs a
 * lease, which is granted between deciding and writing. `done` is deferred until the in-memory
 * state has seen the written revision, so that a caller reads its own writes. */
#include "cluster/change.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/memory.h"
#include "cluster/leader.h"
#include "cluster/state.h"
#include "lang/record.h"

enum {
    TRIES_MAX = 30 /* each failed attempt means that another writer made progress */
};

typedef struct KeyRead {
    Str key;
    int64_t revision; /* 0: the key does not exist */
    Str value;
} KeyRead;

struct Change {
    ChangeSpec spec;
    Arena arena,
        decision_arena; /* `arena` holds the keys; `decision_arena` is reset for each attempt */
    StoreCompare fence; /* copied; its key is empty if there is no fence */
    KeyRead reads[CHANGE_KEYS_MAX];
    int64_t counts[CHANGE_COUNTS_MAX];
    StoreOp ops[CHANGE_OPS_MAX];
    bool is_leased[CHANGE_OPS_MAX];
    uint32_t op_count;
    int64_t ttl_s, lease;
    int64_t written; /* revision of the write */
    Error refusal;   /* error of `decide` */
    uint32_t attempts;
    bool is_abandoned;
};

static void lease_revoked(void *context, const StoreLease *lease, const Error *err)
{
}

static void end(Change *change, const Error *err)
{
    Error ignored;
    bool is_unknown = err != NULL && err->kind == ERROR_UNKNOWN;
    /* Revokes a lease that no key uses; it would otherwise occupy a slot until it expires. */
    if (change->lease != 0 && change->written == 0 && !is_unknown) {
        (void)!store_lease_revoke(change->spec.cluster_store.store, change->lease, lease_revoked,
                                  NULL, &ignored);
    }
    if (!change->is_abandoned) {
        change->spec.done(change->spec.context, change, err);
    }
    arena_clear(&change->arena);
    arena_clear(&change->decision_arena);
    free(change);
}

static void read_keys(Change *change);

static void state_caught_up(void *context)
{
    end(context, NULL);
}

/* Deferred until the state has seen what the decision was based on, so that a caller that retries
 * sees it too. */
static void refusal_seen(void *context)
{
    Change *change = context;
    end(change, &change->refusal);
}

static bool is_fenced_out(const Change *change, const StoreReply *reply)
{
    if (change->fence.key.len == 0) {
        return false;
    }
    const StoreOpReply *found = &reply->ops[0];
    return found->kv_count == 0 || found->kvs[0].create_revision != change->fence.number;
}

static void written(void *context, const StoreReply *reply, const Error *err)
{
    Change *change = context;
    Error late;
    if (err == NULL && reply->succeeded) {
        change->written = reply->revision;
        state_wait(change->spec.cluster_store.state, reply->revision, state_caught_up, change);
    } else if (err != NULL || change->is_abandoned) {
        end(change, err);
    } else if (is_fenced_out(change, reply)) {
        leader_fenced_out(&late);
        end(change, &late);
    } else if (change->attempts < TRIES_MAX) {
        read_keys(change);
    } else {
        error_set(&late, ERROR_UNAVAILABLE,
                  "too many concurrent changes to the same keys; try again");
        end(change, &late);
    }
}

static bool write_ops(Change *change, Error *err)
{
    StoreCompare compares[CHANGE_KEYS_MAX + 1];
    bool is_fenced = change->fence.key.len > 0;
    for (uint32_t i = 0; i < change->spec.key_count; i++) {
        compares[i] = (StoreCompare){ .target = STORE_MOD_REVISION,
                                      .relation = STORE_EQUAL,
                                      .key = change->reads[i].key,
                                      .number = change->reads[i].revision };
    }
    compares[change->spec.key_count] = change->fence;
    const StoreOp check_fence = { .kind = STORE_RANGE,
                                  .key = change->fence.key,
                                  .keys_only = true };
    for (uint32_t i = 0; i < change->op_count; i++) {
        change->ops[i].lease = change->is_leased[i] ? change->lease : 0;
    }
    StoreTxn txn = { .urgent = change->spec.urgent,
                     .compares = compares,
                     .compare_count = change->spec.key_count + (is_fenced ? 1 : 0),
                     .success = change->ops,
                     .success_count = change->op_count,
                     .failure = &check_fence,
                     .failure_count = is_fenced ? 1 : 0 };
    return store_txn_confirmed(change->spec.cluster_store.store, &txn, written, change, err);
}

static void granted(void *context, const StoreLease *lease, const Error *err)
{
    Change *change = context;
    Error failure;
    change->lease = err == NULL ? lease->id : 0;
    if (err != NULL && err->kind == ERROR_UNKNOWN) {
        /* nothing was written with the lease */
        error_set(&failure, ERROR_UNAVAILABLE, "%s", err->text);
        err = &failure;
    }
    if (err != NULL || change->is_abandoned) {
        end(change, err);
        return;
    }
    if (!write_ops(change, &failure)) {
        end(change, &failure);
    }
}

static void on_keys(void *context, const StoreReply *reply, const Error *err)
{
    Change *change = context;
    Error failure;
    if (err != NULL || change->is_abandoned) {
        end(change, err);
        return;
    }
    arena_reset(&change->decision_arena);
    change->op_count = 0;
    for (uint32_t i = 0; i < change->spec.key_count; i++) {
        const StoreOpReply *op = &reply->ops[i];
        bool exists = op->kv_count > 0;
        change->reads[i].revision = exists ? op->kvs[0].mod_revision : 0;
        change->reads[i].value =
            exists ? arena_copy(&change->decision_arena, op->kvs[0].value) : STR_EMPTY;
    }
    for (uint32_t i = 0, op = change->spec.key_count; i < CHANGE_COUNTS_MAX; i++) {
        change->counts[i] = change->spec.counted[i].len > 0 ? reply->ops[op++].count : 0;
    }
    if (!change->spec.decide(change->spec.context, change, &change->refusal)) {
        state_wait(change->spec.cluster_store.state, reply->revision, refusal_seen, change);
    } else if (change->op_count == 0) {
        end(change, NULL);
    } else if (change->ttl_s > 0 && change->lease == 0) {
        if (!store_lease_grant(change->spec.cluster_store.store, change->ttl_s, 0, granted, change,
                               &failure)) {
            end(change, &failure);
        }
    } else if (!write_ops(change, &failure)) {
        end(change, &failure);
    }
}

static void read_keys(Change *change)
{
    StoreOp ops[CHANGE_KEYS_MAX + CHANGE_COUNTS_MAX];
    uint32_t count = change->spec.key_count;
    Error err;
    change->attempts++;
    for (uint32_t i = 0; i < count; i++) {
        ops[i] = (StoreOp){ .kind = STORE_RANGE, .key = change->reads[i].key };
    }
    for (uint32_t i = 0; i < CHANGE_COUNTS_MAX; i++) {
        Str counted = change->spec.counted[i];
        if (counted.len > 0) {
            ops[count++] = (StoreOp){ .kind = STORE_RANGE,
                                      .key = counted,
                                      .end = store_prefix_end(&change->arena, counted),
                                      .count_only = true };
        }
    }
    StoreTxn txn = { .success = ops, .success_count = count };
    if (!store_txn(change->spec.cluster_store.store, &txn, on_keys, change, &err)) {
        end(change, &err);
    }
}

void change_start(const ChangeSpec *spec, Change **out)
{
    Change *change = memory_new(sizeof *change);
    BUG_IF(spec->key_count == 0 || spec->key_count > CHANGE_KEYS_MAX);
    arena_init(&change->arena, ARENA_UNLIMITED);
    arena_init(&change->decision_arena, ARENA_UNLIMITED);
    change->spec = *spec;
    for (uint32_t i = 0; i < CHANGE_COUNTS_MAX; i++) {
        change->spec.counted[i] = arena_copy(&change->arena, spec->counted[i]);
    }
    for (uint32_t i = 0; i < spec->key_count; i++) {
        change->reads[i].key = arena_copy(&change->arena, spec->keys[i]);
    }
    if (spec->fence != NULL) {
        change->fence = *spec->fence;
        change->fence.key = arena_copy(&change->arena, spec->fence->key);
    }
    *out = change;
    read_keys(change);
}

void change_abandon(Change *change)
{
    if (change != NULL) {
        change->is_abandoned = true;
    }
}

Arena *change_arena(Change *change)
{
    return &change->decision_arena;
}

bool change_has(const Change *change, uint32_t key)
{
    return key < change->spec.key_count && change->reads[key].revision > 0;
}

Str change_value(const Change *change, uint32_t key)
{
    return change->reads[key].value;
}

int64_t change_revision(const Change *change, uint32_t key)
{
    BUG_IF(key >= change->spec.key_count);
    return change->reads[key].revision;
}

Str change_key(const Change *change, uint32_t key)
{
    return change->reads[key].key;
}

int64_t change_count(const Change *change, uint32_t index)
{
    BUG_IF(index >= CHANGE_COUNTS_MAX);
    return change->counts[index];
}

static void add(Change *change, StoreOp op, bool is_leased)
{
    BUG_IF(change->op_count == CHANGE_OPS_MAX);
    change->is_leased[change->op_count] = is_leased;
    change->ops[change->op_count++] = op;
}

void change_put(Change *change, Str key, Str value, int64_t ttl_s)
{
    if (ttl_s > 0 && change->ttl_s == 0) {
        change->ttl_s = ttl_s;
    }
    add(change, (StoreOp){ .kind = STORE_PUT, .key = key, .value = value }, ttl_s > 0);
}

void change_delete(Change *change, Str key)
{
    add(change, (StoreOp){ .kind = STORE_DELETE, .key = key }, false);
}

void change_delete_all(Change *change, Str prefix)
{
    Str end = store_prefix_end(&change->decision_arena, prefix);
    add(change, (StoreOp){ .kind = STORE_DELETE, .key = prefix, .end = end }, false);
}

int64_t change_written(const Change *change)
{
    return change->written;
}

/* --- Requests -------------------------------------------------------------------------------- */

void *change_request_new(size_t size, const ClusterStore *cluster_store, ClusterDone *done,
                         void *context)
{
    ChangeRequest *request = memory_new(size);
    request->cluster_store = *cluster_store;
    arena_init(&request->arena, ARENA_UNLIMITED);
    request->done = done;
    request->context = context;
    return request;
}

void change_request_end(ChangeRequest *request, const Error *err)
{
    request->done(request->context, err);
    arena_clear(&request->arena);
    free(request);
}

static void request_done(void *context, Change *change, const Error *err)
{
    change_request_end(context, err);
}

void change_request_start(ChangeRequest *request, const ChangeSpec *spec)
{
    Change *change;
    ChangeSpec full = *spec;
    full.cluster_store = request->cluster_store;
    full.done = request_done;
    full.context = request;
    change_start(&full, &change);
}

/* --- Marker records -------------------------------------------------------------------------- */

typedef struct Grants {
    Str last;
} Grants;

static const RecordField grants_fields[] = {
    { "last", RECORD_TEXT, RECORD_STR_AT(Grants, last), .help = "ID of the last credential" },
    { 0 },
};

static const RecordFormat grants_format = { .format = "eden.grants/1", .fields = grants_fields };
static const RecordFormat excluded_format = { .format = "eden.without/1",
                                              .fields = &(const RecordField){ 0 } };

static Str print(Arena *arena, const RecordFormat *format, const void *record)
{
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    record_print(format, record, &text);
    return buf_str(&text);
}

Str grants_record(Arena *arena, Str last)
{
    return print(arena, &grants_format, &(Grants){ .last = last });
}

Str excluded_record(Arena *arena)
{
    return print(arena, &excluded_format, NULL);
}
