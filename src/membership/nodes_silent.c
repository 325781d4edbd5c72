/* Since when nodes are silent. */
#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "cluster/cluster_keys.h"
#include "membership/liveness.h"
#include "membership/nodes.h"
#include "rpc/session_server.h"

enum {
    AT_ONCE = 100 /* transactions, when all nodes are looked at */
};

/* --- One ------------------------------------------------------------------------------------- */

typedef struct Noting {
    ClusterDone *done;
    void *context;
} Noting;

static void noted(void *context, const StoreReply *reply, const Error *err)
{
    Noting *noting = context;
    noting->done(noting->context, err);
    free(noting);
}

void nodes_note_silent(const ClusterStore *at, const StoreCompare *fence, Str name,
                       ClusterDone *done, void *context)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    /* It was heard of last when its lease began anew. */
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
    Noting *noting = memory_new(sizeof *noting);
    Error err;
    *noting = (Noting){ done, context };
    if (!store_txn(at->store, &txn, noted, noting, &err)) {
        noted(noting, NULL, &err);
    }
}

/* --- All ------------------------------------------------------------------------------------- */

typedef struct NotingAll {
    ClusterStore at;
    Arena own;
    StoreCompare fence;
    char after[NODE_NAME_MAX + 1]; /* the last one that was looked at */
    uint32_t waits;                /* answers that are to come, and one while more are asked for */
    bool is_over;                  /* all were looked at, or the store failed */
} NotingAll;

static void note_some(NotingAll *all);

static void one_ended(NotingAll *all)
{
    if (--all->waits > 0) {
        return;
    }
    if (!all->is_over) {
        note_some(all);
        return;
    }
    arena_clear(&all->own);
    free(all);
}

static void one_noted(void *context, const Error *err)
{
    NotingAll *all = context;
    if (err != NULL) {
        log_warning("cannot record when a node became silent", LOG_C("error", err->text));
        all->is_over = true;
    }
    one_ended(all);
}

/* What is noted of a node that had a session afterwards is of an earlier silence. */
static bool is_to_be_noted(const RosterNode *node)
{
    bool is_noted =
        node->session == NULL ||
        (node->silence != NULL && node->silence->mod_revision > node->session->mod_revision);
    return !node->is_alive && !is_noted;
}

/* As far as the state knows: else nothing is written, for the fence does not hold. */
static bool has_led(const NotingAll *all)
{
    const StateEntry *leader = state_find(all->at.state, all->fence.key);
    return leader != NULL && leader->create_revision > all->fence.number;
}

static void note_some(NotingAll *all)
{
    AUTO_CLEAR(Arena) arena;
    const RosterNode *node;
    arena_init(&arena, ARENA_UNLIMITED);
    all->is_over = has_led(all);
    RosterRange range = roster_range(all->at.roster, &arena, NULL, str_from_c(all->after));
    all->waits = 1;
    while (!all->is_over && all->waits <= AT_ONCE && (node = roster_next(&range)) != NULL) {
        memcpy(all->after, node->record.name, sizeof all->after);
        if (is_to_be_noted(node)) {
            all->waits++;
            nodes_note_silent(&all->at, &all->fence, str_from_c(node->record.name), one_noted, all);
        }
    }
    all->is_over = all->is_over || all->waits <= AT_ONCE;
    one_ended(all);
}

void nodes_note_all_silent(const ClusterStore *at, const StoreCompare *fence)
{
    NotingAll *all = memory_new(sizeof *all);
    arena_init(&all->own, ARENA_UNLIMITED);
    all->at = *at;
    all->at.prefix = arena_copy(&all->own, at->prefix);
    all->fence = *fence;
    all->fence.key = arena_copy(&all->own, fence->key);
    note_some(all);
}
