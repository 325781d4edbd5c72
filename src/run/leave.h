/* What becomes of a run in which steps asked for a restart of the machine (Outcome.leave). */
#pragma once

#include "run/run_inner.h"
#include "sys/directory.h"

/* Reads what earlier runs of this site left. */
void run_leave_load(Run *run);
/* See CallServices.came_back. */
bool run_came_back(const Run *run, uint32_t step, int64_t *asked_ms);
/* After the last step, before the lock is given back: notes that the run is to be continued, or that
 * it need not be any longer. When that cannot be, run_leave_ready() tells why. */
void run_leave_note(Run *run, const Directory *state);
