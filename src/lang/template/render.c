#include "lang/template/render.h"

#include "base/hash.h"

bool render_raise(Render *r, FaultClass class, const char *format, ...)
{
    if (render_failed(r)) {
        return false; /* the first fault is the cause */
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

void render_note_given(Render *r, Value v)
{
    if (LIKELY(!value_holds_secret(v))) {
        return;
    }
    r->secrets = true;
    r->careful = true;
    r->escapes++; /* the list outlives the statement */
    if (r->given == NULL) {
        r->given = list_new(r->arena, 4);
    }
    list_push(r->arena, r->given, v);
    templates_found_secret(r->templates, v, true);
}

bool render_out_of_budget(Render *r)
{
    if (arena_exceeded(r->arena)) {
        return render_out_of_memory(r);
    }
    r->steps_left = 0;
    return render_raise(r, FAULT_LIMIT, "the template used up its limit of %llu steps",
                        (unsigned long long)r->settings->limits.steps);
}

bool render_out_of_memory(Render *r)
{
    return render_raise(r, FAULT_LIMIT, "the template would need more than its limit of %zu bytes",
                        r->settings->limits.memory);
}

bool render_out_of_output(Render *r)
{
    return render_raise(r, FAULT_LIMIT, "the output would be larger than its limit of %zu bytes",
                        r->settings->limits.output);
}

uint64_t render_random(Render *r, uint64_t bound)
{
    r->random_state += 0x9e3779b97f4a7c15u;
    return hash_u64(r->random_state) % bound;
}
