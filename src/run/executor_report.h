/* Converts the outcome of a module to the report of its step: without secrets, and in memory that
 * outlives the task. */
#pragma once

#include "run/run_core.h"

/* A copy of the text without secrets. */
Str executor_scrub(const RunCoreOps *environment, Arena *arena, Str text);
/* Removes secrets from all texts of a problem. */
void executor_scrub_problem(const RunCoreOps *environment, Arena *arena, Problem *problem);

/* The arena for the report of a step: that of the run, or, if the step may be retried forever, a
 * separate one (`*own`) that each attempt reuses. */
Arena *executor_report_arena(Arena **own, Arena *run, bool is_retried);
void executor_report_arena_clear(Arena *own); /* NULL is allowed */

/* For a secret step: marks its results as secret, so that later steps inherit the mark, and removes
 * its output from the error. */
void executor_report_redact(const RunCoreOps *environment, Task *task);

/* Clears the results of an earlier attempt or of the check. */
void executor_report_empty(StepReport *report);
/* With `adds`, for a final reaction, existing values are kept unless the outcome replaces them;
 * otherwise the results of an earlier attempt or of the check are cleared. */
void executor_report_fill(StepReport *report, const Outcome *outcome, bool adds,
                          const RunCoreOps *environment, Arena *arena);

/* The location of the step's name, or of the step itself. */
Value step_name_place(const StepSpec *spec);
/* The parameter that an error is about: `blamed` if the module named one (otherwise NULL), or the
 * one with the longest value quoted in the text, otherwise the id parameter of the step. */
Value step_error_place(const StepSpec *spec, const Value *params, const char *blamed, Str text);
/* The source text of a condition, for messages. */
Str executor_test_text(const Dynamic *test);
