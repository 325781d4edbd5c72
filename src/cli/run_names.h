/* Reports names on the command line that do not exist, or that are not part of a run, and lists
 * those that are. Each function returns the exit code. */
#pragma once

#include "cli/cluster_client.h"

/* Reports that no run, or several runs, have this ID as a prefix. */
int run_names_no_run(Invocation *invocation, Str id, bool is_ambiguous);
/* Reports, with this message, that the selector matches no node. */
int run_names_no_node(Invocation *invocation, Str message, Str selector);
/* Checks that the node is a target of the run. */
int run_names_check_node(Invocation *invocation, Value run, Str node);
/* Checks that the node has the step in this run. For a node that has not started, that is not known
 * yet. */
int run_names_check_step(Invocation *invocation, Value run, Str node, Str step);
