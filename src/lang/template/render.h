/* A render in progress, as operators, filters and objects see it.
 *
 * Failing: `return render_raise(r, FAULT_TYPE, "...")`, which is always false. The interpreter
 * adds the place. Work that grows with input is charged before it is done. */
#pragma once

#include "base/buf.h"
#include "lang/template/template.h"

typedef struct Render Render;

enum {
    NEST_MAX = 400
};

/* A container that the running operator is inside of. The chain on the stack stops endless
 * recursion: a list that contains itself prints as [...], comparing two such lists fails. */
typedef struct Nest {
    const void *container;
    const struct Nest *outer;
    uint32_t depth;
} Nest;

struct Render {
    Arena *arena; /* for every value made here */
    const TemplateSettings *settings;
    Templates *templates;
    Fault fault;
    const Undefined *undefined; /* the value whose use is the fault; NULL for other faults */
    uint64_t steps_left;
    uint32_t depth;
    uint32_t escapes; /* how often a value that a statement made was stored somewhere lasting */
    bool autoescape;  /* as it stands at the running instruction */
    bool secrets;     /* some secret is in play: marks must be looked for */
    bool lazies;      /* some lazy object is in play: natives get what it stands for */
    bool careful;     /* one of the two: natives are not called just so */
    uint64_t random_state;
    struct RegexCache *regexes; /* patterns compiled so far; see regex.h */
    Rendered *rendered;
    uint32_t capture_depth; /* 0: output goes to the rendered text */
    bool capture_secret;    /* a secret was written into the innermost capture */
    Buf *out;               /* where output goes now: the rendered text or a capture */
    /* When not NULL, printing records the byte ranges that secrets take in the buffer. */
    Rendered *ranges;
    const Nest *nest;     /* NULL outside of operators */
    const Map *variables; /* of the whole render; NULL: none */
    List *given;          /* secrets that host objects gave; NULL: none */
};

PRINTF_LIKE(3, 4) bool render_raise(Render *r, FaultClass class, const char *format, ...);
static inline bool render_failed(const Render *r)
{
    return r->fault.class != FAULT_NONE;
}
/* Adds "did you mean" to the fault just raised. Returns false. */
PRINTF_LIKE(2, 3) bool render_hint(Render *r, const char *format, ...);
/* "did you mean 'NAME'?", which is also what repairs it. */
bool render_did_you_mean(Render *r, Str name);

/* Every value that a host object takes from outside of this render goes through here, so that the
 * secrets in it are known. */
void render_note_given(Render *r, Value v);

/* Tells the sink of the settings what was computed from secrets, if it is marked. */
void render_computed_secret(Render *r, Value v);
static inline void render_found_secret(Render *r, Value v)
{
    if (UNLIKELY(r->secrets) && r->settings->secrets.found != NULL) {
        render_computed_secret(r, v);
    }
}
/* The same for the byte ranges of the rendered text. */
void render_found_ranges(Render *r);

static inline void render_note_lazy(Render *r)
{
    r->lazies = true;
    r->careful = true;
}

/* Takes the secrets in these values out of what the fault says; short ones cannot be told from
 * ordinary text and stay (see scrub.h). */
void fault_hide_secrets(Render *r, const Value *values, uint32_t count);

/* The budget of steps or, when that is what ran out, of memory. */
bool render_out_of_budget(Render *r);
bool render_out_of_memory(Render *r);
bool render_out_of_output(Render *r);

/* Pays for visiting `steps` items; false, with LimitError, when the budget is used up. Memory that
 * went over its budget in small pieces is noticed here too, so that no loop runs on with it. */
static inline bool render_charge(Render *r, uint64_t steps)
{
    if (LIKELY(steps <= r->steps_left && !arena_exceeded(r->arena))) {
        r->steps_left -= steps;
        return true;
    }
    return render_out_of_budget(r);
}

/* Whether `bytes` more may be allocated; false, with LimitError, when not. Called before making
 * anything whose size is not bounded by what is there already. Allocates nothing. */
static inline bool render_room(Render *r, size_t bytes)
{
    if (LIKELY(bytes <= r->settings->limits.memory &&
               arena_used(r->arena) <= r->settings->limits.memory - bytes)) {
        return true;
    }
    return render_out_of_memory(r);
}

/* Enters `container` for as long as `nest`, a variable of the caller, stands in the chain; false,
 * with RecursionError, when it is too deep. Pairs with render_leave. */
bool render_enter(Render *r, Nest *nest, const void *container);
void render_leave(Render *r, const Nest *nest);
bool render_is_inside(const Render *r, const void *container);

/* Records what stands in `out` from `start` on as secret, if `out` is the output and ranges are
 * recorded. */
void render_mark_secret(Render *r, const Buf *out, size_t start);

/* A buffer in the render's arena, to build a string in that will probably have up to `expected`
 * bytes. Finish at once after the last write: render_take turns it into a string value, or fails
 * with LimitError if it passed the budget. */
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
    RENDER_FREE_TEXT = 1024 /* a longer one costs steps for its bytes */
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

/* One more buffer for captures. */
void rendered_add_capture(Rendered *rendered);
