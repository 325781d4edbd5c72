/* Jinja2's filters that compare items: sorting, grouping, minimum and maximum, duplicates, sums. */
#include "lang/template/attribute_path.h"
#include "lang/template/filter.h"
#include "lang/template/sort.h"

/* How the key that items are compared by is computed. */
typedef struct KeyRule {
    AttributePath *paths;
    uint32_t count;
    bool fold; /* compare strings in lowercase */
    Value fallback;
} KeyRule;

static bool fold_key(Render *r, bool fold, Value *key)
{
    if (!fold || key->kind != VALUE_STRING) {
        return true;
    }
    Str lower;
    if (!text_lower(r, value_str(*key), &lower)) {
        return false;
    }
    *key = value_string(lower);
    return true;
}

/* A single key, or a list of keys for several attributes. */
static bool item_key(Render *r, const KeyRule *rule, Value item, Value *out)
{
    if (rule->count == 1) {
        *out = item;
        return (rule->paths[0].count == 0 ||
                attribute_path_get(r, &rule->paths[0], &item, rule->fallback, out)) &&
               fold_key(r, rule->fold, out);
    }
    List *keys = list_new(r->arena, rule->count);
    for (uint32_t i = 0; i < rule->count; i++) {
        Value key;
        if (!attribute_path_get(r, &rule->paths[i], &item, rule->fallback, &key) ||
            !fold_key(r, rule->fold, &key)) {
            return false;
        }
        list_push(r->arena, keys, key);
    }
    *out = value_list(keys);
    return true;
}

/* Builds the rule for one attribute path from the arguments `attribute` and `case_sensitive`. */
static bool read_rule(Render *r, const Args *args, uint32_t attribute, uint32_t case_sensitive,
                      AttributePath *path, KeyRule *out)
{
    bool exact;
    if (!arg_truth(r, args, case_sensitive, false, &exact) ||
        !attribute_path_make(r, args->values[attribute], path)) {
        return false;
    }
    *out = (KeyRule){ .paths = path, .count = 1, .fold = !exact, .fallback = value_null() };
    return true;
}

static bool keyed_items(Render *r, const KeyRule *rule, const List *items, SortItem **out)
{
    if (!sort_reserve(r, items->len)) {
        return false;
    }
    SortItem *keyed = ARENA_ARRAY(r->arena, SortItem, items->len);
    for (uint32_t i = 0; i < items->len; i++) {
        keyed[i].item = items->items[i];
        if (!item_key(r, rule, items->items[i], &keyed[i].key) || !render_reserve(r, 0)) {
            return false;
        }
    }
    *out = keyed;
    return true;
}

static bool filter_sort(Render *r, const Args *args, Value *out)
{
    bool exact;
    int64_t reverse; /* Python requires an integer here */
    List *items;
    SortItem *keyed;
    if (!arg_int(r, args, 1, false, &reverse) || !arg_truth(r, args, 2, false, &exact) ||
        !iter_collect(r, args->values[0], &items)) {
        return false;
    }
    KeyRule rule = { .fold = !exact, .fallback = value_null() };
    if (!attribute_path_make_list(r, args->values[3], &rule.paths, &rule.count) ||
        !keyed_items(r, &rule, items, &keyed) ||
        !sort_items(r, keyed, items->len, SORT_LISTED, reverse != 0)) {
        return false;
    }
    for (uint32_t i = 0; i < items->len; i++) {
        items->items[i] = keyed[i].item;
    }
    *out = value_list(items);
    return true;
}

static bool filter_dictsort(Render *r, const Args *args, Value *out)
{
    Value v = args->values[0];
    bool exact;
    int64_t reverse;
    if (!arg_truth(r, args, 1, false, &exact)) {
        return false;
    }
    bool by_value = false;
    if (arg_passed(args, 2)) {
        Value by = args->values[2];
        bool text = by.kind == VALUE_STRING;
        by_value = text && str_eq(value_str(by), STR("value"));
        if (!by_value && !(text && str_eq(value_str(by), STR("key")))) {
            return render_raise(r, FAULT_FILTER_ARGUMENT,
                                "You can only sort by either \"key\" or \"value\"");
        }
    }
    if (v.kind != VALUE_MAP) {
        return raise_no_attribute(r, v, "items");
    }
    List *pairs;
    if (!arg_int(r, args, 3, false, &reverse) ||
        !iter_collect(r, view_new(r, v.map, VIEW_ITEMS), &pairs)) {
        return false;
    }
    if (!sort_reserve(r, pairs->len)) {
        return false;
    }
    SortItem *keyed = ARENA_ARRAY(r->arena, SortItem, pairs->len);
    for (uint32_t i = 0; i < pairs->len; i++) {
        keyed[i].item = pairs->items[i];
        keyed[i].key = pairs->items[i].list->items[by_value ? 1 : 0];
        if (!fold_key(r, !exact, &keyed[i].key)) {
            return false;
        }
    }
    if (!sort_items(r, keyed, pairs->len, SORT_PLAIN, reverse != 0)) {
        return false;
    }
    for (uint32_t i = 0; i < pairs->len; i++) {
        pairs->items[i] = keyed[i].item;
    }
    *out = value_list(pairs);
    return true;
}

/* A pair with named items; the list of members may still grow. */
static Value group_new(Render *r, Value grouper, List *members)
{
    List *pair = list_new(r->arena, 2);
    list_push(r->arena, pair, grouper);
    list_push(r->arena, pair, value_list(members));
    Value group = value_tuple(pair);
    group.flags = VALUE_GROUP;
    return group;
}

static bool filter_groupby(Render *r, const Args *args, Value *out)
{
    AttributePath path;
    KeyRule rule;
    List *items;
    SortItem *keyed;
    if (!read_rule(r, args, 1, 3, &path, &rule)) {
        return false;
    }
    rule.fallback = arg_or(args, 2, value_null());
    if (!iter_collect(r, args->values[0], &items) || !keyed_items(r, &rule, items, &keyed) ||
        !sort_items(r, keyed, items->len, SORT_PLAIN, false)) {
        return false;
    }
    List *groups = list_new(r->arena, 0);
    List *members = NULL;
    for (uint32_t i = 0; i < items->len; i++) {
        bool same = false;
        if (i > 0 && !op_equal(r, keyed[i - 1].key, keyed[i].key, &same)) {
            return false;
        }
        if (!same) {
            /* The group is named after its first member, with that spelling. */
            Value grouper;
            if (!attribute_path_get(r, &path, &keyed[i].item, rule.fallback, &grouper)) {
                return false;
            }
            members = list_new(r->arena, 4);
            list_push(r->arena, groups, group_new(r, grouper, members));
        }
        list_push(r->arena, members, keyed[i].item);
    }
    *out = value_list(groups);
    return true;
}

/* As with Python's min() and max(), the first of several equal items wins. */
static bool find_extreme(Render *r, const Args *args, Operator op, Value *out)
{
    AttributePath path;
    KeyRule rule;
    Iter iter;
    if (!read_rule(r, args, 2, 1, &path, &rule) || !iter_start(r, args->values[0], &iter)) {
        return false;
    }
    if (!iter_next(r, &iter, out)) {
        *out = undefined_hint(r, "No aggregated item, sequence was empty.");
        return !render_failed(r);
    }
    Value best, item, key;
    if (!item_key(r, &rule, *out, &best)) {
        return false;
    }
    while (iter_next(r, &iter, &item)) {
        bool better;
        if (!charge_iteration(r) || !item_key(r, &rule, item, &key) ||
            !op_order(r, op, key, best, &better)) {
            return false;
        }
        if (better) {
            best = key;
            *out = item;
        }
    }
    return !render_failed(r);
}

static bool filter_min(Render *r, const Args *args, Value *out)
{
    return find_extreme(r, args, OP_LT, out);
}

static bool filter_max(Render *r, const Args *args, Value *out)
{
    return find_extreme(r, args, OP_GT, out);
}

static bool filter_unique(Render *r, const Args *args, Value *out)
{
    AttributePath path;
    KeyRule rule;
    Iter iter;
    if (!read_rule(r, args, 2, 1, &path, &rule) || !iter_start(r, args->values[0], &iter)) {
        return false;
    }
    List *unique = list_new(r->arena, 0);
    Map *seen = map_new(r->arena, 0);
    bool seen_undefined = false; /* all undefined values are one key */
    Value item, key;
    while (iter_next(r, &iter, &item)) {
        if (!charge_iteration(r) || !item_key(r, &rule, item, &key)) {
            return false;
        }
        if (key.kind == VALUE_UNDEFINED) {
            if (!seen_undefined && !push_item(r, unique, item)) {
                return false;
            }
            seen_undefined = true;
            continue;
        }
        if (!value_is_key(key)) {
            return render_raise(r, FAULT_TYPE, "unhashable type: '%s'", op_type_name(key));
        }
        if (!op_charge_key(r, key)) {
            return false;
        }
        if (map_find(seen, key) == NULL &&
            (!append_entry(r, seen, key, value_null()) || !push_item(r, unique, item))) {
            return false;
        }
    }
    *out = generator_new(r, unique, "sync_do_unique");
    return !render_failed(r);
}

static bool filter_sum(Render *r, const Args *args, Value *out)
{
    AttributePath path;
    Value sum = arg_or(args, 2, value_int(0));
    if (sum.kind == VALUE_STRING) {
        return render_raise(r, FAULT_TYPE, "sum() can't sum strings [use ''.join(seq) instead]");
    }
    Iter iter;
    Value item;
    if (!attribute_path_make(r, args->values[1], &path) || !iter_start(r, args->values[0], &iter)) {
        return false;
    }
    while (iter_next(r, &iter, &item)) {
        if (!charge_iteration(r) ||
            (path.count > 0 && !attribute_path_get(r, &path, &item, value_null(), &item)) ||
            !op_binary(r, OP_ADD, sum, item, &sum)) {
            return false;
        }
    }
    *out = sum;
    return !render_failed(r);
}

const Native filters_order[] = {
    { .name = "sort",
      .call = filter_sort,
      .params = { { "value" },
                  { "reverse", "false" },
                  { "case_sensitive", "false" },
                  { "attribute", "none" } },
      .flags = NATIVE_JINJA | NATIVE_PASS_THROUGH,
      .help = "Sorts the items, optionally by attributes such as 'age,name'.",
      .example = "{{ [3, 1, 2] | sort }} {{ ['b', 'A', 'c'] | sort(reverse=true) }}",
      .output = "[1, 2, 3] ['c', 'b', 'A']" },
    { .name = "dictsort",
      .call = filter_dictsort,
      .params = { { "value" },
                  { "case_sensitive", "false" },
                  { "by", "'key'" },
                  { "reverse", "false" } },
      .flags = NATIVE_JINJA | NATIVE_PASS_THROUGH,
      .help = "Returns the pairs of a map, sorted by key or value.",
      .example = "{{ {'b': 1, 'a': 2} | dictsort }} {{ {'b': 1, 'a': 2} | dictsort(by='value') }}",
      .output = "[('a', 2), ('b', 1)] [('b', 1), ('a', 2)]" },
    { .name = "groupby",
      .call = filter_groupby,
      .params = { { "value" },
                  { "attribute" },
                  { "default", "none" },
                  { "case_sensitive", "false" } },
      .flags = NATIVE_JINJA | NATIVE_PASS_THROUGH,
      .help = "Groups the items by an attribute: pairs of its value and a list of items.",
      .example = "{% for os, hosts in [{'n': 'a', 'os': 'bsd'}, {'n': 'b', 'os': 'linux'}, "
                 "{'n': 'c', 'os': 'bsd'}] | groupby('os') %}"
                 "{{ os }}: {{ hosts | join('+', attribute='n') }} {% endfor %}",
      .output = "bsd: a+c linux: b " },
    { .name = "min",
      .call = filter_min,
      .params = { { "value" }, { "case_sensitive", "false" }, { "attribute", "none" } },
      .flags = NATIVE_JINJA | NATIVE_PASS_THROUGH,
      .help = "Returns the smallest item, or the item with the smallest attribute.",
      .example = "{{ [3, 1, 2] | min }} {{ [{'cpu': 4}, {'cpu': 2}] | min(attribute='cpu') }}",
      .output = "1 {'cpu': 2}" },
    { .name = "max",
      .call = filter_max,
      .params = { { "value" }, { "case_sensitive", "false" }, { "attribute", "none" } },
      .flags = NATIVE_JINJA | NATIVE_PASS_THROUGH,
      .help = "Returns the largest item, or the item with the largest attribute.",
      .example = "{{ [3, 1, 2] | max }} {{ [{'cpu': 4}, {'cpu': 2}] | max(attribute='cpu') }}",
      .output = "3 {'cpu': 4}" },
    { .name = "unique",
      .call = filter_unique,
      .params = { { "value" }, { "case_sensitive", "false" }, { "attribute", "none" } },
      .flags = NATIVE_JINJA | NATIVE_PASS_THROUGH,
      .help = "Removes duplicate items, or items with a duplicate attribute.",
      .example = "{{ ['a', 'B', 'b', 'A'] | unique | list }}",
      .output = "['a', 'B']" },
    { .name = "sum",
      .call = filter_sum,
      .params = { { "value" }, { "attribute", "none" }, { "start", "0" } },
      .flags = NATIVE_JINJA,
      .help = "Adds up the items, or an attribute of each.",
      .example = "{{ [1, 2, 3] | sum }} {{ [{'mb': 512}, {'mb': 256}] | sum(attribute='mb') }}",
      .output = "6 768" },
    { 0 },
};
