/* Builds the current version from commits: combines the files of the sources into a manifest,
 * validates it, records it as a version, and makes that version the current one. Loop thread
 * only. */
#pragma once

#include "source/git_tree.h"
#include "source/site_parts.h"
#include "source/versions.h"
#include "sys/work_queue.h"

typedef struct SiteBuild SiteBuild;

typedef struct SiteBuildResult {
    Str version, manifest; /* empty: there is no version */
    /* why the site is not valid, with file and line if known; empty: it is valid */
    Str rejection;
    Str held; /* why the version was not made current; empty: it was */
} SiteBuildResult;

/* `result` is valid during the call; NULL if it could not be determined, for the reason in
 * `err`. */
typedef void SiteBuildDone(void *context, const SiteBuildResult *result, const Error *err);

typedef struct SiteBuildSpec {
    ClusterStore cluster_store;
    Versions *versions;
    WorkQueue *queue;
    const StoreCompare *fence; /* leader_fence() */
    SiteParts parts;           /* what to build; copied, including all strings */
    GitTree *const *trees;     /* the tree of each part; NULL: use its files in `valid` */
    SiteParts valid;           /* the last valid site */
    VersionSource source;
    Str requested_by, reason;
    bool is_proposal; /* the version does not become current */
    SiteBuildDone *done;
    void *context;
} SiteBuildSpec;

/* Starts a build. `done` is called once, in a later iteration. */
SiteBuild *site_build_start(const SiteBuildSpec *spec);
/* Afterwards `done` is not called. NULL is allowed. */
void site_build_abandon(SiteBuild *build);
