/* Calls as call sites describe them. */
#pragma once

#include "lang/template/runtime.h"

/* Gathers what a call site left on the stack; `values` is the first positional argument. */
bool invoke_gather(Render *r, const CallSite *site, Value *values, Args *out);

/* Writes the result of a call. What a template produces itself is written without a detour. */
bool invoke_emit(Render *r, Value callee, const Args *args, unsigned mode);

/* owner.name(...); `owner` is followed by the arguments. Writes the result or puts it to `out`. */
bool invoke_method(Render *r, const CallSite *site, const Name *name, Value *owner,
                   bool emit_result, unsigned mode, Value *out);

/* A filter or test whose arguments are bound while running; `input` is followed by them. */
bool invoke_native(Render *r, const CallSite *site, const char *what, Value *input, Value *out);
