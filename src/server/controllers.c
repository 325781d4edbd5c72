/* Starts controllers when this server is elected, and stops them when it is deposed. */
#include "server/controllers.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "fleet/dispatcher.h"
#include "fleet/version_runs.h"
#include "membership/node_sweep.h"
#include "membership/nodes.h"
#include "source/versions_sweep.h"

struct Controllers {
    ControllersOptions options;
    Leader *leader;
    NodeSweep *node_sweep;  /* NULL: another server is the leader */
    Dispatcher *dispatcher; /* NULL: another server is the leader */
    VersionRuns *version_runs;
    GitSources *git_sources;
    VersionsSweep *versions_sweep;
};

static void elected(void *context)
{
    Controllers *controllers = context;
    const StoreCompare *fence = leader_fence(controllers->leader);
    nodes_record_all_silent(&controllers->options.cluster_store, fence);
    controllers->node_sweep = node_sweep_new(&controllers->options.cluster_store, fence);
    controllers->dispatcher =
        dispatcher_new(&(DispatcherOptions){ .cluster_store = controllers->options.cluster_store,
                                             .runs = controllers->options.runs,
                                             .fence = *fence });
    controllers->version_runs = version_runs_new(&controllers->options.cluster_store, fence);
    controllers->git_sources =
        git_sources_new(&(GitSourcesOptions){ .cluster_store = controllers->options.cluster_store,
                                              .versions = controllers->options.versions,
                                              .vault = controllers->options.vault,
                                              .audit = controllers->options.audit,
                                              .directory = controllers->options.directory,
                                              .fence = *fence });
    controllers->versions_sweep = versions_sweep_new(
        &(VersionsSweepOptions){ .cluster_store = controllers->options.cluster_store,
                                 .versions = controllers->options.versions,
                                 .sources = controllers->git_sources,
                                 .fence = *fence });
    admission_set_leader(controllers->options.admission, fence);
    authority_set_leader(controllers->options.authority, fence);
}

static void deposed(void *context)
{
    Controllers *controllers = context;
    node_sweep_free(TAKE(controllers->node_sweep));
    dispatcher_free(TAKE(controllers->dispatcher));
    version_runs_free(TAKE(controllers->version_runs));
    versions_sweep_free(TAKE(controllers->versions_sweep));
    git_sources_free(TAKE(controllers->git_sources));
    admission_set_leader(controllers->options.admission, NULL);
    authority_set_leader(controllers->options.authority, NULL);
}

Controllers *controllers_new(const ControllersOptions *options)
{
    Controllers *controllers = memory_new(sizeof *controllers);
    controllers->options = *options;
    controllers->leader = leader_new(&(LeaderOptions){ .cluster_store = options->cluster_store,
                                                       .server = options->server,
                                                       .elected = elected,
                                                       .deposed = deposed,
                                                       .context = controllers });
    return controllers;
}

void controllers_stop(Controllers *controllers, LoopRun *done, void *context)
{
    leader_resign(controllers->leader, done, context);
}

void controllers_free(Controllers *controllers)
{
    if (controllers != NULL) {
        leader_free(controllers->leader);
        node_sweep_free(controllers->node_sweep);
        dispatcher_free(controllers->dispatcher);
        version_runs_free(controllers->version_runs);
        versions_sweep_free(controllers->versions_sweep);
        git_sources_free(controllers->git_sources);
        free(controllers);
    }
}

bool controllers_are_running(const Controllers *controllers)
{
    return controllers != NULL && controllers->node_sweep != NULL;
}

static void silence_recorded(void *context, const Error *err)
{
    if (err != NULL) {
        log_warning("cannot record when a node became silent", LOG_C("error", err->text));
    }
}

void controllers_node_silent(const Controllers *controllers, const RosterNode *node)
{
    if (controllers_are_running(controllers)) {
        nodes_record_silence(&controllers->options.cluster_store, leader_fence(controllers->leader),
                             str_from_c(node->record.name), silence_recorded, NULL);
    }
}
