/* Calls as described by call sites. */
#pragma once

#include "lang/template/runtime.h"

/* Collects the arguments that a call site left on the stack; `values` is the first positional
 * one. */
bool invoke_gather(Render *r, const CallSite *site, Value *values, Args *out);

/* Writes the result of a call. Output of template code is written directly. */
bool invoke_emit(Render *r, Value callee, const Args *args, unsigned mode);

/* owner.name(...); the arguments follow `owner`. Writes the result or stores it in `out`. */
bool invoke_method(Render *r, const CallSite *site, const Name *name, Value *owner,
                   bool emit_result, unsigned mode, Value *out);

/* Calls a filter or test whose arguments are bound at run time; they follow `input`. */
bool invoke_native(Render *r, const CallSite *site, const char *what, Value *input, Value *out);
