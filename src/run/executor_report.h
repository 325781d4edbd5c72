/* From what a module said to the report of its step: without secrets, and in memory that lasts. */
#pragma once

#include "run/executor.h"

/* The text as it may be told; a copy. */
Str executor_scrub(const ExecutorWorld *world, Arena *arena, Str text);
/* All texts of a problem. */
void executor_scrub_problem(const ExecutorWorld *world, Arena *arena, Problem *problem);

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

/* Where the name of a step is written, or the step itself. */
Value step_name_place(const StepSpec *spec);
/* The parameter that an error is about: `blamed`, when the module has named one (else NULL), or the one
 * with the longest value that the text quotes, else what the step is about. */
Value step_error_place(const StepSpec *spec, const Value *params, const char *blamed, Str text);
/* A condition as it is written, for messages. */
Str executor_test_text(const Dynamic *test);
