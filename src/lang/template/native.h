/* Filters, tests, global functions and methods written in C: one function and one row each.
 *
 * A row lists the parameters in order; the first is the filtered value (or the owner of the
 * method). Before the call the interpreter binds the arguments of the template to these parameters:
 * keyword arguments by name, absent optional ones as value_missing(). Too many, unknown or missing
 * required arguments raise a TypeError in the binder, so a function sees exactly what it declared.
 *
 * Memory: allocations of an output statement are released when the statement ends. A function that
 * stores a value in anything older than its own result (a list that it appends to, a cache) must
 * increment `r->escapes`; nothing is released then.
 *
 * Secrets: a function gets items of containers through iter_next, iter_collect or op_get_item,
 * which propagate the mark of the container, or propagates it itself. */
#pragma once

#include "lang/template/render.h"

/* Arguments of a call. For a bound native call `count` is the number of declared parameters, plus
 * the extra positional ones if the row is NATIVE_VARIADIC. `named` contains the undeclared keyword
 * arguments of a NATIVE_KEYWORDS row; otherwise it is NULL. */
typedef struct Args {
    Value *values;
    uint32_t count;
    Map *named;
} Args;

typedef bool (*NativeFunction)(Render *r, const Args *args, Value *out);

typedef struct Param {
    const char *name;
    const char *fallback; /* shown in help; NULL if required */
} Param;

enum NativeFlag {
    NATIVE_VARIADIC = 1 << 0,
    NATIVE_KEYWORDS = 1 << 1,
    /* Secrets (see value.h). Without a flag, a secret anywhere in the arguments makes the result
     * secret. PASS_THROUGH: the result consists of unchanged elements of the input, which keep
     * their own marks. PLAIN: the result reveals nothing worth hiding (tests, length). */
    NATIVE_PASS_THROUGH = 1 << 2,
    NATIVE_PLAIN = 1 << 3,
    NATIVE_ALIAS = 1 << 4, /* alias of the previous row */
    NATIVE_JINJA = 1 << 5, /* also in Jinja2; otherwise an extension of eden */
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
    const char *example; /* a template that the tests render ... */
    const char *output;  /* ... and its exact output */
} Native;

/* Tables end with a row without a name. */
extern const Native *const filter_tables[];
extern const Native *const test_tables[];
extern const Native *const global_tables[];

/* Looks up a name; NULL if there is none. Uses a hash table generated at build time, because it is
 * called for every filter of every template when it is compiled. */
const Native *filter_find(Str name);
const Native *test_find(Str name);
const Native *global_find(Str name);
/* The method `name` of values of this kind (str, list, tuple, dict, int, float), or NULL. */
const Native *method_find(ValueKind kind, Str name);
/* The closest known name, for "did you mean"; returns false if none is close. */
bool filter_suggest(Str name, Str *out);
bool test_suggest(Str name, Str *out);

/* Number of declared parameters. */
uint32_t native_param_count(const Native *native);

/* Binds `args` to the declared parameters. `bound->values` is allocated in the arena. `what` is
 * "filter", "test", "function" or "method", for messages. */
bool native_bind(Render *r, const Native *native, const char *what, const Args *args, Args *bound);

/* Calls with unbound arguments and applies the secret rules of the row. */
bool native_call(Render *r, const Native *native, const char *what, const Args *args, Value *out);
/* The same for arguments that are already bound. */
bool native_call_bound(Render *r, const Native *native, const Args *bound, Value *out);

enum {
    NATIVE_SHORT_TEXT = 1024 /* longer strings are charged before the call */
};

/* Fast path for calls without secrets or long strings; requires at least one argument. */
static inline bool native_call_fast(Render *r, const Native *native, const Args *bound, Value *out)
{
    return LIKELY(!r->needs_native_checks && bound->values[0].len < NATIVE_SHORT_TEXT)
               ? native->call(r, bound, out)
               : native_call_bound(r, native, bound, out);
}

/* Calls any callable value: macro, bound method, global function, cycler ... Raises TypeError for
 * other values and UndefinedError for an undefined one. */
bool value_call(Render *r, Value callee, const Args *args, Value *out);

/* --- Documentation of a row, for help, `explain` and the reference ------------------------- */

/* "indent(width=4, first=false, blank=false)". `without_first` omits the filtered value, which is
 * not written in the call; a name without further parameters has no parentheses. */
void native_put_signature(const Native *native, bool without_first, Buf *out);
