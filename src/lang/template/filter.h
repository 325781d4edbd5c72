/* What the functions behind filters, tests and globals share: reading arguments, making text. */
#pragma once

#include "lang/template/ops.h"

static inline bool arg_given(const Args *args, uint32_t place)
{
    return !value_is_missing(args->values[place]);
}

/* The argument, or `fallback` when the template did not write it. */
static inline Value arg_or(const Args *args, uint32_t place, Value fallback)
{
    return arg_given(args, place) ? args->values[place] : fallback;
}

/* Jinja2 treats an optional argument that is none like one not given in most places. */
static inline bool arg_some(const Args *args, uint32_t place)
{
    return arg_given(args, place) && args->values[place].kind != VALUE_NULL;
}

/* Python's bool() of an optional argument. */
static inline MUST_CHECK bool arg_truth(Render *r, const Args *args, uint32_t place, bool fallback,
                                        bool *out)
{
    *out = fallback;
    return !arg_given(args, place) || op_truth(r, args->values[place], out);
}
/* An integer where Python wants an index; TypeError for anything else. */
MUST_CHECK bool value_to_index(Render *r, Value v, int64_t *out);
static inline MUST_CHECK bool arg_int(Render *r, const Args *args, uint32_t place, int64_t fallback,
                                      int64_t *out)
{
    const Value *v = &args->values[place];
    *out = v->kind == VALUE_INT ? v->integer : fallback;
    return v->kind == VALUE_INT || !arg_given(args, place) || value_to_index(r, *v, out);
}
/* str() of an optional argument. */
static inline MUST_CHECK bool arg_text(Render *r, const Args *args, uint32_t place, Str fallback,
                                       Str *out)
{
    *out = fallback;
    return !arg_given(args, place) || op_text(r, args->values[place], out);
}

/* Whether the value has Python's __html__: its text is safe as it is. Of the undefined kinds only
 * the chainable one has it. */
static inline bool value_is_html(const Render *r, Value v)
{
    return value_is_markup(v) || (v.kind == VALUE_OBJECT && v.object->type->markup) ||
           (v.kind == VALUE_UNDEFINED && undefined_mode(r, v) == UNDEFINED_CHAINABLE);
}

/* A string with the markup flag of `like`, which is one. */
static inline Value string_like(const Value *like, const char *text, size_t len)
{
    uint64_t head = like->head & VALUE_HEAD(0xff, VALUE_MARKUP, 0);
    return (Value){ .head = head | VALUE_HEAD(0, 0, len), .text = text, .place = 0 };
}

/* The same for anything that was turned into text. */
static inline Value text_like(const Value *like, Str text)
{
    return like->kind == VALUE_STRING ? string_like(like, text.data, text.len) : value_string(text);
}

static inline Value value_text(Str text, bool markup)
{
    return markup ? value_markup(text) : value_string(text);
}

/* Room and steps for making `count` things of `size` bytes, without overflow. */
static inline bool charge_items(Render *r, uint64_t count, size_t size)
{
    return render_charge(r, count) &&
           render_room(r, count > SIZE_MAX / size ? SIZE_MAX : (size_t)count * size);
}

/* Before the next item of a walk that nothing else bounds: pays for what a filter does with it, and
 * sees whether what it made so far is still within the budget. */
static inline bool charge_turn(Render *r)
{
    return render_charge(r, 3) && render_room(r, 0);
}

/* list_push and map_append for what is not bounded by the size of the input. */
static inline bool push_item(Render *r, List *list, Value item)
{
    if (UNLIKELY(list->len == list->cap) &&
        !render_room(r, 2 * ((size_t)list->cap + 1) * sizeof(Value))) {
        return false;
    }
    list_push(r->arena, list, item);
    return true;
}

static inline bool append_entry(Render *r, Map *map, Value key, Value value)
{
    if (UNLIKELY(map->len == map->cap) &&
        !render_room(r, 2 * ((size_t)map->cap + 1) * (sizeof(MapEntry) + 2 * sizeof(uint64_t)))) {
        return false;
    }
    map_append(r->arena, map, key, value);
    return true;
}

/* Case of whole texts, as Python's str methods do it. The result may be `text` itself. */
MUST_CHECK bool text_lower(Render *r, Str text, Str *out);
MUST_CHECK bool text_upper(Render *r, Str text, Str *out);
/* Calls a method of str that takes no arguments. */
MUST_CHECK bool text_method(Render *r, const char *name, Str text, Value *out);

/* Finishes `buf` into `out`, with markup or without. */
MUST_CHECK bool take_text(Render *r, Buf *buf, bool markup, Value *out);

/* repr() of a value for a message: short, in the arena. */
Str repr_for_message(Render *r, Value v);

/* Ends in TypeError or UndefinedError as Python's call of a method on a value that lacks it:
 * "'int' object has no attribute 'items'". Always false. */
bool raise_no_attribute(Render *r, Value v, const char *name);

/* Two items of an iterable, as `for k, v in` takes them. */
MUST_CHECK bool unpack_pair(Render *r, Value v, Value *first, Value *second);

/* Python's str.splitlines(): moves `*at` behind the next line and its end. `line` is without the
 * end, `whole` (may be NULL) with it. False at the end of the text. */
bool text_next_line(Str text, size_t *at, Str *line, Str *whole);

/* Python's str.isspace() and the \s and \w of its regular expressions. */
bool code_is_wide_space(uint32_t code);
static inline bool code_is_space(uint32_t code)
{
    /* One bit for each of \t to \r, the four information separators and the space. */
    return LIKELY(code < 0x80) ? code <= ' ' && (0x1f0003e00u >> code & 1) != 0
                               : code_is_wide_space(code);
}
bool code_is_word(uint32_t code);
/* Moves over characters that are white space (or that are not); stops at the end of the text. */
size_t text_skip_spaces(Str text, size_t at);
size_t text_skip_word(Str text, size_t at);
/* Without white space at both ends, as str.strip(). */
Str text_strip(Str text);

/* Python's float(v): TypeError or ValueError for what is no number. */
MUST_CHECK bool value_to_float(Render *r, Value v, double *out);
