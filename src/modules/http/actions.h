/* The action of the module http. */
#pragma once

#include "modules/call.h"

extern const ParamSpec download_params[];
bool download_check(Call *call, Outcome *outcome, Error *err);
bool download_apply(Call *call, Outcome *outcome, Error *err);
void download_claims(Arena *arena, const Value *params, List *claims);
