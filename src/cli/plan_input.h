/* A saved plan in the place of a site. */
#pragma once

#include "cli/inputs.h"
#include "run/run.h"

/* When the first argument is a plan that was saved, `*found` is set, and `config` becomes what the
 * plan was made with. False: it cannot be read, the command line says otherwise, or it is to be obeyed
 * and another user may have written it; that was told, and `*code` is how the command ends. */
MUST_CHECK bool plan_input_get(Invocation *invocation, bool obey, RunConfig *config, Value *plan,
                               bool *found, int *code);
/* Adds what the plan does not hold, because it is secret, from the command line. False when it is
 * not there; that was told. */
MUST_CHECK bool plan_input_complete(const Invocation *invocation, Value plan, RunConfig *config);
