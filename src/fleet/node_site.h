/* Determines from the runs of the cluster which version of the site a node has. Loop thread
 * only. */
#pragma once

#include "base/enum_names.h"
#include "fleet/runs.h"

typedef enum NodeSiteState {
    NODE_SITE_NONE,     /* no run has applied a version on it */
    NODE_SITE_CURRENT,  /* it has applied the current version */
    NODE_SITE_OUTDATED, /* it has applied another version */
    NODE_SITE_PENDING,  /* a version is being applied, or is waiting to be applied */
    NODE_SITE_FAILED,   /* the newest version failed on it */
    NODE_SITE_SKIPPED,  /* the newest version has no jobs for it, or was not applied in time */
} NodeSiteState;
DECLARE_ENUM_NAMES(NodeSiteState, node_site_state)

typedef struct NodeSite {
    NodeSiteState state;
    Str version; /* the newest one that was applied without failure; empty: none */
} NodeSite;

/* `current` is the current version; may be empty. Only runs of the entire site count. Strings are
 * valid until the next iteration of the loop. */
NodeSite node_site_find(const FleetRuns *runs, Str node, Str current);
