/* Fetches the events and results of a run across nodes. */
#pragma once

#include "cli/fleet_report.h"
#include "cli/invocation.h"
#include "cli/run_fold.h"

/* Fetches and folds all nodes and all events of a run. Reports a failure and returns its exit
 * code. */
int matrix_fetch(Invocation *invocation, Value run, RunMatrix *matrix, FleetReport *out);
/* Fetches the events of one node. Returns the exit code. */
int matrix_fetch_node(Invocation *invocation, Value run, Str node, RunMatrix *matrix);
/* Fetches and folds the changes of a run whose nodes are known, with the events of one node per
 * digest. Returns the exit code. */
int fold_fetch(Invocation *invocation, Value run, const List *nodes, RunFold *fold);
