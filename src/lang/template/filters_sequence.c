/* Jinja2's filters on entire sequences: length, first and last item, slicing, joining. */
#include "base/utf8.h"
#include "lang/template/attribute_path.h"
#include "lang/template/filter.h"

static bool filter_length(Render *r, const Args *args, Value *out)
{
    int64_t length;
    if (!op_length(r, args->values[0], &length)) {
        return false;
    }
    *out = value_int(length);
    return true;
}

static bool filter_first(Render *r, const Args *args, Value *out)
{
    Iter iter;
    if (!iter_start(r, args->values[0], &iter)) {
        return false;
    }
    if (!iter_next(r, &iter, out)) {
        *out = undefined_hint(r, "No first item, sequence was empty.");
    }
    return !render_failed(r);
}

/* Collects the items of a value that Python's reversed() accepts; `*reversible` is false for other
 * values. */
static bool collect_reversible(Render *r, Value v, List **items, bool *reversible)
{
    switch (v.kind) {
    case VALUE_LIST:
    case VALUE_TUPLE:
    case VALUE_MAP:
    case VALUE_STRING:
    case VALUE_UNDEFINED: *reversible = true; break;
    case VALUE_OBJECT: *reversible = v.object->type->length != NULL; break;
    default: *reversible = false; break;
    }
    return !*reversible || iter_collect(r, v, items);
}

/* The last element of an object that has elements by index, such as a range, without copying. */
static bool object_last(Render *r, Value v, Value *out, bool *found)
{
    const ObjectType *type = v.object->type;
    int64_t length;
    *found = false;
    if (!type->sequence || type->length == NULL || type->get_item == NULL) {
        return true;
    }
    return type->length(r, v.object, &length) &&
           (length == 0 || type->get_item(r, v.object, value_int(length - 1), out, found));
}

static bool filter_last(Render *r, const Args *args, Value *out)
{
    Value v = args->values[0];
    if (v.kind == VALUE_OBJECT) {
        bool found;
        if (!object_last(r, v, out, &found)) {
            return false;
        }
        if (found) {
            return true;
        }
    }
    if (value_is_sequence(v) && v.list->len > 0) {
        *out = v.list->items[v.list->len - 1];
        out->flags |= v.flags & VALUE_SECRET;
        return true;
    }
    List *items = NULL;
    bool reversible;
    if (!collect_reversible(r, v, &items, &reversible)) {
        return false;
    }
    if (!reversible) {
        return render_raise(r, FAULT_TYPE, "'%s' object is not reversible", op_type_name(v));
    }
    if (items->len == 0) {
        *out = undefined_hint(r, "No last item, sequence was empty.");
        return true;
    }
    *out = items->items[items->len - 1];
    if (value_is_markup(v)) {
        out->flags |= VALUE_MARKUP; /* elements of markup are markup, unlike in a loop */
    }
    return true;
}

static bool filter_list(Render *r, const Args *args, Value *out)
{
    List *items;
    if (!iter_collect(r, args->values[0], &items)) {
        return false;
    }
    *out = value_list(items);
    return true;
}

static bool reverse_text(Render *r, Value v, Value *out)
{
    Str text = value_str(v);
    Buf reversed = render_buf(r);
    buf_reserve(&reversed, text.len);
    for (size_t pos = text.len; pos > 0;) {
        size_t end = pos;
        utf8_previous(text, &pos);
        buf_put(&reversed, str_slice(text, pos, end));
    }
    return take_text(r, &reversed, value_is_markup(v), out);
}

static void reverse_list(List *items)
{
    for (uint32_t i = 0; i < items->len / 2; i++) {
        Value other = items->items[i];
        items->items[i] = items->items[items->len - 1 - i];
        items->items[items->len - 1 - i] = other;
    }
}

/* Values that reversed() accepts yield an iterator, other iterables a list. */
static bool filter_reverse(Render *r, const Args *args, Value *out)
{
    Value v = args->values[0];
    if (v.kind == VALUE_STRING) {
        return reverse_text(r, v, out);
    }
    List *items = NULL;
    bool reversible;
    if (!collect_reversible(r, v, &items, &reversible)) {
        return false;
    }
    if (!reversible) {
        if (v.kind != VALUE_OBJECT || v.object->type->iterate == NULL) {
            return render_raise(r, FAULT_FILTER_ARGUMENT, "argument must be iterable");
        }
        if (!iter_collect(r, v, &items)) {
            return false;
        }
        reverse_list(items);
        *out = value_list(items);
        return true;
    }
    reverse_list(items);
    *out = generator_new(r, items, "list_reverseiterator");
    return true;
}

/* The items of join() and, under autoescape, whether one of them is markup. */
typedef struct Join {
    Value separator;
    AttributePath path;
    bool escape; /* the result is markup: escape everything else */
} Join;

/* The length of the result for a list of strings only; SIZE_MAX for any other list. */
static inline size_t joined_len(const List *list, Str separator_text)
{
    size_t len = list->len == 0 ? 0 : separator_text.len * (list->len - 1);
    for (uint32_t i = 0; i < list->len; i++) {
        if (UNLIKELY(list->items[i].kind != VALUE_STRING)) {
            return SIZE_MAX;
        }
        len += list->items[i].len;
    }
    return len;
}

/* Joins a list without attribute lookup or escaping. */
static COLD bool join_any_list(Render *r, const List *list, Str separator_text, Value *out)
{
    Buf joined = render_buf(r);
    for (uint32_t i = 0; i < list->len && !joined.overflow; i++) {
        const Value *item = &list->items[i];
        if (i > 0) {
            buf_put_short(&joined, separator_text);
        }
        if (LIKELY(item->kind == VALUE_STRING)) {
            buf_put_short(&joined, str_from(item->text, item->len));
        } else if (!op_print(r, *item, &joined)) {
            return false;
        }
    }
    return render_take(r, &joined, out);
}

static bool join_list(Render *r, const List *list, Str separator_text, Value *out)
{
    enum {
        SHORT = 1024
    };
    if (!render_charge(r, list->len)) {
        return false;
    }
    size_t len = list->len < SHORT ? joined_len(list, separator_text) : SIZE_MAX;
    if (UNLIKELY(len > SHORT)) {
        return join_any_list(r, list, separator_text, out);
    }
    char *joined = arena_alloc(r->arena, len);
    char *to = joined;
    for (uint32_t i = 0; i < list->len; i++) {
        const Value *item = &list->items[i];
        if (i > 0) {
            bytes_copy(to, separator_text.data, separator_text.len);
            to += separator_text.len;
        }
        bytes_copy(to, item->text, item->len);
        to += item->len;
    }
    *out = value_string(str_from(joined, len));
    return true;
}

static bool join_items(Render *r, const Join *join, Value v, Value *out)
{
    Str separator_text;
    Value separator = join->separator;
    if (join->escape && !op_escape(r, separator, &separator)) {
        return false;
    }
    if (!op_text(r, separator, &separator_text)) {
        return false;
    }
    if (value_is_sequence(v) && join->path.count == 0 && !join->escape) {
        return join_list(r, v.list, separator_text, out);
    }
    Iter iter;
    Value item;
    if (!iter_start(r, v, &iter)) {
        return false;
    }
    Buf joined = render_buf(r);
    for (bool later = false; iter_next(r, &iter, &item) && !joined.overflow; later = true) {
        if (later) {
            buf_put_short(&joined, separator_text);
        }
        if (join->path.count > 0 &&
            (!charge_iteration(r) ||
             !attribute_path_get(r, &join->path, &item, value_null(), &item))) {
            return false;
        }
        if (item.kind == VALUE_STRING && !join->escape) {
            buf_put_short(&joined, value_str(item));
        } else if (!(join->escape ? op_print_escaped(r, item, &joined)
                                  : op_print(r, item, &joined))) {
            return false;
        }
    }
    return !render_failed(r) && take_text(r, &joined, join->escape, out);
}

/* Under autoescape the result is markup if the separator or any item is. All items must be
 * inspected first, hence the list. */
static bool join_escaping(Render *r, Join *join, Value v, Value *out)
{
    List *items;
    if (!iter_collect(r, v, &items)) {
        return false;
    }
    /* A separator that has __html__ but is not markup is plain text; items are then not checked. */
    bool separator_is_html = value_is_html(r, join->separator);
    join->escape = value_is_markup(join->separator);
    for (uint32_t i = 0; i < items->len; i++) {
        if (join->path.count > 0 &&
            (!charge_iteration(r) || !attribute_path_get(r, &join->path, &items->items[i],
                                                         value_null(), &items->items[i]))) {
            return false;
        }
        join->escape = join->escape || (!separator_is_html && value_is_html(r, items->items[i]));
    }
    join->path.count = 0;
    return join_items(r, join, value_list(items), out);
}

static bool filter_join(Render *r, const Args *args, Value *out)
{
    const Value *items = &args->values[0];
    const Value *separator_text = &args->values[1];
    if (LIKELY(!r->autoescape && value_is_sequence(*items) &&
               separator_text->kind == VALUE_STRING && !arg_not_none(args, 2))) {
        return join_list(r, items->list, str_from(separator_text->text, separator_text->len), out);
    }
    Join join = { .separator = arg_or(args, 1, value_string(STR_EMPTY)) };
    if (!attribute_path_make(r, args->values[2], &join.path)) {
        return false;
    }
    if (r->autoescape) {
        return join_escaping(r, &join, args->values[0], out);
    }
    return join_items(r, &join, args->values[0], out);
}

static bool filter_batch(Render *r, const Args *args, Value *out)
{
    Value size = args->values[1];
    Value fill = arg_or(args, 2, value_null());
    Iter iter;
    if (!iter_start(r, args->values[0], &iter)) {
        return false;
    }
    List *batches = list_new(r->arena, 4);
    List *batch = list_new(r->arena, 4);
    Value item;
    while (iter_next(r, &iter, &item)) {
        bool full;
        if (!op_equal(r, value_int(batch->len), size, &full)) {
            return false;
        }
        if (full) {
            if (!push_item(r, batches, value_list(batch)) ||
                !render_reserve(r, sizeof(List) + batch->len * sizeof(Value))) {
                return false;
            }
            batch = list_new(r->arena, batch->len);
        }
        if (!push_item(r, batch, item)) {
            return false;
        }
    }
    if (render_failed(r)) {
        return false;
    }
    if (batch->len > 0) {
        if (fill.kind != VALUE_NULL) {
            bool less;
            int64_t target_len;
            if (!op_order(r, OP_LT, value_int(batch->len), size, &less) ||
                (less && !value_to_index(r, size, &target_len))) {
                return false;
            }
            if (less && !charge_items(r, (uint64_t)(target_len - batch->len), 2 * sizeof(Value))) {
                return false;
            }
            while (less && batch->len < target_len) {
                list_push(r->arena, batch, fill);
            }
        }
        list_push(r->arena, batches, value_list(batch));
    }
    *out = generator_new(r, batches, "do_batch");
    return true;
}

static bool filter_slice(Render *r, const Args *args, Value *out)
{
    Value fill = arg_or(args, 2, value_null());
    List *items;
    int64_t slices;
    if (!iter_collect(r, args->values[0], &items)) {
        return false;
    }
    /* Python divides before it converts to an index, which determines the error. */
    Value quotient;
    if ((args->values[1].kind != VALUE_INT &&
         !op_binary(r, OP_FLOOR_DIV, value_int(items->len), args->values[1], &quotient)) ||
        !value_to_index(r, args->values[1], &slices)) {
        return false;
    }
    if (slices == 0) {
        return render_raise(r, FAULT_ZERO_DIVISION, "integer division or modulo by zero");
    }
    if (slices < 0) {
        slices = 0;
    } else if (!charge_items(r, (uint64_t)slices, sizeof(List) + 3 * sizeof(Value))) {
        return false;
    }
    List *pieces = list_new(r->arena, (uint32_t)slices);
    int64_t each = slices == 0 ? 0 : items->len / slices;
    int64_t longer = slices == 0 ? 0 : items->len % slices;
    uint32_t from = 0;
    for (int64_t i = 0; i < slices; i++) {
        uint32_t length = (uint32_t)(each + (i < longer));
        bool filled = fill.kind != VALUE_NULL && i >= longer;
        List *piece = list_new(r->arena, length + filled);
        for (uint32_t k = 0; k < length; k++) {
            list_push(r->arena, piece, items->items[from + k]);
        }
        if (filled) {
            list_push(r->arena, piece, fill);
        }
        from += length;
        list_push(r->arena, pieces, value_list(piece));
    }
    *out = generator_new(r, pieces, "sync_do_slice");
    return true;
}

static bool filter_items(Render *r, const Args *args, Value *out)
{
    Value v = args->values[0];
    List *pairs;
    if (v.kind == VALUE_UNDEFINED) {
        pairs = list_new(r->arena, 0);
    } else if (v.kind != VALUE_MAP) {
        return render_raise(r, FAULT_TYPE, "Can only get item pairs from a mapping.");
    } else if (!iter_collect(r, view_new(r, v.map, VIEW_ITEMS), &pairs)) {
        return false;
    }
    *out = generator_new(r, pairs, "do_items");
    return true;
}

const Native filters_sequence[] = {
    { .name = "length",
      .call = filter_length,
      .params = { { "value" } },
      .flags = NATIVE_JINJA | NATIVE_PLAIN,
      .help = "Returns the number of items in a list or map, or of characters in a string.",
      .example = "{{ [1, 2, 3] | length }} {{ 'abcd' | length }}",
      .output = "3 4" },
    { .name = "count",
      .call = filter_length,
      .params = { { "value" } },
      .flags = NATIVE_JINJA | NATIVE_PLAIN | NATIVE_ALIAS,
      .help = "The same as length.",
      .example = "{{ {'a': 1} | count }}",
      .output = "1" },
    { .name = "first",
      .call = filter_first,
      .params = { { "value" } },
      .flags = NATIVE_JINJA | NATIVE_PASS_THROUGH,
      .help = "Returns the first item; undefined if there is none.",
      .example = "{{ ['a', 'b', 'c'] | first }}",
      .output = "a" },
    { .name = "last",
      .call = filter_last,
      .params = { { "value" } },
      .flags = NATIVE_JINJA | NATIVE_PASS_THROUGH,
      .help = "Returns the last item; undefined if there is none.",
      .example = "{{ ['a', 'b', 'c'] | last }}",
      .output = "c" },
    { .name = "list",
      .call = filter_list,
      .params = { { "value" } },
      .flags = NATIVE_JINJA | NATIVE_PASS_THROUGH,
      .help =
          "Converts to a list of items, of the characters of a string, or of the keys of a map.",
      .example = "{{ 'abc' | list }} {{ range(3) | list }}",
      .output = "['a', 'b', 'c'] [0, 1, 2]" },
    { .name = "reverse",
      .call = filter_reverse,
      .params = { { "value" } },
      .flags = NATIVE_JINJA | NATIVE_PASS_THROUGH,
      .help = "Reverses a string or sequence.",
      .example = "{{ 'abc' | reverse }} {{ [1, 2, 3] | reverse | list }}",
      .output = "cba [3, 2, 1]" },
    { .name = "join",
      .call = filter_join,
      .params = { { "value" }, { "d", "''" }, { "attribute", "none" } },
      .flags = NATIVE_JINJA,
      .help = "Joins the items, or an attribute of each, with a separator.",
      .example = "{{ [1, 2, 3] | join(', ') }} "
                 "{{ [{'n': 'a'}, {'n': 'b'}] | join('+', attribute='n') }}",
      .output = "1, 2, 3 a+b" },
    { .name = "batch",
      .call = filter_batch,
      .params = { { "value" }, { "linecount" }, { "fill_with", "none" } },
      .flags = NATIVE_JINJA | NATIVE_PASS_THROUGH,
      .help = "Splits a sequence into lists of `linecount` items; the last may be padded.",
      .example = "{{ [1, 2, 3, 4, 5] | batch(2, 0) | list }}",
      .output = "[[1, 2], [3, 4], [5, 0]]" },
    { .name = "slice",
      .call = filter_slice,
      .params = { { "value" }, { "slices" }, { "fill_with", "none" } },
      .flags = NATIVE_JINJA | NATIVE_PASS_THROUGH,
      .help = "Splits a sequence into a number of lists of about the same length.",
      .example = "{{ [1, 2, 3, 4, 5] | slice(3) | list }}",
      .output = "[[1, 2], [3, 4], [5]]" },
    { .name = "items",
      .call = filter_items,
      .params = { { "value" } },
      .flags = NATIVE_JINJA | NATIVE_PASS_THROUGH,
      .help = "Returns the pairs of a map; nothing if it is undefined.",
      .example = "{% for name, port in {'web': 80, 'ssh': 22} | items %}{{ name }}={{ port }} "
                 "{% endfor %}",
      .output = "web=80 ssh=22 " },
    { 0 },
};
