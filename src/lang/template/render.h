/* A render in progress: the interface for operators, filters and objects.
 *
 * Functions fail with `return render_raise(r, FAULT_TYPE, "...")`, which always returns false. The
 * interpreter adds the location. Work that grows with the input is charged before it is done. */
#pragma once

#include "base/buf.h"
#include "lang/template/template.h"

typedef struct Render Render;

enum {
    NEST_MAX = 400
};

/* A container that the current operator has entered. The chain on the C stack stops endless
 * recursion: a list that contains itself prints as [...], and comparing two such lists fails. */
typedef struct Nest {
    const void *container;
    const struct Nest *outer;
    uint32_t depth;
} Nest;

struct Render {
    Arena *arena; /* for all values created by the render */
    const TemplateSettings *settings;
    Templates *templates;
    Fault fault;
    const Undefined *undefined; /* the value whose use caused the fault; NULL for other faults */
    uint64_t steps_left;
    uint32_t depth;
    uint32_t escapes;         /* number of values created by a statement and stored outside it */
    bool autoescape;          /* state at the current instruction */
    bool secrets;             /* there are secrets: marks must be checked */
    bool has_lazy_objects;    /* there are lazy objects: natives receive their forced values */
    bool needs_native_checks; /* either of the two: natives are not called directly */
    uint64_t random_state;
    struct RegexCache *regexes; /* cache of compiled patterns; see regex.h */
    Rendered *rendered;
    uint32_t capture_depth; /* 0: output goes to the rendered text */
    bool capture_secret;    /* a secret was written to the innermost capture */
    Buf *out;               /* current output: the rendered text or a capture */
    /* If not NULL, printing records the byte ranges of secrets in the buffer. */
    Rendered *ranges;
    const Nest *nest;     /* NULL outside operators */
    const Map *variables; /* of the entire render; NULL if none */
    List *host_secrets;   /* secrets from host objects; NULL if none */
};

PRINTF_LIKE(3, 4) bool render_raise(Render *r, FaultClass class, const char *format, ...);
static inline bool render_failed(const Render *r)
{
    return r->fault.class != FAULT_NONE;
}
/* Adds a hint to the fault that was just raised. Always returns false. */
PRINTF_LIKE(2, 3) bool render_hint(Render *r, const char *format, ...);
/* Adds the hint "did you mean 'NAME'?", and NAME as the fix. */
bool render_did_you_mean(Render *r, Str name);

/* Host objects must pass every value from outside this render to this function, which records the
 * secrets in it. */
void render_note_external(Render *r, Value v);

/* Reports a value computed from secrets to the sink of the settings, if it is marked. */
void render_computed_secret(Render *r, Value v);
static inline void render_report_secret(Render *r, Value v)
{
    if (UNLIKELY(r->secrets) && r->settings->secrets.found != NULL) {
        render_computed_secret(r, v);
    }
}
/* The same for the secret ranges of the rendered text. */
void render_report_ranges(Render *r);

static inline void render_note_lazy(Render *r)
{
    r->has_lazy_objects = true;
    r->needs_native_checks = true;
}

/* Removes the secrets in these values from the message of the fault. Short ones cannot be
 * distinguished from ordinary text and stay (see scrub.h). */
void fault_hide_secrets(Render *r, const Value *values, uint32_t count);

/* Fails because the step budget, or else the memory budget, is exhausted. */
bool render_out_of_budget(Render *r);
bool render_out_of_memory(Render *r);
bool render_out_of_output(Render *r);

/* Charges for visiting `steps` items; returns false and raises LimitError if the budget is
 * exhausted. Also detects when memory allocated in small pieces exceeds its budget, so that no loop
 * continues beyond it. */
static inline bool render_charge(Render *r, uint64_t steps)
{
    if (LIKELY(steps <= r->steps_left && !arena_exceeded(r->arena))) {
        r->steps_left -= steps;
        return true;
    }
    return render_out_of_budget(r);
}

/* Returns false and raises LimitError if `bytes` more must not be allocated. Call it before
 * creating anything whose size is not bounded by existing values. Allocates nothing. */
static inline bool render_reserve(Render *r, size_t bytes)
{
    if (LIKELY(bytes <= r->settings->limits.memory &&
               arena_used(r->arena) <= r->settings->limits.memory - bytes)) {
        return true;
    }
    return render_out_of_memory(r);
}

/* Enters `container`; `nest`, a variable of the caller, is part of the chain until render_leave.
 * Returns false and raises RecursionError if the nesting is too deep. */
bool render_enter(Render *r, Nest *nest, const void *container);
void render_leave(Render *r, const Nest *nest);
bool render_is_inside(const Render *r, const void *container);

/* Records everything in `out` from `start` on as secret, if `out` is the output and ranges are
 * recorded. */
void render_mark_secret(Render *r, const Buf *out, size_t start);

/* A buffer in the render's arena for building a string of up to `expected` bytes. Finish directly
 * after the last write: render_take turns it into a string value, or fails with LimitError if it
 * exceeded the budget. */
static inline Buf render_buf_for(Render *r, size_t expected)
{
    Arena *arena = r->arena;
    size_t limit = r->settings->limits.memory;
    size_t used = arena_used(arena);
    size_t left = used < limit ? limit - used : 0;
    Buf buf = { .max = left < VALUE_STRING_MAX ? left : VALUE_STRING_MAX, .arena = arena };
    size_t size = ((expected + 15) & ~(size_t)15) + BUF_SLACK;
    if (LIKELY(size <= (size_t)(arena->end - arena->next) && size <= buf.max)) {
        buf.data = arena_alloc(arena, size);
        buf.cap = size - BUF_SLACK;
    }
    return buf;
}
static inline Buf render_buf(Render *r)
{
    enum {
        EXPECTED = 255
    };
    return render_buf_for(r, EXPECTED);
}
enum {
    RENDER_FREE_TEXT = 1024 /* longer strings are charged by length */
};
static inline MUST_CHECK bool render_take(Render *r, Buf *buf, Value *out)
{
    *out = value_string(buf_str(buf));
    arena_shrink(r->arena, buf->data, buf->cap + BUF_SLACK, buf->len);
    if (UNLIKELY(buf->overflow)) {
        return render_out_of_memory(r);
    }
    return LIKELY(buf->len < RENDER_FREE_TEXT) || render_charge(r, buf->len / 64);
}

/* A deterministic pseudo-random number below `bound` (> 0). */
uint64_t render_random(Render *r, uint64_t bound);

/* Adds a buffer for captures. */
void rendered_add_capture(Rendered *rendered);
