/* Creates a version from a proposed commit, without making it current, and records the result
 * (source/git_proposal.h). Loop thread only. */
#pragma once

#include "source/git_proposal.h"
#include "source/git_tree.h"
#include "source/site_parts.h"
#include "source/versions.h"
#include "sys/work_queue.h"

typedef struct SiteProposal SiteProposal;

typedef struct SiteProposalSpec {
    ClusterStore cluster_store;
    Versions *versions;
    WorkQueue *queue;          /* for reading manifests */
    const StoreCompare *fence; /* leader_fence() */
    const GitSource *source;
    const GitProposal *proposal;
    int64_t request; /* revision of the request */
    GitTree *tree;   /* NULL if the commit could not be fetched, for the reason in `err` */
    const Error *err;
    /* the last valid site, from which the files of other sources are taken */
    const SiteParts *valid;
    /* Everything is recorded, or cannot be: ERROR_CONFLICT, because this server no longer leads. If
     * the request was replaced in the meantime, `done` is called without an error. Other failures
     * are retried. */
    void (*done)(void *context, const Error *err);
    void *context;
} SiteProposalSpec;

/* Everything is copied. `done` is called once, in a later iteration. */
SiteProposal *site_proposal_start(const SiteProposalSpec *spec);
/* Afterwards `done` is not called. NULL is allowed. */
void site_proposal_abandon(SiteProposal *proposal);
