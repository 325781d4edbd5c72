/* Applies a version of the site on all nodes when it becomes the current one: creates a run for it,
 * on the leader. Loop thread only. */
#pragma once

#include "membership/roster.h"

typedef struct VersionRuns VersionRuns;

/* Stops automatically when the fence, leader_fence(), does not hold. The arguments are copied; the
 * state and the roster are borrowed. */
VersionRuns *version_runs_new(const ClusterStore *cluster_store, const StoreCompare *fence);
/* must be called before freeing the state and the store; NULL is allowed */
void version_runs_free(VersionRuns *runs);
DEFINE_AUTO(VersionRuns, version_runs_free)
