/* Lists as sets: union, intersect and similar filters, compatible with Ansible's. The order of the
 * first list is preserved. */
#include "lang/template/filter.h"
#include "lang/template/value_set.h"

/* Appends to `kept` the items of `v` that are not yet in `seen`. Unless `other` is NULL, only those
 * whose membership in `other` equals `wanted`. */
static bool keep_items(Render *r, Value v, const ValueSet *other, bool wanted, ValueSet *seen,
                       List *kept)
{
    Iter iter;
    Value item;
    if (!iter_start(r, v, &iter)) {
        return false;
    }
    while (iter_next(r, &iter, &item)) {
        bool has = wanted, added;
        if (other != NULL && !value_set_has(r, other, item, &has)) {
            return false;
        }
        if (has != wanted) {
            continue;
        }
        if (!value_set_add(r, seen, item, &added)) {
            return false;
        }
        if (added && !push_item(r, kept, item)) {
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
    List *kept = list_new(r->arena, 0);
    ValueSet seen = value_set_make(r);
    if (!read_lists(r, args, &a, &b) || !keep_items(r, a, NULL, true, &seen, kept) ||
        !keep_items(r, b, NULL, true, &seen, kept)) {
        return false;
    }
    *out = value_list(kept);
    return true;
}

static bool keep_by_other(Render *r, const Args *args, bool wanted, Value *out)
{
    Value a, b;
    List *kept = list_new(r->arena, 0);
    ValueSet seen = value_set_make(r), other = value_set_make(r);
    if (!read_lists(r, args, &a, &b) || !value_set_add_all(r, &other, b) ||
        !keep_items(r, a, &other, wanted, &seen, kept)) {
        return false;
    }
    *out = value_list(kept);
    return true;
}

static bool filter_intersect(Render *r, const Args *args, Value *out)
{
    return keep_by_other(r, args, true, out);
}

static bool filter_difference(Render *r, const Args *args, Value *out)
{
    return keep_by_other(r, args, false, out);
}

static bool filter_symmetric_difference(Render *r, const Args *args, Value *out)
{
    Value a, b;
    List *kept = list_new(r->arena, 0);
    ValueSet seen = value_set_make(r), in_a = value_set_make(r), in_b = value_set_make(r);
    if (!read_lists(r, args, &a, &b) || !value_set_add_all(r, &in_a, a) ||
        !value_set_add_all(r, &in_b, b) || !keep_items(r, a, &in_b, false, &seen, kept) ||
        !keep_items(r, b, &in_a, false, &seen, kept)) {
        return false;
    }
    *out = value_list(kept);
    return true;
}

const Native filters_sets[] = {
    { .name = "union",
      .call = filter_union,
      .params = { { "value" }, { "other" } },
      .flags = NATIVE_PASSES,
      .help = "Returns the items of both lists without duplicates.",
      .example = "{{ [1, 2, 1] | union([2, 3]) }}",
      .shows = "[1, 2, 3]" },
    { .name = "intersect",
      .call = filter_intersect,
      .params = { { "value" }, { "other" } },
      .flags = NATIVE_PASSES,
      .help = "Returns the items that are in both lists, without duplicates.",
      .example = "{{ [1, 2, 3] | intersect([3, 2, 5]) }}",
      .shows = "[2, 3]" },
    { .name = "difference",
      .call = filter_difference,
      .params = { { "value" }, { "other" } },
      .flags = NATIVE_PASSES,
      .help = "Returns the items that are not in the other list, without duplicates.",
      .example = "{{ [1, 2, 3] | difference([2]) }}",
      .shows = "[1, 3]" },
    { .name = "symmetric_difference",
      .call = filter_symmetric_difference,
      .params = { { "value" }, { "other" } },
      .flags = NATIVE_PASSES,
      .help = "Returns the items that are in only one of the lists, without duplicates.",
      .example = "{{ [1, 2] | symmetric_difference([2, 3]) }}",
      .shows = "[1, 3]" },
    { 0 },
};
