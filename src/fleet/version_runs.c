/* The ID of the run is derived from the version and the time when it became current, so that every
 * leader would create the same run, which can exist only once. */
#include "fleet/version_runs.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/vec.h"
#include "cluster/change.h"
#include "cluster/state.h"
#include "fleet/records.h"
#include "run/record.h"
#include "source/version.h"

enum {
    RETRY_MS = 1000,
};

struct VersionRuns {
    ClusterStore cluster_store;
    StoreCompare fence;
    Arena arena;
    StateView view; /* the current version */
    LoopTask check;
    LoopTimer retry;
    Change *change;     /* NULL: none in progress */
    Arena request;      /* holds the run that is being created */
    Str value;          /* the record of that run */
    int64_t handled_ms; /* time when the version became current that already has a run */
    bool is_deposed;
};

/* Equal for the same version and time. */
static Str run_id(Arena *arena, const CurrentVersion *current)
{
    uint64_t digits = 0;
    for (size_t i = 0; i < 4; i++) {
        int digit = ascii_hex_value(current->manifest[i]);
        digits = digits << 4 | (uint64_t)(digit < 0 ? 0 : digit);
    }
    return run_id_format(arena, current->since_ms, digits);
}

static void fill_targets(const VersionRuns *runs, Arena *arena, FleetRun *run)
{
    VEC(Str) targets = { 0 };
    const RosterNode *node;
    RosterRange range = roster_range(runs->cluster_store.roster, arena, NULL, STR_EMPTY);
    while ((node = roster_next(&range)) != NULL && targets.len < FLEET_TARGETS_MAX) {
        if (node->error.len == 0) {
            VEC_PUSH(arena, &targets, arena_copy(arena, str_from_c(node->record.name)));
        }
    }
    run->targets = targets.items;
    run->target_count = targets.len;
}

static bool decide(void *context, Change *change, Error *err)
{
    const VersionRuns *runs = context;
    if (!change_has(change, 0)) {
        change_put(change, change_key(change, 0), runs->value, 0);
    }
    return true;
}

static void on_created(void *context, Change *change, const Error *err)
{
    VersionRuns *runs = context;
    runs->change = NULL;
    if (err == NULL) {
        loop_defer(runs->cluster_store.loop,
                   &runs->check); /* another version may be current by now */
        return;
    }
    runs->handled_ms = 0;
    runs->is_deposed = err->kind == ERROR_CONFLICT;
    if (!runs->is_deposed) {
        log_warning("cannot create the run for the current version; retrying",
                    LOG_C("error", err->text));
        loop_timer_start(&runs->retry, RETRY_MS);
    }
}

static void create_run(VersionRuns *runs, const CurrentVersion *current)
{
    arena_reset(&runs->request);
    Arena *arena = &runs->request;
    Str id = run_id(arena, current),
        key = key_make(arena, runs->cluster_store.prefix, KEY_RUN, &id, 1);
    FleetRun run = { .kind = RUN_KIND_APPLY,
                     .cause = RUN_BY_VERSION,
                     .requested_by = current->requested_by,
                     .reason = current->reason,
                     .created_ms = current->since_ms };
    memcpy(run.id, id.data, id.len);
    memcpy(run.version, current->version, sizeof current->version);
    memcpy(run.manifest, current->manifest, sizeof current->manifest);
    fill_targets(runs, arena, &run);
    Buf value = buf_make_in(arena, BUF_UNLIMITED);
    fleet_run_print(&run, &value);
    runs->value = buf_str(&value);
    runs->handled_ms = current->since_ms;
    change_start(&(ChangeSpec){ .cluster_store = runs->cluster_store,
                                .keys = &key,
                                .key_count = 1,
                                .decide = decide,
                                .done = on_created,
                                .context = runs,
                                .fence = &runs->fence },
                 &runs->change);
}

static void check(void *context)
{
    VersionRuns *runs = context;
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    CurrentVersion current;
    if (runs->is_deposed || runs->change != NULL ||
        state_age(runs->cluster_store.state).is_behind ||
        !versions_current(&arena, runs->cluster_store.state, runs->cluster_store.prefix,
                          &current) ||
        !current.is_applied || current.since_ms == runs->handled_ms) {
        return;
    }
    Str id = run_id(&arena, &current);
    if (state_find(runs->cluster_store.state,
                   key_make(&arena, runs->cluster_store.prefix, KEY_RUN, &id, 1)) != NULL) {
        runs->handled_ms = current.since_ms;
        return;
    }
    log_info("applying the current version to all nodes", LOG_C("version", current.version),
             LOG_STR("run", id));
    create_run(runs, &current);
}

static void changed(void *context, const StateEntry *now, const StateEntry *before)
{
    VersionRuns *runs = context;
    loop_defer(runs->cluster_store.loop, &runs->check);
}

static void age_changed(void *context)
{
    changed(context, NULL, NULL);
}

VersionRuns *version_runs_new(const ClusterStore *cluster_store, const StoreCompare *fence)
{
    VersionRuns *runs = memory_new(sizeof *runs);
    arena_init(&runs->arena, ARENA_UNLIMITED);
    arena_init(&runs->request, ARENA_UNLIMITED);
    runs->cluster_store = *cluster_store;
    runs->cluster_store.prefix = arena_copy(&runs->arena, cluster_store->prefix);
    runs->fence = *fence;
    runs->fence.key = arena_copy(&runs->arena, fence->key);
    loop_task_init(&runs->check, check, runs);
    loop_timer_init(&runs->retry, cluster_store->loop, check, runs);
    runs->view = (StateView){ .kinds = STATE_KIND(KEY_CURRENT_VERSION),
                              .changed = changed,
                              .age_changed = age_changed,
                              .context = runs };
    state_attach(cluster_store->state, &runs->view);
    return runs;
}

void version_runs_free(VersionRuns *runs)
{
    if (runs == NULL) {
        return;
    }
    change_abandon(runs->change);
    state_detach(runs->cluster_store.state, &runs->view);
    loop_task_stop(runs->cluster_store.loop, &runs->check);
    loop_timer_stop(&runs->retry);
    arena_clear(&runs->request);
    arena_clear(&runs->arena);
    free(runs);
}
