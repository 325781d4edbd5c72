/* Looking at this machine, and asking its daemons and servers, for `eden doctor`. Nothing is changed,
 * and nobody is waited for longer than a few seconds. */
#pragma once

#include "cli/doctor_view.h"

typedef struct DoctorPlaces {
    const char *state_dir, *run_dir;
    bool is_run_dir_given; /* so its server is meant, whether this machine is one or not */
} DoctorPlaces;

/* What is seen is the arena's. Failures are part of it. */
void doctor_look(Arena *arena, const DoctorPlaces *places, DoctorView *out);
