/* The actions of module pkg, one file each; pkg.c puts them into the table. */
#pragma once

#include "modules/call.h"

extern const ParamSpec installed_params[];
bool installed_check(Call *call, Outcome *outcome, Error *err);
void installed_claims(Arena *arena, const Value *params, List *claims);

extern const ParamSpec latest_params[];
bool latest_check(Call *call, Outcome *outcome, Error *err);
void latest_claims(Arena *arena, const Value *params, List *claims);

extern const ParamSpec removed_params[];
bool removed_check(Call *call, Outcome *outcome, Error *err);
void removed_claims(Arena *arena, const Value *params, List *claims);

extern const ParamSpec held_params[];
bool held_check(Call *call, Outcome *outcome, Error *err);
bool held_apply(Call *call, Outcome *outcome, Error *err);
void held_claims(Arena *arena, const Value *params, List *claims);

extern const ParamSpec uptodate_params[];
void uptodate_claims(Arena *arena, const Value *params, List *claims);
bool uptodate_check(Call *call, Outcome *outcome, Error *err);
bool uptodate_apply(Call *call, Outcome *outcome, Error *err);
bool uptodate_query(Call *call, Outcome *outcome, Error *err);
