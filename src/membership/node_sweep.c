/* Deleting the data of removed nodes. One walk reads all keys in pages and deletes those that
 * contain one of the removed names; when no such key is left, the marks are deleted, which frees
 * the names. Every write compares the leader's fence and the marks, so a delayed write cannot hit a
 * new node of the same name. */
#include "membership/node_sweep.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/str_map.h"
#include "cluster/cluster_keys.h"
#include "cluster/state.h"

enum {
    PAGE_MAX = STORE_OPS_MAX, /* keys per step; all of them may have to be deleted */
    /* names per walk, because the marks and the fence are compared */
    NAMES_MAX = STORE_OPS_MAX - 1,
    RETRY_MS = 5000, /* delay after a failure of the store */
};

/* A walk through all keys. It ends with a response from the store, when the sweep may be freed
 * already. */
typedef struct Walk {
    NodeSweep *sweep; /* NULL once freed */
    Arena names_arena, arena;
    StrMap names;
    StoreCompare compares[1 + NAMES_MAX]; /* the fence, and the mark of each name */
    /* start of the next page; empty: there are no more pages */
    Str next;
    int64_t deleted;
} Walk;

struct NodeSweep {
    ClusterStore cluster_store;
    StoreCompare fence;
    Arena arena;
    StateView view; /* reports removed nodes */
    Walk *walk;
    bool is_reported;   /* another mark was added by the changes that are being reported */
    bool needs_restart; /* more nodes were removed since it started */
    bool is_ended;      /* the fence did not hold */
    /* Revision of the election and of the last write: names are only taken from a state that
     * includes it, because a name that was freed before may be in use again. */
    int64_t revision;
    LoopTimer retry;
};

static void start(NodeSweep *sweep);

static void walk_end(Walk *walk, bool is_done)
{
    NodeSweep *sweep = walk->sweep;
    if (sweep != NULL) {
        sweep->walk = NULL;
        if (is_done && walk->deleted > 0) {
            log_info("deleted data of removed nodes", LOG_INT("keys", walk->deleted));
        }
        if (sweep->is_ended) {
            log_info("another server is the leader and deletes the data of removed nodes");
        } else if (!is_done) {
            loop_timer_start(&sweep->retry, RETRY_MS);
        } else if (sweep->needs_restart) {
            start(sweep);
        }
    }
    arena_clear(&walk->names_arena);
    arena_clear(&walk->arena);
    free(walk);
}

/* --- Steps ----------------------------------------------------------------------------------- */

/* All writes compare the fence and the marks of the names: a write whose response was lost may take
 * effect late, when a name is free and in use again. */
static void write_ops(Walk *walk, const StoreOp *ops, uint32_t count, StoreDone *done)
{
    const StoreOp read_fence = { .kind = STORE_RANGE,
                                 .key = walk->sweep->fence.key,
                                 .keys_only = true };
    StoreTxn txn = { .compares = walk->compares,
                     .compare_count = 1 + walk->names.count,
                     .success = ops,
                     .success_count = count,
                     .failure = &read_fence,
                     .failure_count = 1 };
    Error err;
    if (!store_txn(walk->sweep->cluster_store.store, &txn, done, walk, &err)) {
        walk_end(walk, false);
    }
}

static bool has_fence(const NodeSweep *sweep, const StoreOpReply *found)
{
    return found->kv_count == 0 ? sweep->fence.number == 0
                                : found->kvs[0].create_revision == sweep->fence.number;
}

/* Whether the walk continues. */
static bool is_written(const Walk *walk, const StoreReply *reply, const Error *err)
{
    if (err == NULL && walk->sweep != NULL) {
        walk->sweep->is_ended = !reply->succeeded && !has_fence(walk->sweep, &reply->ops[0]);
        walk->sweep->revision = reply->revision;
    }
    return err == NULL && reply->succeeded;
}

static void finished(void *context, const StoreReply *reply, const Error *err)
{
    walk_end(context, is_written(context, reply, err));
}

/* No other key is left, so the names are freed. */
static void free_names(Walk *walk)
{
    StoreOp ops[STORE_OPS_MAX];
    uint32_t count = 0, at = 0;
    const StrMapEntry *entry;
    while ((entry = str_map_next(&walk->names, &at)) != NULL) {
        ops[count++] = (StoreOp){
            .kind = STORE_DELETE,
            .key = cluster_key_removed(&walk->arena, walk->sweep->cluster_store.prefix, entry->key),
        };
    }
    write_ops(walk, ops, count, finished);
}

static void step(Walk *walk);

static void deleted(void *context, const StoreReply *reply, const Error *err)
{
    Walk *walk = context;
    if (!is_written(walk, reply, err) || walk->sweep == NULL) {
        walk_end(walk, false);
    } else {
        step(walk);
    }
}

static bool is_leftover(Walk *walk, Str key)
{
    KeyKind kind;
    Str parts[KEYS_PARTS_MAX];
    uint32_t part;
    return key_parse(&walk->arena, walk->sweep->cluster_store.prefix, key, &kind, parts) &&
           kind != KEY_REMOVED && key_node_part(kind, &part) &&
           str_map_has(&walk->names, parts[part]);
}

static void on_page(void *context, const StoreReply *reply, const Error *err)
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
        if (is_leftover(walk, range->kvs[i].key)) {
            ops[count++] = (StoreOp){ .kind = STORE_DELETE, .key = range->kvs[i].key };
        }
    }
    walk->next = range->more ? arena_join(&walk->arena, range->kvs[range->kv_count - 1].key,
                                          STR("\0"), STR_EMPTY)
                             : STR_EMPTY;
    walk->deleted += count;
    if (count == 0) {
        step(walk);
    } else {
        write_ops(walk, ops, count, deleted);
    }
}

static void step(Walk *walk)
{
    const ClusterStore *cluster_store = &walk->sweep->cluster_store;
    if (walk->next.len == 0) {
        free_names(walk);
        return;
    }
    StoreOp op = { .kind = STORE_RANGE,
                   .key = walk->next,
                   .end = store_prefix_end(&walk->arena, cluster_store->prefix),
                   .keys_only = true,
                   .limit = PAGE_MAX };
    Error err;
    if (!store_op(cluster_store->store, &op, on_page, walk, &err)) {
        walk_end(walk, false);
    }
}

/* --- Names ----------------------------------------------------------------------------------- */

static void names_known(void *context)
{
    Walk *walk = context;
    const NodeSweep *sweep = walk->sweep;
    /* A freed name may be in use again, so nothing is deleted based on an outdated state. */
    if (sweep == NULL || state_age(sweep->cluster_store.state).is_behind ||
        state_age(sweep->cluster_store.state).revision < sweep->revision) {
        walk_end(walk, false);
        return;
    }
    const StateEntry *entry;
    StateRange range =
        state_range(sweep->cluster_store.state,
                    cluster_key_removed_all(&walk->arena, sweep->cluster_store.prefix), STR_EMPTY);
    walk->compares[0] = sweep->fence;
    while (walk->names.count < NAMES_MAX && (entry = state_next(&range)) != NULL) {
        str_map_put(&walk->names, arena_copy(&walk->names_arena, entry->parts[0]), walk);
        walk->compares[walk->names.count] =
            (StoreCompare){ .target = STORE_CREATE_REVISION,
                            .relation = STORE_EQUAL,
                            .key = arena_copy(&walk->names_arena, entry->key),
                            .number = entry->create_revision };
    }
    if (walk->names.count == 0) {
        walk_end(walk, true);
        return;
    }
    walk->sweep->needs_restart = walk->names.count == NAMES_MAX; /* there may be more */
    walk->next = arena_join(&walk->arena, sweep->cluster_store.prefix, STR("/"), STR_EMPTY);
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
    sweep->needs_restart = false;
    state_wait(sweep->cluster_store.state, sweep->revision, names_known, walk);
}

static void start_if_idle(NodeSweep *sweep)
{
    if (sweep->walk != NULL) {
        sweep->needs_restart = true;
    } else if (!sweep->is_ended) {
        loop_timer_stop(&sweep->retry);
        start(sweep);
    }
}

static void removed_changed(void *context, const StateEntry *now, const StateEntry *before)
{
    NodeSweep *sweep = context;
    sweep->is_reported = sweep->is_reported || now != NULL;
}

static void removals_reported(void *context)
{
    NodeSweep *sweep = context;
    bool is_reported = sweep->is_reported;
    sweep->is_reported = false;
    if (is_reported) {
        start_if_idle(sweep);
    }
}

static void retry_runs(void *context)
{
    start_if_idle(context);
}

/* --- Lifecycle ------------------------------------------------------------------------------- */

NodeSweep *node_sweep_new(const ClusterStore *cluster_store, const StoreCompare *fence)
{
    NodeSweep *sweep = memory_new(sizeof *sweep);
    arena_init(&sweep->arena, ARENA_UNLIMITED);
    sweep->cluster_store = *cluster_store;
    sweep->cluster_store.prefix = arena_copy(&sweep->arena, cluster_store->prefix);
    sweep->fence = *fence;
    sweep->fence.key = arena_copy(&sweep->arena, fence->key);
    loop_timer_init(&sweep->retry, cluster_store->loop, retry_runs, sweep);
    sweep->revision = fence->number;
    sweep->view = (StateView){ .kinds = STATE_KIND(KEY_REMOVED),
                               .changed = removed_changed,
                               .settled = removals_reported,
                               .context = sweep };
    state_attach(cluster_store->state, &sweep->view);
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
    state_detach(sweep->cluster_store.state, &sweep->view);
    loop_timer_stop(&sweep->retry);
    arena_clear(&sweep->arena);
    free(sweep);
}

bool node_sweep_is_idle(const NodeSweep *sweep)
{
    return sweep->walk == NULL;
}
