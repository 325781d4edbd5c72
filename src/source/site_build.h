/* From commits to the current version: combines the files of the sources into a manifest, has it
 * checked and recorded as a version, and makes that the current one. Loop thread only. */
#pragma once

#include "source/git_tree.h"
#include "source/site_parts.h"
#include "source/versions.h"
#include "sys/work_queue.h"

typedef struct SiteBuild SiteBuild;

typedef struct SiteBuildResult {
    Str version, manifest; /* empty: there is no version */
    Str rejection; /* why the site is not valid, with file and line if known; empty: it is valid */
    Str held;      /* why the version was not made current; empty: it was */
} SiteBuildResult;

/* `result` is valid during the call; NULL if it could not be found out, for the reason in `err`. */
typedef void SiteBuildDone(void *context, const SiteBuildResult *result, const Error *err);

typedef struct SiteBuildSpec {
    ClusterStore at;
    Versions *versions;
    WorkQueue *queue;
    const StoreCompare *fence; /* leader_fence() */
    SiteParts parts;           /* what to build; copied, as all strings are */
    GitTree *const *trees;     /* of each part; NULL: its files are those in `valid` */
    SiteParts valid;           /* the last valid site */
    VersionSource source;
    Str by, reason;
    bool is_proposal; /* the version does not become current */
    SiteBuildDone *done;
    void *context;
} SiteBuildSpec;

/* `done` is called once, in a later iteration. */
SiteBuild *site_build_start(const SiteBuildSpec *spec);
/* `done` is not called any more. NULL is allowed. */
void site_build_abandon(SiteBuild *build);
