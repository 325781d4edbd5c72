/* From what a module said to the report of its step: without secrets, and in memory that lasts. */
#pragma once

#include "run/executor.h"

/* The text as it may be told; a copy. */
Str executor_scrub(const ExecutorWorld *world, Arena *arena, Str text);

/* Forgets what an earlier try, or the check before, said. */
void executor_report_empty(StepReport *report);
/* With `adds`, for a reaction at the end, what was reported before stays where the outcome says
 * nothing else; otherwise an earlier try, or the check before, is forgotten. */
void executor_report_fill(StepReport *report, const Outcome *outcome, bool adds,
                          const ExecutorWorld *world, Arena *arena);
