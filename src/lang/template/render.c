/* The first fault of a render is its cause: later ones are dropped, so callers need not stop at
 * once. */
#include "lang/template/render.h"

#include "base/hash.h"
#include "lang/number.h"
#include "lang/template/emit.h"
#include "lang/template/runtime.h"

bool render_raise(Render *r, FaultClass class, const char *format, ...)
{
    if (render_failed(r)) {
        return false; /* keep the first fault: it is the cause */
    }
    va_list args;
    va_start(args, format);
    r->fault = (Fault){ .class = class, .message = arena_format_v(r->arena, format, args) };
    va_end(args);
    return false;
}

bool render_hint(Render *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    r->fault.hint = arena_format_v(r->arena, format, args);
    va_end(args);
    return false;
}

bool render_did_you_mean(Render *r, Str name)
{
    r->fault.fix = arena_copy(r->arena, name);
    return render_hint(r, "did you mean '%" STR_FMT "'?", STR_ARG(name));
}

void render_note_external(Render *r, Value v)
{
    if (LIKELY(!value_holds_secret(v))) {
        return;
    }
    r->secrets = true;
    r->needs_native_checks = true;
    r->escapes++; /* the list outlives the statement */
    if (r->host_secrets == NULL) {
        r->host_secrets = list_new(r->arena, 4);
    }
    list_push(r->arena, r->host_secrets, v);
    templates_report_secret(r->templates, v, true);
}

bool render_out_of_budget(Render *r)
{
    if (arena_exceeded(r->arena)) {
        return render_out_of_memory(r);
    }
    r->steps_left = 0;
    return render_raise(r, FAULT_LIMIT, "the template exceeded its limit of %llu steps",
                        (unsigned long long)r->settings->limits.steps);
}

bool render_out_of_memory(Render *r)
{
    return render_raise(r, FAULT_LIMIT, "the template exceeded its memory limit of %zu bytes",
                        r->settings->limits.memory);
}

bool render_out_of_output(Render *r)
{
    return render_raise(r, FAULT_LIMIT, "the output exceeded its limit of %zu bytes",
                        r->settings->limits.output);
}

uint64_t render_random(Render *r, uint64_t bound)
{
    r->random_state += 0x9e3779b97f4a7c15u;
    return hash_u64(r->random_state) % bound;
}

/* --- Nesting ---------------------------------------------------------------------------------- */

/* Tracks the containers that the current operator has entered. */

bool render_enter(Render *r, Nest *nest, const void *container)
{
    *nest = (Nest){ container, r->nest, r->nest == NULL ? 1 : r->nest->depth + 1 };
    if (nest->depth > NEST_MAX) {
        return render_raise(r, FAULT_RECURSION, "maximum recursion depth exceeded");
    }
    r->nest = nest;
    return true;
}

void render_leave(Render *r, const Nest *nest)
{
    r->nest = nest->outer;
}

bool render_is_inside(const Render *r, const void *container)
{
    for (const Nest *nest = r->nest; nest != NULL; nest = nest->outer) {
        if (nest->container == container) {
            return true;
        }
    }
    return false;
}

/* --- Captured output -------------------------------------------------------------------------- */

void capture_begin(Render *r)
{
    Rendered *rendered = r->rendered;
    if (r->capture_depth == rendered->capture_cap) {
        rendered_add_capture(rendered);
    }
    Buf *buf = &rendered->captures[r->capture_depth++];
    buf_reset(buf);
    buf->max = r->settings->limits.memory;
    r->out = buf;
    /* Whether the enclosing capture contains a secret is saved with it. */
    rendered->capture_secrets[r->capture_depth - 1] = r->capture_secret;
    r->capture_secret = false;
}

void capture_drop(Render *r)
{
    r->capture_depth--;
    r->capture_secret = r->rendered->capture_secrets[r->capture_depth] || r->capture_secret;
    r->out =
        r->capture_depth == 0 ? &r->rendered->text : &r->rendered->captures[r->capture_depth - 1];
}

bool capture_end(Render *r, Value *out)
{
    Buf *buf = r->out;
    bool secret = r->capture_secret;
    capture_drop(r);
    r->capture_secret = r->rendered->capture_secrets[r->capture_depth];
    if (buf->overflow || !render_reserve(r, buf->len)) {
        return render_out_of_memory(r);
    }
    *out = value_string(arena_copy(r->arena, buf_str(buf)));
    if (r->autoescape) {
        out->flags |= VALUE_MARKUP;
    }
    if (secret) {
        out->flags |= VALUE_SECRET;
    }
    return true;
}

/* --- Writing values --------------------------------------------------------------------------- */

bool emit_slow(Render *r, const Value *v, unsigned mode)
{
    if (v->kind == VALUE_FLOAT && !r->secrets) {
        number_put_repr(r->out, v->number);
        return !r->out->overflow || render_out_of_output(r);
    }
    Value forced;
    if (UNLIKELY(op_is_lazy(*v))) {
        /* Force it first, because that may introduce secrets. */
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
