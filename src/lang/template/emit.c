#include "lang/template/emit.h"

#include "lang/number.h"

bool emit_slow(Render *r, const Value *v, unsigned mode)
{
    if (v->kind == VALUE_FLOAT && !r->secrets) {
        number_put_repr(r->out, v->number);
        return !r->out->overflow || render_out_of_output(r);
    }
    Value forced;
    if (UNLIKELY(op_is_lazy(*v))) {
        /* First, because it may be what brings secrets into play. */
        if (!op_force(r, *v, &forced)) {
            return false;
        }
        v = &forced;
    }
    if (UNLIKELY(r->secrets)) {
        r->ranges = r->capture_depth == 0 ? r->rendered : NULL;
        if (r->capture_depth > 0 && op_holds_secret(r, *v)) {
            r->capture_secret = true;
        }
    }
    bool ok = emit_escapes(r, mode) ? op_print_escaped(r, *v, r->out) : op_print(r, *v, r->out);
    r->ranges = NULL;
    return ok && (!r->out->overflow || render_out_of_output(r));
}
