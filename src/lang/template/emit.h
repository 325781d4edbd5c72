/* Writes values to the output: the hottest path of the interpreter. */
#pragma once

#include "lang/template/ops.h"
#include "lang/template/program.h"

static inline bool emit_escapes(const Render *r, unsigned mode)
{
    return mode == EMIT_ESCAPED || (mode == EMIT_DYNAMIC && r->autoescape);
}

/* For values other than plain text and integers, and for all values if there are secrets: records
 * the ranges of the output that come from secrets. */
bool emit_slow(Render *r, const Value *v, unsigned mode);

/* Writes a value according to `mode` (an EmitMode). Takes a pointer to avoid copying the value. */
static ALWAYS_INLINE bool emit_value(Render *r, const Value *v, unsigned mode)
{
    if (UNLIKELY(r->secrets)) {
        return emit_slow(r, v, mode);
    }
    if (v->kind == VALUE_STRING && (mode == EMIT_PLAIN || (v->flags & VALUE_MARKUP) != 0)) {
        /* Most pieces of output are short: copy them without a call. */
        return LIKELY(buf_put_short(r->out, str_from(v->text, v->len))) || render_out_of_output(r);
    }
    if (v->kind == VALUE_INT) {
        return LIKELY(buf_put_i64(r->out, v->integer)) || render_out_of_output(r);
    }
    return emit_slow(r, v, mode);
}
