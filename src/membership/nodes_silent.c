/* Recording since when nodes are silent. */
#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "cluster/cluster_keys.h"
#include "membership/liveness.h"
#include "membership/nodes.h"
#include "rpc/session_server.h"

enum {
    AT_ONCE = 100 /* concurrent transactions when all nodes are checked */
};

/* --- One node -------------------------------------------------------------------------------- */

typedef struct SilenceNote {
    ClusterDone *done;
    void *context;
} SilenceNote;

static void noted(void *context, const StoreReply *reply, const Error *err)
{
    SilenceNote *noting = context;
    noting->done(noting->context, err);
    free(noting);
}

void nodes_note_silent(const ClusterStore *at, const StoreCompare *fence, Str name,
                       ClusterDone *done, void *context)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    /* It was last heard from when its lease was renewed. */
    Liveness silent = { .since_ms = loop_wall_ms(at->loop) - (int64_t)SESSION_LEASE_S * 1000 };
    Buf value = buf_make_in(&arena, BUF_UNLIMITED);
    record_print(&silent_format, &silent, &value);
    const StoreCompare compares[] = {
        { STORE_VERSION, STORE_GREATER, cluster_key_node(&arena, at->prefix, name), 0 },
        { STORE_VERSION, STORE_EQUAL, cluster_key_alive(&arena, at->prefix, name), 0 },
        *fence,
    };
    const StoreOp put = { .kind = STORE_PUT,
                          .key = cluster_key_silent(&arena, at->prefix, name),
                          .value = buf_str(&value) };
    StoreTxn txn = { .compares = compares,
                     .compare_count = COUNT_OF(compares),
                     .success = &put,
                     .success_count = 1 };
    SilenceNote *noting = memory_new(sizeof *noting);
    Error err;
    *noting = (SilenceNote){ done, context };
    if (!store_txn(at->store, &txn, noted, noting, &err)) {
        noted(noting, NULL, &err);
    }
}

/* --- All nodes ------------------------------------------------------------------------------- */

typedef struct SilenceScan {
    ClusterStore at;
    Arena own;
    StoreCompare fence;
    char after[NODE_NAME_MAX + 1]; /* the last node that was checked */
    uint32_t waits;                /* pending calls, plus one while starting more */
    bool is_over;                  /* all were checked, or the store failed */
} SilenceScan;

static void note_next(SilenceScan *all);

static void one_ended(SilenceScan *all)
{
    if (--all->waits > 0) {
        return;
    }
    if (!all->is_over) {
        note_next(all);
        return;
    }
    arena_clear(&all->own);
    free(all);
}

static void one_noted(void *context, const Error *err)
{
    SilenceScan *all = context;
    if (err != NULL) {
        log_warning("cannot record when a node became silent", LOG_C("error", err->text));
        all->is_over = true;
    }
    one_ended(all);
}

/* A record from before the node's last session is about an earlier silence. */
static bool needs_note(const RosterNode *node)
{
    bool is_noted =
        node->session == NULL ||
        (node->silence != NULL && node->silence->mod_revision > node->session->mod_revision);
    return !node->is_alive && !is_noted;
}

/* According to the state; otherwise nothing is written, because the fence does not hold. */
static bool was_led(const SilenceScan *all)
{
    const StateEntry *leader = state_find(all->at.state, all->fence.key);
    return leader != NULL && leader->create_revision > all->fence.number;
}

static void note_next(SilenceScan *all)
{
    AUTO_CLEAR(Arena) arena;
    const RosterNode *node;
    arena_init(&arena, ARENA_UNLIMITED);
    all->is_over = was_led(all);
    RosterRange range = roster_range(all->at.roster, &arena, NULL, str_from_c(all->after));
    all->waits = 1;
    while (!all->is_over && all->waits <= AT_ONCE && (node = roster_next(&range)) != NULL) {
        memcpy(all->after, node->record.name, sizeof all->after);
        if (needs_note(node)) {
            all->waits++;
            nodes_note_silent(&all->at, &all->fence, str_from_c(node->record.name), one_noted, all);
        }
    }
    all->is_over = all->is_over || all->waits <= AT_ONCE;
    one_ended(all);
}

void nodes_note_all_silent(const ClusterStore *at, const StoreCompare *fence)
{
    SilenceScan *all = memory_new(sizeof *all);
    arena_init(&all->own, ARENA_UNLIMITED);
    all->at = *at;
    all->at.prefix = arena_copy(&all->own, at->prefix);
    all->fence = *fence;
    all->fence.key = arena_copy(&all->own, fence->key);
    note_next(all);
}
