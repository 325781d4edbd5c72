/* Deletes old versions that nothing uses, and then blobs not referenced by any version, on the
 * leader. Loop thread only; blobs are removed on the thread of the versions, in small parts.
 *
 * A pass starts soon after an election and then every few minutes. Versions are deleted before
 * their blobs, so that a pass that ends in between leaves only blobs, which the next one finds.
 * Nothing is removed while the state is behind, and no blob while the files of any version are not
 * known. */
#pragma once

#include "source/git_sources.h"

typedef struct VersionsSweep VersionsSweep;

enum {
    SWEEP_DELAY_MS = 60 * 1000,         /* delay after an election */
    SWEEP_INTERVAL_MS = 10 * 60 * 1000, /* interval between passes */
    /* interval between removals of blobs if no version was deleted */
    SWEEP_BLOBS_MS = 3600 * 1000,
    /* minimum time since a blob's last use: it may be part of an upload */
    SWEEP_BLOB_AGE_MS = 3600 * 1000,
    SWEEP_RETRY_MS = 60 * 1000,
};

typedef struct VersionsSweepOptions {
    ClusterStore cluster_store; /* with a state */
    Versions *versions;
    const GitSources *sources; /* NULL: none */
    StoreCompare fence;        /* leader_fence() */
    uint32_t retained;         /* number of versions to retain; 0: VERSIONS_RETAINED */
    /* minimum age of versions and blobs; 0: VERSION_RETAINED_MS and SWEEP_BLOB_AGE_MS */
    int64_t age_ms;
} VersionsSweepOptions;

/* Stops automatically when the fence does not hold. The options are copied; the state, versions and
 * sources are borrowed. */
VersionsSweep *versions_sweep_new(const VersionsSweepOptions *options);
/* Must be called before freeing the sources, the versions, the state and the store. NULL is
 * allowed. */
void versions_sweep_free(VersionsSweep *sweep);
DEFINE_AUTO(VersionsSweep, versions_sweep_free)

/* Starts a pass now, unless one is in progress. */
void versions_sweep_start(VersionsSweep *sweep);
bool versions_sweep_is_idle(const VersionsSweep *sweep);
