/* Python's operators on values, as templates see them. Each raises what Python or Jinja2 would. */
#pragma once

#include "lang/template/ast.h"
#include "lang/template/object.h"

/* The name Python gives the type: "NoneType", "int", "str", "list", "dict", "Markup" ... */
const char *op_type_name(Value v);

bool op_truth(Render *r, Value v, bool *out);
bool op_equal(Render *r, Value a, Value b, bool *out);
/* OP_LT OP_LE OP_GT OP_GE; TypeError across kinds as in Python. */
bool op_order(Render *r, Operator op, Value a, Value b, bool *out);
/* Any comparison operator, OP_EQ to OP_NOT_IN. */
bool op_compare(Render *r, Operator op, Value a, Value b, bool *out);
bool op_contains(Render *r, Value needle, Value haystack, bool *out);

/* OP_ADD to OP_POW. Integer results beyond 64 bits are OverflowErrors. */
bool op_binary(Render *r, Operator op, Value a, Value b, Value *out);
bool op_negate(Render *r, Value v, Value *out);
bool op_positive(Render *r, Value v, Value *out);
/* a ~ b ~ c: text of each; under autoescape the parts are escaped and the result is markup. */
bool op_concat(Render *r, const Value *parts, uint32_t count, Value *out);

bool op_length(Render *r, Value v, int64_t *out);

/* owner.name: a method or attribute first, then the element of that name, else undefined. */
bool op_get_attr(Render *r, Value owner, Str name, Value *out);
/* owner[key]: the element first, then (for a string key) the attribute, else undefined. */
bool op_get_item(Render *r, Value owner, Value key, Value *out);
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
/* & < > ' " as &amp; &lt; &gt; &#39; &#34; */
void escape_html(Str text, Buf *out);
/* Markup(escape(v)): a markup value stays itself. */
bool op_escape(Render *r, Value v, Value *out);

/* Undefined values (mode from the settings). */
Value undefined_name(Render *r, Str name);
Value undefined_attribute(Render *r, Value owner, Str name);
Value undefined_element(Render *r, Value owner, Value key);
PRINTF_LIKE(2, 3) Value undefined_hint(Render *r, const char *format, ...);
/* Raises UndefinedError with the message for `v`. Always false. */
bool undefined_raise(Render *r, Value v);
