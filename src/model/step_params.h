/* The parameters of a step, ready for its module. */
#pragma once

#include "model/step.h"

/* Evaluates in the scope of the step; adds a problem when it fails. */
typedef DynamicOutcome (*StepEvaluate)(void *context, const Dynamic *dynamic, Value *out);

/* In the order of the row: what step->values knows, and the rest evaluated and converted. The
 * resolved kinds (PARAM_SITE_FILE ...) arrive as a site writes them. DYNAMIC_UNKNOWN: at least one
 * needs what only the run can tell, and is missing in `out`. All problems are told, at the place
 * of the value. */
DynamicOutcome step_params_evaluate(const Step *step, StepEvaluate evaluate, void *context,
                                    const Sources *sources, Arena *arena, Value *out,
                                    Problems *problems);

/* Sets the claims of a step as its action tells them from what is known of its parameters. */
/* What the action knows to be wrong with values that are known at load. */
MUST_CHECK bool step_params_verify(const Step *step, const Sources *sources, Arena *arena,
                                   Problems *problems);
void step_find_claims(Step *step, Arena *arena);

/* Adds a problem for each required parameter that is not in `params_set`. For steps that `use`
 * others, whoever resolves that calls it with all that they then have. */
bool step_params_complete(const StepSpec *spec, uint64_t params_set, const Sources *sources,
                          Problems *problems);
