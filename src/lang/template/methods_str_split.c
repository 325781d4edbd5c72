/* Methods of str that split a string, and join(). */
#include "base/utf8.h"
#include "lang/template/methods.h"
#include "lang/unicode.h"

static bool push_piece(Render *r, List *list, Value owner, Str piece)
{
    if (!render_charge(r, 1) || !list_reserve(r, list)) {
        return false;
    }
    list_push(r->arena, list, method_text_like(owner, piece));
    return true;
}

/* The byte offset after a run of whitespace, or after a run of other characters. */
static size_t skip_run(Str text, size_t pos, bool space)
{
    while (pos < text.len) {
        size_t next = pos;
        if (unicode_is(utf8_next(text, &next), UNICODE_SPACE) != space) {
            break;
        }
        pos = next;
    }
    return pos;
}

static size_t skip_run_back(Str text, size_t pos, bool space)
{
    while (pos > 0) {
        size_t before = pos;
        if (unicode_is(utf8_previous(text, &before), UNICODE_SPACE) != space) {
            break;
        }
        pos = before;
    }
    return pos;
}

static bool split_spaces(Render *r, Value owner, uint64_t max, List *list)
{
    Str text = value_str(owner);
    size_t pos = skip_run(text, 0, true);
    for (; pos < text.len && max > 0; max--) {
        size_t end = skip_run(text, pos, false);
        if (!push_piece(r, list, owner, str_slice(text, pos, end))) {
            return false;
        }
        pos = skip_run(text, end, true);
    }
    return pos == text.len || push_piece(r, list, owner, str_from_offset(text, pos));
}

static bool split_spaces_back(Render *r, Value owner, uint64_t max, List *list)
{
    Str text = value_str(owner);
    size_t end = skip_run_back(text, text.len, true);
    for (; end > 0 && max > 0; max--) {
        size_t start = skip_run_back(text, end, false);
        if (!push_piece(r, list, owner, str_slice(text, start, end))) {
            return false;
        }
        end = skip_run_back(text, start, true);
    }
    return end == 0 || push_piece(r, list, owner, str_slice(text, 0, end));
}

static bool split_at(Render *r, Value owner, Str separator, uint64_t max, List *list)
{
    Str text = value_str(owner);
    size_t start = 0;
    for (; max > 0; max--) {
        size_t end = str_find(text, separator, start);
        if (end == STR_NOT_FOUND) {
            break;
        }
        if (!push_piece(r, list, owner, str_slice(text, start, end))) {
            return false;
        }
        start = end + separator.len;
    }
    return push_piece(r, list, owner, str_from_offset(text, start));
}

static bool split_at_back(Render *r, Value owner, Str separator, uint64_t max, List *list)
{
    Str rest = value_str(owner);
    for (; max > 0; max--) {
        size_t start = str_find_last(rest, separator);
        if (start == STR_NOT_FOUND) {
            break;
        }
        if (!push_piece(r, list, owner, str_from_offset(rest, start + separator.len))) {
            return false;
        }
        rest = str_slice(rest, 0, start);
    }
    return push_piece(r, list, owner, rest);
}

static void reverse_list(List *list)
{
    for (uint32_t i = 0; i < list->len / 2; i++) {
        Value other = list->items[list->len - 1 - i];
        list->items[list->len - 1 - i] = list->items[i];
        list->items[i] = other;
    }
}

static bool split_method(Render *r, const Args *args, bool from_end, Value *out)
{
    Value owner = args->values[0], separator = args->values[1];
    int64_t max;
    bool spaces = value_is_missing(separator) || separator.kind == VALUE_NULL;
    if (!spaces && !value_is_string(separator)) {
        return render_raise(r, FAULT_TYPE, "must be str or None, not %s", op_type_name(separator));
    }
    if (!method_arg_int(r, args, 2, -1, &max) || !render_charge(r, owner.len / 16)) {
        return false;
    }
    if (!spaces && separator.len == 0) {
        return render_raise(r, FAULT_VALUE, "empty separator");
    }
    uint64_t max_splits = max < 0 ? UINT64_MAX : (uint64_t)max;
    List *list = list_new(r->arena, 0);
    Str separator_text = value_str(separator);
    bool ok = spaces ? (from_end ? split_spaces_back(r, owner, max_splits, list)
                                 : split_spaces(r, owner, max_splits, list))
                     : (from_end ? split_at_back(r, owner, separator_text, max_splits, list)
                                 : split_at(r, owner, separator_text, max_splits, list));
    if (from_end) {
        reverse_list(list);
    }
    *out = value_list(list);
    return ok;
}

static bool str_split(Render *r, const Args *args, Value *out)
{
    return split_method(r, args, false, out);
}

static bool str_rsplit(Render *r, const Args *args, Value *out)
{
    return split_method(r, args, true, out);
}

static bool str_splitlines(Render *r, const Args *args, Value *out)
{
    Str text = value_str(args->values[0]);
    int64_t keep_ends;
    if (!method_arg_int(r, args, 1, 0, &keep_ends) || !render_charge(r, text.len / 16)) {
        return false;
    }
    List *list = list_new(r->arena, 0);
    for (size_t pos = 0; pos < text.len;) {
        size_t start = pos, end = text.len;
        while (pos < text.len && end == text.len) {
            size_t before = pos;
            uint32_t code = utf8_next(text, &pos);
            if (unicode_is_line_end(code)) {
                end = before;
                if (code == '\r' && pos < text.len && text.data[pos] == '\n') {
                    pos++;
                }
            }
        }
        if (!push_piece(r, list, args->values[0],
                        str_slice(text, start, keep_ends != 0 ? pos : end))) {
            return false;
        }
    }
    *out = value_list(list);
    return true;
}

static bool partition_method(Render *r, const Args *args, bool last, Value *out)
{
    Value owner = args->values[0], separator = args->values[1];
    if (value_is_markup(owner) && !op_escape(r, separator, &separator)) {
        return false;
    }
    if (!value_is_string(separator)) {
        return render_raise(r, FAULT_TYPE, "must be str, not %s", op_type_name(separator));
    }
    if (separator.len == 0) {
        return render_raise(r, FAULT_VALUE, "empty separator");
    }
    Str text = value_str(owner), delimiter = value_str(separator);
    size_t pos = last ? str_find_last(text, delimiter) : str_find(text, delimiter, 0);
    Str before = last ? STR_EMPTY : text, after = last ? text : STR_EMPTY;
    if (pos == STR_NOT_FOUND) {
        delimiter = STR_EMPTY;
    } else {
        before = str_slice(text, 0, pos);
        after = str_from_offset(text, pos + delimiter.len);
    }
    List *parts = list_new(r->arena, 3);
    list_push(r->arena, parts, method_text_like(owner, before));
    list_push(r->arena, parts, method_text_like(owner, delimiter));
    list_push(r->arena, parts, method_text_like(owner, after));
    *out = value_tuple(parts);
    return op_charge_bytes(r, text.len);
}

static bool str_partition(Render *r, const Args *args, Value *out)
{
    return partition_method(r, args, false, out);
}

static bool str_rpartition(Render *r, const Args *args, Value *out)
{
    return partition_method(r, args, true, out);
}

static bool is_iterable(Value v)
{
    return v.kind == VALUE_STRING || v.kind == VALUE_LIST || v.kind == VALUE_TUPLE ||
           v.kind == VALUE_MAP || v.kind == VALUE_UNDEFINED ||
           (v.kind == VALUE_OBJECT && v.object->type->iterate != NULL);
}

static bool str_join(Render *r, const Args *args, Value *out)
{
    Value owner = args->values[0];
    bool markup = value_is_markup(owner);
    Iter iter;
    Value item;
    if (!is_iterable(args->values[1])) {
        return markup ? render_raise(r, FAULT_TYPE, "'%s' object is not iterable",
                                     op_type_name(args->values[1]))
                      : render_raise(r, FAULT_TYPE, "can only join an iterable");
    }
    if (!iter_start(r, args->values[1], &iter)) {
        return false;
    }
    Buf buf = render_buf(r);
    for (uint64_t i = 0; iter_next(r, &iter, &item) && !buf.overflow; i++) {
        if (i > 0) {
            buf_put(&buf, value_str(owner));
        }
        if (markup) {
            if (!op_print_escaped(r, item, &buf)) {
                return false;
            }
        } else if (value_is_string(item)) {
            buf_put(&buf, value_str(item));
        } else {
            return render_raise(r, FAULT_TYPE,
                                "sequence item %llu: expected str instance, %s found",
                                (unsigned long long)i, op_type_name(item));
        }
    }
    if (render_failed(r) || !render_take(r, &buf, out)) {
        return false;
    }
    *out = method_text_like(owner, value_str(*out));
    return true;
}

/* clang-format off */
const Native str_split_methods[] = {
    { "split", str_split, { { "self" }, { "sep", "none" }, { "maxsplit", "-1" } }, 0,
      "Splits at a separator, or by default at whitespace.",
      "{{ 'a,b,c'.split(',', 1) }}", "['a', 'b,c']" },
    { "join", str_join, { { "self" }, { "iterable" } }, 0,
      "Joins the strings of an iterable with this string as separator.", "{{ '-'.join(['a', 'b']) }}",
      "a-b" },
    { "rsplit", str_rsplit, { { "self" }, { "sep", "none" }, { "maxsplit", "-1" } }, 0,
      "Like split, but from the end.", "{{ 'a,b,c'.rsplit(',', 1) }}",
      "['a,b', 'c']" },
    { "splitlines", str_splitlines, { { "self" }, { "keepends", "false" } }, 0,
      "Splits into lines.", "{{ 'a\\nb'.splitlines() }}", "['a', 'b']" },
    { "partition", str_partition, { { "self" }, { "sep" } }, 0,
      "Returns the parts before and after the first separator, with the separator in between.",
      "{{ 'key=a=b'.partition('=') }}", "('key', '=', 'a=b')" },
    { "rpartition", str_rpartition, { { "self" }, { "sep" } }, 0,
      "Returns the parts before and after the last separator, with the separator in between.",
      "{{ 'key=a=b'.rpartition('=') }}", "('key=a', '=', 'b')" },
    { 0 },
};
/* clang-format on */
