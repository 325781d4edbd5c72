/* Records since when nodes have been silent. A transaction per node, limited in number, compares
 * that the node has no session. */
#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "cluster/cluster_keys.h"
#include "membership/liveness.h"
#include "membership/nodes.h"
#include "rpc/session_server.h"

enum {
    CONCURRENT_MAX = 100 /* maximum number of concurrent transactions when all nodes are checked */
};

/* --- One node -------------------------------------------------------------------------------- */

typedef struct SilenceRecord {
    ClusterDone *done;
    void *context;
} SilenceRecord;

static void recorded(void *context, const StoreReply *reply, const Error *err)
{
    SilenceRecord *recording = context;
    recording->done(recording->context, err);
    free(recording);
}

void nodes_record_silence(const ClusterStore *cluster_store, const StoreCompare *fence, Str name,
                          ClusterDone *done, void *context)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    /* The last contact was when the lease was renewed. */
    Liveness silent = { .since_ms =
                            loop_wall_ms(cluster_store->loop) - (int64_t)SESSION_LEASE_S * 1000 };
    Buf value = buf_make_in(&arena, BUF_UNLIMITED);
    record_print(&silent_format, &silent, &value);
    const StoreCompare compares[] = {
        { STORE_VERSION, STORE_GREATER, cluster_key_node(&arena, cluster_store->prefix, name), 0 },
        { STORE_VERSION, STORE_EQUAL, cluster_key_alive(&arena, cluster_store->prefix, name), 0 },
        *fence,
    };
    const StoreOp put = { .kind = STORE_PUT,
                          .key = cluster_key_silent(&arena, cluster_store->prefix, name),
                          .value = buf_str(&value) };
    StoreTxn txn = { .compares = compares,
                     .compare_count = COUNT_OF(compares),
                     .success = &put,
                     .success_count = 1 };
    SilenceRecord *recording = memory_new(sizeof *recording);
    Error err;
    *recording = (SilenceRecord){ done, context };
    if (!store_txn(cluster_store->store, &txn, recorded, recording, &err)) {
        recorded(recording, NULL, &err);
    }
}

/* --- All nodes ------------------------------------------------------------------------------- */

typedef struct SilenceScan {
    ClusterStore cluster_store;
    Arena arena;
    StoreCompare fence;
    char after[NODE_NAME_MAX + 1]; /* the last node that was checked */
    uint32_t pending_calls;        /* pending calls, plus one while starting more */
    bool is_ended;                 /* all nodes were checked, or the store failed */
} SilenceScan;

static void record_next(SilenceScan *all);

static void call_ended(SilenceScan *all)
{
    if (--all->pending_calls > 0) {
        return;
    }
    if (!all->is_ended) {
        record_next(all);
        return;
    }
    arena_clear(&all->arena);
    free(all);
}

static void node_recorded(void *context, const Error *err)
{
    SilenceScan *all = context;
    if (err != NULL) {
        log_warning("cannot record when a node became silent", LOG_C("error", err->text));
        all->is_ended = true;
    }
    call_ended(all);
}

/* A record older than the node's last session is about an earlier period of silence. */
static bool must_record(const RosterNode *node)
{
    bool is_recorded =
        node->session == NULL ||
        (node->silence != NULL && node->silence->mod_revision > node->session->mod_revision);
    return !node->is_alive && !is_recorded;
}

/* The time according to the state; if that is outdated, the fence does not hold and nothing is
 * written. */
static bool is_superseded(const SilenceScan *all)
{
    const StateEntry *leader = state_find(all->cluster_store.state, all->fence.key);
    return leader != NULL && leader->create_revision > all->fence.number;
}

static void record_next(SilenceScan *all)
{
    AUTO_CLEAR(Arena) arena;
    const RosterNode *node;
    arena_init(&arena, ARENA_UNLIMITED);
    all->is_ended = is_superseded(all);
    RosterRange range =
        roster_range(all->cluster_store.roster, &arena, NULL, str_from_c(all->after));
    all->pending_calls = 1;
    while (!all->is_ended && all->pending_calls <= CONCURRENT_MAX &&
           (node = roster_next(&range)) != NULL) {
        memcpy(all->after, node->record.name, sizeof all->after);
        if (must_record(node)) {
            all->pending_calls++;
            nodes_record_silence(&all->cluster_store, &all->fence, str_from_c(node->record.name),
                                 node_recorded, all);
        }
    }
    all->is_ended = all->is_ended || all->pending_calls <= CONCURRENT_MAX;
    call_ended(all);
}

void nodes_record_all_silent(const ClusterStore *cluster_store, const StoreCompare *fence)
{
    SilenceScan *all = memory_new(sizeof *all);
    arena_init(&all->arena, ARENA_UNLIMITED);
    all->cluster_store = *cluster_store;
    all->cluster_store.prefix = arena_copy(&all->arena, cluster_store->prefix);
    all->fence = *fence;
    all->fence.key = arena_copy(&all->arena, fence->key);
    record_next(all);
}
