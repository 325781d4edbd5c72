/* Creates a run across nodes, follows it and reports its outcome: for `eden run`, `eden exec` and
 * verbs of `eden runs`. */
#pragma once

#include "cli/cluster_client.h"
#include "cli/nodes_choice.h"

/* Options that these commands share. */
#define FLEET_WAIT_OPTIONS                                                  \
    { .name = "progress",                                                   \
      .argument = "HOW",                                                    \
      .choices = "auto|tty|plain|json|none",                                \
      .fallback = "auto",                                                   \
      .help = "progress output on standard error" },                        \
    {                                                                       \
        .name = "detailed-exitcode",                                        \
        .help = "exit 2 if there are changes, 6 if there are also failures" \
    }
#define FLEET_CREATE_OPTIONS                                                  \
    NODES_SELECTOR_OPTION,                                                    \
        { .name = "limit",                                                    \
          .argument = "N",                                                    \
          .help = "select at most N of the matching nodes, sorted by name" }, \
        { .name = "detach", .help = "do not wait: print the ID of the run" }, FLEET_WAIT_OPTIONS

/* Adds the values of these options, including the time limit per node, to the spec. Returns false
 * after reporting an invalid one. */
MUST_CHECK bool fleet_spec_read(Invocation *invocation, const char *time_option, Map *spec);
/* Creates the run (`target`: "/v1/runs" or "/v1/exec"), waits for its end and reports the result.
 * Returns the exit code. */
int fleet_run_start(Invocation *invocation, const char *target, Map *spec);
/* Follows an existing run to its end and reports it. */
int fleet_run_watch(Invocation *invocation, Value run);
/* Fetches a run by its ID, by a prefix of the ID, or as "latest". Returns the exit code. */
int fleet_run_get(Invocation *invocation, Str id, Value *out);
/* Reports the current state of a run. Returns the exit code of its outcome. */
int fleet_run_report(Invocation *invocation, Value run);
/* Prints all targets of a run with their outcomes. Returns the exit code. */
int fleet_run_nodes(Invocation *invocation, Str id, List **out);

/* --- Words ----------------------------------------------------------------------------------- */

bool fleet_run_has_ended(Value run);
/* Counts targets by outcome: "3 changed, 1 failed, 1 silent". */
Str fleet_run_counts(Arena *arena, Value run);
/* The result of a target: its steps by result, and the failure or the reason; may be empty. */
Str fleet_run_step_counts(Arena *arena, Value node);
Str fleet_run_node_result(Arena *arena, Value node);
