#include "cluster/node_sweep.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/str_map.h"
#include "cluster/cluster_keys.h"

enum {
    PAGE_MAX = STORE_OPS_MAX, /* keys of one step, all of which may have to go */
    RETRY_MS = 5000,          /* after a failure of the store */
};

/* A walk through all keys. It ends with an answer of the store, when the sweep may be gone. */
typedef struct Walk {
    NodeSweep *sweep; /* NULL: it is */
    Arena names_arena, arena;
    StrMap names;
    Str next; /* where the next page begins; empty: there is none */
    int64_t deleted;
} Walk;

struct NodeSweep {
    ClusterStore at;
    Arena arena;
    StoreWatch *watch;
    Walk *walk;
    bool again; /* more was removed since it began */
    LoopTimer retry;
};

static void start(NodeSweep *sweep);

static void walk_end(Walk *walk, bool is_done)
{
    NodeSweep *sweep = walk->sweep;
    if (sweep != NULL) {
        sweep->walk = NULL;
        if (is_done && walk->deleted > 0) {
            log_info("deleted what removed nodes have left", LOG_INT("keys", walk->deleted));
        }
        if (!is_done) {
            loop_timer_start(&sweep->retry, RETRY_MS);
        } else if (sweep->again) {
            start(sweep);
        }
    }
    arena_clear(&walk->names_arena);
    arena_clear(&walk->arena);
    free(walk);
}

/* --- Steps ----------------------------------------------------------------------------------- */

static void finished(void *context, const StoreReply *reply, const Error *err)
{
    walk_end(context, err == NULL);
}

/* Nothing else is left of them: the names are free. */
static void free_names(Walk *walk)
{
    StoreOp ops[STORE_OPS_MAX];
    uint32_t count = 0, at = 0;
    const StrMapEntry *entry;
    while (count < STORE_OPS_MAX && (entry = str_map_next(&walk->names, &at)) != NULL) {
        ops[count++] = (StoreOp){
            .kind = STORE_DELETE,
            .key = cluster_key_removed(&walk->arena, walk->sweep->at.prefix, entry->key),
        };
    }
    walk->sweep->again = walk->sweep->again || walk->names.count > count;
    StoreTxn txn = { .success = ops, .success_count = count };
    Error err;
    if (!store_txn(walk->sweep->at.store, &txn, finished, walk, &err)) {
        walk_end(walk, false);
    }
}

static void step(Walk *walk);

static void deleted(void *context, const StoreReply *reply, const Error *err)
{
    Walk *walk = context;
    if (err != NULL || walk->sweep == NULL) {
        walk_end(walk, false);
    } else {
        step(walk);
    }
}

static bool is_left(Walk *walk, Str key)
{
    KeyKind kind;
    Str parts[KEYS_PARTS_MAX];
    uint32_t part;
    return key_parse(&walk->arena, walk->sweep->at.prefix, key, &kind, parts) &&
           kind != KEY_REMOVED && key_node_part(kind, &part) &&
           str_map_has(&walk->names, parts[part]);
}

static void page_came(void *context, const StoreReply *reply, const Error *err)
{
    Walk *walk = context;
    if (err != NULL || walk->sweep == NULL) {
        walk_end(walk, false);
        return;
    }
    const StoreOpReply *range = &reply->ops[0];
    StoreOp ops[PAGE_MAX];
    uint32_t count = 0;
    arena_reset(&walk->arena);
    for (uint32_t i = 0; i < range->kv_count; i++) {
        if (is_left(walk, range->kvs[i].key)) {
            ops[count++] = (StoreOp){ .kind = STORE_DELETE, .key = range->kvs[i].key };
        }
    }
    walk->next = range->more ? arena_join(&walk->arena, range->kvs[range->kv_count - 1].key,
                                          STR("\0"), STR_EMPTY)
                             : STR_EMPTY;
    walk->deleted += count;
    StoreTxn txn = { .success = ops, .success_count = count };
    Error failure;
    if (count == 0) {
        step(walk);
    } else if (!store_txn(walk->sweep->at.store, &txn, deleted, walk, &failure)) {
        walk_end(walk, false);
    }
}

static void step(Walk *walk)
{
    const ClusterStore *at = &walk->sweep->at;
    if (walk->next.len == 0) {
        free_names(walk);
        return;
    }
    StoreOp op = { .kind = STORE_RANGE,
                   .key = walk->next,
                   .end = store_prefix_end(&walk->arena, at->prefix),
                   .keys_only = true,
                   .limit = PAGE_MAX };
    Error err;
    if (!store_op(at->store, &op, page_came, walk, &err)) {
        walk_end(walk, false);
    }
}

/* --- Names ----------------------------------------------------------------------------------- */

static void names_came(void *context, const StoreReply *reply, const Error *err)
{
    Walk *walk = context;
    if (err != NULL || walk->sweep == NULL) {
        walk_end(walk, false);
        return;
    }
    const StoreOpReply *range = &reply->ops[0];
    for (uint32_t i = 0; i < range->kv_count; i++) {
        KeyKind kind;
        Str parts[KEYS_PARTS_MAX];
        if (key_parse(&walk->names_arena, walk->sweep->at.prefix, range->kvs[i].key, &kind,
                      parts) &&
            kind == KEY_REMOVED) {
            str_map_put(&walk->names, parts[0], walk);
        }
    }
    if (walk->names.count == 0) {
        walk_end(walk, true);
        return;
    }
    walk->next = arena_join(&walk->arena, walk->sweep->at.prefix, STR("/"), STR_EMPTY);
    step(walk);
}

static void start(NodeSweep *sweep)
{
    Walk *walk = memory_new(sizeof *walk);
    walk->sweep = sweep;
    arena_init(&walk->names_arena, ARENA_UNLIMITED);
    arena_init(&walk->arena, ARENA_UNLIMITED);
    str_map_init(&walk->names, &walk->names_arena);
    sweep->walk = walk;
    sweep->again = false;
    Str all = cluster_key_removed_all(&walk->arena, sweep->at.prefix);
    StoreOp op = { .kind = STORE_RANGE,
                   .key = all,
                   .end = store_prefix_end(&walk->arena, all),
                   .keys_only = true,
                   .limit = STORE_OPS_MAX };
    Error err;
    if (!store_op(sweep->at.store, &op, names_came, walk, &err)) {
        walk_end(walk, false);
    }
}

static void poke(NodeSweep *sweep)
{
    if (sweep->walk != NULL) {
        sweep->again = true;
    } else {
        loop_timer_stop(&sweep->retry);
        start(sweep);
    }
}

static void watch(NodeSweep *sweep);

static void removed_came(void *context, const StoreBatch *batch)
{
    NodeSweep *sweep = context;
    if (batch->resync) {
        store_watch_cancel(TAKE(sweep->watch));
        watch(sweep);
        poke(sweep); /* for what was removed meanwhile */
        return;
    }
    for (uint32_t i = 0; i < batch->count; i++) {
        if (!batch->events[i].deleted) {
            poke(sweep);
            break;
        }
    }
    if (batch->count > 0) {
        store_watch_ack(sweep->watch);
    }
}

static void watch(NodeSweep *sweep)
{
    Str all = cluster_key_removed_all(&sweep->arena, sweep->at.prefix);
    StoreWatchSpec spec = { .key = all,
                            .end = store_prefix_end(&sweep->arena, all),
                            .done = removed_came,
                            .context = sweep };
    Error err;
    if (!store_watch(sweep->at.store, &spec, &sweep->watch, &err)) {
        log_error("cannot watch for removed nodes; a restart deletes what they leave",
                  LOG_C("why", err.text));
    }
}

static void retry_runs(void *context)
{
    poke(context);
}

/* --- Life ------------------------------------------------------------------------------------ */

NodeSweep *node_sweep_new(const ClusterStore *at)
{
    NodeSweep *sweep = memory_new(sizeof *sweep);
    arena_init(&sweep->arena, ARENA_UNLIMITED);
    sweep->at = *at;
    sweep->at.prefix = arena_copy(&sweep->arena, at->prefix);
    loop_timer_init(&sweep->retry, at->loop, retry_runs, sweep);
    watch(sweep);
    start(sweep);
    return sweep;
}

void node_sweep_free(NodeSweep *sweep)
{
    if (sweep == NULL) {
        return;
    }
    if (sweep->walk != NULL) {
        sweep->walk->sweep = NULL;
    }
    store_watch_cancel(sweep->watch);
    loop_timer_stop(&sweep->retry);
    arena_clear(&sweep->arena);
    free(sweep);
}

bool node_sweep_is_idle(const NodeSweep *sweep)
{
    return sweep->walk == NULL;
}
