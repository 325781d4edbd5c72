/* The parameters of a step, ready for its module. */
#pragma once

#include "model/step.h"

/* Evaluates in the scope of the step; adds a problem on failure. */
typedef DynamicOutcome (*StepEvaluate)(void *context, const Dynamic *dynamic, Value *out);

/* Values in the order of the row: those in step->values, and the others evaluated and converted.
 * The resolved types (PARAM_SITE_FILE ...) are returned as written. DYNAMIC_UNKNOWN: at least one
 * depends on the run, and is missing in `out`. All problems are reported, at the location of the
 * value. */
DynamicOutcome step_params_evaluate(const Step *step, StepEvaluate evaluate, void *context,
                                    const Sources *sources, Arena *arena, Value *out,
                                    Problems *problems);

/* Sets the claims of a step that its action derives from the known parameters. */
/* Lets the action check the values that are known at load time. */
MUST_CHECK bool step_params_verify(const Step *step, const Sources *sources, Arena *arena,
                                   Problems *problems);
void step_collect_claims(Step *step, Arena *arena);

/* Reports each required parameter that is not in `params_set`. For steps with `use`, the
 * code that resolves it calls this with the combined parameters. */
bool step_params_complete(const StepSpec *spec, uint64_t params_set, const Sources *sources,
                          Problems *problems);
