/* Tasks that one server does for the entire cluster: they run on the leader (cluster/leader.h),
 * start when it is elected, stop when it is deposed, and write with its fence. Loop thread only. */
#pragma once

#include "cluster/leader.h"
#include "fleet/runs.h"
#include "membership/admission.h"
#include "membership/authority.h"
#include "membership/roster.h"
#include "source/source_vault.h"
#include "source/versions.h"

typedef struct Controllers Controllers;

typedef struct ControllersOptions {
    ClusterStore cluster_store; /* with a state that is ready */
    Str server;                 /* name of this server */
    Admission *admission;
    Authority *authority;
    const FleetRuns *runs;
    Versions *versions;
    SourceVault *vault;
    Audit *audit;
    const char *directory; /* directory of the server */
} ControllersOptions;

/* The options must be valid until controllers_free. */
Controllers *controllers_new(const ControllersOptions *options);
/* Stops the controllers and resigns, so that another server can become the leader immediately;
 * `done` is called when the lease is revoked, possibly during this call. */
void controllers_stop(Controllers *controllers, LoopRun *done, void *context);
/* Must be called before freeing what the options refer to, the state, and the store. NULL is
 * allowed. */
void controllers_free(Controllers *controllers);
DEFINE_AUTO(Controllers, controllers_free)

/* Whether they run on this server. NULL is allowed. */
bool controllers_are_running(const Controllers *controllers);
/* Called when a node has become silent: if this server is the leader, it records since when it has
 * been. NULL is allowed. */
void controllers_node_silent(const Controllers *controllers, const RosterNode *node);
