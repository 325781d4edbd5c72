/* One pass: fetch -> build, repeatedly while there is something to try -> settle. At most one build
 * runs at a time, because its result decides what is tried next. Statuses are written when nothing
 * is left to try, so that a client that is waiting for a request sees its outcome. */
#include "source/git_sources.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/utc.h"
#include "base/vec.h"
#include "cluster/change.h"
#include "cluster/cluster_keys.h"
#include "source/git_follower.h"
#include "source/site_build.h"
#include "source/site_proposal.h"

enum {
    START_SPREAD_MS = 500, /* fetches are spread over this time after an election */
    RETRY_MS = 5000,       /* delay after a build or a write failed because of the server */
};

struct GitSources {
    GitSourcesOptions options;
    GitFollowerOptions following;
    Arena arena;
    StateView view;
    LoopTask configure;
    LoopTimer retry;
    GitFollower *items[GIT_SOURCES_MAX]; /* sorted by name */
    uint32_t count;
    WorkQueue *builds;
    SiteBuild *build; /* NULL: none in progress */
    Arena build_arena;
    SiteParts building;
    struct Release *release; /* release of a held version; NULL: none in progress */
    Arena keys_arena;
    StrMap tried_keys; /* keys of combinations that are not valid */
    Change *change;    /* write of the parts; NULL: none in progress */
    Str change_text;
    bool is_deposed, is_configured;
    bool is_repairing; /* the build restores lost content of the newest valid version */
    bool has_lost;     /* a build failed because contents were lost */
};

static void advance(GitSources *sources);

static ClusterStore *store_of(GitSources *sources)
{
    return &sources->options.cluster_store;
}

/* Another server is the leader now and continues. */
static void stop_as_deposed(GitSources *sources)
{
    sources->is_deposed = true;
    loop_timer_stop(&sources->retry);
    for (uint32_t i = 0; i < sources->count; i++) {
        git_follower_stop(sources->items[i]);
    }
}

static void retry_later(GitSources *sources, const char *what, const Error *err)
{
    log_warning(what, LOG_C("error", err->text));
    loop_timer_start(&sources->retry, RETRY_MS);
}

/* --- Building --------------------------------------------------------------------------------- */

static GitFollower *find_follower(const GitSources *sources, Str name)
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
        const GitFollower *follower = sources->items[i];
        if (follower->is_readable && follower->tree != NULL && follower->tree->rejection.len == 0) {
            parts.items[parts.count++] =
                (SitePart){ follower->source.name, follower->source.directory,
                            follower->tree->commit };
        }
    }
    return parts;
}

/* A source without a fetched commit keeps its files if it is part of the site. If its record is
 * unreadable, it also keeps its directory. */
static bool next_parts(GitSources *sources, Arena *arena, const SiteParts *valid, SiteParts *out)
{
    Str names[GIT_SOURCES_MAX], directories[GIT_SOURCES_MAX];
    SiteParts newest = newest_parts(sources, arena);
    for (uint32_t i = 0; i < sources->count; i++) {
        const GitFollower *follower = sources->items[i];
        const SitePart *before = site_parts_get(valid, follower->source.name);
        names[i] = follower->source.name;
        directories[i] = !follower->is_readable && before != NULL ? before->directory
                                                                  : follower->source.directory;
    }
    const SiteCandidates candidates = { .sources = names,
                                        .directories = directories,
                                        .count = sources->count,
                                        .newest = &newest,
                                        .valid = valid,
                                        .tried = &sources->tried_keys };
    return site_parts_next(arena, &candidates, out);
}

static void set_outcome(GitSources *sources, const SiteBuildResult *result, const SiteParts *valid)
{
    for (uint32_t i = 0; i < sources->building.count; i++) {
        GitFollower *follower = find_follower(sources, sources->building.items[i].source);
        const SitePart *part = &sources->building.items[i];
        if (follower == NULL || !str_eq(part->commit, follower->status.commit) ||
            !site_parts_differ(&sources->building, valid, part->source)) {
            continue;
        }
        GitSourceStatus status = follower->status;
        status.rejection = result->rejection;
        status.held = result->held;
        git_follower_set_status(follower, &status);
    }
}

static void record_audit(GitSources *sources, const SiteBuildResult *result, Str by, Str reason)
{
    bool is_valid = result->rejection.len == 0;
    audit_append(sources->options.audit,
                 &(AuditEntry){ .who = by,
                                .principal_kind = PRINCIPAL_SOURCE,
                                .verb = is_valid ? STR("activate") : STR("create"),
                                .kind = STR("Version"),
                                .name = result->version.len > 0 ? result->version : STR("-"),
                                .reason = reason,
                                .outcome = !is_valid               ? AUDIT_FAILED
                                           : result->held.len == 0 ? AUDIT_DONE
                                                                   : AUDIT_DENIED,
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
        stop_as_deposed(sources);
    } else if (err != NULL) {
        retry_later(sources, "cannot record the commits of the current version; retrying", err);
    } else {
        arena_reset(&sources->keys_arena);
        str_map_init(&sources->tried_keys, &sources->keys_arena);
        advance(sources);
    }
}

static void write_parts(GitSources *sources, const SiteBuildResult *result)
{
    const ClusterStore *cluster_store = store_of(sources);
    Arena *arena = &sources->build_arena;
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    Str key = cluster_key_source_parts(arena, cluster_store->prefix);
    sources->building.version = arena_copy(arena, result->version);
    sources->building.manifest = arena_copy(arena, result->manifest);
    site_parts_print(&sources->building, &text);
    sources->change_text = buf_str(&text);
    change_start(&(ChangeSpec){ .cluster_store = *cluster_store,
                                .keys = &key,
                                .key_count = 1,
                                .decide = decide_parts,
                                .done = parts_written,
                                .context = sources,
                                .fence = &sources->options.fence },
                 &sources->change);
}

/* --- Deciding what is next -------------------------------------------------------------------- */

/* The source whose commit is the reason for a build: one that differs from the valid site,
 * otherwise any. */
static const GitFollower *cause_of(const GitSources *sources, const SiteParts *valid)
{
    const GitFollower *cause = NULL;
    for (uint32_t i = 0; i < sources->building.count; i++) {
        const GitFollower *follower = find_follower(sources, sources->building.items[i].source);
        bool is_other =
            site_parts_differ(&sources->building, valid, sources->building.items[i].source);
        if (follower != NULL && (cause == NULL || is_other)) {
            cause = follower;
            if (is_other) {
                break;
            }
        }
    }
    return cause;
}

static Str requested_by(Arena *arena, const GitFollower *cause)
{
    return cause == NULL ? STR("sources")
                         : arena_join(arena, STR("source:"), cause->source.name, STR_EMPTY);
}

static Str reason_of(Arena *arena, const GitFollower *cause)
{
    return cause == NULL
               ? STR_EMPTY
               : arena_format(arena, "%.12s %" STR_FMT, arena_copy_c(arena, cause->status.commit),
                              STR_ARG(cause->status.subject));
}

static void built(void *context, const SiteBuildResult *result, const Error *err)
{
    GitSources *sources = context;
    const ClusterStore *cluster_store = store_of(sources);
    sources->build = NULL;
    if (sources->is_deposed) {
        return;
    }
    bool is_repair = sources->is_repairing;
    sources->is_repairing = false;
    if (err != NULL) {
        sources->has_lost = err->kind == ERROR_CONFLICT;
        retry_later(sources, "cannot create a version from commits; retrying", err);
        return;
    }
    if (is_repair) {
        advance(sources);
        return;
    }
    Arena *arena = &sources->build_arena;
    SiteParts valid = site_parts_find(arena, cluster_store->state, cluster_store->prefix);
    const GitFollower *cause = cause_of(sources, &valid);
    record_audit(sources, result, requested_by(arena, cause), reason_of(arena, cause));
    set_outcome(sources, result, &valid);
    if (result->rejection.len == 0) {
        write_parts(sources, result);
        return;
    }
    Str key = site_parts_key(&sources->keys_arena, &sources->building);
    str_map_put(&sources->tried_keys, key, NULL);
    advance(sources);
}

static void start_build(GitSources *sources, const SiteParts *valid)
{
    Arena *arena = &sources->build_arena;
    SiteParts *parts = &sources->building;
    GitTree *trees[GIT_SOURCES_MAX];
    const GitFollower *cause = cause_of(sources, valid);
    for (uint32_t i = 0; i < parts->count; i++) {
        GitFollower *follower = find_follower(sources, parts->items[i].source);
        bool is_newest = follower != NULL && follower->tree != NULL &&
                         follower->tree->rejection.len == 0 &&
                         str_eq(follower->tree->commit, parts->items[i].commit);
        trees[i] = is_newest ? follower->tree : NULL;
    }
    VersionSource source = { 0 };
    if (cause != NULL) {
        source = (VersionSource){ .source = cause->source.url,
                                  .commit = cause->status.commit,
                                  .branch = git_source_branch(&cause->source, &cause->status),
                                  .author = cause->status.author,
                                  .subject = cause->status.subject };
    }
    sources->build = site_build_start(&(SiteBuildSpec){ .cluster_store = *store_of(sources),
                                                        .versions = sources->options.versions,
                                                        .queue = sources->builds,
                                                        .fence = &sources->options.fence,
                                                        .parts = *parts,
                                                        .trees = trees,
                                                        .valid = *valid,
                                                        .source = source,
                                                        .requested_by = requested_by(arena, cause),
                                                        .reason = reason_of(arena, cause),
                                                        .is_proposal = sources->is_repairing,
                                                        .done = built,
                                                        .context = sources });
}

/* --- Held versions ---------------------------------------------------------------------------- */

/* The newest commits become current when the version that was pinned instead is unpinned. If
 * another version is made current at that time, they do not, because that version was chosen
 * deliberately. */
static bool may_release(const GitSources *sources, const CurrentVersion *current)
{
    for (uint32_t i = 0; i < sources->count; i++) {
        Str pinned = sources->items[i]->status.pinned;
        if (pinned.len > 0 && !current->is_pinned &&
            (current->version[0] == '\0' || str_eq_c(pinned, current->version))) {
            return true;
        }
    }
    return false;
}

/* Why the newest valid version of the sources is not the current one, and how to change that. */
static Str held_text(Arena *arena, const CurrentVersion *current, Str version)
{
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    buf_put_format(&text, "version %s %s since %" STR_FMT, current->version,
                   current->is_pinned ? "is pinned" : "was made current instead,",
                   STR_ARG(utc_text(arena, current->since_ms)));
    buf_put_format(&text, " by %" STR_FMT, STR_ARG(current->requested_by));
    if (current->reason.len > 0) {
        buf_put_format(&text, " (%" STR_FMT ")", STR_ARG(current->reason));
    }
    if (current->is_pinned) {
        buf_put_format(&text, "; 'eden versions unpin' makes version %" STR_FMT " current",
                       STR_ARG(version));
    } else {
        buf_put_format(&text,
                       "; the next commit replaces it, or 'eden versions activate %" STR_FMT "'",
                       STR_ARG(version));
    }
    return buf_str(&text);
}

/* Records in the status of each source that is part of the newest valid version whether that is the
 * current version. */
static void update_held(GitSources *sources, Arena *arena, const CurrentVersion *current,
                        const SiteParts *valid)
{
    bool is_held = current->version[0] != '\0' && valid->version.len > 0 &&
                   !str_eq_c(valid->version, current->version);
    Str held = is_held ? held_text(arena, current, valid->version) : STR_EMPTY;
    for (uint32_t i = 0; i < sources->count; i++) {
        GitFollower *follower = sources->items[i];
        const SitePart *part = site_parts_get(valid, follower->source.name);
        GitSourceStatus status = follower->status;
        bool is_newest = part != NULL && str_eq(part->commit, status.commit);
        status.held = is_newest ? held : STR_EMPTY;
        status.pinned =
            is_newest && is_held && current->is_pinned ? str_from_c(current->version) : STR_EMPTY;
        if (!str_eq(status.held, follower->status.held) ||
            !str_eq(status.pinned, follower->status.pinned)) {
            git_follower_set_status(follower, &status);
        }
    }
}

/* `sources` is NULL if it was freed. */
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
        status.held = status.pinned = STR_EMPTY;
        git_follower_set_status(sources->items[i], &status);
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
                                            .requested_by = STR("sources"),
                                            .reason = STR("no version is pinned anymore"),
                                            .fence = &sources->options.fence },
                      released, sources->release);
}

/* The manifest of the newest valid version was lost. The version is built again from the same
 * commits. */
static bool may_repair(GitSources *sources, Arena *arena, const SiteParts *valid)
{
    bool lacks_manifest = false;
    for (uint32_t i = 0; i < sources->count; i++) {
        lacks_manifest = lacks_manifest || sources->items[i]->lacks_manifest;
        sources->items[i]->lacks_manifest = false;
    }
    sources->building = newest_parts(sources, arena);
    return lacks_manifest && valid->count > 0 && site_parts_equal(&sources->building, valid);
}

/* Nothing is left to try, so the result is reported to waiting clients. */
static void report_results(GitSources *sources)
{
    for (uint32_t i = 0; i < sources->count; i++) {
        git_follower_report_results(sources->items[i]);
    }
}

static void advance(GitSources *sources)
{
    const ClusterStore *cluster_store = store_of(sources);
    Arena *arena = &sources->build_arena;
    if (sources->is_deposed || sources->build != NULL || sources->change != NULL ||
        sources->release != NULL || state_age(cluster_store->state).is_behind) {
        return;
    }
    arena_reset(arena);
    SiteParts valid = site_parts_find(arena, cluster_store->state, cluster_store->prefix);
    CurrentVersion current = { 0 };
    (void)versions_current(arena, cluster_store->state, cluster_store->prefix, &current);
    if (next_parts(sources, arena, &valid, &sources->building)) {
        start_build(sources, &valid);
    } else if (may_release(sources, &current)) {
        release_held(sources, &valid);
    } else if (may_repair(sources, arena, &valid)) {
        sources->is_repairing = true;
        start_build(sources, &valid);
    } else {
        update_held(sources, arena, &current, &valid);
        report_results(sources);
    }
}

static void retry(void *context)
{
    GitSources *sources = context;
    if (!sources->has_lost) {
        advance(sources);
        return;
    }
    sources->has_lost = false;
    for (uint32_t i = 0; i < sources->count; i++) {
        git_follower_fetch(sources->items[i]);
    }
}

static void on_fetched(void *context)
{
    advance(context);
}

/* --- Proposals -------------------------------------------------------------------------------- */

/* A follower that is freed abandons its proposal. */
static void proposal_done(void *context, const Error *err)
{
    GitFollower *follower = context;
    follower->proposal = NULL;
    if (err != NULL) {
        follower->options->failed(follower->options->context, err);
    }
}

/* Only of sources that still exist. */
static SiteParts present_parts(GitSources *sources, Arena *arena)
{
    const ClusterStore *cluster_store = store_of(sources);
    SiteParts valid = site_parts_find(arena, cluster_store->state, cluster_store->prefix);
    uint32_t count = 0;
    for (uint32_t i = 0; i < valid.count; i++) {
        if (find_follower(sources, valid.items[i].source) != NULL) {
            valid.items[count++] = valid.items[i];
        }
    }
    valid.count = count;
    return valid;
}

static void on_proposed(void *context, GitFollower *follower, int64_t request, GitTree *tree,
                        const Error *err)
{
    GitSources *sources = context;
    const ClusterStore *cluster_store = store_of(sources);
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    GitProposal proposal;
    bool is_present = git_proposal_find(&arena, cluster_store->state, cluster_store->prefix,
                                        follower->source.name, &proposal) == request;
    if (!is_present || sources->is_deposed) {
        return; /* the request was replaced */
    }
    SiteParts valid = present_parts(sources, &arena);
    GitSource source = follower->source;
    source.branch = git_source_branch(&follower->source, &follower->status);
    site_proposal_abandon(follower->proposal);
    follower->proposal =
        site_proposal_start(&(SiteProposalSpec){ .cluster_store = *cluster_store,
                                                 .versions = sources->options.versions,
                                                 .queue = sources->builds,
                                                 .fence = &sources->options.fence,
                                                 .source = &source,
                                                 .proposal = &proposal,
                                                 .request = request,
                                                 .tree = tree,
                                                 .err = err,
                                                 .valid = &valid,
                                                 .done = proposal_done,
                                                 .context = follower });
}

static void on_failed(void *context, const Error *err)
{
    GitSources *sources = context;
    if (err->kind == ERROR_CONFLICT) {
        stop_as_deposed(sources);
    } else {
        retry_later(sources, "cannot record the status of a source; retrying", err);
    }
}

/* --- Configuration ---------------------------------------------------------------------------- */

static void remove_at(GitSources *sources, uint32_t index)
{
    log_info("source removed", LOG_STR("source", sources->items[index]->source.name));
    git_follower_free(sources->items[index], true);
    sources->count--;
    memmove(&sources->items[index], &sources->items[index + 1],
            (sources->count - index) * sizeof(GitFollower *));
}

static void insert(GitSources *sources, uint32_t index, GitFollower *follower)
{
    memmove(&sources->items[index + 1], &sources->items[index],
            (sources->count - index) * sizeof(GitFollower *));
    sources->items[index] = follower;
    sources->count++;
}

/* Both lists are sorted by name. */
static void configure(void *context)
{
    GitSources *sources = context;
    const ClusterStore *cluster_store = store_of(sources);
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    GitSourceEntry *entries;
    uint32_t at_item = 0;
    if (sources->is_deposed || state_age(cluster_store->state).is_behind) {
        return;
    }
    uint32_t count =
        git_sources_list(&arena, cluster_store->state, cluster_store->prefix, &entries);
    for (uint32_t i = 0; i < count; i++) {
        while (at_item < sources->count &&
               str_compare(sources->items[at_item]->source.name, entries[i].source.name) < 0) {
            remove_at(sources, at_item);
        }
        bool is_new = at_item == sources->count ||
                      !str_eq(sources->items[at_item]->source.name, entries[i].source.name);
        if (is_new) {
            insert(sources, at_item, git_follower_new(&sources->following, entries[i].source.name));
        }
        GitFollower *follower = sources->items[at_item++];
        GitSecrets secrets;
        int64_t revision = git_secrets_find(&arena, cluster_store->state, cluster_store->prefix,
                                            entries[i].source.name, &secrets);
        if (follower->revision != entries[i].revision || follower->secrets_revision != revision) {
            follower->secrets_revision = revision;
            uint64_t spread = sources->is_configured ? 1 : START_SPREAD_MS;
            git_follower_configure(follower, &entries[i],
                                   (int64_t)(loop_random(cluster_store->loop) % spread));
        }
        git_follower_check_request(follower);
    }
    while (at_item < sources->count) {
        remove_at(sources, at_item);
    }
    sources->is_configured = true;
    advance(sources);
}

static bool is_relevant(const StateEntry *entry)
{
    return entry != NULL &&
           (entry->kind == KEY_CURRENT_VERSION || str_eq(entry->parts[0], STR("source")) ||
            str_eq(entry->parts[0], STR("source-request")) ||
            str_eq(entry->parts[0], STR("source-proposal")) ||
            str_eq(entry->parts[0], STR("source-secret")));
}

static void changed(void *context, const StateEntry *now, const StateEntry *before)
{
    GitSources *sources = context;
    if (is_relevant(now) || is_relevant(before)) {
        loop_defer(sources->options.cluster_store.loop, &sources->configure);
    }
}

static void state_age_changed(void *context)
{
    GitSources *sources = context;
    loop_defer(sources->options.cluster_store.loop, &sources->configure);
}

/* --- Life cycle ------------------------------------------------------------------------------- */

GitSources *git_sources_new(const GitSourcesOptions *options)
{
    GitSources *sources = memory_new(sizeof *sources);
    arena_init(&sources->arena, ARENA_UNLIMITED);
    arena_init(&sources->build_arena, ARENA_UNLIMITED);
    arena_init(&sources->keys_arena, ARENA_UNLIMITED);
    str_map_init(&sources->tried_keys, &sources->keys_arena);
    sources->options = *options;
    sources->options.cluster_store.prefix =
        arena_copy(&sources->arena, options->cluster_store.prefix);
    sources->options.directory = arena_copy_c(&sources->arena, str_from_c(options->directory));
    sources->options.fence.key = arena_copy(&sources->arena, options->fence.key);
    sources->following = (GitFollowerOptions){ .cluster_store = sources->options.cluster_store,
                                               .versions = options->versions,
                                               .vault = options->vault,
                                               .directory = sources->options.directory,
                                               .fence = sources->options.fence,
                                               .fetched = on_fetched,
                                               .proposed = on_proposed,
                                               .failed = on_failed,
                                               .context = sources };
    sources->builds = work_queue_new(options->cluster_store.loop);
    loop_task_init(&sources->configure, configure, sources);
    loop_timer_init(&sources->retry, options->cluster_store.loop, retry, sources);
    sources->view = (StateView){ .kinds = STATE_KIND(KEY_OBJECT) | STATE_KIND(KEY_INTERNAL) |
                                          STATE_KIND(KEY_CURRENT_VERSION),
                                 .changed = changed,
                                 .age_changed = state_age_changed,
                                 .context = sources };
    state_attach(options->cluster_store.state, &sources->view);
    loop_defer(options->cluster_store.loop, &sources->configure);
    return sources;
}

void git_sources_free(GitSources *sources)
{
    if (sources == NULL) {
        return;
    }
    stop_as_deposed(sources);
    state_detach(sources->options.cluster_store.state, &sources->view);
    loop_task_stop(sources->options.cluster_store.loop, &sources->configure);
    change_abandon(sources->change);
    site_build_abandon(sources->build);
    if (sources->release != NULL) {
        sources->release->sources = NULL;
    }
    work_queue_free(sources->builds);
    for (uint32_t i = 0; i < sources->count; i++) {
        git_follower_free(sources->items[i], false);
    }
    arena_clear(&sources->build_arena);
    arena_clear(&sources->keys_arena);
    arena_clear(&sources->arena);
    free(sources);
}

uint32_t git_sources_trees(const GitSources *sources, GitTree **out)
{
    uint32_t count = 0;
    for (uint32_t i = 0; sources != NULL && i < sources->count; i++) {
        if (sources->items[i]->tree != NULL) {
            out[count++] = git_tree_ref(sources->items[i]->tree);
        }
    }
    return count;
}
