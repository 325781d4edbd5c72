/* Reads a saved plan that was given instead of a site. */
#pragma once

#include "cli/inputs.h"
#include "run/run.h"

/* If the first argument is a saved plan, sets `*found` and fills `config` from it. Returns false,
 * after reporting it, if the plan cannot be read, contradicts the command line, or `checks_owner`
 * is set and another user may have written it; `*code` is the exit code. */
MUST_CHECK bool plan_input_get(Invocation *invocation, bool checks_owner, RunConfig *config,
                               Value *plan, bool *found, int *code);
/* Adds secrets, which a plan does not contain, from the command line. Returns false after reporting
 * that one is missing. */
MUST_CHECK bool plan_input_complete(const Invocation *invocation, Value plan, RunConfig *config);
