#include "source/site_proposal.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "cluster/change.h"
#include "cluster/cluster_keys.h"
#include "source/site_build.h"

enum {
    RETRY_MS = 1000, /* delay before recording a result is retried */
};

struct SiteProposal {
    Arena arena;
    ClusterStore cluster_store;
    StoreCompare fence;
    Str name;
    GitProposal record;
    int64_t request;
    SiteBuild *build; /* NULL: none in progress */
    Change *change;   /* NULL: none in progress */
    LoopTask task;
    LoopTimer retry;
    void (*done)(void *context, const Error *err);
    void *context;
};

static void proposal_free(SiteProposal *proposal)
{
    loop_task_stop(proposal->cluster_store.loop, &proposal->task);
    loop_timer_stop(&proposal->retry);
    site_build_abandon(proposal->build);
    change_abandon(proposal->change);
    arena_clear(&proposal->arena);
    free(proposal);
}

void site_proposal_abandon(SiteProposal *proposal)
{
    if (proposal != NULL) {
        proposal_free(proposal);
    }
}

/* --- Recording -------------------------------------------------------------------------------- */

/* The source may have been removed, or the request replaced. */
static bool decide(void *context, Change *change, Error *err)
{
    SiteProposal *proposal = context;
    if (change_revision(change, 0) == proposal->request) {
        Buf text = buf_make_in(change_arena(change), BUF_UNLIMITED);
        git_proposal_print(&proposal->record, &text);
        change_put(change, change_key(change, 0), buf_str(&text), 0);
    }
    return true;
}

/* Clients wait for the result, and no other commit can be proposed until then, so it is recorded as
 * soon as the store accepts it. */
static void recorded(void *context, Change *change, const Error *err)
{
    SiteProposal *proposal = context;
    void (*done)(void *context, const Error *err) = proposal->done;
    void *done_context = proposal->context;
    Error deposed;
    proposal->change = NULL;
    if (err != NULL && err->kind != ERROR_CONFLICT) {
        log_warning("cannot record the result of a proposed commit; retrying",
                    LOG_STR("source", proposal->name), LOG_C("error", err->text));
        loop_timer_start(&proposal->retry, RETRY_MS);
        return;
    }
    if (err != NULL) {
        deposed = *err;
    }
    proposal_free(proposal);
    done(done_context, err == NULL ? NULL : &deposed);
}

/* Urgent, so that it is recorded even if the disk of the server is full, which may be the reason
 * why there is no version. */
static void write_record(void *context)
{
    SiteProposal *proposal = context;
    Str key = cluster_key_source_proposal(&proposal->arena, proposal->cluster_store.prefix,
                                          proposal->name);
    change_start(&(ChangeSpec){ .cluster_store = proposal->cluster_store,
                                .keys = &key,
                                .key_count = 1,
                                .decide = decide,
                                .done = recorded,
                                .context = proposal,
                                .urgent = true,
                                .fence = &proposal->fence },
                 &proposal->change);
}

static void record(void *context)
{
    SiteProposal *proposal = context;
    proposal->record.request = proposal->request;
    log_info("proposed commit", LOG_STR("source", proposal->name),
             LOG_STR("commit", proposal->record.found),
             LOG_STR("version", proposal->record.version),
             LOG_STR("why", proposal->record.error.len > 0 ? proposal->record.error
                                                           : proposal->record.rejection));
    write_record(proposal);
}

static void built(void *context, const SiteBuildResult *result, const Error *err)
{
    SiteProposal *proposal = context;
    proposal->build = NULL;
    if (err != NULL) {
        proposal->record.error = arena_copy(&proposal->arena, str_from_c(err->text));
    } else {
        proposal->record.version = arena_copy(&proposal->arena, result->version);
        proposal->record.rejection = arena_copy(&proposal->arena, result->rejection);
    }
    record(proposal);
}

/* --- Building --------------------------------------------------------------------------------- */

/* Replaces the commit of the source in the last valid site; sorted by source. */
static SiteParts parts_of(Arena *arena, const SiteProposalSpec *spec, GitTree ***trees)
{
    const SiteParts *valid = spec->valid;
    SitePart part = { spec->source->name, spec->source->directory, spec->tree->commit };
    SiteParts parts = { .items = ARENA_ARRAY(arena, SitePart, valid->count + 1) };
    bool is_in = false;
    *trees = ARENA_ARRAY(arena, GitTree *, valid->count + 1);
    for (uint32_t i = 0; i <= valid->count; i++) {
        int order = i == valid->count ? 1 : str_compare(valid->items[i].source, part.source);
        if (!is_in && order >= 0) {
            (*trees)[parts.count] = spec->tree;
            parts.items[parts.count++] = part;
            is_in = true;
        }
        if (i < valid->count && order != 0) {
            (*trees)[parts.count] = NULL;
            parts.items[parts.count++] = valid->items[i];
        }
    }
    return parts;
}

static void start_build(SiteProposal *proposal, const SiteProposalSpec *spec)
{
    Arena *arena = &proposal->arena;
    GitTree **trees;
    SiteParts parts = parts_of(arena, spec, &trees);
    Str branch = spec->proposal->branch.len > 0   ? spec->proposal->branch
                 : spec->proposal->commit.len > 0 ? STR_EMPTY
                                                  : spec->source->branch;
    proposal->build =
        site_build_start(&(SiteBuildSpec){ .cluster_store = proposal->cluster_store,
                                           .versions = spec->versions,
                                           .queue = spec->queue,
                                           .fence = &proposal->fence,
                                           .parts = parts,
                                           .trees = trees,
                                           .valid = *spec->valid,
                                           .source = { .source = spec->source->url,
                                                       .commit = spec->tree->commit,
                                                       .branch = branch,
                                                       .author = spec->tree->author,
                                                       .subject = spec->tree->subject },
                                           .requested_by = proposal->record.requested_by,
                                           .is_proposal = true,
                                           .done = built,
                                           .context = proposal });
}

SiteProposal *site_proposal_start(const SiteProposalSpec *spec)
{
    SiteProposal *proposal = memory_new(sizeof *proposal);
    Arena *arena = &proposal->arena;
    arena_init(arena, ARENA_UNLIMITED);
    proposal->cluster_store = spec->cluster_store;
    proposal->cluster_store.prefix = arena_copy(arena, spec->cluster_store.prefix);
    proposal->fence = *spec->fence;
    proposal->fence.key = arena_copy(arena, spec->fence->key);
    proposal->name = arena_copy(arena, spec->source->name);
    proposal->request = spec->request;
    proposal->done = spec->done;
    proposal->context = spec->context;
    proposal->record =
        (GitProposal){ .time_ms = spec->proposal->time_ms,
                       .requested_by = arena_copy(arena, spec->proposal->requested_by),
                       .commit = arena_copy(arena, spec->proposal->commit),
                       .branch = arena_copy(arena, spec->proposal->branch) };
    loop_task_init(&proposal->task, record, proposal);
    loop_timer_init(&proposal->retry, proposal->cluster_store.loop, write_record, proposal);
    if (spec->tree == NULL) {
        proposal->record.error = arena_copy(arena, str_from_c(spec->err->text));
    } else {
        proposal->record.found = arena_copy(arena, spec->tree->commit);
        proposal->record.rejection = arena_copy(arena, spec->tree->rejection);
    }
    if (spec->tree == NULL || spec->tree->rejection.len > 0) {
        loop_defer(proposal->cluster_store.loop, &proposal->task);
    } else {
        start_build(proposal, spec);
    }
    return proposal;
}
