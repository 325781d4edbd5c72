/* Collects data for `eden doctor`: inspects this machine and queries its daemons and servers.
 * Changes nothing, and waits a few seconds at most. */
#pragma once

#include "cli/doctor_view.h"

typedef struct DoctorPaths {
    const char *state_dir, *run_dir;
    bool
        /* a server in this directory is queried even if this machine is not set up as one */
        has_run_dir;
} DoctorPaths;

/* Results are allocated in `arena`. Failures are recorded in the view. */
void doctor_inspect(Arena *arena, const DoctorPaths *paths, DoctorView *out);
