/* Removes the cgroups that runs leave: one is empty only some time after its last process was killed,
 * and one with a daemon when that ends. Loop thread. */
#pragma once

#include "base/str.h"
#include "sys/loop.h"

typedef struct RunGroups {
    bool (*is_running)(void *context, Str run); /* its group stays */
    void *context;
    LoopTimer timer;
    unsigned tries; /* that follow */
} RunGroups;

void run_groups_init(RunGroups *groups, Loop *loop, bool (*is_running)(void *context, Str run),
                     void *context);
/* Removes what is empty, now and some times in the next seconds. */
void run_groups_sweep(RunGroups *groups);
void run_groups_stop(RunGroups *groups);
