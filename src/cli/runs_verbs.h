/* The parts of `eden runs`, for command_runs.c. The functions that return an int return the exit
 * code. */
#pragma once

#include "api/kind.h"
#include "cli/cluster_client.h"
#include "cli/command.h"

/* --- Runs that this machine itself has recorded, without a cluster --------------------------- */

/* Whether `eden runs` means those: the options say so, or no server can be selected. */
bool runs_are_local(const Invocation *invocation);
/* Lists them, oldest first. */
int runs_local_list(Invocation *invocation);

/* --- Printing runs across nodes -------------------------------------------------------------- */

/* One row per run; with more columns for -o wide. */
void runs_print_table(const Invocation *invocation, const Kind *kind, const List *runs);
/* Prints what a run does, where, who requested it and why, and its progress. */
void runs_print_summary(const Invocation *invocation, Value run);
/* One row per target. */
void runs_print_nodes(const Invocation *invocation, const List *nodes);

/* --- Verbs ----------------------------------------------------------------------------------- */

/* On which nodes two runs had different outcomes or made different changes. */
int runs_compare(Invocation *invocation, Str before_id, Str after_id);

extern const Option runs_report_options[];
/* A run across nodes as a document. The argument is a unique prefix of its ID. */
int runs_report_run(Invocation *invocation);
