/* Sets or removes a value in a structured file; shared by json.value and yaml.value. */
#pragma once

#include "lang/edit/document.h"
#include "modules/file/target.h"

extern const ParamSpec document_params[];
void document_claims(Arena *arena, const Value *params, List *claims);
/* ActionVerify for all parameters. */
bool document_verify(Arena *arena, const Action *action, const Value *params, const char **at,
                     Error *err);
/* apply is target_apply_one(). */
MUST_CHECK bool document_check(Call *call, const DocumentFormat *format, Outcome *outcome,
                               Error *err);
