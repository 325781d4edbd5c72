/* Helpers for the implementations of filters, tests and globals: reading arguments and creating
 * strings. */
#pragma once

#include "lang/template/ops.h"

/* Whether the argument was passed. */
static inline bool arg_passed(const Args *args, uint32_t index)
{
    return !value_is_missing(args->values[index]);
}

/* Returns the argument, or `fallback` if it was not passed. */
static inline Value arg_or(const Args *args, uint32_t index, Value fallback)
{
    return arg_passed(args, index) ? args->values[index] : fallback;
}

/* Whether the argument was passed and is not none: Jinja2 treats most optional arguments that are
 * none as not passed. */
static inline bool arg_not_none(const Args *args, uint32_t index)
{
    return arg_passed(args, index) && args->values[index].kind != VALUE_NULL;
}

/* Python's bool() of an optional argument. */
static inline MUST_CHECK bool arg_truth(Render *r, const Args *args, uint32_t index, bool fallback,
                                        bool *out)
{
    *out = fallback;
    return !arg_passed(args, index) || op_truth(r, args->values[index], out);
}
/* Converts to an integer where Python expects an index; raises TypeError for other types. */
MUST_CHECK bool value_to_index(Render *r, Value v, int64_t *out);
static inline MUST_CHECK bool arg_int(Render *r, const Args *args, uint32_t index, int64_t fallback,
                                      int64_t *out)
{
    const Value *v = &args->values[index];
    *out = v->kind == VALUE_INT ? v->integer : fallback;
    return v->kind == VALUE_INT || !arg_passed(args, index) || value_to_index(r, *v, out);
}
/* str() of an optional argument. */
static inline MUST_CHECK bool arg_text(Render *r, const Args *args, uint32_t index, Str fallback,
                                       Str *out)
{
    *out = fallback;
    return !arg_passed(args, index) || op_text(r, args->values[index], out);
}

/* Whether the value has Python's __html__, so that its text is safe without escaping. Of the
 * undefined types only the chainable one has it. */
static inline bool value_is_html(const Render *r, Value v)
{
    return value_is_markup(v) || (v.kind == VALUE_OBJECT && v.object->type->markup) ||
           (v.kind == VALUE_UNDEFINED && undefined_mode(r, v) == UNDEFINED_CHAINABLE);
}

/* A string with the markup flag of `like`, which must be a string. */
static inline Value string_like(const Value *like, const char *text, size_t len)
{
    uint64_t head = like->head & VALUE_HEAD(0xff, VALUE_MARKUP, 0);
    return (Value){ .head = head | VALUE_HEAD(0, 0, len), .text = text, .location = 0 };
}

/* The same for a string converted from a value of any type. */
static inline Value text_like(const Value *like, Str text)
{
    return like->kind == VALUE_STRING ? string_like(like, text.data, text.len) : value_string(text);
}

static inline Value value_text(Str text, bool markup)
{
    return markup ? value_markup(text) : value_string(text);
}

/* Charges steps and memory for `count` items of `size` bytes, without overflow. */
static inline bool charge_items(Render *r, uint64_t count, size_t size)
{
    return render_charge(r, count) &&
           render_reserve(r, count > SIZE_MAX / size ? SIZE_MAX : (size_t)count * size);
}

/* Call before each item of an iteration that has no other limit: charges for processing the item
 * and checks that the output so far is within the budget. */
static inline bool charge_iteration(Render *r)
{
    return render_charge(r, 3) && render_reserve(r, 0);
}

/* list_push and map_append for results whose size is not bounded by the input. */
static inline bool push_item(Render *r, List *list, Value item)
{
    if (UNLIKELY(list->len == list->cap) &&
        !render_reserve(r, 2 * ((size_t)list->cap + 1) * sizeof(Value))) {
        return false;
    }
    list_push(r->arena, list, item);
    return true;
}

static inline bool append_entry(Render *r, Map *map, Value key, Value value)
{
    if (UNLIKELY(map->len == map->cap) &&
        !render_reserve(r,
                        2 * ((size_t)map->cap + 1) * (sizeof(MapEntry) + 2 * sizeof(uint64_t)))) {
        return false;
    }
    map_append(r->arena, map, key, value);
    return true;
}

/* Case conversion as by Python's str methods. The result may be `text` itself. */
MUST_CHECK bool text_lower(Render *r, Str text, Str *out);
MUST_CHECK bool text_upper(Render *r, Str text, Str *out);
/* Calls a str method without arguments. */
MUST_CHECK bool text_method(Render *r, const char *name, Str text, Value *out);

/* Turns `buf` into the string `out`, as markup or not. */
MUST_CHECK bool take_text(Render *r, Buf *buf, bool markup, Value *out);

/* repr() of a value for a message: shortened, allocated in the arena. */
Str repr_for_message(Render *r, Value v);

/* Raises the error of a Python method call on a value without that method, AttributeError or
 * UndefinedError: "'int' object has no attribute 'items'". Always returns false. */
bool raise_no_attribute(Render *r, Value v, const char *name);

/* Unpacks an iterable of two items, like `for k, v in`. */
MUST_CHECK bool unpack_pair(Render *r, Value v, Value *first, Value *second);

/* Python's str.splitlines(): moves `*pos` to the start of the next line. `line` excludes the
 * newline, `line_with_end` (may be NULL) includes it. Returns false at the end of the string. */
bool text_next_line(Str text, size_t *pos, Str *line, Str *line_with_end);

/* Python's str.isspace(), and \s and \w of its regular expressions. */
bool code_is_wide_space(uint32_t code);
static inline bool code_is_space(uint32_t code)
{
    /* One bit for each of \t to \r, the four information separators and the space. */
    return LIKELY(code < 0x80) ? code <= ' ' && (0x1f0003e00u >> code & 1) != 0
                               : code_is_wide_space(code);
}
bool code_is_word(uint32_t code);
/* Skips characters that are whitespace (or that are not); stops at the end of the string. */
size_t text_skip_spaces(Str text, size_t pos);
size_t text_skip_word(Str text, size_t pos);
/* Strips whitespace at both ends, like str.strip(). */
Str text_strip(Str text);

/* Python's float(v); raises TypeError or ValueError if it is not a number. */
MUST_CHECK bool value_to_float(Render *r, Value v, double *out);
