/* Collects data for `eden doctor`: inspects this machine and queries its daemons and servers.
 * Changes nothing, and waits a few seconds at most. */
#pragma once

#include "cli/doctor_view.h"

typedef struct DoctorPlaces {
    const char *state_dir, *run_dir;
    bool is_run_dir_given; /* selects its server even if this machine is not one */
} DoctorPlaces;

/* Results are allocated in `arena`. Failures are part of them. */
void doctor_look(Arena *arena, const DoctorPlaces *places, DoctorView *out);
