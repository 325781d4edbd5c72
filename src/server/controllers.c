#include "server/controllers.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "cluster/node_sweep.h"
#include "cluster/nodes.h"
#include "cluster/roster.h"

enum {
    NOTES_MAX = 1000 /* of silent nodes, when it is elected */
};

struct Controllers {
    ControllersOptions options;
    Leader *leader;
    NodeSweep *node_sweep; /* NULL: another server leads */
};

static void silence_noted(void *context, const Error *err)
{
    if (err != NULL) {
        log_warning("since when a node is silent could not be written", LOG_C("error", err->text));
    }
}

/* Nodes that fell silent while no server led, and those of a backup. What is noted of a node that had a
 * session afterwards is of an earlier silence. */
static void note_silent(const ClusterStore *at, const StoreCompare *fence)
{
    AUTO_CLEAR(Arena) arena;
    const RosterNode *node;
    arena_init(&arena, ARENA_UNLIMITED);
    RosterRange range = roster_range(at->roster, &arena, NULL, STR_EMPTY);
    for (uint32_t count = 0; count < NOTES_MAX && (node = roster_next(&range)) != NULL;) {
        bool is_noted =
            node->session == NULL ||
            (node->silence != NULL && node->silence->mod_revision > node->session->mod_revision);
        if (!node->is_alive && !is_noted) {
            nodes_note_silent(at, fence, str_from_c(node->record.name), silence_noted, NULL);
            count++;
        }
    }
}

static void elected(void *context)
{
    Controllers *controllers = context;
    const StoreCompare *fence = leader_fence(controllers->leader);
    note_silent(&controllers->options.at, fence);
    controllers->node_sweep = node_sweep_new(&controllers->options.at, fence);
    admission_lead(controllers->options.admission, fence);
    authority_lead(controllers->options.authority, fence);
}

static void deposed(void *context)
{
    Controllers *controllers = context;
    node_sweep_free(TAKE(controllers->node_sweep));
    admission_lead(controllers->options.admission, NULL);
    authority_lead(controllers->options.authority, NULL);
}

Controllers *controllers_new(const ControllersOptions *options)
{
    Controllers *controllers = memory_new(sizeof *controllers);
    controllers->options = *options;
    controllers->leader = leader_new(&(LeaderOptions){ .at = options->at,
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
        free(controllers);
    }
}

bool controllers_are_running(const Controllers *controllers)
{
    return controllers != NULL && controllers->node_sweep != NULL;
}

const StoreCompare *controllers_fence(const Controllers *controllers)
{
    return controllers_are_running(controllers) ? leader_fence(controllers->leader) : NULL;
}
