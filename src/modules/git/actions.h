/* The action of the module git. */
#pragma once

#include "modules/call.h"

extern const ParamSpec cloned_params[];
bool cloned_check(Call *call, Outcome *outcome, Error *err);
bool cloned_apply(Call *call, Outcome *outcome, Error *err);
void cloned_claims(Arena *arena, const Value *params, List *claims);
