/* Ansible's tests of truth and of the contents of lists. */
#include "lang/template/filter.h"
#include "lang/template/value_set.h"

static bool test_truthy(Render *r, const Args *args, Value *out)
{
    bool truth;
    if (!op_truth(r, args->values[0], &truth)) {
        return false;
    }
    *out = value_bool(truth);
    return true;
}

static bool test_falsy(Render *r, const Args *args, Value *out)
{
    bool truth;
    if (!op_truth(r, args->values[0], &truth)) {
        return false;
    }
    *out = value_bool(!truth);
    return true;
}

/* Whether the truth value of any item equals `wanted`. */
static bool some_item_is(Render *r, Value v, bool wanted, bool *out)
{
    Iter iter;
    Value item;
    if (!iter_start(r, v, &iter)) {
        return false;
    }
    *out = false;
    while (!*out && iter_next(r, &iter, &item)) {
        bool truth;
        if (!charge_iteration(r) || !op_truth(r, item, &truth)) {
            return false;
        }
        *out = truth == wanted;
    }
    return !render_failed(r);
}

static bool test_any(Render *r, const Args *args, Value *out)
{
    bool some;
    if (!some_item_is(r, args->values[0], true, &some)) {
        return false;
    }
    *out = value_bool(some);
    return true;
}

static bool test_all(Render *r, const Args *args, Value *out)
{
    bool some;
    if (!some_item_is(r, args->values[0], false, &some)) {
        return false;
    }
    *out = value_bool(!some);
    return true;
}

static bool test_contains(Render *r, const Args *args, Value *out)
{
    bool contains;
    if (!op_contains(r, args->values[1], args->values[0], &contains)) {
        return false;
    }
    *out = value_bool(contains);
    return true;
}

/* Whether all items of `small` are in `large`. */
static bool is_subset(Render *r, Value small, Value large, Value *out)
{
    ValueSet set = value_set_make(r);
    Iter iter;
    Value item;
    bool has = true;
    if (!value_set_add_all(r, &set, large) || !iter_start(r, small, &iter)) {
        return false;
    }
    while (has && iter_next(r, &iter, &item)) {
        if (!charge_iteration(r) || !value_set_has(r, &set, item, &has)) {
            return false;
        }
    }
    *out = value_bool(has);
    return !render_failed(r);
}

static bool test_subset(Render *r, const Args *args, Value *out)
{
    return is_subset(r, args->values[0], args->values[1], out);
}

static bool test_superset(Render *r, const Args *args, Value *out)
{
    return is_subset(r, args->values[1], args->values[0], out);
}

static bool test_list(Render *r, const Args *args, Value *out)
{
    *out = value_bool(args->values[0].kind == VALUE_LIST);
    return true;
}

static bool test_nan(Render *r, const Args *args, Value *out)
{
    Value v = args->values[0];
    *out = value_bool(v.kind == VALUE_FLOAT && v.number != v.number);
    return true;
}

const Native tests_sets[] = {
    { .name = "truthy",
      .call = test_truthy,
      .params = { { "value" } },
      .flags = NATIVE_PLAIN,
      .help = "The value is considered true.",
      .example = "{{ 'a' is truthy }} {{ [] is truthy }}",
      .output = "True False" },
    { .name = "falsy",
      .call = test_falsy,
      .params = { { "value" } },
      .flags = NATIVE_PLAIN,
      .help = "The value is considered false.",
      .example = "{{ '' is falsy }} {{ 1 is falsy }}",
      .output = "True False" },
    { .name = "any",
      .call = test_any,
      .params = { { "value" } },
      .flags = NATIVE_PLAIN,
      .help = "At least one item is considered true.",
      .example = "{{ [false, 1] is any }} {{ [] is any }}",
      .output = "True False" },
    { .name = "all",
      .call = test_all,
      .params = { { "value" } },
      .flags = NATIVE_PLAIN,
      .help = "All items are considered true.",
      .example = "{{ [true, 1] is all }} {{ [true, 0] is all }}",
      .output = "True False" },
    { .name = "contains",
      .call = test_contains,
      .params = { { "value" }, { "other" } },
      .flags = NATIVE_PLAIN,
      .help = "The value contains the other one; useful with selectattr().",
      .example = "{{ [{'n': 'a', 'roles': ['web']}, {'n': 'b', 'roles': []}] "
                 "| selectattr('roles', 'contains', 'web') | map(attribute='n') | list }}",
      .output = "['a']" },
    { .name = "subset",
      .call = test_subset,
      .params = { { "value" }, { "other" } },
      .flags = NATIVE_PLAIN,
      .help = "All items are in the other list.",
      .example = "{{ [1, 2] is subset([3, 2, 1]) }}",
      .output = "True" },
    { .name = "superset",
      .call = test_superset,
      .params = { { "value" }, { "other" } },
      .flags = NATIVE_PLAIN,
      .help = "All items of the other list are in this one.",
      .example = "{{ [1, 2] is superset([1]) }}",
      .output = "True" },
    { .name = "list",
      .call = test_list,
      .params = { { "value" } },
      .flags = NATIVE_PLAIN,
      .help = "The value is a list.",
      .example = "{{ [1] is list }} {{ 'a' is list }} {{ (1, 2) is list }}",
      .output = "True False False" },
    { .name = "nan",
      .call = test_nan,
      .params = { { "value" } },
      .flags = NATIVE_PLAIN,
      .help = "The value is a floating-point NaN (not a number).",
      .example = "{{ 'nan' | float is nan }} {{ 1.5 is nan }}",
      .output = "True False" },
    { 0 },
};
