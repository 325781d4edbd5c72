/* The output of a command on the nodes of a run. Identical results form a group. */
#pragma once

#include "base/str_map.h"
#include "base/vec.h"
#include "cli/cluster_client.h"

enum {
    RUN_OUTPUTS_MAX = 64 << 20, /* maximum size of all texts; further ones are not shown */
};

/* Nodes on which the command exited in the same way with the same output. */
typedef struct RunOutput {
    bool has_exit_code;
    int64_t exit_code;
    Str error; /* the error; empty if the exit code is sufficient */
    Str out, err;
    bool is_truncated; /* the texts were truncated */
    VEC(Str) nodes;
} RunOutput;

typedef struct RunOutputs {
    Arena *arena;
    VEC(RunOutput) groups;
    StrMap indexes; /* indexes of groups, plus 1 */
    StrMap nodes;   /* nodes that are in a group */
    uint64_t bytes;
} RunOutputs;

void run_outputs_init(RunOutputs *outputs, Arena *arena);
/* Adds an event of the log, if it is the result of the command on a node. */
void run_outputs_add(RunOutputs *outputs, Str line);
/* Sorts the groups by their number of nodes, largest first. */
void run_outputs_sort(RunOutputs *outputs);
/* Returns the groups with their nodes, for -o json. */
Value run_outputs_value(const RunOutputs *outputs);
/* Prints "412 nodes: exited with 0", and the names and output of each group. */
void run_outputs_print(const RunOutputs *outputs, Stream *out);

/* Fetches and prints the results of a run. Returns the exit code. */
int run_outputs_fetch(Invocation *invocation, Str run, RunOutputs *outputs);
