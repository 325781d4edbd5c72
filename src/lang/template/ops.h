/* Python's operators on values, with the semantics of templates. They raise what Python or Jinja2
 * would raise. */
#pragma once

#include "lang/template/ast.h"
#include "lang/template/object.h"

/* The name of the type in Python: "NoneType", "int", "str", "list", "dict", "Markup" ... */
const char *op_type_name(Value v);

/* Python's integers: int and bool. */
static inline bool op_is_int(Value v)
{
    return v.kind == VALUE_INT || v.kind == VALUE_BOOL;
}
static inline int64_t op_int(Value v)
{
    return v.kind == VALUE_BOOL ? v.boolean : v.integer;
}

/* Where Python requires an index: int and bool; raises TypeError for other types. */
bool op_index(Render *r, Value v, int64_t *out);

/* Charges for reading `bytes` of text. */
static inline bool op_charge_bytes(Render *r, size_t bytes)
{
    return render_charge(r, bytes / 64);
}

/* Charges for hashing and comparing a map key. */
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
/* The value that a lazy value represents; any other value is returned unchanged. */
bool op_force(Render *r, Value v, Value *out);

/* Whether `v` or anything in it is secret. Returns false at no cost while there are no secrets in
 * the render. */
bool op_holds_secret(Render *r, Value v);

bool op_truth(Render *r, Value v, bool *out);
bool op_equal(Render *r, Value a, Value b, bool *out);
/* OP_LT OP_LE OP_GT OP_GE; as in Python, raises TypeError for incompatible types. */
bool op_order(Render *r, Operator op, Value a, Value b, bool *out);
/* Any comparison operator, OP_EQ to OP_NOT_IN. */
bool op_compare(Render *r, Operator op, Value a, Value b, bool *out);
bool op_contains(Render *r, Value needle, Value haystack, bool *out);

/* OP_ADD to OP_POW. Raises OverflowError if an integer result exceeds 64 bits. */
bool op_binary(Render *r, Operator op, Value a, Value b, Value *out);
/* format % args as in Python; if the format is markup, the arguments are escaped. */
bool op_printf(Render *r, Value format, Value args, Value *out);
bool op_negate(Render *r, Value v, Value *out);
bool op_positive(Render *r, Value v, Value *out);
/* a ~ b ~ c: concatenates the strings; under autoescape the parts are escaped and the result is
 * markup. */
bool op_concat(Render *r, const Value *parts, uint32_t count, Value *out);

/* Returns false and raises TypeError "unhashable type: ..." if the value cannot be a map key. */
bool op_check_key(Render *r, Value key);
/* The same for a value that is only looked up. */
bool op_check_hashable(Render *r, Value key);

bool op_length(Render *r, Value v, int64_t *out);

/* owner.name: a method or attribute first, then the element of that name, otherwise undefined. */
bool op_get_attr(Render *r, Value owner, Str name, Value *out);
/* owner[key]: the element first, then (for a string key) the attribute, otherwise undefined. */
bool op_get_item(Render *r, Value owner, Value key, Value *out);
/* owner[key] when it is called: like op_get_item, unless the object provides a different callee. */
bool op_get_callee(Render *r, Value owner, Value key, Value *out);
/* The two halves of these lookups, which set `found`; not found is not a failure. The owner must
 * not be undefined. */
bool op_find_attribute(Render *r, Value owner, Str name, Value *out, bool *found);
bool op_find_item(Render *r, Value owner, Value key, Value *out, bool *found);
/* The method `owner.name`, or NULL; like method_find, but distinguishes markup from plain
 * strings. */
const Native *op_find_method(Value owner, Str name);
/* The result of Python's slice.indices() for `length` items: `count` items, starting at `start` in
 * steps of `step`; `stop` is the bound after the last. */
typedef struct Slice {
    int64_t start, stop, step, count;
} Slice;
bool slice_resolve(Render *r, Value start, Value stop, Value step, int64_t length, Slice *out);
/* Each bound may be null or missing. */
bool op_slice(Render *r, Value owner, Value start, Value stop, Value step, Value *out);

/* str(v) and repr(v), appended to `out`; `escape` also replaces & < > ' " with entities unless the
 * value is markup. Printing an undefined value depends on the settings. Records secret ranges if
 * r->ranges is set. */
bool op_print(Render *r, Value v, Buf *out);
bool op_print_escaped(Render *r, Value v, Buf *out);
bool op_repr(Render *r, Value v, Buf *out);
/* str(v) as a Str: the string itself, or a new string in the arena. */
bool op_text(Render *r, Value v, Str *out);
/* repr() of a string: quoted and escaped as in Python. */
void repr_text(Str text, Buf *out);
/* Allocates a new string of `len` bytes, to be filled at once; returns NULL and raises LimitError
 * if that exceeds the limit. */
char *op_alloc_text(Render *r, size_t len);
/* & < > ' " as &amp; &lt; &gt; &#39; &#34; */
void escape_html(Str text, Buf *out);
/* Markup(escape(v)): markup is returned unchanged. */
bool op_escape(Render *r, Value v, Value *out);

/* Undefined values (mode from the settings). */
Value undefined_name(Render *r, Str name);
Value undefined_attribute(Render *r, Value owner, Str name);
Value undefined_element(Render *r, Value owner, Value key);
/* The same with a custom message; the closest of its keys is still suggested. */
PRINTF_LIKE(4, 5)
Value undefined_element_hint(Render *r, Value owner, Value key, const char *format, ...);
PRINTF_LIKE(2, 3) Value undefined_hint(Render *r, const char *format, ...);
/* For the missing `else` of an inline `if`, which always has the default undefined mode. */
PRINTF_LIKE(2, 3) Value undefined_lenient_hint(Render *r, const char *format, ...);
/* The mode of `v`, an undefined value. */
static inline UndefinedMode undefined_mode(const Render *r, Value v)
{
    return v.undefined != NULL && v.undefined->lenient ? UNDEFINED_DEFAULT : r->settings->undefined;
}
/* The prefix of the class name in Jinja2, before "Undefined": "Strict" ... */
const char *undefined_prefix(const Render *r, Value v);
/* The few attributes that Jinja2's undefined objects have, such as `_undefined_name`. */
bool undefined_attribute_of(Render *r, Value v, Str name, Value *out, bool *found);
/* str() according to the settings: empty, `{{ name }}` in debug mode, UndefinedError in strict
 * mode. */
bool undefined_print(Render *r, Value v, Buf *out);
/* Raises UndefinedError with the message for `v`. Always returns false. */
bool undefined_raise(Render *r, Value v);
