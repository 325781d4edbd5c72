/* Follows the git repositories of the site, on the leader: their newest commits
 * (source/git_follower.h) are built into versions (source/site_build.h), which become current. Loop
 * thread only. */
#pragma once

#include "audit/audit.h"
#include "source/git_tree.h"
#include "source/source_vault.h"
#include "source/versions.h"

typedef struct GitSources GitSources;

typedef struct GitSourcesOptions {
    ClusterStore cluster_store; /* with a state */
    Versions *versions;
    SourceVault *vault;
    Audit *audit;
    const char *directory; /* directory of the server, with the mirrors below it */
    StoreCompare fence;    /* leader_fence() */
} GitSourcesOptions;

/* Stops automatically when the fence does not hold. The options are copied; the state, versions,
 * vault and audit log are borrowed. */
GitSources *git_sources_new(const GitSourcesOptions *options);
/* Kills running git processes and waits for them. Must be called before freeing the state, the
 * versions and the store; NULL is allowed. */
void git_sources_free(GitSources *sources);
/* Returns references to the newest commits of all sources, whose blobs may become part of the next
 * version even if no version has them yet. Returns their number, at most GIT_SOURCES_MAX. NULL is
 * allowed. */
uint32_t git_sources_trees(const GitSources *sources, GitTree **out);
DEFINE_AUTO(GitSources, git_sources_free)
