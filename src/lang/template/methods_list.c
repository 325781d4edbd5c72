/* Methods of list and tuple. */
#include "lang/template/methods.h"
#include "lang/template/sort.h"

static bool list_append(Render *r, const Args *args, Value *out)
{
    List *list = args->values[0].list;
    if (!method_may_change(r, args->values[0]) || !list_reserve(r, list)) {
        return false;
    }
    list_push(r->arena, list, args->values[1]);
    *out = value_null();
    return true;
}

static bool list_clear(Render *r, const Args *args, Value *out)
{
    if (!method_may_change(r, args->values[0])) {
        return false;
    }
    args->values[0].list->len = 0;
    *out = value_null();
    return true;
}

static bool list_copy(Render *r, const Args *args, Value *out)
{
    List *copy;
    Value owner = args->values[0];
    owner.flags = 0; /* propagate the mark of the list, not that of every item */
    if (!iter_collect(r, owner, &copy)) {
        return false;
    }
    *out = value_list(copy);
    return true;
}

static bool list_count(Render *r, const Args *args, Value *out)
{
    const List *list = args->values[0].list;
    int64_t count = 0;
    for (uint32_t i = 0; i < list->len; i++) {
        bool equal;
        if (!render_charge(r, 1) || !op_equal(r, list->items[i], args->values[1], &equal)) {
            return false;
        }
        count += equal;
    }
    *out = value_int(count);
    return true;
}

static bool list_extend(Render *r, const Args *args, Value *out)
{
    List *list = args->values[0].list, *added;
    /* Collect first: the argument may be the same list, or fail midway. */
    if (!method_may_change(r, args->values[0]) || !iter_collect(r, args->values[1], &added)) {
        return false;
    }
    for (uint32_t i = 0; i < added->len; i++) {
        if (!list_reserve(r, list)) {
            return false;
        }
        list_push(r->arena, list, added->items[i]);
    }
    *out = value_null();
    return true;
}

/* Reads a bound of list.index(): negative bounds count from the end, and out-of-range bounds are
 * clamped. */
static bool index_bound(Render *r, const Args *args, uint32_t index, int64_t fallback, int64_t *out)
{
    const List *list = args->values[0].list;
    *out = fallback;
    if (!method_arg_passed(args, index)) {
        return true;
    }
    if (!op_is_int(args->values[index])) {
        return render_raise(r, FAULT_TYPE,
                            "slice indices must be integers or have an __index__ method");
    }
    int64_t bound = op_int(args->values[index]);
    if (bound < 0) {
        bound += list->len;
    }
    *out = bound < 0 ? 0 : bound;
    return true;
}

static bool list_index(Render *r, const Args *args, Value *out)
{
    const List *list = args->values[0].list;
    int64_t start, stop;
    if (!index_bound(r, args, 2, 0, &start) || !index_bound(r, args, 3, list->len, &stop)) {
        return false;
    }
    for (int64_t i = start; i < stop && i < list->len; i++) {
        bool equal;
        if (!render_charge(r, 1) || !op_equal(r, list->items[i], args->values[1], &equal)) {
            return false;
        }
        if (equal) {
            *out = value_int(i);
            return true;
        }
    }
    return args->values[0].kind == VALUE_TUPLE
               ? render_raise(r, FAULT_VALUE, "tuple.index(x): x not in tuple")
               : raise_with_repr(r, FAULT_VALUE, args->values[1], " is not in list");
}

static bool list_insert(Render *r, const Args *args, Value *out)
{
    List *list = args->values[0].list;
    int64_t pos;
    if (!method_may_change(r, args->values[0]) || !op_index(r, args->values[1], &pos) ||
        !list_reserve(r, list) || !render_charge(r, list->len / 16)) {
        return false;
    }
    if (pos < 0) {
        pos = pos + list->len < 0 ? 0 : pos + list->len;
    }
    if (pos > list->len) {
        pos = list->len;
    }
    list_push(r->arena, list, args->values[2]);
    memmove(&list->items[pos + 1], &list->items[pos],
            (size_t)(list->len - 1 - pos) * sizeof(Value));
    list->items[pos] = args->values[2];
    *out = value_null();
    return true;
}

static void list_remove_at(List *list, uint32_t pos)
{
    memmove(&list->items[pos], &list->items[pos + 1], (list->len - 1 - pos) * sizeof(Value));
    list->len--;
}

static bool list_pop(Render *r, const Args *args, Value *out)
{
    List *list = args->values[0].list;
    int64_t pos;
    if (!method_may_change(r, args->values[0]) || !method_arg_int(r, args, 1, -1, &pos) ||
        !render_charge(r, list->len / 16)) {
        return false;
    }
    if (list->len == 0) {
        return render_raise(r, FAULT_INDEX, "pop from empty list");
    }
    if (pos < 0) {
        pos += list->len;
    }
    if (pos < 0 || pos >= list->len) {
        return render_raise(r, FAULT_INDEX, "pop index out of range");
    }
    *out = list->items[pos];
    list_remove_at(list, (uint32_t)pos);
    return true;
}

static bool list_remove(Render *r, const Args *args, Value *out)
{
    List *list = args->values[0].list;
    if (!method_may_change(r, args->values[0])) {
        return false;
    }
    for (uint32_t i = 0; i < list->len; i++) {
        bool equal;
        if (!render_charge(r, 1) || !op_equal(r, list->items[i], args->values[1], &equal)) {
            return false;
        }
        if (equal) {
            list_remove_at(list, i);
            *out = value_null();
            return true;
        }
    }
    return render_raise(r, FAULT_VALUE, "list.remove(x): x not in list");
}

static bool list_reverse(Render *r, const Args *args, Value *out)
{
    List *list = args->values[0].list;
    if (!method_may_change(r, args->values[0]) || !render_charge(r, list->len / 16)) {
        return false;
    }
    for (uint32_t i = 0; i < list->len / 2; i++) {
        Value other = list->items[list->len - 1 - i];
        list->items[list->len - 1 - i] = list->items[i];
        list->items[i] = other;
    }
    *out = value_null();
    return true;
}

static bool sort_key(Render *r, Value function, Value item, Value *out)
{
    if (value_is_missing(function) || function.kind == VALUE_NULL) {
        *out = item;
        return true;
    }
    return value_call(r, function, &(Args){ .values = &item, .count = 1 }, out);
}

static bool list_sort(Render *r, const Args *args, Value *out)
{
    List *list = args->values[0].list;
    int64_t reverse;
    if (!method_may_change(r, args->values[0]) || !method_arg_int(r, args, 2, 0, &reverse) ||
        !render_reserve(r, (size_t)list->len * sizeof(SortItem))) {
        return false;
    }
    uint32_t count = list->len;
    SortItem *items = ARENA_ARRAY(r->arena, SortItem, count);
    for (uint32_t i = 0; i < count; i++) {
        items[i].item = list->items[i];
        if (!sort_key(r, args->values[1], list->items[i], &items[i].key)) {
            return false;
        }
        if (list->len != count) {
            return render_raise(r, FAULT_VALUE, "list modified during sort");
        }
    }
    if (!sort_items(r, items, count, SORT_PLAIN, reverse != 0)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        list->items[i] = items[i].item;
    }
    *out = value_null();
    return true;
}

/* clang-format off */
const Native list_methods[] = {
    { "append", list_append, { { "self" }, { "object" } }, NATIVE_PLAIN,
      "Appends an item.",
      "{% set l = [1] %}{% do l.append(2) %}{{ l }}", "[1, 2]" },
    { "clear", list_clear, { { "self" } }, NATIVE_PLAIN,
      "Removes all items.",
      "{% set l = [1] %}{% do l.clear() %}{{ l }}", "[]" },
    { "copy", list_copy, { { "self" } }, NATIVE_PASS_THROUGH,
      "Returns a copy of the list.",
      "{{ [1, 2].copy() }}", "[1, 2]" },
    { "count", list_count, { { "self" }, { "value" } }, NATIVE_PLAIN,
      "Counts the items equal to the value.",
      "{{ [1, 2, 1].count(1) }}", "2" },
    { "extend", list_extend, { { "self" }, { "iterable" } }, NATIVE_PLAIN,
      "Appends all items of an iterable.",
      "{% set l = [1] %}{% do l.extend([2, 3]) %}{{ l }}", "[1, 2, 3]" },
    { "index", list_index, { { "self" }, { "value" }, { "start", "0" }, { "stop", "end" } },
      NATIVE_PLAIN,
      "Returns the index of the first item equal to the value; raises ValueError if there is none.",
      "{{ ['a', 'b'].index('b') }}", "1" },
    { "insert", list_insert, { { "self" }, { "index" }, { "object" } }, NATIVE_PLAIN,
      "Inserts an item before the index.",
      "{% set l = [1, 3] %}{% do l.insert(1, 2) %}{{ l }}", "[1, 2, 3]" },
    { "pop", list_pop, { { "self" }, { "index", "-1" } }, NATIVE_PASS_THROUGH,
      "Removes and returns the item at the index, by default the last one.",
      "{% set l = [1, 2] %}{{ l.pop() }} {{ l }}", "2 [1]" },
    { "remove", list_remove, { { "self" }, { "value" } }, NATIVE_PLAIN,
      "Removes the first item equal to the value; raises ValueError if there is none.",
      "{% set l = [1, 2] %}{% do l.remove(1) %}{{ l }}", "[2]" },
    { "reverse", list_reverse, { { "self" } }, NATIVE_PLAIN,
      "Reverses the items in place.",
      "{% set l = [1, 2] %}{% do l.reverse() %}{{ l }}", "[2, 1]" },
    { "sort", list_sort, { { "self" }, { "key", "none" }, { "reverse", "false" } }, NATIVE_PLAIN,
      "Sorts the items in place, optionally by the result of a key function.",
      "{% set l = [2, 1] %}{% do l.sort() %}{{ l }}", "[1, 2]" },
    { 0 },
};

const Native tuple_methods[] = {
    { "count", list_count, { { "self" }, { "value" } }, NATIVE_PLAIN,
      "Counts the items equal to the value.",
      "{{ (1, 2, 1).count(1) }}", "2" },
    { "index", list_index, { { "self" }, { "value" }, { "start", "0" }, { "stop", "end" } },
      NATIVE_PLAIN,
      "Returns the index of the first item equal to the value; raises ValueError if there is none.",
      "{{ ('a', 'b').index('b') }}", "1" },
    { 0 },
};
/* clang-format on */
