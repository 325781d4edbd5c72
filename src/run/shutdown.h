/* Reboots requested by steps of a run (Outcome.shutdown), and how the run continues afterwards. */
#pragma once

#include "run/run_inner.h"
#include "sys/directory.h"

/* Loads the notes of earlier runs of this site. */
void run_shutdown_load(Run *run);
/* See CallServices.has_rebooted. */
bool run_has_rebooted(const Run *run, uint32_t step, int64_t *asked_ms);
/* Called after the last step, before the lock is released: records that the run is to be continued,
 * or no longer. If that fails, run_shutdown_ready() returns the reason. */
void run_shutdown_prepare(Run *run, const Directory *state);
