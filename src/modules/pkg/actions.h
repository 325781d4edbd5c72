/* The actions of module pkg that have a file of their own; pkg.c puts them into the table. */
#pragma once

#include "modules/call.h"

extern const ParamSpec held_params[];
bool held_check(Call *call, Outcome *outcome, Error *err);
bool held_apply(Call *call, Outcome *outcome, Error *err);
void held_claims(Arena *arena, const Value *params, List *claims);

extern const ParamSpec uptodate_params[];
void uptodate_claims(Arena *arena, const Value *params, List *claims);
bool uptodate_check(Call *call, Outcome *outcome, Error *err);
bool uptodate_apply(Call *call, Outcome *outcome, Error *err);
bool uptodate_query(Call *call, Outcome *outcome, Error *err);
