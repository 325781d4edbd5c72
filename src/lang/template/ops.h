/* Python's operators on values, as templates see them. Each raises what Python or Jinja2 would. */
#pragma once

#include "lang/template/ast.h"
#include "lang/template/object.h"

/* The name Python gives the type: "NoneType", "int", "str", "list", "dict", "Markup" ... */
const char *op_type_name(Value v);

/* The integers of Python: int and bool. */
static inline bool op_is_int(Value v)
{
    return v.kind == VALUE_INT || v.kind == VALUE_BOOL;
}
static inline int64_t op_int(Value v)
{
    return v.kind == VALUE_BOOL ? v.boolean : v.integer;
}

/* Where Python wants an index: int and bool; TypeError for anything else. */
bool op_index(Render *r, Value v, int64_t *out);

/* Pays for looking at `bytes` of text. */
static inline bool op_charge_bytes(Render *r, size_t bytes)
{
    return render_charge(r, bytes / 64);
}

/* Pays for hashing and comparing a key of a map. */
bool op_charge_long_key(Render *r, Value key);
static inline bool op_charge_key(Render *r, Value key)
{
    enum {
        SHORT_KEY = 256
    };
    return LIKELY(key.kind <= VALUE_FLOAT || (key.kind == VALUE_STRING && key.len < SHORT_KEY)) ||
           op_charge_long_key(r, key);
}

static inline bool op_is_lazy(Value v)
{
    return v.kind == VALUE_OBJECT && v.object->type->force != NULL;
}
/* What a lazy value stands for; any other value is itself. */
bool op_force(Render *r, Value v, Value *out);

/* Whether `v` or anything it holds or gives out is secret. At once false while no secret is in
 * play, and then without cost. */
bool op_holds_secret(Render *r, Value v);

bool op_truth(Render *r, Value v, bool *out);
bool op_equal(Render *r, Value a, Value b, bool *out);
/* OP_LT OP_LE OP_GT OP_GE; TypeError across kinds as in Python. */
bool op_order(Render *r, Operator op, Value a, Value b, bool *out);
/* Any comparison operator, OP_EQ to OP_NOT_IN. */
bool op_compare(Render *r, Operator op, Value a, Value b, bool *out);
bool op_contains(Render *r, Value needle, Value haystack, bool *out);

/* OP_ADD to OP_POW. Integer results beyond 64 bits are OverflowErrors. */
bool op_binary(Render *r, Operator op, Value a, Value b, Value *out);
/* format % args as Python does it; markup escapes what it takes in. */
bool op_printf(Render *r, Value format, Value args, Value *out);
bool op_negate(Render *r, Value v, Value *out);
bool op_positive(Render *r, Value v, Value *out);
/* a ~ b ~ c: text of each; under autoescape the parts are escaped and the result is markup. */
bool op_concat(Render *r, const Value *parts, uint32_t count, Value *out);

/* False, with TypeError "unhashable type: ...", for what cannot be a map's key. */
bool op_check_key(Render *r, Value key);
/* The same for what is only looked for. */
bool op_check_hashable(Render *r, Value key);

bool op_length(Render *r, Value v, int64_t *out);

/* owner.name: a method or attribute first, then the element of that name, else undefined. */
bool op_get_attr(Render *r, Value owner, Str name, Value *out);
/* owner[key]: the element first, then (for a string key) the attribute, else undefined. */
bool op_get_item(Render *r, Value owner, Value key, Value *out);
/* owner[key] where it is called: as op_get_item, unless an object has another answer for that. */
bool op_get_callee(Render *r, Value owner, Value key, Value *out);
/* The two halves of these lookups, which set `found`; not found is no failure. The owner is not
 * undefined. */
bool op_find_attribute(Render *r, Value owner, Str name, Value *out, bool *found);
bool op_find_item(Render *r, Value owner, Value key, Value *out, bool *found);
/* The method that `owner.name` names, or NULL; as method_find, and knows markup from plain text. */
const Native *op_find_method(Value owner, Str name);
/* What Python's slice.indices() makes of a slice on `length` items: `count` of them, from `start`
 * in steps of `step`; `stop` is the bound behind the last. */
typedef struct Slice {
    int64_t start, stop, step, count;
} Slice;
bool slice_resolve(Render *r, Value start, Value stop, Value step, int64_t length, Slice *out);
/* Each bound may be null or missing. */
bool op_slice(Render *r, Value owner, Value start, Value stop, Value step, Value *out);

/* str(v) and repr(v) appended to `out`; `escape` also turns & < > ' " into entities unless the
 * value is markup. Printing an undefined value follows the settings. Records secret ranges when
 * r->ranges is set. */
bool op_print(Render *r, Value v, Buf *out);
bool op_print_escaped(Render *r, Value v, Buf *out);
bool op_repr(Render *r, Value v, Buf *out);
/* str(v) as a Str: the string itself, or new text in the arena. */
bool op_text(Render *r, Value v, Str *out);
/* repr() of a text: quoted and escaped as Python would. */
void repr_text(Str text, Buf *out);
/* Room for a new text of `len` bytes, to be filled at once; NULL, with LimitError, when that is
 * too much. */
char *op_alloc_text(Render *r, size_t len);
/* & < > ' " as &amp; &lt; &gt; &#39; &#34; */
void escape_html(Str text, Buf *out);
/* Markup(escape(v)): a markup value stays itself. */
bool op_escape(Render *r, Value v, Value *out);

/* Undefined values (mode from the settings). */
Value undefined_name(Render *r, Str name);
Value undefined_attribute(Render *r, Value owner, Str name);
Value undefined_element(Render *r, Value owner, Value key);
/* The same with words of the owner's own; the nearest of its keys is still suggested. */
PRINTF_LIKE(4, 5)
Value undefined_element_hint(Render *r, Value owner, Value key, const char *format, ...);
PRINTF_LIKE(2, 3) Value undefined_hint(Render *r, const char *format, ...);
/* For the missing `else` of an inline `if`, which is the default kind of undefined always. */
PRINTF_LIKE(2, 3) Value undefined_lenient_hint(Render *r, const char *format, ...);
/* How `v`, an undefined value, behaves. */
static inline UndefinedMode undefined_mode(const Render *r, Value v)
{
    return v.undefined != NULL && v.undefined->lenient ? UNDEFINED_DEFAULT : r->settings->undefined;
}
/* What stands before "Undefined" in the name of its class in Jinja2: "Strict" ... */
const char *undefined_prefix(const Render *r, Value v);
/* The few attributes that Jinja2's undefined objects do have: `_undefined_name` and the like. */
bool undefined_attribute_of(Render *r, Value v, Str name, Value *out, bool *found);
/* str() of it by the settings: nothing, `{{ name }}` in debug mode, UndefinedError in strict. */
bool undefined_print(Render *r, Value v, Buf *out);
/* Raises UndefinedError with the message for `v`. Always false. */
bool undefined_raise(Render *r, Value v);
