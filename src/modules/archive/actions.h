/* The action of the module archive. */
#pragma once

#include "modules/call.h"

extern const ParamSpec extracted_params[];
bool extracted_check(Call *call, Outcome *outcome, Error *err);
bool extracted_apply(Call *call, Outcome *outcome, Error *err);
void extracted_claims(Arena *arena, const Value *params, List *claims);
