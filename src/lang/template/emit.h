/* Writing values to the output: the interpreter's hottest path. */
#pragma once

#include "lang/template/ops.h"
#include "lang/template/program.h"

static inline bool emit_escapes(const Render *r, unsigned mode)
{
    return mode == EMIT_ESCAPED || (mode == EMIT_DYNAMIC && r->autoescape);
}

/* For anything but plain text and integers, and when secrets are in play: those bytes of the
 * output that come from secrets are remembered. */
bool emit_slow(Render *r, const Value *v, unsigned mode);

/* Writes a value as `mode` (an EmitMode) says. By pointer, so that it is not copied to be looked
 * at. */
static ALWAYS_INLINE bool emit_value(Render *r, const Value *v, unsigned mode)
{
    if (UNLIKELY(r->secrets)) {
        return emit_slow(r, v, mode);
    }
    if (v->kind == VALUE_STRING && (mode == EMIT_PLAIN || (v->flags & VALUE_MARKUP) != 0)) {
        /* Most pieces of output are short: they are copied without a call. */
        return LIKELY(buf_put_short(r->out, str_from(v->text, v->len))) || render_out_of_output(r);
    }
    if (v->kind == VALUE_INT) {
        return LIKELY(buf_put_i64(r->out, v->integer)) || render_out_of_output(r);
    }
    return emit_slow(r, v, mode);
}
