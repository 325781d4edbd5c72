/* Methods of str that search and replace. */
#include "base/utf8.h"
#include "lang/template/methods.h"

/* The part of the owner within the optional bounds, which are code points. */
typedef struct Window {
    Str part;
    size_t offset;        /* start of the part, in bytes */
    int64_t index;        /* start of the part, in code points */
    bool is_out_of_range; /* start > stop: not even an empty string matches */
} Window;

static bool bound_arg(Render *r, const Args *args, uint32_t index, int64_t length, int64_t fallback,
                      int64_t *out)
{
    *out = fallback;
    if (!method_arg_passed(args, index) || args->values[index].kind == VALUE_NULL) {
        return true;
    }
    if (!op_is_int(args->values[index])) {
        return render_raise(r, FAULT_TYPE,
                            "slice indices must be integers or None or have an __index__ method");
    }
    int64_t bound = op_int(args->values[index]);
    if (bound < 0) {
        bound = bound + length < 0 ? 0 : bound + length;
    }
    *out = bound;
    return true;
}

/* The bounds are the arguments `index` and `index + 1`. */
static bool window_open(Render *r, const Args *args, uint32_t index, Window *out)
{
    Str text = value_str(args->values[0]);
    *out = (Window){ .part = text };
    if (!op_charge_bytes(r, text.len)) {
        return false;
    }
    if (!method_arg_passed(args, index) && !method_arg_passed(args, index + 1)) {
        return true;
    }
    int64_t length = (int64_t)utf8_count(text), start, stop;
    if (!bound_arg(r, args, index, length, 0, &start) ||
        !bound_arg(r, args, index + 1, length, length, &stop)) {
        return false;
    }
    stop = stop > length ? length : stop;
    if (start > stop) {
        out->is_out_of_range = true;
        return true;
    }
    out->offset = utf8_index_to_offset(text, (size_t)start);
    out->index = start;
    Str rest = str_from_offset(text, out->offset);
    out->part = str_slice(rest, 0, utf8_index_to_offset(rest, (size_t)(stop - start)));
    return true;
}

static bool needle_arg(Render *r, const Args *args, Str *out)
{
    if (!value_is_string(args->values[1])) {
        return render_raise(r, FAULT_TYPE, "must be str, not %s", op_type_name(args->values[1]));
    }
    *out = value_str(args->values[1]);
    return true;
}

/* Code point index of the first or last occurrence, or -1. */
static bool find_index(Render *r, const Args *args, bool last, int64_t *out)
{
    Str needle;
    Window window;
    *out = -1;
    if (!needle_arg(r, args, &needle) || !window_open(r, args, 2, &window)) {
        return false;
    }
    if (window.is_out_of_range) {
        return true;
    }
    size_t pos = last ? str_find_last(window.part, needle) : str_find(window.part, needle, 0);
    if (pos != STR_NOT_FOUND) {
        *out = window.index + (int64_t)utf8_count(str_slice(window.part, 0, pos));
    }
    return true;
}

static bool find_method(Render *r, const Args *args, bool last, bool is_required, Value *out)
{
    int64_t index;
    if (!find_index(r, args, last, &index)) {
        return false;
    }
    if (is_required && index < 0) {
        return render_raise(r, FAULT_VALUE, "substring not found");
    }
    *out = value_int(index);
    return true;
}

static bool str_find_method(Render *r, const Args *args, Value *out)
{
    return find_method(r, args, false, false, out);
}

static bool str_rfind(Render *r, const Args *args, Value *out)
{
    return find_method(r, args, true, false, out);
}

static bool str_index(Render *r, const Args *args, Value *out)
{
    return find_method(r, args, false, true, out);
}

static bool str_rindex(Render *r, const Args *args, Value *out)
{
    return find_method(r, args, true, true, out);
}

/* Counts non-overlapping occurrences of `needle` in `text`, up to `max`. */
static size_t count_in(Str text, Str needle, size_t max)
{
    if (needle.len == 0) {
        size_t gaps = utf8_count(text) + 1;
        return gaps < max ? gaps : max;
    }
    size_t count = 0, pos = 0;
    while (count < max && (pos = str_find(text, needle, pos)) != STR_NOT_FOUND) {
        count++;
        pos += needle.len;
    }
    return count;
}

static bool str_count(Render *r, const Args *args, Value *out)
{
    Str needle;
    Window window;
    if (!needle_arg(r, args, &needle) || !window_open(r, args, 2, &window)) {
        return false;
    }
    *out = value_int(window.is_out_of_range ? 0 : (int64_t)count_in(window.part, needle, SIZE_MAX));
    return true;
}

static bool has_affix(Str text, Str affix, bool at_end)
{
    return at_end ? str_ends(text, affix) : str_starts(text, affix);
}

static bool affix_method(Render *r, const Args *args, bool at_end, Value *out)
{
    const char *name = at_end ? "endswith" : "startswith";
    Value affix = args->values[1];
    Window window;
    if (affix.kind != VALUE_STRING && affix.kind != VALUE_TUPLE) {
        return render_raise(r, FAULT_TYPE, "%s first arg must be str or a tuple of str, not %s",
                            name, op_type_name(affix));
    }
    if (!window_open(r, args, 2, &window)) {
        return false;
    }
    *out = value_bool(false);
    if (affix.kind == VALUE_STRING) {
        out->boolean = !window.is_out_of_range && has_affix(window.part, value_str(affix), at_end);
        return true;
    }
    for (uint32_t i = 0; i < affix.list->len && !out->boolean; i++) {
        Value item = affix.list->items[i];
        if (item.kind != VALUE_STRING) {
            return render_raise(r, FAULT_TYPE, "tuple for %s must only contain str, not %s", name,
                                op_type_name(item));
        }
        if (!render_charge(r, 1)) {
            return false;
        }
        out->boolean = !window.is_out_of_range && has_affix(window.part, value_str(item), at_end);
    }
    return true;
}

static bool str_startswith(Render *r, const Args *args, Value *out)
{
    return affix_method(r, args, false, out);
}

static bool str_endswith(Render *r, const Args *args, Value *out)
{
    return affix_method(r, args, true, out);
}

/* The type name in Python's messages that print None instead of NoneType. */
static const char *argument_name(Value v)
{
    return v.kind == VALUE_NULL ? "None" : op_type_name(v);
}

static bool remove_affix(Render *r, const Args *args, bool at_end, Value *out)
{
    if (!value_is_string(args->values[1])) {
        return render_raise(r, FAULT_TYPE, "%s() argument must be str, not %s",
                            at_end ? "removesuffix" : "removeprefix",
                            argument_name(args->values[1]));
    }
    Str text = value_str(args->values[0]), affix = value_str(args->values[1]);
    if (has_affix(text, affix, at_end)) {
        text = at_end ? str_slice(text, 0, text.len - affix.len) : str_from_offset(text, affix.len);
    }
    *out = value_string(text); /* plain even for markup */
    return true;
}

static bool str_removeprefix(Render *r, const Args *args, Value *out)
{
    return remove_affix(r, args, false, out);
}

static bool str_removesuffix(Render *r, const Args *args, Value *out)
{
    return remove_affix(r, args, true, out);
}

/* Inserts `replacement` before each of the first `count` code points, or at the end after the last
 * one. */
static void insert_between(Str text, Str replacement, size_t count, char *out)
{
    size_t pos = 0;
    for (size_t i = 0; i < count; i++) {
        if (replacement.len > 0) {
            memcpy(out, replacement.data, replacement.len);
            out += replacement.len;
        }
        if (pos < text.len) {
            size_t start = pos;
            utf8_next(text, &pos);
            memcpy(out, text.data + start, pos - start);
            out += pos - start;
        }
    }
    if (pos < text.len) {
        memcpy(out, text.data + pos, text.len - pos);
    }
}

static void replace_into(Str text, Str old, Str replacement, size_t count, char *out)
{
    size_t pos = 0;
    for (size_t i = 0; i < count; i++) {
        size_t found = str_find(text, old, pos);
        memcpy(out, text.data + pos, found - pos);
        out += found - pos;
        if (replacement.len > 0) {
            memcpy(out, replacement.data, replacement.len);
            out += replacement.len;
        }
        pos = found + old.len;
    }
    memcpy(out, text.data + pos, text.len - pos);
}

static bool str_replace(Render *r, const Args *args, Value *out)
{
    Value old, replacement;
    int64_t max;
    if (!method_arg_like(r, args, 1, &old) || !method_arg_like(r, args, 2, &replacement)) {
        return false;
    }
    if (!value_is_string(old) || !value_is_string(replacement)) {
        return render_raise(r, FAULT_TYPE, "replace() argument %d must be str, not %s",
                            value_is_string(old) ? 2 : 1,
                            argument_name(value_is_string(old) ? replacement : old));
    }
    if (!method_arg_int(r, args, 3, -1, &max)) {
        return false;
    }
    Str text = value_str(args->values[0]);
    size_t count = count_in(text, value_str(old), max < 0 ? SIZE_MAX : (size_t)max);
    *out = method_text_like(args->values[0], text);
    if (count == 0) {
        return op_charge_bytes(r, text.len);
    }
    size_t added;
    if (__builtin_mul_overflow(count, (size_t)replacement.len, &added)) {
        return render_out_of_memory(r);
    }
    size_t len = text.len - count * old.len + added;
    char *replaced = op_alloc_text(r, len);
    if (replaced == NULL || !render_charge(r, count / 4)) {
        return false;
    }
    if (old.len == 0) {
        insert_between(text, value_str(replacement), count, replaced);
    } else {
        replace_into(text, value_str(old), value_str(replacement), count, replaced);
    }
    *out = method_text_like(args->values[0], str_from(replaced, len));
    return true;
}

/* clang-format off */
const Native str_search_methods[] = {
    { "replace", str_replace, { { "self" }, { "old" }, { "new" }, { "count", "-1" } }, 0,
      "Replaces every occurrence of a string with another.",
      "{{ 'a-b-c'.replace('-', '+', 1) }}", "a+b-c" },
    { "startswith", str_startswith,
      { { "self" }, { "prefix" }, { "start", "0" }, { "end", "none" } }, NATIVE_PLAIN,
      "Returns whether the string starts with the prefix, or with one of a tuple.",
      "{{ 'eden.conf'.startswith(('e', 'x')) }}", "True" },
    { "endswith", str_endswith,
      { { "self" }, { "suffix" }, { "start", "0" }, { "end", "none" } }, NATIVE_PLAIN,
      "Returns whether the string ends with the suffix, or with one of a tuple.",
      "{{ 'eden.conf'.endswith('.conf') }}", "True" },
    { "find", str_find_method, { { "self" }, { "sub" }, { "start", "0" }, { "end", "none" } }, 0,
      "Returns the index of the first occurrence, or -1.",
      "{{ 'hello'.find('l') }} {{ 'hello'.find('x') }}", "2 -1" },
    { "rfind", str_rfind, { { "self" }, { "sub" }, { "start", "0" }, { "end", "none" } }, 0,
      "Returns the index of the last occurrence, or -1.", "{{ 'hello'.rfind('l') }}", "3" },
    { "index", str_index, { { "self" }, { "sub" }, { "start", "0" }, { "end", "none" } }, 0,
      "Returns the index of the first occurrence; raises ValueError if there is none.",
      "{{ 'hello'.index('l') }}", "2" },
    { "rindex", str_rindex, { { "self" }, { "sub" }, { "start", "0" }, { "end", "none" } }, 0,
      "Returns the index of the last occurrence; raises ValueError if there is none.",
      "{{ 'hello'.rindex('l') }}", "3" },
    { "count", str_count, { { "self" }, { "sub" }, { "start", "0" }, { "end", "none" } }, 0,
      "Counts non-overlapping occurrences.", "{{ 'banana'.count('an') }}", "2" },
    { "removeprefix", str_removeprefix, { { "self" }, { "prefix" } }, 0,
      "Removes the prefix, if present.", "{{ 'www.eden'.removeprefix('www.') }}",
      "eden" },
    { "removesuffix", str_removesuffix, { { "self" }, { "suffix" } }, 0,
      "Removes the suffix, if present.", "{{ 'a.conf'.removesuffix('.conf') }}", "a" },
    { 0 },
};
/* clang-format on */
