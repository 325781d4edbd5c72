/* A pass: plan -> delete a batch -> plan ... until there is nothing to delete; then the manifests
 * of all versions are read one by one, and parts of the blobs are removed one by one. Each read and
 * each part is one item of the queue, so that uploads and downloads do not wait for the entire
 * pass. Blobs that are uploaded in the meantime are retained because of their age. */
#include "source/versions_sweep.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/vec.h"
#include "cluster/change.h"
#include "cluster/cluster_keys.h"
#include "source/site_parts.h"

enum {
    BATCH_MAX = CHANGE_OPS_MAX - 1, /* maximum number of versions per transaction */
};

/* A removal of blobs. Outlives the sweep while an item is executed. */
typedef struct Collection {
    WorkItem item;
    VersionsSweep *sweep; /* NULL once the sweep is freed */
    Versions *versions;
    BlobStore *blobs;
    Arena arena;
    int64_t age_ms;
    StrMap keep;
    Str *manifests;
    uint32_t manifest_count;
    GitTree *trees[GIT_SOURCES_MAX];
    uint32_t tree_count;
    uint32_t next; /* index of the next manifest, and then of the next part */
    bool has_read, has_failed;
    BlobSweep swept;
    Error err;
} Collection;

struct VersionsSweep {
    VersionsSweepOptions options;
    Arena arena;
    LoopTimer timer;
    Arena pass;         /* holds the versions to delete */
    int64_t *revisions; /* revisions of the versions in the batch */
    uint32_t batch;
    Change *change;         /* NULL: none in progress */
    Collection *collection; /* NULL: none in progress */
    uint64_t deleted;       /* number of versions deleted in this pass */
    bool must_collect;      /* versions were deleted since the last removal of blobs */
    int64_t collect_ms;     /* time of the next removal of blobs, even if no version was deleted */
    bool is_deposed;
};

static void plan(VersionsSweep *sweep);

static void end_pass(VersionsSweep *sweep, int64_t delay_ms)
{
    arena_reset(&sweep->pass);
    sweep->deleted = 0;
    if (!sweep->is_deposed) {
        loop_timer_start(&sweep->timer, delay_ms);
    }
}

static void fail_pass(VersionsSweep *sweep, const char *what, const Error *err)
{
    sweep->is_deposed = err->kind == ERROR_CONFLICT;
    if (!sweep->is_deposed) {
        log_warning(what, LOG_C("error", err->text));
    }
    end_pass(sweep, SWEEP_RETRY_MS);
}

/* --- Blobs, on the thread --------------------------------------------------------------------- */

static bool add_manifest(Collection *collection, Str id, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Manifest manifest;
    StrMap blobs;
    Str text;
    str_map_init(&blobs, &arena);
    if (!blob_store_read(collection->blobs, &arena, id, &text, err) ||
        !manifest_read(&arena, text, &manifest, err)) {
        return false;
    }
    manifest_add_blobs(&manifest, &blobs);
    uint32_t at = 0;
    for (const StrMapEntry *entry; (entry = str_map_next(&blobs, &at)) != NULL;) {
        if (!str_map_has(&collection->keep, entry->key)) {
            str_map_put(&collection->keep, arena_copy(&collection->arena, entry->key), NULL);
        }
    }
    return true;
}

static void run(WorkItem *item)
{
    Collection *collection = (Collection *)item;
    if (!collection->has_read) {
        collection->has_failed =
            !add_manifest(collection, collection->manifests[collection->next], &collection->err);
    } else {
        collection->has_failed =
            !blob_store_sweep_part(collection->blobs, collection->next, &collection->keep,
                                   collection->age_ms, &collection->swept, &collection->err);
    }
    collection->next++;
}

/* --- Blobs, on the loop ----------------------------------------------------------------------- */

static void collection_free(Collection *collection)
{
    for (uint32_t i = 0; i < collection->tree_count; i++) {
        git_tree_unref(collection->trees[i]);
    }
    arena_clear(&collection->arena);
    free(collection);
}

static void log_freed(const VersionsSweep *sweep, const BlobSweep *swept)
{
    if (sweep->deleted > 0 || swept->removed > 0) {
        log_info("deleted old versions of the site and unused blobs",
                 LOG_INT("versions", (int64_t)sweep->deleted),
                 LOG_INT("blobs", (int64_t)swept->removed), LOG_INT("bytes", swept->removed_bytes),
                 LOG_INT("kept", (int64_t)swept->retained),
                 LOG_INT("kept_bytes", swept->retained_bytes));
    }
}

/* Items that were removed before a failure are counted, too. */
static void end_collection(Collection *collection)
{
    VersionsSweep *sweep = collection->sweep;
    sweep->collection = NULL;
    versions_count_freed(sweep->options.versions,
                         &(VersionsFreed){ .blobs = collection->swept.removed,
                                           .bytes = (uint64_t)collection->swept.removed_bytes });
    log_freed(sweep, &collection->swept);
    if (collection->has_failed && !collection->has_read) {
        log_warning("cannot read the list of files of a version; no blobs are removed until "
                    "that version is deleted",
                    LOG_STR("manifest", collection->manifests[collection->next - 1]),
                    LOG_C("error", collection->err.text));
    } else if (collection->has_failed) {
        log_warning("cannot remove unused blobs", LOG_C("error", collection->err.text));
    } else {
        sweep->must_collect = false;
        sweep->collect_ms = loop_now_ms(sweep->options.cluster_store.loop) + SWEEP_BLOBS_MS;
    }
    end_pass(sweep, SWEEP_INTERVAL_MS);
    collection_free(collection);
}

static void ran(WorkItem *item)
{
    Collection *collection = (Collection *)item;
    VersionsSweep *sweep = collection->sweep;
    if (sweep == NULL || item->is_canceled) {
        if (sweep != NULL) {
            sweep->collection = NULL;
        }
        collection_free(collection);
        return;
    }
    bool is_last_part = collection->has_read && collection->next == BLOB_STORE_PARTS;
    if (collection->has_failed || sweep->is_deposed || is_last_part) {
        end_collection(collection);
        return;
    }
    if (!collection->has_read && collection->next == collection->manifest_count) {
        collection->has_read = true;
        collection->next = 0;
    }
    versions_add_work(collection->versions, &collection->item);
}

/* Collects all existing manifests, and blobs that the next version may use. Fails if the files of a
 * version are not known. */
static bool collect_used(Collection *collection, const VersionsSweepOptions *options, Error *err)
{
    const ClusterStore *cluster_store = &options->cluster_store;
    Arena *arena = &collection->arena;
    VersionEntry *entries;
    VEC(Str) manifests = { 0 };
    StrMap *keep = &collection->keep;
    CurrentVersion current;
    uint32_t count = versions_list(arena, cluster_store->state, cluster_store->prefix, &entries);
    str_map_init(keep, arena);
    for (uint32_t i = 0; i < count; i++) {
        const Version *version = &entries[i].version;
        if (entries[i].error.len > 0) {
            return error_set(err, ERROR_INVALID, "version %" STR_FMT ": %" STR_FMT,
                             STR_ARG(entries[i].name), STR_ARG(entries[i].error));
        }
        VEC_PUSH(arena, &manifests, str_from_c(version->manifest));
        if (version->problems[0] != '\0') {
            str_map_put(keep, str_from_c(version->problems), NULL);
        }
    }
    /* Even if their versions were deleted. */
    SiteParts parts = site_parts_find(arena, cluster_store->state, cluster_store->prefix);
    if (parts.manifest.len > 0) {
        VEC_PUSH(arena, &manifests, parts.manifest);
    }
    if (versions_current(arena, cluster_store->state, cluster_store->prefix, &current)) {
        VEC_PUSH(arena, &manifests, arena_copy(arena, str_from_c(current.manifest)));
    }
    for (uint32_t i = 0; i < manifests.len; i++) {
        if (str_map_put(keep, manifests.items[i], NULL)) {
            manifests.items[collection->manifest_count++] = manifests.items[i];
        }
    }
    collection->manifests = manifests.items;
    collection->tree_count = git_sources_trees(options->sources, collection->trees);
    for (uint32_t i = 0; i < collection->tree_count; i++) {
        manifest_add_blobs(&collection->trees[i]->files, keep);
    }
    return true;
}

static void collect(VersionsSweep *sweep)
{
    const VersionsSweepOptions *options = &sweep->options;
    Collection *collection = memory_new(sizeof *collection);
    Error err;
    arena_init(&collection->arena, ARENA_UNLIMITED);
    collection->item = (WorkItem){ .run = run, .done = ran };
    collection->sweep = sweep;
    collection->versions = options->versions;
    collection->age_ms = options->age_ms == 0 ? SWEEP_BLOB_AGE_MS : options->age_ms;
    if (!versions_blob_store(options->versions, &collection->blobs, &err) ||
        !collect_used(collection, options, &err)) {
        collection_free(collection);
        log_warning("cannot remove unused blobs", LOG_C("error", err.text));
        end_pass(sweep, SWEEP_INTERVAL_MS);
        return;
    }
    collection->has_read = collection->manifest_count == 0;
    sweep->collection = collection;
    versions_add_work(options->versions, &collection->item);
}

/* --- Versions --------------------------------------------------------------------------------- */

/* Key 0 is the current version. */
static bool decide(void *context, Change *change, Error *err)
{
    const VersionsSweep *sweep = context;
    CurrentVersion current = { 0 };
    if (change_has(change, 0) &&
        !current_version_read(change_arena(change), change_value(change, 0), &current, err)) {
        return false;
    }
    Str names[] = { str_from_c(current.version), str_from_c(current.previous) };
    for (uint32_t i = 1; i <= sweep->batch; i++) {
        Str key = change_key(change, i);
        bool is_used = false;
        for (size_t j = 0; j < COUNT_OF(names); j++) {
            is_used = is_used || (names[j].len > 0 && str_ends(key, names[j]));
        }
        if (!is_used && change_revision(change, i) == sweep->revisions[i]) {
            change_delete(change, key);
        }
    }
    return true;
}

static void on_deleted(void *context, Change *change, const Error *err)
{
    VersionsSweep *sweep = context;
    sweep->change = NULL;
    if (err != NULL) {
        fail_pass(sweep, "cannot delete old versions of the site; retrying", err);
        return;
    }
    sweep->deleted += sweep->batch;
    sweep->must_collect = true;
    versions_count_freed(sweep->options.versions, &(VersionsFreed){ .versions = sweep->batch });
    plan(sweep);
}

static void delete_batch(VersionsSweep *sweep, const VersionEntry *entries, const uint32_t *which,
                         uint32_t count)
{
    const ClusterStore *cluster_store = &sweep->options.cluster_store;
    Str keys[1 + BATCH_MAX];
    /* The oldest versions are the last entries. */
    uint32_t batch = count < BATCH_MAX ? count : BATCH_MAX, first = count - batch;
    sweep->batch = batch;
    sweep->revisions = ARENA_ARRAY(&sweep->pass, int64_t, 1 + batch);
    keys[0] = cluster_key_current_version(&sweep->pass, cluster_store->prefix);
    for (uint32_t i = 0; i < batch; i++) {
        const VersionEntry *entry = &entries[which[first + i]];
        keys[1 + i] = cluster_key_version(&sweep->pass, cluster_store->prefix, entry->name);
        sweep->revisions[1 + i] = entry->revision;
    }
    change_start(&(ChangeSpec){ .cluster_store = *cluster_store,
                                .keys = keys,
                                .key_count = 1 + batch,
                                .decide = decide,
                                .done = on_deleted,
                                .context = sweep,
                                .fence = &sweep->options.fence },
                 &sweep->change);
}

static void plan(VersionsSweep *sweep)
{
    const VersionsSweepOptions *options = &sweep->options;
    const ClusterStore *cluster_store = &options->cluster_store;
    Arena *arena = &sweep->pass;
    VersionEntry *entries;
    StrMap uses;
    if (state_age(cluster_store->state).is_behind) {
        end_pass(sweep, SWEEP_RETRY_MS);
        return;
    }
    arena_reset(arena);
    str_map_init(&uses, arena);
    versions_add_uses(options->versions, &uses);
    uint32_t count = versions_list(arena, cluster_store->state, cluster_store->prefix, &entries);
    uint32_t *which = ARENA_ARRAY(arena, uint32_t, count);
    VersionRetention retention = {
        .retained = options->retained == 0 ? VERSIONS_RETAINED : options->retained,
        .before_ms = loop_wall_ms(cluster_store->loop) -
                     (options->age_ms == 0 ? VERSION_RETAINED_MS : options->age_ms),
    };
    count = version_uses_plan(entries, count, &uses, &retention, which);
    if (count > 0) {
        delete_batch(sweep, entries, which, count);
    } else if (sweep->must_collect || loop_now_ms(cluster_store->loop) >= sweep->collect_ms) {
        collect(sweep);
    } else {
        end_pass(sweep, SWEEP_INTERVAL_MS);
    }
}

static void on_timer(void *context)
{
    versions_sweep_start(context);
}

/* --- Life cycle ------------------------------------------------------------------------------- */

VersionsSweep *versions_sweep_new(const VersionsSweepOptions *options)
{
    VersionsSweep *sweep = memory_new(sizeof *sweep);
    arena_init(&sweep->arena, ARENA_UNLIMITED);
    arena_init(&sweep->pass, ARENA_UNLIMITED);
    sweep->options = *options;
    sweep->options.cluster_store.prefix = arena_copy(&sweep->arena, options->cluster_store.prefix);
    sweep->options.fence.key = arena_copy(&sweep->arena, options->fence.key);
    sweep->must_collect = true; /* an earlier leader may not have completed the removal of blobs */
    loop_timer_init(&sweep->timer, options->cluster_store.loop, on_timer, sweep);
    loop_timer_start(&sweep->timer, SWEEP_DELAY_MS);
    return sweep;
}

void versions_sweep_free(VersionsSweep *sweep)
{
    if (sweep == NULL) {
        return;
    }
    change_abandon(sweep->change);
    if (sweep->collection != NULL) {
        sweep->collection->sweep = NULL;
    }
    loop_timer_stop(&sweep->timer);
    arena_clear(&sweep->pass);
    arena_clear(&sweep->arena);
    free(sweep);
}

void versions_sweep_start(VersionsSweep *sweep)
{
    if (versions_sweep_is_idle(sweep) && !sweep->is_deposed) {
        loop_timer_stop(&sweep->timer);
        plan(sweep);
    }
}

bool versions_sweep_is_idle(const VersionsSweep *sweep)
{
    return sweep->change == NULL && sweep->collection == NULL;
}
