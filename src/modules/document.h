/* One value of a file that holds a document: what json.value and yaml.value share. */
#pragma once

#include "lang/edit/document.h"
#include "modules/file/target.h"

extern const ParamSpec document_params[];
void document_claims(Arena *arena, const Value *params, List *claims);
/* The apply is target_apply_one(). */
MUST_CHECK bool document_check(Call *call, const DocumentFormat *format, Outcome *outcome,
                               Error *err);
