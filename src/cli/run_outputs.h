/* The output of a command on the nodes of a run: identical results are one group. */
#pragma once

#include "base/str_map.h"
#include "base/vec.h"
#include "cli/cluster_client.h"

enum {
    RUN_OUTPUTS_MAX = 64 << 20, /* bytes of all texts; others are not shown */
};

/* Nodes on which the command ended in the same way with the same output. */
typedef struct RunOutput {
    bool has_exit_code;
    int64_t exit_code;
    Str error; /* why it failed, unless the exit code says it; may be empty */
    Str out, err;
    bool is_cut; /* the texts are not complete */
    VEC(Str) nodes;
} RunOutput;

typedef struct RunOutputs {
    Arena *arena;
    VEC(RunOutput) groups;
    StrMap indexes; /* of groups, plus 1 */
    StrMap nodes;   /* those that are in a group */
    uint64_t bytes;
} RunOutputs;

void run_outputs_init(RunOutputs *outputs, Arena *arena);
/* Adds an event of the log, if it is the result of the command on a node. */
void run_outputs_take(RunOutputs *outputs, Str line);
/* Sorts the groups: those with the most nodes first. */
void run_outputs_sort(RunOutputs *outputs);
/* The groups with their nodes, for -o json. */
Value run_outputs_value(const RunOutputs *outputs);
/* "412 nodes: exited with 0", the names and the output of each group. */
void run_outputs_print(const RunOutputs *outputs, Stream *out);

/* Fetches the results of a run. Returns the exit code. */
int run_outputs_fetch(Invocation *invocation, Str run, RunOutputs *outputs);
