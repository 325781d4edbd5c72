/* From what a module said to the report of its step: without secrets, and in memory that lasts. */
#pragma once

#include "run/executor.h"

/* The text as it may be told; a copy. */
Str executor_scrub(const ExecutorWorld *world, Arena *arena, Str text);

/* Where the report of a step is kept: in the run's arena, or, where it may be tried for ever, in one
 * of its own (`*own`), in which each try takes the place of the one before. */
Arena *executor_report_arena(Arena **own, Arena *run, bool is_retried);
void executor_report_arena_clear(Arena *own); /* NULL is fine */

/* For a step that is secret: marks all that it gave, so that later steps inherit the mark, and keeps
 * what it said out of its error. */
void executor_report_conceal(const ExecutorWorld *world, Task *task);

/* Forgets what an earlier try, or the check before, said. */
void executor_report_empty(StepReport *report);
/* With `adds`, for a reaction at the end, what was reported before stays where the outcome says
 * nothing else; otherwise an earlier try, or the check before, is forgotten. */
void executor_report_fill(StepReport *report, const Outcome *outcome, bool adds,
                          const ExecutorWorld *world, Arena *arena);
