/* Lists as sets: union, intersect and similar filters, compatible with Ansible's. The order of the
 * first list is preserved. */
#include "lang/template/filter.h"
#include "lang/template/value_set.h"

/* Appends to `result` the items of `v` that are not yet in `seen`. If `other` is not NULL, skips
 * items whose membership in `other` differs from `is_member`. */
static bool collect_items(Render *r, Value v, const ValueSet *other, bool is_member, ValueSet *seen,
                          List *result)
{
    Iter iter;
    Value item;
    if (!iter_start(r, v, &iter)) {
        return false;
    }
    while (iter_next(r, &iter, &item)) {
        bool has = is_member, added;
        if (other != NULL && !value_set_has(r, other, item, &has)) {
            return false;
        }
        if (has != is_member) {
            continue;
        }
        if (!value_set_add(r, seen, item, &added)) {
            return false;
        }
        if (added && !push_item(r, result, item)) {
            return false;
        }
    }
    return !render_failed(r);
}

/* Converts both to lists: a generator can be consumed only once. */
static bool read_lists(Render *r, const Args *args, Value *a, Value *b)
{
    List *first, *second;
    if (!iter_collect(r, args->values[0], &first) || !iter_collect(r, args->values[1], &second)) {
        return false;
    }
    *a = value_list(first);
    *b = value_list(second);
    return true;
}

static bool filter_union(Render *r, const Args *args, Value *out)
{
    Value a, b;
    List *result = list_new(r->arena, 0);
    ValueSet seen = value_set_make(r);
    if (!read_lists(r, args, &a, &b) || !collect_items(r, a, NULL, true, &seen, result) ||
        !collect_items(r, b, NULL, true, &seen, result)) {
        return false;
    }
    *out = value_list(result);
    return true;
}

static bool filter_by_membership(Render *r, const Args *args, bool is_member, Value *out)
{
    Value a, b;
    List *result = list_new(r->arena, 0);
    ValueSet seen = value_set_make(r), other = value_set_make(r);
    if (!read_lists(r, args, &a, &b) || !value_set_add_all(r, &other, b) ||
        !collect_items(r, a, &other, is_member, &seen, result)) {
        return false;
    }
    *out = value_list(result);
    return true;
}

static bool filter_intersect(Render *r, const Args *args, Value *out)
{
    return filter_by_membership(r, args, true, out);
}

static bool filter_difference(Render *r, const Args *args, Value *out)
{
    return filter_by_membership(r, args, false, out);
}

static bool filter_symmetric_difference(Render *r, const Args *args, Value *out)
{
    Value a, b;
    List *result = list_new(r->arena, 0);
    ValueSet seen = value_set_make(r), in_a = value_set_make(r), in_b = value_set_make(r);
    if (!read_lists(r, args, &a, &b) || !value_set_add_all(r, &in_a, a) ||
        !value_set_add_all(r, &in_b, b) || !collect_items(r, a, &in_b, false, &seen, result) ||
        !collect_items(r, b, &in_a, false, &seen, result)) {
        return false;
    }
    *out = value_list(result);
    return true;
}

const Native filters_sets[] = {
    { .name = "union",
      .call = filter_union,
      .params = { { "value" }, { "other" } },
      .flags = NATIVE_PASS_THROUGH,
      .help = "Returns the items of both lists without duplicates.",
      .example = "{{ [1, 2, 1] | union([2, 3]) }}",
      .output = "[1, 2, 3]" },
    { .name = "intersect",
      .call = filter_intersect,
      .params = { { "value" }, { "other" } },
      .flags = NATIVE_PASS_THROUGH,
      .help = "Returns the items that are in both lists, without duplicates.",
      .example = "{{ [1, 2, 3] | intersect([3, 2, 5]) }}",
      .output = "[2, 3]" },
    { .name = "difference",
      .call = filter_difference,
      .params = { { "value" }, { "other" } },
      .flags = NATIVE_PASS_THROUGH,
      .help = "Returns the items that are not in the other list, without duplicates.",
      .example = "{{ [1, 2, 3] | difference([2]) }}",
      .output = "[1, 3]" },
    { .name = "symmetric_difference",
      .call = filter_symmetric_difference,
      .params = { { "value" }, { "other" } },
      .flags = NATIVE_PASS_THROUGH,
      .help = "Returns the items that are in only one of the lists, without duplicates.",
      .example = "{{ [1, 2] | symmetric_difference([2, 3]) }}",
      .output = "[1, 3]" },
    { 0 },
};
