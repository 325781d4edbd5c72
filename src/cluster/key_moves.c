#include "cluster/key_moves.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "cluster/cluster_keys.h"

enum {
    CHUNK_KEYS = 40,       /* each is compared, put and deleted */
    CHUNK_BYTES = 1 << 19, /* then no further one; a single one may be larger */
};

typedef struct KeyMoves {
    ClusterStore at;
    ClusterDone *done;
    void *context;
    uint32_t kind; /* of cluster_internal_kinds */
    int64_t moved;
} KeyMoves;

/* --- Names ----------------------------------------------------------------------------------- */

static Str former_all(Arena *arena, Str prefix, const char *kind)
{
    return cluster_key_object_all(arena, prefix, str_from_c(kind));
}

/* Only the first words differ: what is behind them is kept byte by byte, also when it is no name. */
static Str renamed(Arena *arena, Str prefix, const char *kind, Str key)
{
    Str rest = str_from_offset(key, former_all(arena, prefix, kind).len);
    return arena_join(arena, cluster_key_internal_all(arena, prefix, kind), rest, STR_EMPTY);
}

bool key_moves_target(Arena *arena, Str prefix, Str key, Str *out)
{
    for (const char *const *kind = cluster_internal_kinds; *kind != NULL; kind++) {
        Str all = former_all(arena, prefix, *kind);
        if (key.len > all.len && str_starts(key, all)) {
            *out = renamed(arena, prefix, *kind, key);
            return true;
        }
    }
    return false;
}

/* --- Moving ---------------------------------------------------------------------------------- */

static void finish(KeyMoves *moves, const Error *err)
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

static void fail(KeyMoves *moves, const Error *why)
{
    Error err = *why;
    error_wrap(&err, "cannot move records of an earlier version");
    finish(moves, &err);
}

static void look(KeyMoves *moves);

static void noted(void *context, const StoreReply *reply, const Error *err)
{
    KeyMoves *moves = context;
    if (err != NULL) {
        fail(moves, err);
    } else {
        finish(moves, NULL);
    }
}

static void written(void *context, const StoreReply *reply, const Error *err)
{
    KeyMoves *moves = context;
    if (err != NULL) {
        fail(moves, err);
        return;
    }
    /* When it did not succeed one has changed meanwhile, and is read again. */
    for (uint32_t i = 0; reply->succeeded && i < reply->op_count; i++) {
        moves->moved += reply->ops[i].kind == STORE_PUT;
    }
    look(moves);
}

static void write_chunk(KeyMoves *moves, const StoreOpReply *page)
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
        ops[2 * count] = (StoreOp){ .kind = STORE_PUT,
                                    .key = renamed(&arena, moves->at.prefix, kind, kv->key),
                                    .value = kv->value,
                                    .lease = kv->lease };
        ops[2 * count + 1] = (StoreOp){ .kind = STORE_DELETE, .key = kv->key };
    }
    StoreTxn txn = { .compares = compares,
                     .compare_count = count,
                     .success = ops,
                     .success_count = 2 * count,
                     .urgent = true };
    if (!store_txn(moves->at.store, &txn, written, moves, &err)) {
        fail(moves, &err);
    }
}

static void read(void *context, const StoreReply *reply, const Error *err)
{
    KeyMoves *moves = context;
    if (err != NULL) {
        fail(moves, err);
    } else if (reply->ops[0].kv_count > 0) {
        write_chunk(moves, &reply->ops[0]);
    } else {
        moves->kind++;
        look(moves);
    }
}

static void look(KeyMoves *moves)
{
    AUTO_CLEAR(Arena) arena;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    if (cluster_internal_kinds[moves->kind] == NULL) {
        if (!store_put(moves->at.store, cluster_key_moved(&arena, moves->at.prefix), STR("1"), 0,
                       noted, moves, &err)) {
            fail(moves, &err);
        }
        return;
    }
    Str all = former_all(&arena, moves->at.prefix, cluster_internal_kinds[moves->kind]);
    StoreOp op = {
        .kind = STORE_RANGE, .key = all, .end = store_prefix_end(&arena, all), .limit = CHUNK_KEYS
    };
    StoreTxn txn = { .success = &op, .success_count = 1 };
    if (!store_txn(moves->at.store, &txn, read, moves, &err)) {
        fail(moves, &err);
    }
}

static void begin(void *context, const StoreReply *reply, const Error *err)
{
    KeyMoves *moves = context;
    if (err != NULL) {
        fail(moves, err);
    } else if (reply->ops[0].kv_count > 0) {
        finish(moves, NULL); /* it has been done */
    } else {
        look(moves);
    }
}

void key_moves_run(const ClusterStore *at, ClusterDone *done, void *context)
{
    AUTO_CLEAR(Arena) arena;
    Error err;
    KeyMoves *moves = memory_new(sizeof *moves);
    *moves = (KeyMoves){ .at = *at, .done = done, .context = context };
    arena_init(&arena, ARENA_UNLIMITED);
    StoreOp op = { .kind = STORE_RANGE, .key = cluster_key_moved(&arena, at->prefix) };
    if (!store_txn(at->store, &(StoreTxn){ .success = &op, .success_count = 1 }, begin, moves,
                   &err)) {
        fail(moves, &err);
    }
}
