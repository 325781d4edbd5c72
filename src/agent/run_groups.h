/* Removes the cgroups of ended runs as soon as they are empty, which may be later than the end of
 * the run: killed processes take time to exit, and a run may have started a daemon. Loop thread. */
#pragma once

#include "base/str.h"
#include "sys/loop.h"

typedef struct RunGroups {
    bool (*is_running)(void *context, Str run); /* keeps its group */
    void *context;
    LoopTimer timer;
    unsigned tries; /* remaining attempts */
} RunGroups;

void run_groups_init(RunGroups *groups, Loop *loop, bool (*is_running)(void *context, Str run),
                     void *context);
/* Removes empty groups now, and retries several times in the next seconds. */
void run_groups_sweep(RunGroups *groups);
void run_groups_stop(RunGroups *groups);
