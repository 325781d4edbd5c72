/* Actions of the file module, one file each; file.c lists them in the module's table. */
#pragma once

#include "modules/call.h"

extern const ParamSpec managed_params[];
bool managed_check(Call *call, Outcome *outcome, Error *err);
bool managed_apply(Call *call, Outcome *outcome, Error *err);
void managed_claims(Arena *arena, const Value *params, List *claims);

extern const ParamSpec content_params[];
bool content_check(Call *call, Outcome *outcome, Error *err);
bool content_query(Call *call, Outcome *outcome, Error *err);
extern const ParamSpec contents_params[];
bool contents_check(Call *call, Outcome *outcome, Error *err);
bool contents_query(Call *call, Outcome *outcome, Error *err);
void content_claims(Arena *arena, const Value *params, List *claims);

extern const ParamSpec directory_params[];
bool directory_check(Call *call, Outcome *outcome, Error *err);
bool directory_apply(Call *call, Outcome *outcome, Error *err);
void directory_claims(Arena *arena, const Value *params, List *claims);

extern const ParamSpec line_params[];
bool line_check(Call *call, Outcome *outcome, Error *err);
void line_claims(Arena *arena, const Value *params, List *claims);
bool line_verify(Arena *arena, const Action *action, const Value *params, const char **at,
                 Error *err);

extern const ParamSpec block_params[];
bool block_check(Call *call, Outcome *outcome, Error *err);
void block_claims(Arena *arena, const Value *params, List *claims);
bool block_verify(Arena *arena, const Action *action, const Value *params, const char **at,
                  Error *err);
