/* The actions of module pkgrepo, one file each; pkgrepo.c puts them into the table. */
#pragma once

#include "modules/call.h"

extern const ParamSpec repo_managed_params[];
bool repo_managed_check(Call *call, Outcome *outcome, Error *err);
bool repo_managed_apply(Call *call, Outcome *outcome, Error *err);
void repo_managed_claims(Arena *arena, const Value *params, List *claims);

extern const ParamSpec repo_absent_params[];
bool repo_absent_check(Call *call, Outcome *outcome, Error *err);
bool repo_absent_apply(Call *call, Outcome *outcome, Error *err);
void repo_absent_claims(Arena *arena, const Value *params, List *claims);
