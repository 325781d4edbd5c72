/* The verbs of `eden runs`, for command_runs.c. Functions that return an int return the exit
 * code. */
#pragma once

#include "api/kind.h"
#include "cli/cluster_client.h"
#include "cli/command.h"

/* --- Runs that this machine itself has recorded, without a cluster --------------------------- */

/* Whether `eden runs` lists local records, because an option requests that or no server can be
 * selected. */
bool runs_are_local(const Invocation *invocation);
/* Lists local records, oldest first. */
int runs_local_list(Invocation *invocation);

/* --- Printing runs across nodes -------------------------------------------------------------- */

/* Prints a row for each run, with more columns for -o wide. */
void runs_print_table(const Invocation *invocation, const Kind *kind, const List *runs);
/* Prints what a run executes, its nodes, who requested it and why, and its progress. */
void runs_print_summary(const Invocation *invocation, Value run);
/* Prints a row for each target. */
void runs_print_nodes(const Invocation *invocation, const List *nodes);

/* --- Verbs ----------------------------------------------------------------------------------- */

/* Prints the nodes on which two runs had different outcomes or made different changes. */
int runs_compare(Invocation *invocation, Str before_id, Str after_id);

extern const Option runs_report_options[];
/* Prints a run across nodes as a document. The argument is a unique prefix of its ID. */
int runs_report_run(Invocation *invocation);
