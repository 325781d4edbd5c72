#include "source/git_follower.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "cluster/cluster_keys.h"
#include "source/git_mirror.h"
#include "source/git_proposal.h"
#include "source/site_parts.h"
#include "source/site_proposal.h"
#include "sys/file_tree.h"

/* --- Status ----------------------------------------------------------------------------------- */

static void write_status(GitFollower *follower);

static bool decide_status(void *context, Change *change, Error *err)
{
    const GitFollower *follower = context;
    if (!str_eq(change_value(change, 0), follower->change_text)) {
        change_put(change, change_key(change, 0), follower->change_text, 0);
    }
    return true;
}

static void status_written(void *context, Change *change, const Error *err)
{
    GitFollower *follower = context;
    follower->change = NULL;
    if (err != NULL) {
        follower->options->failed(follower->options->context, err);
    } else {
        write_status(follower); /* the status may have changed in the meantime */
    }
}

/* Writes nothing if the same status is recorded already. */
static void write_status(GitFollower *follower)
{
    const ClusterStore *cluster_store = &follower->options->cluster_store;
    if (follower->change != NULL || follower->is_stopped) {
        return;
    }
    arena_reset(&follower->change_arena);
    Buf text = buf_make_in(&follower->change_arena, BUF_UNLIMITED);
    git_source_status_print(&follower->status, &text);
    follower->change_text = buf_str(&text);
    Str key = cluster_key_source_status(&follower->change_arena, cluster_store->prefix,
                                        follower->source.name);
    const StateEntry *entry = state_find(cluster_store->state, key);
    if (entry != NULL && str_eq(entry->value, follower->change_text)) {
        return;
    }
    change_start(&(ChangeSpec){ .cluster_store = *cluster_store,
                                .keys = &key,
                                .key_count = 1,
                                .decide = decide_status,
                                .done = status_written,
                                .context = follower,
                                .fence = &follower->options->fence },
                 &follower->change);
}

void git_follower_set_status(GitFollower *follower, const GitSourceStatus *next)
{
    Arena arena;
    const char *before = git_source_status_name(&follower->status);
    bool is_same = strcmp(before, git_source_status_name(next)) == 0 &&
                   str_eq(follower->status.commit, next->commit);
    arena_init(&arena, ARENA_UNLIMITED);
    GitSourceStatus status = {
        .commit = arena_copy(&arena, next->commit),
        .author = arena_copy(&arena, next->author),
        .subject = arena_copy(&arena, next->subject),
        .rejection = arena_copy(&arena, next->rejection),
        .error = arena_copy(&arena, next->error),
        .held = arena_copy(&arena, next->held),
        .pinned = arena_copy(&arena, next->pinned),
        .branch = arena_copy(&arena, next->branch),
        .url = arena_copy(&arena, next->url),
        .since_ms = is_same ? follower->status.since_ms : loop_wall_ms(follower->due.loop),
        .handled = next->handled,
    };
    if (!is_same) {
        log_info("source", LOG_STR("source", follower->source.name),
                 LOG_C("state", git_source_status_name(&status)), LOG_STR("commit", status.commit),
                 LOG_STR("reason", status.error.len > 0 ? status.error : status.rejection));
    }
    arena_clear(&follower->status_arena);
    follower->status_arena = arena;
    follower->status = status;
}

/* --- Fetching --------------------------------------------------------------------------------- */

typedef struct GitFetch {
    WorkItem item;
    GitFollower *follower; /* NULL once the source was removed */
    Arena arena;
    GitSource source;
    GitCredentials credentials;
    GitMirror mirror;
    GitTree *before, *tree;
    atomic_bool canceled;
    int64_t request;
    Str manifest; /* of the newest valid version; empty: there is none */
    bool lacks_manifest;
    bool has_failed;
    bool is_proposal; /* `request` is its revision */
    bool is_outdated; /* the configuration has changed */
    Error err;
} GitFetch;

static void run_fetch(WorkItem *item)
{
    GitFetch *fetch = (GitFetch *)item;
    fetch->has_failed =
        fetch->has_failed || !git_mirror_update(&fetch->mirror, &fetch->source, fetch->before,
                                                &fetch->tree, &fetch->err);
    fetch->lacks_manifest = fetch->manifest.len > 0 && fetch->mirror.blobs != NULL &&
                            !blob_store_has(fetch->mirror.blobs, fetch->manifest);
}

static void fetch_free(GitFetch *fetch)
{
    git_tree_unref(fetch->before);
    git_tree_unref(fetch->tree);
    git_credentials_clear(&fetch->credentials);
    arena_clear(&fetch->arena);
    free(fetch);
}

/* A previously rejected commit may be accepted by a newer version of eden, so only commits without
 * a rejection are reused. */
static void adopt(GitFollower *follower, GitFetch *fetch)
{
    GitSourceStatus status = follower->status;
    if (fetch->has_failed) {
        follower->failures++;
        status.error = str_from_c(fetch->err.text);
        git_follower_set_status(follower, &status);
        return;
    }
    follower->failures = 0;
    if (follower->source.branch.len > 0) {
        status.branch = status.url = STR_EMPTY; /* without one, it is determined again */
    } else if (fetch->tree->branch.len > 0) {
        status.branch = fetch->tree->branch;
        status.url = fetch->source.url;
    }
    bool is_known = follower->tree != NULL && str_eq(follower->tree->commit, fetch->tree->commit);
    if (!is_known) {
        git_tree_unref(follower->tree);
        follower->tree = TAKE(fetch->tree);
    }
    bool is_other = !str_eq(status.commit, follower->tree->commit);
    status.commit = follower->tree->commit;
    status.author = follower->tree->author;
    status.subject = follower->tree->subject;
    status.error = STR_EMPTY;
    if (is_other || follower->tree->rejection.len > 0 || follower->clears_rejection) {
        follower->clears_rejection = false;
        status.rejection = follower->tree->rejection;
        status.held = STR_EMPTY;
    }
    git_follower_set_status(follower, &status);
}

static void plan_poll(GitFollower *follower)
{
    loop_timer_start(&follower->due, git_source_delay_ms(&follower->source, follower->failures,
                                                         loop_random(follower->due.loop)));
}

static void start_fetch(GitFollower *follower);
static void start_proposal(GitFollower *follower);

/* The files of a known commit are not read again. */
static GitTree *proposed_tree(const GitFetch *fetch)
{
    return fetch->has_failed ? NULL
           : fetch->before != NULL && str_eq(fetch->before->commit, fetch->tree->commit)
               ? fetch->before
               : fetch->tree;
}

static void fetched(WorkItem *item)
{
    GitFetch *fetch = (GitFetch *)item;
    GitFollower *follower = fetch->follower;
    follower->fetch = NULL;
    if (item->is_canceled || follower->is_stopped) {
        fetch_free(fetch);
        return;
    }
    bool is_proposal = fetch->is_proposal;
    if (fetch->is_outdated) {
        follower->proposes = follower->proposes || is_proposal;
        fetch_free(fetch);
        follower->fetch_pending = false;
        start_fetch(follower);
        return;
    }
    if (is_proposal) {
        follower->options->proposed(follower->options->context, follower, fetch->request,
                                    proposed_tree(fetch), &fetch->err);
    } else {
        follower->fetched = fetch->request;
        follower->lacks_manifest = fetch->lacks_manifest;
        adopt(follower, fetch);
        plan_poll(follower);
    }
    fetch_free(fetch);
    if (follower->fetch_pending) {
        follower->fetch_pending = false;
        start_fetch(follower);
    } else if (follower->proposes) {
        start_proposal(follower);
    }
    if (!is_proposal) {
        follower->options->fetched(follower->options->context);
    }
}

static bool open_credentials(GitFollower *follower, GitFetch *fetch, Error *err)
{
    const ClusterStore *cluster_store = &follower->options->cluster_store;
    GitSecrets secrets;
    git_secrets_find(&fetch->arena, cluster_store->state, cluster_store->prefix,
                     follower->source.name, &secrets);
    return git_secrets_open(follower->options->vault, &fetch->arena, &fetch->source, &secrets,
                            &fetch->credentials, err);
}

static GitFetch *fetch_new(GitFollower *follower)
{
    const ClusterStore *cluster_store = &follower->options->cluster_store;
    GitFetch *fetch = memory_new(sizeof *fetch);
    arena_init(&fetch->arena, ARENA_UNLIMITED);
    fetch->item = (WorkItem){ .run = run_fetch, .done = fetched };
    fetch->follower = follower;
    fetch->source = git_source_copy(&fetch->arena, &follower->source);
    fetch->source.is_default_branch = follower->source.branch.len == 0;
    fetch->source.branch =
        arena_copy(&fetch->arena, git_source_branch(&follower->source, &follower->status));
    fetch->mirror =
        (GitMirror){ .directory = arena_copy_c(&fetch->arena, str_from_c(follower->directory)),
                     .credentials = &fetch->credentials,
                     .canceled = &fetch->canceled };
    fetch->has_failed =
        !versions_blob_store(follower->options->versions, &fetch->mirror.blobs, &fetch->err) ||
        !open_credentials(follower, fetch, &fetch->err);
    fetch->before = follower->tree == NULL ? NULL : git_tree_ref(follower->tree);
    fetch->manifest =
        site_parts_find(&fetch->arena, cluster_store->state, cluster_store->prefix).manifest;
    return fetch;
}

static void fetch_start(GitFollower *follower, GitFetch *fetch)
{
    follower->fetch = fetch;
    work_queue_add(follower->queue, &fetch->item);
}

static void start_fetch(GitFollower *follower)
{
    loop_timer_stop(&follower->due);
    if (follower->fetch != NULL) {
        follower->fetch_pending = true;
        return;
    }
    if (follower->is_stopped) {
        return;
    }
    if (!follower->is_readable) {
        follower->fetched = follower->requested; /* the status has the reason */
        return;
    }
    GitFetch *fetch = fetch_new(follower);
    fetch->request = follower->requested;
    fetch_start(follower, fetch);
}

/* The configuration of the source cannot be read. */
static void refuse_proposal(GitFollower *follower)
{
    const ClusterStore *cluster_store = &follower->options->cluster_store;
    AUTO_CLEAR(Arena) arena;
    GitProposal ignored;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    error_set(&err, ERROR_INVALID, "%" STR_FMT, STR_ARG(follower->status.error));
    int64_t revision = git_proposal_find(&arena, cluster_store->state, cluster_store->prefix,
                                         follower->source.name, &ignored);
    follower->options->proposed(follower->options->context, follower, revision, NULL, &err);
}

/* Uses the same mirror, so it must not run during a fetch; the result is not the newest commit. */
static void start_proposal(GitFollower *follower)
{
    const ClusterStore *cluster_store = &follower->options->cluster_store;
    GitProposal proposal;
    if (follower->fetch != NULL || follower->is_stopped) {
        return;
    }
    follower->proposes = false;
    if (!follower->is_readable) {
        refuse_proposal(follower);
        return;
    }
    GitFetch *fetch = fetch_new(follower);
    fetch->is_proposal = true;
    fetch->request = git_proposal_find(&fetch->arena, cluster_store->state, cluster_store->prefix,
                                       follower->source.name, &proposal);
    if (fetch->request == 0) {
        fetch_free(fetch);
        return;
    }
    fetch->source.commit = proposal.commit;
    if (proposal.branch.len > 0) {
        fetch->source.branch = proposal.branch;
        fetch->source.is_default_branch = false;
    }
    fetch_start(follower, fetch);
}

static void poll_is_due(void *context)
{
    start_fetch(context);
}

/* --- Configuration and life cycle ------------------------------------------------------------- */

GitFollower *git_follower_new(const GitFollowerOptions *options, Str name)
{
    const ClusterStore *cluster_store = &options->cluster_store;
    GitFollower *follower = memory_new(sizeof *follower);
    follower->options = options;
    arena_init(&follower->arena, ARENA_UNLIMITED);
    arena_init(&follower->status_arena, ARENA_UNLIMITED);
    arena_init(&follower->change_arena, ARENA_UNLIMITED);
    loop_timer_init(&follower->due, cluster_store->loop, poll_is_due, follower);
    follower->queue = work_queue_new(cluster_store->loop);
    follower->source.name = arena_copy(&follower->arena, name);
    follower->status = git_source_status_find(&follower->status_arena, cluster_store->state,
                                              cluster_store->prefix, name);
    follower->fetched = follower->status.handled;
    follower->requested = follower->status.handled;
    return follower;
}

void git_follower_configure(GitFollower *follower, const GitSourceEntry *entry, int64_t delay_ms)
{
    Arena arena;
    arena_init(&arena, ARENA_UNLIMITED);
    GitSource source = git_source_copy(&arena, &entry->source);
    /* With other signers, a commit that was read before may be rejected or accepted. */
    if (!str_eq(source.signers, follower->source.signers) && follower->tree != NULL) {
        follower->clears_rejection = follower->tree->rejection.len > 0;
        git_tree_unref(TAKE(follower->tree));
    }
    if (follower->fetch != NULL) {
        follower->fetch->is_outdated = true;
        atomic_store(&follower->fetch->canceled, true);
    }
    follower->directory = arena_format(&arena, "%s/sources/%" STR_FMT, follower->options->directory,
                                       STR_ARG(source.name))
                              .data;
    arena_clear(&follower->arena);
    follower->arena = arena;
    follower->source = source;
    follower->is_readable = entry->error.len == 0;
    follower->revision = entry->revision;
    if (!follower->is_readable) {
        GitSourceStatus status = follower->status;
        status.error = entry->error;
        git_follower_set_status(follower, &status);
    }
    follower->failures = 0;
    loop_timer_start(&follower->due, delay_ms);
}

void git_follower_free(GitFollower *follower, bool is_removed)
{
    if (follower->fetch != NULL) {
        atomic_store(&follower->fetch->canceled, true);
    }
    work_queue_free(follower->queue);
    change_abandon(follower->change);
    site_proposal_abandon(follower->proposal);
    loop_timer_stop(&follower->due);
    git_tree_unref(follower->tree);
    if (is_removed && follower->directory != NULL) {
        file_tree_remove(follower->directory);
    }
    arena_clear(&follower->arena);
    arena_clear(&follower->status_arena);
    arena_clear(&follower->change_arena);
    free(follower);
}

void git_follower_check_request(GitFollower *follower)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    const ClusterStore *cluster_store = &follower->options->cluster_store;
    GitSourceRequest request = { 0 };
    int64_t revision = git_source_request_find(&arena, cluster_store->state, cluster_store->prefix,
                                               follower->source.name, &request);
    if (revision > follower->requested) {
        follower->requested = revision;
        follower->failures = 0;
        start_fetch(follower);
    }
    GitProposal proposal;
    revision = git_proposal_find(&arena, cluster_store->state, cluster_store->prefix,
                                 follower->source.name, &proposal);
    if (revision > follower->proposed && proposal.request == 0) {
        follower->proposed = revision;
        follower->proposes = true;
    }
    if (follower->proposes) {
        start_proposal(follower);
    }
}

void git_follower_fetch(GitFollower *follower)
{
    start_fetch(follower);
}

void git_follower_stop(GitFollower *follower)
{
    follower->is_stopped = true;
    loop_timer_stop(&follower->due);
}

void git_follower_report_results(GitFollower *follower)
{
    follower->status.handled = follower->fetched;
    write_status(follower);
}
