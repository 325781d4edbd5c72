/* Prints runs across nodes, for `eden runs`. */
#pragma once

#include "api/kind.h"
#include "cli/cluster_client.h"

/* One row per run; with more columns for -o wide. */
void runs_print_table(const Invocation *invocation, const Kind *kind, const List *runs);
/* Prints what a run does, where, who requested it and why, and its progress. */
void runs_print_summary(const Invocation *invocation, Value run);
/* One row per target. */
void runs_print_nodes(const Invocation *invocation, const List *nodes);
