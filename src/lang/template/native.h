/* Filters, tests, global functions and methods written in C: one function, one row.
 *
 * A row names its parameters in order; the first is the filtered value (or the method's owner).
 * The interpreter binds what the template wrote to these places before the call: keyword
 * arguments by name, absent optional ones as value_missing(). Too many, unknown or missing
 * required arguments are TypeErrors that the binder raises, so a function sees what it declared.
 *
 * Memory: what an output statement makes is given back when the statement ends. A function that
 * stores a value in anything older than its own result (a list that it appends to, a cache) counts
 * `r->escapes` up, and then nothing is given back.
 *
 * Secrets: a function takes items out of containers with iter_next, iter_collect or op_get_item,
 * which hand the mark of the container on, or does so itself. */
#pragma once

#include "lang/template/render.h"

/* Arguments of a call. For a bound native call `count` is the number of declared parameters,
 * plus the extra positional ones if the row is NATIVE_VARIADIC; `named` holds undeclared keyword
 * arguments of a NATIVE_KEYWORDS row, else NULL. */
typedef struct Args {
    Value *values;
    uint32_t count;
    Map *named;
} Args;

typedef bool (*NativeFunction)(Render *r, const Args *args, Value *out);

typedef struct Param {
    const char *name;
    const char *fallback; /* shown in help; NULL: required */
} Param;

enum NativeFlag {
    NATIVE_VARIADIC = 1 << 0,
    NATIVE_KEYWORDS = 1 << 1,
    /* Secrets (see value.h). Without a flag a secret anywhere in the arguments makes the result
     * secret. PASSES: the result is made of the elements of the input as they are, so they keep
     * their own marks. PLAIN: the result tells nothing worth hiding (tests, length). */
    NATIVE_PASSES = 1 << 2,
    NATIVE_PLAIN = 1 << 3,
    NATIVE_ALIAS = 1 << 4, /* another name of the row before it */
    NATIVE_JINJA = 1 << 5, /* Jinja2 has it too; without: eden's own */
};

enum {
    NATIVE_PARAMS_MAX = 8
};

typedef struct Native {
    const char *name;
    NativeFunction call;
    Param params[NATIVE_PARAMS_MAX];
    unsigned flags;
    const char *help;    /* one sentence */
    const char *example; /* a template, rendered by the tests ... */
    const char *shows;   /* ... to exactly this */
} Native;

/* Tables end with a row without a name. */
extern const Native *const filter_tables[];
extern const Native *const test_tables[];
extern const Native *const global_tables[];

/* Lookup by name: NULL when there is none. Backed by a table sorted at build time or a switch on
 * length and first letter: called for every filter of every template at compile time. */
const Native *filter_find(Str name);
const Native *test_find(Str name);
const Native *global_find(Str name);
/* The method `name` of values of this kind (str, list, tuple, dict, int, float), or NULL. */
const Native *method_find(ValueKind kind, Str name);
/* The closest known name, for "did you mean"; false when nothing is close. */
bool filter_suggest(Str name, Str *out);
bool test_suggest(Str name, Str *out);

/* Number of declared parameters. */
uint32_t native_param_count(const Native *native);

/* Arranges `given` into the declared places. `bound->values` lives in the arena. `what` is
 * "filter", "test", "function" or "method", for messages. */
bool native_bind(Render *r, const Native *native, const char *what, const Args *given, Args *bound);

/* Calls with unbound arguments; applies the secret rules of the row. */
bool native_call(Render *r, const Native *native, const char *what, const Args *given, Value *out);
/* The same for arguments that already stand in their places. */
bool native_call_bound(Render *r, const Native *native, const Args *bound, Value *out);

enum {
    NATIVE_SHORT_TEXT = 1024 /* a longer one is paid for before the call */
};

/* The same without a detour when there is nothing to do but to call; at least one argument. */
static inline bool native_call_quickly(Render *r, const Native *native, const Args *bound,
                                       Value *out)
{
    return LIKELY(!r->careful && bound->values[0].len < NATIVE_SHORT_TEXT)
               ? native->call(r, bound, out)
               : native_call_bound(r, native, bound, out);
}

/* Calls any callable value: macro, bound method, global function, cycler ... TypeError for the
 * rest; an undefined callee raises UndefinedError. */
bool value_call(Render *r, Value callee, const Args *args, Value *out);
