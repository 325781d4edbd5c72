/* Names on the command line that a run does not have: errors with what it has instead. Each function
 * returns the exit code. */
#pragma once

#include "cli/cluster_client.h"

/* Reports that the run was not found. */
int run_names_no_run(Invocation *invocation, Str id);
/* Whether the node is a target of the run. */
int run_names_check_node(Invocation *invocation, Value run, Str node);
/* Whether the node has the step in this run. A node that has not begun may still get it. */
int run_names_check_step(Invocation *invocation, Value run, Str node, Str step);
