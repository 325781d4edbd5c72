/* Fetches what is known about a run across nodes. */
#pragma once

#include "cli/fleet_report.h"
#include "cli/invocation.h"
#include "cli/run_fold.h"

/* All nodes and all events of a run, folded. Reports a failure and returns its exit code. */
int matrix_fetch(Invocation *invocation, Value run, RunMatrix *matrix, FleetReport *out);
/* The events of one of its nodes, for the steps that it has. Returns the exit code. */
int matrix_fetch_node(Invocation *invocation, Value run, Str node, RunMatrix *matrix);
/* The changes of a run whose nodes are known, folded: fetches the events of a node of each kind.
 * Returns the exit code. */
int fold_fetch(Invocation *invocation, Value run, const List *nodes, RunFold *fold);
