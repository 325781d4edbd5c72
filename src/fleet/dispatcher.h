/* Executes the runs of the cluster on the leader: writes the orders of their targets, withdraws
 * those of silent ones, and ends runs. What to do next is decided by fleet/dispatch_plan.h. Loop
 * thread only. */
#pragma once

#include "fleet/runs.h"
#include "membership/roster.h"

typedef struct Dispatcher Dispatcher;

typedef struct DispatcherOptions {
    ClusterStore cluster_store; /* with a state and a roster */
    const FleetRuns *runs;
    StoreCompare fence; /* leader_fence(), copied */
} DispatcherOptions;

/* Stops automatically when the fence does not hold. */
Dispatcher *dispatcher_new(const DispatcherOptions *options);
/* must be called before freeing the runs and the store; NULL is allowed */
void dispatcher_free(Dispatcher *dispatcher);
DEFINE_AUTO(Dispatcher, dispatcher_free)
