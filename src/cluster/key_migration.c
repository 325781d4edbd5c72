/* Moves records to their current keys in chunks; key_migration.h explains why and how a crash is
 * handled. */
#include "cluster/key_migration.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "cluster/cluster_keys.h"

enum {
    CHUNK_KEYS = 40, /* maximum number of keys; each is compared, put and deleted */
    /* size beyond which no further key is added; a single one may be larger */
    CHUNK_BYTES = 1 << 19,
};

typedef struct KeyMigration {
    ClusterStore cluster_store;
    ClusterDone *done;
    void *context;
    uint32_t kind; /* index into cluster_internal_kinds */
    int64_t moved;
} KeyMigration;

/* --- Names ----------------------------------------------------------------------------------- */

static Str old_prefix(Arena *arena, Str prefix, const char *kind)
{
    return cluster_key_object_all(arena, prefix, str_from_c(kind));
}

/* Only the first components differ: what follows is preserved byte by byte, even if it is not a
 * valid name. */
static Str renamed(Arena *arena, Str prefix, const char *kind, Str key)
{
    Str rest = str_from_offset(key, old_prefix(arena, prefix, kind).len);
    return arena_join(arena, cluster_key_internal_all(arena, prefix, kind), rest, STR_EMPTY);
}

bool key_migration_target(Arena *arena, Str prefix, Str key, Str *out)
{
    for (const char *const *kind = cluster_internal_kinds; *kind != NULL; kind++) {
        Str all = old_prefix(arena, prefix, *kind);
        if (key.len > all.len && str_starts(key, all)) {
            *out = renamed(arena, prefix, *kind, key);
            return true;
        }
    }
    return false;
}

/* --- Moving ---------------------------------------------------------------------------------- */

static void finish(KeyMigration *moves, const Error *err)
{
    ClusterDone *done = moves->done;
    void *context = moves->context;
    if (moves->moved > 0) {
        log_info("moved internal records of an earlier version to internal/",
                 LOG_INT("keys", moves->moved));
    }
    free(moves);
    done(context, err);
}

static void fail(KeyMigration *moves, const Error *why)
{
    Error err = *why;
    error_wrap(&err, "cannot move records of an earlier version");
    finish(moves, &err);
}

static void read_keys(KeyMigration *moves);

static void on_recorded(void *context, const StoreReply *reply, const Error *err)
{
    KeyMigration *moves = context;
    if (err != NULL) {
        fail(moves, err);
    } else {
        finish(moves, NULL);
    }
}

static void written(void *context, const StoreReply *reply, const Error *err)
{
    KeyMigration *moves = context;
    if (err != NULL) {
        fail(moves, err);
        return;
    }
    /* If a comparison failed, a key has changed in the meantime, so read them again. */
    for (uint32_t i = 0; reply->succeeded && i < reply->op_count; i++) {
        moves->moved += reply->ops[i].kind == STORE_PUT;
    }
    read_keys(moves);
}

static void write_chunk(KeyMigration *moves, const StoreOpReply *page)
{
    AUTO_CLEAR(Arena) arena;
    StoreCompare compares[CHUNK_KEYS];
    StoreOp ops[2 * CHUNK_KEYS];
    uint32_t count = 0;
    size_t bytes = 0;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    const char *kind = cluster_internal_kinds[moves->kind];
    for (; count < page->kv_count && (count == 0 || bytes < CHUNK_BYTES); count++) {
        const StoreKv *kv = &page->kvs[count];
        bytes += kv->value.len;
        if (count > 0 && bytes > CHUNK_BYTES) {
            break;
        }
        compares[count] = (StoreCompare){ .target = STORE_MOD_REVISION,
                                          .relation = STORE_EQUAL,
                                          .key = kv->key,
                                          .number = kv->mod_revision };
        ops[2 * count] =
            (StoreOp){ .kind = STORE_PUT,
                       .key = renamed(&arena, moves->cluster_store.prefix, kind, kv->key),
                       .value = kv->value,
                       .lease = kv->lease };
        ops[2 * count + 1] = (StoreOp){ .kind = STORE_DELETE, .key = kv->key };
    }
    StoreTxn txn = { .compares = compares,
                     .compare_count = count,
                     .success = ops,
                     .success_count = 2 * count,
                     .urgent = true };
    if (!store_txn(moves->cluster_store.store, &txn, written, moves, &err)) {
        fail(moves, &err);
    }
}

static void read(void *context, const StoreReply *reply, const Error *err)
{
    KeyMigration *moves = context;
    if (err != NULL) {
        fail(moves, err);
    } else if (reply->ops[0].kv_count > 0) {
        write_chunk(moves, &reply->ops[0]);
    } else {
        moves->kind++;
        read_keys(moves);
    }
}

static void read_keys(KeyMigration *moves)
{
    AUTO_CLEAR(Arena) arena;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    if (cluster_internal_kinds[moves->kind] == NULL) {
        if (!store_put(moves->cluster_store.store,
                       cluster_key_moved(&arena, moves->cluster_store.prefix), STR("1"), 0,
                       on_recorded, moves, &err)) {
            fail(moves, &err);
        }
        return;
    }
    Str all = old_prefix(&arena, moves->cluster_store.prefix, cluster_internal_kinds[moves->kind]);
    StoreOp op = {
        .kind = STORE_RANGE, .key = all, .end = store_prefix_end(&arena, all), .limit = CHUNK_KEYS
    };
    StoreTxn txn = { .success = &op, .success_count = 1 };
    if (!store_txn(moves->cluster_store.store, &txn, read, moves, &err)) {
        fail(moves, &err);
    }
}

static void begin(void *context, const StoreReply *reply, const Error *err)
{
    KeyMigration *moves = context;
    if (err != NULL) {
        fail(moves, err);
    } else if (reply->ops[0].kv_count > 0) {
        finish(moves, NULL); /* already migrated */
    } else {
        read_keys(moves);
    }
}

void key_migration_run(const ClusterStore *cluster_store, ClusterDone *done, void *context)
{
    AUTO_CLEAR(Arena) arena;
    Error err;
    KeyMigration *moves = memory_new(sizeof *moves);
    *moves = (KeyMigration){ .cluster_store = *cluster_store, .done = done, .context = context };
    arena_init(&arena, ARENA_UNLIMITED);
    StoreOp op = { .kind = STORE_RANGE, .key = cluster_key_moved(&arena, cluster_store->prefix) };
    if (!store_txn(cluster_store->store, &(StoreTxn){ .success = &op, .success_count = 1 }, begin,
                   moves, &err)) {
        fail(moves, &err);
    }
}
