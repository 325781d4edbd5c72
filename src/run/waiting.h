/* The wait reasons and the progress of running steps, as reported by workers and shown by the
 * thread that owns the run. */
#pragma once

#include "run/run_core.h"

/* From any thread; an empty `why`: it no longer waits. Only the last message of a step counts. */
void waiting_note(Shared *shared, uint32_t step, Str why);
/* The same for progress. */
void waiting_note_progress(Shared *shared, uint32_t step, Str line);
/* Called periodically: passes the messages to the view, and updates the time. Shown texts are in
 * `arena`. */
void waiting_tick(const RunCoreSettings *settings, Arena *arena);
