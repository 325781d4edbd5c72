/* Actions of the service module, one file each; service.c lists them in the module's table. */
#pragma once

#include "modules/call.h"

extern const ParamSpec ensure_params[];
bool ensure_check(Call *call, Outcome *outcome, Error *err);
bool ensure_verify(Arena *arena, const Action *action, const Value *params, const char **at,
                   Error *err);
bool ensure_apply(Call *call, Outcome *outcome, Error *err);
bool ensure_react(Call *call, Outcome *outcome, Error *err);
const char *ensure_reaction(const Action *action, const Value *params);
bool ensure_since(Call *call, int64_t *out_ms, Error *err);
void ensure_claims(Arena *arena, const Value *params, List *claims);

extern const ParamSpec unit_params[];
bool unit_check(Call *call, Outcome *outcome, Error *err);
bool unit_verify(Arena *arena, const Action *action, const Value *params, const char **at,
                 Error *err);
bool unit_apply(Call *call, Outcome *outcome, Error *err);
void unit_merge(MergedCall *calls, uint32_t count);
void unit_claims(Arena *arena, const Value *params, List *claims);
