/* What running steps wait for and how far they are, as their workers say, shown by the thread that
 * owns the run. */
#pragma once

#include "run/executor.h"

/* From any thread; an empty `why`: it waits no longer. Only the last word of a step counts. */
void waiting_note(Shared *shared, uint32_t step, Str why);
/* How far it is, the same way. */
void waiting_note_progress(Shared *shared, uint32_t step, Str line);
/* Now and then: tells the view what was noted, and that time goes on. What is shown lives in
 * `arena`. */
void waiting_tick(const ExecutorSettings *settings, Arena *arena);
