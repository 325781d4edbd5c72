/* One pass: fetch -> adopt -> build, as often as there is something to try -> settle. A fetch runs on
 * the thread of its source; at most one build runs at a time, because its result decides what is
 * tried next. Statuses are written when nothing is left to try, so that whoever waits for a request
 * to be handled sees its outcome. */
#include "source/git_sources.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/vec.h"
#include "cluster/change.h"
#include "cluster/cluster_keys.h"
#include "source/git_mirror.h"
#include "source/site_build.h"
#include "sys/file_tree.h"

enum {
    START_SPREAD_MS = 500, /* fetches after an election */
    RETRY_MS = 5000,       /* of a build or a write that failed because of the server */
};

typedef struct Fetch Fetch;

/* A source that is configured. */
typedef struct Tracked {
    GitSources *owner;
    Arena arena; /* of the configuration; replaced with it */
    GitSource source;
    bool is_readable;
    int64_t revision;
    Arena status_arena;
    GitSourceStatus status;
    const char *directory; /* of its mirror */
    GitTree *tree;         /* newest commit; NULL: none was fetched by this server */
    LoopTimer due;
    WorkQueue *queue;
    Fetch *fetch;      /* NULL: none in progress */
    bool fetches_again;
    uint32_t failures; /* in succession */
    int64_t requested, fetched; /* revision of the newest request; of that the last fetch covers */
    Change *change;    /* of the status; NULL: none in progress */
    Arena change_arena;
    Str change_text;
} Tracked;

struct GitSources {
    GitSourcesOptions options;
    Arena arena;
    StateView view;
    LoopTask configure;
    LoopTimer retry;
    Tracked *items[GIT_SOURCES_MAX]; /* sorted by name */
    uint32_t count;
    WorkQueue *builds;
    SiteBuild *build; /* NULL: none in progress */
    Arena build_arena;
    SiteParts building;
    struct Release *release; /* of what was held; NULL: none in progress */
    Arena tried_arena;
    StrMap tried; /* keys of parts that are not valid */
    Change *change; /* of the parts; NULL: none in progress */
    Str change_text;
    bool is_deposed, is_configured;
};

static void advance(GitSources *sources);
static void start_fetch(Tracked *tracked);

static ClusterStore *store_of(GitSources *sources)
{
    return &sources->options.at;
}

/* Another server leads now: it continues. */
static void depose(GitSources *sources)
{
    sources->is_deposed = true;
    loop_timer_stop(&sources->retry);
    for (uint32_t i = 0; i < sources->count; i++) {
        loop_timer_stop(&sources->items[i]->due);
    }
}

static void retry_later(GitSources *sources, const char *what, const Error *err)
{
    log_warning(what, LOG_C("error", err->text));
    loop_timer_start(&sources->retry, RETRY_MS);
}

/* --- Status ----------------------------------------------------------------------------------- */

static void write_status(Tracked *tracked);

static bool decide_status(void *context, Change *change, Error *err)
{
    const Tracked *tracked = context;
    if (!str_eq(change_value(change, 0), tracked->change_text)) {
        change_put(change, change_key(change, 0), tracked->change_text, 0);
    }
    return true;
}

static void status_written(void *context, Change *change, const Error *err)
{
    Tracked *tracked = context;
    GitSources *sources = tracked->owner;
    tracked->change = NULL;
    if (err != NULL && err->kind == ERROR_CONFLICT) {
        depose(sources);
    } else if (err != NULL) {
        retry_later(sources, "cannot record the status of a source; retrying", err);
    } else {
        write_status(tracked); /* it may have changed meanwhile */
    }
}

/* Nothing is written if it is recorded already. */
static void write_status(Tracked *tracked)
{
    GitSources *sources = tracked->owner;
    const ClusterStore *at = store_of(sources);
    if (tracked->change != NULL || sources->is_deposed) {
        return;
    }
    arena_reset(&tracked->change_arena);
    Buf text = buf_make_in(&tracked->change_arena, BUF_UNLIMITED);
    git_source_status_print(&tracked->status, &text);
    tracked->change_text = buf_str(&text);
    Str key = cluster_key_source_status(&tracked->change_arena, at->prefix, tracked->source.name);
    const StateEntry *entry = state_find(at->state, key);
    if (entry != NULL && str_eq(entry->value, tracked->change_text)) {
        return;
    }
    change_start(&(ChangeSpec){ .at = *at,
                                .keys = &key,
                                .key_count = 1,
                                .decide = decide_status,
                                .done = status_written,
                                .context = tracked,
                                .fence = &sources->options.fence },
                 &tracked->change);
}

/* The time changes only with the rest. */
static void set_status(Tracked *tracked, const GitSourceStatus *next)
{
    Arena arena;
    const char *before = git_source_status_name(&tracked->status);
    bool is_same = strcmp(before, git_source_status_name(next)) == 0 &&
                   str_eq(tracked->status.commit, next->commit);
    arena_init(&arena, ARENA_UNLIMITED);
    GitSourceStatus status = {
        .commit = arena_copy(&arena, next->commit),
        .author = arena_copy(&arena, next->author),
        .subject = arena_copy(&arena, next->subject),
        .rejection = arena_copy(&arena, next->rejection),
        .error = arena_copy(&arena, next->error),
        .held = arena_copy(&arena, next->held),
        .since_ms = is_same ? tracked->status.since_ms : loop_wall_ms(tracked->due.loop),
        .handled = next->handled,
    };
    if (!is_same) {
        log_info("source", LOG_STR("source", tracked->source.name),
                 LOG_C("state", git_source_status_name(&status)), LOG_STR("commit", status.commit),
                 LOG_STR("why", status.error.len > 0 ? status.error : status.rejection));
    }
    arena_clear(&tracked->status_arena);
    tracked->status_arena = arena;
    tracked->status = status;
}

/* --- Fetching --------------------------------------------------------------------------------- */

struct Fetch {
    WorkItem item;
    Tracked *tracked; /* NULL: the source was removed */
    Arena arena;
    GitSource source;
    GitMirror mirror;
    GitTree *before, *tree;
    atomic_bool cancelled;
    int64_t request;
    bool has_failed;
    Error err;
};

static void run_fetch(WorkItem *item)
{
    Fetch *fetch = (Fetch *)item;
    fetch->has_failed = fetch->has_failed || !git_mirror_update(&fetch->mirror, &fetch->source,
                                                                fetch->before, &fetch->tree,
                                                                &fetch->err);
}

static void fetch_free(Fetch *fetch)
{
    git_tree_unref(fetch->before);
    git_tree_unref(fetch->tree);
    arena_clear(&fetch->arena);
    free(fetch);
}

/* A commit that was rejected before may be valid now, if the mirror was read by a newer version; so
 * only an equal one without a reason is kept. */
static void adopt(Tracked *tracked, Fetch *fetch)
{
    GitSourceStatus status = tracked->status;
    if (fetch->has_failed) {
        tracked->failures++;
        status.error = str_from_c(fetch->err.text);
        set_status(tracked, &status);
        return;
    }
    tracked->failures = 0;
    bool is_known = tracked->tree != NULL && str_eq(tracked->tree->commit, fetch->tree->commit);
    if (!is_known) {
        git_tree_unref(tracked->tree);
        tracked->tree = TAKE(fetch->tree);
    }
    bool is_other = !str_eq(status.commit, tracked->tree->commit);
    status.commit = tracked->tree->commit;
    status.author = tracked->tree->author;
    status.subject = tracked->tree->subject;
    status.error = STR_EMPTY;
    if (is_other || tracked->tree->rejection.len > 0) {
        status.rejection = tracked->tree->rejection;
        status.held = STR_EMPTY;
    }
    set_status(tracked, &status);
}

static void plan_poll(Tracked *tracked)
{
    loop_timer_start(&tracked->due, git_source_delay_ms(&tracked->source, tracked->failures,
                                                        loop_random(tracked->due.loop)));
}

static void fetched(WorkItem *item)
{
    Fetch *fetch = (Fetch *)item;
    Tracked *tracked = fetch->tracked;
    GitSources *sources = tracked->owner;
    tracked->fetch = NULL;
    if (item->is_canceled || sources->is_deposed) {
        fetch_free(fetch);
        return;
    }
    tracked->fetched = fetch->request;
    adopt(tracked, fetch);
    fetch_free(fetch);
    if (tracked->fetches_again) {
        tracked->fetches_again = false;
        start_fetch(tracked);
    } else {
        plan_poll(tracked);
    }
    advance(sources);
}

static void start_fetch(Tracked *tracked)
{
    GitSources *sources = tracked->owner;
    loop_timer_stop(&tracked->due);
    if (tracked->fetch != NULL) {
        tracked->fetches_again = true;
        return;
    }
    if (sources->is_deposed || !tracked->is_readable) {
        return;
    }
    Fetch *fetch = memory_new(sizeof *fetch);
    arena_init(&fetch->arena, ARENA_UNLIMITED);
    fetch->item = (WorkItem){ .run = run_fetch, .done = fetched };
    fetch->tracked = tracked;
    fetch->request = tracked->requested;
    fetch->source = (GitSource){ .name = arena_copy(&fetch->arena, tracked->source.name),
                                 .url = arena_copy(&fetch->arena, tracked->source.url),
                                 .branch = arena_copy(&fetch->arena, tracked->source.branch) };
    fetch->before = tracked->tree == NULL ? NULL : git_tree_ref(tracked->tree);
    fetch->mirror = (GitMirror){ .directory = tracked->directory, .cancelled = &fetch->cancelled };
    fetch->has_failed = !versions_blob_store(sources->options.versions, &fetch->mirror.blobs,
                                             &fetch->err);
    tracked->fetch = fetch;
    work_queue_add(tracked->queue, &fetch->item);
}

static void poll_is_due(void *context)
{
    start_fetch(context);
}

/* --- Building --------------------------------------------------------------------------------- */

static Tracked *find_tracked(const GitSources *sources, Str name)
{
    for (uint32_t i = 0; i < sources->count; i++) {
        if (str_eq(sources->items[i]->source.name, name)) {
            return sources->items[i];
        }
    }
    return NULL;
}

/* The commits that could be part of the site. */
static SiteParts newest_parts(const GitSources *sources, Arena *arena)
{
    SiteParts parts = { .items = ARENA_ARRAY(arena, SitePart, GIT_SOURCES_MAX) };
    for (uint32_t i = 0; i < sources->count; i++) {
        const Tracked *tracked = sources->items[i];
        if (tracked->is_readable && tracked->tree != NULL && tracked->tree->rejection.len == 0) {
            parts.items[parts.count++] = (SitePart){ tracked->source.name, tracked->source.directory,
                                                     tracked->tree->commit };
        }
    }
    return parts;
}

/* A source that is missing here, although it is part of the site, keeps its files. If its record
 * cannot be read, it keeps their place, too. */
static bool next_parts(GitSources *sources, Arena *arena, const SiteParts *valid, SiteParts *out)
{
    Str names[GIT_SOURCES_MAX], directories[GIT_SOURCES_MAX];
    SiteParts newest = newest_parts(sources, arena);
    for (uint32_t i = 0; i < sources->count; i++) {
        const Tracked *tracked = sources->items[i];
        const SitePart *before = site_parts_get(valid, tracked->source.name);
        names[i] = tracked->source.name;
        directories[i] = !tracked->is_readable && before != NULL ? before->directory
                                                                 : tracked->source.directory;
    }
    return site_parts_next(arena, names, directories, sources->count, &newest, valid,
                           &sources->tried, out);
}

static void set_outcome(GitSources *sources, const SiteBuildResult *result, const SiteParts *valid)
{
    for (uint32_t i = 0; i < sources->building.count; i++) {
        Tracked *tracked = find_tracked(sources, sources->building.items[i].source);
        const SitePart *part = &sources->building.items[i];
        if (tracked == NULL || !str_eq(part->commit, tracked->status.commit) ||
            !site_parts_differ(&sources->building, valid, part->source)) {
            continue;
        }
        GitSourceStatus status = tracked->status;
        status.rejection = result->rejection;
        status.held = result->held;
        set_status(tracked, &status);
    }
}

static void record_audit(GitSources *sources, const SiteBuildResult *result, Str by, Str reason)
{
    bool is_valid = result->rejection.len == 0;
    audit_append(sources->options.audit,
                 &(AuditEntry){ .who = by,
                                .by = PRINCIPAL_SOURCE,
                                .verb = is_valid ? STR("activate") : STR("create"),
                                .kind = STR("Version"),
                                .name = result->version.len > 0 ? result->version : STR("-"),
                                .reason = reason,
                                .outcome = !is_valid               ? AUDIT_FAILED
                                           : result->held.len == 0 ? AUDIT_DONE
                                                                   : AUDIT_REFUSED,
                                .detail = is_valid ? result->held : result->rejection },
                 NULL, NULL);
}

/* --- Recording the parts ---------------------------------------------------------------------- */

static bool decide_parts(void *context, Change *change, Error *err)
{
    const GitSources *sources = context;
    change_put(change, change_key(change, 0), sources->change_text, 0);
    return true;
}

static void parts_written(void *context, Change *change, const Error *err)
{
    GitSources *sources = context;
    sources->change = NULL;
    if (err != NULL && err->kind == ERROR_CONFLICT) {
        depose(sources);
    } else if (err != NULL) {
        retry_later(sources, "cannot record the commits of the current version; retrying", err);
    } else {
        arena_reset(&sources->tried_arena);
        str_map_init(&sources->tried, &sources->tried_arena);
        advance(sources);
    }
}

static void write_parts(GitSources *sources, const SiteBuildResult *result)
{
    const ClusterStore *at = store_of(sources);
    Arena *arena = &sources->build_arena;
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    Str key = cluster_key_source_parts(arena, at->prefix);
    sources->building.version = arena_copy(arena, result->version);
    sources->building.manifest = arena_copy(arena, result->manifest);
    site_parts_print(&sources->building, &text);
    sources->change_text = buf_str(&text);
    change_start(&(ChangeSpec){ .at = *at,
                                .keys = &key,
                                .key_count = 1,
                                .decide = decide_parts,
                                .done = parts_written,
                                .context = sources,
                                .fence = &sources->options.fence },
                 &sources->change);
}

/* --- Deciding what is next -------------------------------------------------------------------- */

/* The source whose commit is the reason for a build: one that differs from the valid site, or any. */
static const Tracked *cause_of(const GitSources *sources, const SiteParts *valid)
{
    const Tracked *cause = NULL;
    for (uint32_t i = 0; i < sources->building.count; i++) {
        const Tracked *tracked = find_tracked(sources, sources->building.items[i].source);
        bool is_other =
            site_parts_differ(&sources->building, valid, sources->building.items[i].source);
        if (tracked != NULL && (cause == NULL || is_other)) {
            cause = tracked;
            if (is_other) {
                break;
            }
        }
    }
    return cause;
}

static Str by_of(Arena *arena, const Tracked *cause)
{
    return cause == NULL
               ? STR("sources")
               : arena_join(arena, STR("source:"), cause->source.name, STR_EMPTY);
}

static Str reason_of(Arena *arena, const Tracked *cause)
{
    return cause == NULL
               ? STR_EMPTY
               : arena_format(arena, "%.12s %" STR_FMT,
                              arena_copy_c(arena, cause->status.commit),
                              STR_ARG(cause->status.subject));
}

static void built(void *context, const SiteBuildResult *result, const Error *err)
{
    GitSources *sources = context;
    const ClusterStore *at = store_of(sources);
    sources->build = NULL;
    if (sources->is_deposed) {
        return;
    }
    if (err != NULL) {
        retry_later(sources, "cannot create a version from commits; retrying", err);
        return;
    }
    Arena *arena = &sources->build_arena;
    SiteParts valid = site_parts_find(arena, at->state, at->prefix);
    const Tracked *cause = cause_of(sources, &valid);
    record_audit(sources, result, by_of(arena, cause), reason_of(arena, cause));
    set_outcome(sources, result, &valid);
    if (result->rejection.len == 0) {
        write_parts(sources, result);
        return;
    }
    Str key = site_parts_key(&sources->tried_arena, &sources->building);
    str_map_put(&sources->tried, key, NULL);
    advance(sources);
}

static void start_build(GitSources *sources, const SiteParts *valid)
{
    Arena *arena = &sources->build_arena;
    SiteParts *parts = &sources->building;
    GitTree *trees[GIT_SOURCES_MAX];
    const Tracked *cause = cause_of(sources, valid);
    for (uint32_t i = 0; i < parts->count; i++) {
        Tracked *tracked = find_tracked(sources, parts->items[i].source);
        bool is_newest = tracked != NULL && tracked->tree != NULL &&
                         tracked->tree->rejection.len == 0 &&
                         str_eq(tracked->tree->commit, parts->items[i].commit);
        trees[i] = is_newest ? tracked->tree : NULL;
    }
    VersionSource source = { 0 };
    if (cause != NULL) {
        source = (VersionSource){ .source = cause->source.url,
                                  .commit = cause->status.commit,
                                  .branch = cause->source.branch,
                                  .author = cause->status.author,
                                  .subject = cause->status.subject };
    }
    sources->build = site_build_start(&(SiteBuildSpec){ .at = *store_of(sources),
                                                        .versions = sources->options.versions,
                                                        .queue = sources->builds,
                                                        .fence = &sources->options.fence,
                                                        .parts = *parts,
                                                        .trees = trees,
                                                        .valid = *valid,
                                                        .source = source,
                                                        .by = by_of(arena, cause),
                                                        .reason = reason_of(arena, cause),
                                                        .done = built,
                                                        .context = sources });
}

/* --- What was held ---------------------------------------------------------------------------- */

/* A commit that arrived while a version was pinned becomes current when that is unpinned. */
static bool may_release(const GitSources *sources, Arena *arena)
{
    const ClusterStore *at = &sources->options.at;
    CurrentVersion current;
    bool is_held = false;
    for (uint32_t i = 0; i < sources->count; i++) {
        is_held = is_held || sources->items[i]->status.held.len > 0;
    }
    return is_held && (!versions_current(arena, at->state, at->prefix, &current) ||
                       !current.is_pinned);
}

/* `sources` is NULL if they were freed. */
typedef struct Release {
    GitSources *sources;
} Release;

static void released(void *context, const Error *err)
{
    Release *release = context;
    GitSources *sources = release->sources;
    free(release);
    if (sources == NULL) {
        return;
    }
    sources->release = NULL;
    if (err != NULL && err->kind != ERROR_NOT_FOUND) {
        retry_later(sources, "cannot make the version of a commit current; retrying", err);
        return;
    }
    for (uint32_t i = 0; i < sources->count; i++) {
        GitSourceStatus status = sources->items[i]->status;
        status.held = STR_EMPTY;
        set_status(sources->items[i], &status);
    }
    advance(sources);
}

static void release_held(GitSources *sources, const SiteParts *valid)
{
    sources->release = memory_new(sizeof *sources->release);
    sources->release->sources = sources;
    versions_activate(sources->options.versions,
                      &(VersionActivation){ .version = valid->version,
                                            .run = true,
                                            .by = STR("sources"),
                                            .reason = STR("no version is pinned any more"),
                                            .fence = &sources->options.fence },
                      released, sources->release);
}

/* Nothing is left to try: whoever waits may know. */
static void settle(GitSources *sources)
{
    for (uint32_t i = 0; i < sources->count; i++) {
        Tracked *tracked = sources->items[i];
        tracked->status.handled = tracked->fetched;
        write_status(tracked);
    }
}

static void advance(GitSources *sources)
{
    const ClusterStore *at = store_of(sources);
    Arena *arena = &sources->build_arena;
    if (sources->is_deposed || sources->build != NULL || sources->change != NULL ||
        sources->release != NULL || state_age(at->state).is_behind) {
        return;
    }
    arena_reset(arena);
    SiteParts valid = site_parts_find(arena, at->state, at->prefix);
    if (next_parts(sources, arena, &valid, &sources->building)) {
        start_build(sources, &valid);
    } else if (may_release(sources, arena)) {
        release_held(sources, &valid);
    } else {
        settle(sources);
    }
}

static void retry(void *context)
{
    advance(context);
}

/* --- Configuration ---------------------------------------------------------------------------- */

static Tracked *track(GitSources *sources, const GitSourceEntry *entry)
{
    const ClusterStore *at = store_of(sources);
    Tracked *tracked = memory_new(sizeof *tracked);
    tracked->owner = sources;
    arena_init(&tracked->arena, ARENA_UNLIMITED);
    arena_init(&tracked->status_arena, ARENA_UNLIMITED);
    arena_init(&tracked->change_arena, ARENA_UNLIMITED);
    loop_timer_init(&tracked->due, at->loop, poll_is_due, tracked);
    tracked->queue = work_queue_new(at->loop);
    tracked->status =
        git_source_status_find(&tracked->status_arena, at->state, at->prefix, entry->source.name);
    tracked->fetched = tracked->status.handled;
    tracked->requested = tracked->status.handled;
    return tracked;
}

static void configure_one(Tracked *tracked, const GitSourceEntry *entry)
{
    Arena arena;
    arena_init(&arena, ARENA_UNLIMITED);
    const GitSource *from = &entry->source;
    GitSource source = { .name = arena_copy(&arena, from->name),
                         .url = arena_copy(&arena, from->url),
                         .branch = arena_copy(&arena, from->branch),
                         .directory = arena_copy(&arena, from->directory),
                         .interval = arena_copy(&arena, from->interval) };
    tracked->directory = arena_format(&arena, "%s/sources/%" STR_FMT,
                                      tracked->owner->options.directory, STR_ARG(source.name))
                             .data;
    arena_clear(&tracked->arena);
    tracked->arena = arena;
    tracked->source = source;
    tracked->is_readable = entry->error.len == 0;
    tracked->revision = entry->revision;
    if (!tracked->is_readable) {
        GitSourceStatus status = tracked->status;
        status.error = entry->error;
        set_status(tracked, &status);
    }
    tracked->failures = 0;
}

static void tracked_free(Tracked *tracked)
{
    if (tracked->fetch != NULL) {
        atomic_store(&tracked->fetch->cancelled, true);
    }
    work_queue_free(tracked->queue);
    change_abandon(tracked->change);
    loop_timer_stop(&tracked->due);
    git_tree_unref(tracked->tree);
    arena_clear(&tracked->arena);
    arena_clear(&tracked->status_arena);
    arena_clear(&tracked->change_arena);
    free(tracked);
}

static void untrack(GitSources *sources, uint32_t index)
{
    Tracked *tracked = sources->items[index];
    char *directory = arena_copy_c(&sources->arena, str_from_c(tracked->directory));
    log_info("source removed", LOG_STR("source", tracked->source.name));
    tracked_free(tracked);
    file_tree_remove(directory);
    sources->count--;
    memmove(&sources->items[index], &sources->items[index + 1],
            (sources->count - index) * sizeof(Tracked *));
}

static void insert(GitSources *sources, uint32_t index, Tracked *tracked)
{
    memmove(&sources->items[index + 1], &sources->items[index],
            (sources->count - index) * sizeof(Tracked *));
    sources->items[index] = tracked;
    sources->count++;
}

static void check_request(Tracked *tracked)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    const ClusterStore *at = store_of(tracked->owner);
    GitSourceRequest request = { 0 };
    int64_t revision =
        git_source_request_find(&arena, at->state, at->prefix, tracked->source.name, &request);
    if (revision > tracked->requested) {
        tracked->requested = revision;
        tracked->failures = 0;
        start_fetch(tracked);
    }
}

/* Both lists are sorted by name. */
static void configure(void *context)
{
    GitSources *sources = context;
    const ClusterStore *at = store_of(sources);
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    GitSourceEntry *entries;
    uint32_t at_item = 0;
    if (sources->is_deposed || state_age(at->state).is_behind) {
        return;
    }
    uint32_t count = git_sources_list(&arena, at->state, at->prefix, &entries);
    for (uint32_t i = 0; i < count; i++) {
        while (at_item < sources->count &&
               str_compare(sources->items[at_item]->source.name, entries[i].source.name) < 0) {
            untrack(sources, at_item);
        }
        bool is_new = at_item == sources->count ||
                      !str_eq(sources->items[at_item]->source.name, entries[i].source.name);
        if (is_new) {
            insert(sources, at_item, track(sources, &entries[i]));
        }
        Tracked *tracked = sources->items[at_item++];
        if (tracked->revision != entries[i].revision) {
            configure_one(tracked, &entries[i]);
            if (sources->is_configured) {
                start_fetch(tracked);
            } else {
                loop_timer_start(&tracked->due, (int64_t)(loop_random(at->loop) % START_SPREAD_MS));
            }
        }
        check_request(tracked);
    }
    while (at_item < sources->count) {
        untrack(sources, at_item);
    }
    sources->is_configured = true;
    advance(sources);
}

static bool concerns_us(const StateEntry *entry)
{
    return entry != NULL && (entry->kind == KEY_CURRENT_VERSION || str_eq(entry->parts[0], STR("source")) ||
                             str_eq(entry->parts[0], STR("source-request")));
}

static void changed(void *context, const StateEntry *now, const StateEntry *before)
{
    GitSources *sources = context;
    if (concerns_us(now) || concerns_us(before)) {
        loop_defer(sources->options.at.loop, &sources->configure);
    }
}

static void aged(void *context)
{
    GitSources *sources = context;
    loop_defer(sources->options.at.loop, &sources->configure);
}

/* --- Life cycle ------------------------------------------------------------------------------- */

GitSources *git_sources_new(const GitSourcesOptions *options)
{
    GitSources *sources = memory_new(sizeof *sources);
    arena_init(&sources->arena, ARENA_UNLIMITED);
    arena_init(&sources->build_arena, ARENA_UNLIMITED);
    arena_init(&sources->tried_arena, ARENA_UNLIMITED);
    str_map_init(&sources->tried, &sources->tried_arena);
    sources->options = *options;
    sources->options.at.prefix = arena_copy(&sources->arena, options->at.prefix);
    sources->options.directory =
        arena_copy_c(&sources->arena, str_from_c(options->directory));
    sources->options.fence.key = arena_copy(&sources->arena, options->fence.key);
    sources->builds = work_queue_new(options->at.loop);
    loop_task_init(&sources->configure, configure, sources);
    loop_timer_init(&sources->retry, options->at.loop, retry, sources);
    sources->view = (StateView){ .kinds = STATE_KIND(KEY_OBJECT) | STATE_KIND(KEY_INTERNAL) |
                                          STATE_KIND(KEY_CURRENT_VERSION),
                                 .changed = changed,
                                 .aged = aged,
                                 .context = sources };
    state_attach(options->at.state, &sources->view);
    loop_defer(options->at.loop, &sources->configure);
    return sources;
}

void git_sources_free(GitSources *sources)
{
    if (sources == NULL) {
        return;
    }
    depose(sources);
    state_detach(sources->options.at.state, &sources->view);
    loop_task_stop(sources->options.at.loop, &sources->configure);
    change_abandon(sources->change);
    site_build_abandon(sources->build);
    if (sources->release != NULL) {
        sources->release->sources = NULL;
    }
    work_queue_free(sources->builds);
    for (uint32_t i = 0; i < sources->count; i++) {
        tracked_free(sources->items[i]);
    }
    arena_clear(&sources->build_arena);
    arena_clear(&sources->tried_arena);
    arena_clear(&sources->arena);
    free(sources);
}
