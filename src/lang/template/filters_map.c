/* Filters on maps and on lists of small maps: combine, dict2items and related filters. */
#include "lang/template/attribute_path.h"
#include "lang/template/filter.h"
#include "lang/template/value_set.h"

typedef enum ListMerge {
    MERGE_REPLACE,
    MERGE_KEEP,
    MERGE_APPEND,
    MERGE_PREPEND,
    MERGE_APPEND_REPLACE, /* items in both lists come from the later one */
    MERGE_PREPEND_REPLACE,
} ListMerge;

static const char *const list_merge_names[] = {
    [MERGE_REPLACE] = "replace",
    [MERGE_KEEP] = "keep",
    [MERGE_APPEND] = "append",
    [MERGE_PREPEND] = "prepend",
    [MERGE_APPEND_REPLACE] = "append_rp",
    [MERGE_PREPEND_REPLACE] = "prepend_rp",
};

typedef struct CombineRules {
    bool recursive;
    ListMerge lists;
} CombineRules;

static void push_all(Render *r, List *to, const List *from)
{
    for (uint32_t i = 0; i < from->len; i++) {
        list_push(r->arena, to, from->items[i]);
    }
}

static bool merge_lists(Render *r, const List *old, const List *new, ListMerge rule, Value *out)
{
    if (!charge_items(r, (uint64_t)old->len + new->len, sizeof(Value))) {
        return false;
    }
    const List *first = old;
    if (rule == MERGE_APPEND_REPLACE || rule == MERGE_PREPEND_REPLACE) {
        ValueSet later = value_set_make(r);
        List *remaining = list_new(r->arena, old->len);
        if (!value_set_add_all(r, &later, value_list((List *)new))) {
            return false;
        }
        for (uint32_t i = 0; i < old->len; i++) {
            bool has;
            if (!value_set_has(r, &later, old->items[i], &has)) {
                return false;
            }
            if (!has) {
                list_push(r->arena, remaining, old->items[i]);
            }
        }
        first = remaining;
    }
    bool prepend = rule == MERGE_PREPEND || rule == MERGE_PREPEND_REPLACE;
    List *merged = list_new(r->arena, first->len + new->len);
    push_all(r, merged, prepend ? new : first);
    push_all(r, merged, prepend ? first : new);
    *out = value_list(merged);
    return true;
}

/* `secret`: the map itself is marked secret, so all entries of the copy are marked. */
static bool copy_map(Render *r, const Map *map, bool secret, Map **out)
{
    Map *copy = map_new(r->arena, map->len);
    for (uint32_t i = 0; i < map->len; i++) {
        MapEntry entry = map->entries[i];
        if (!op_charge_key(r, entry.key)) {
            return false;
        }
        if (secret) {
            entry = (MapEntry){ value_with_secret(entry.key), value_with_secret(entry.value) };
        }
        map_append(r->arena, copy, entry.key, entry.value);
    }
    *out = copy;
    return true;
}

static bool merge_maps(Render *r, const Map *old, const Map *new, const CombineRules *rules,
                       Map **out);

static bool merge_values(Render *r, Value old, Value new, const CombineRules *rules, Value *out)
{
    *out = new;
    if (old.kind == VALUE_MAP && new.kind == VALUE_MAP) {
        if (!rules->recursive) {
            return true;
        }
        Nest nest;
        Map *merged = NULL;
        if (!render_enter(r, &nest, new.map)) {
            return false;
        }
        bool ok = merge_maps(r, old.map, new.map, rules, &merged);
        render_leave(r, &nest);
        *out = value_map(merged);
        out->flags = (old.flags | new.flags) & VALUE_SECRET;
        return ok;
    }
    if (value_is_sequence(old) && value_is_sequence(new) && rules->lists != MERGE_REPLACE) {
        if (rules->lists == MERGE_KEEP) {
            *out = old;
            return true;
        }
        if (!merge_lists(r, old.list, new.list, rules->lists, out)) {
            return false;
        }
        out->flags = (old.flags | new.flags) & VALUE_SECRET;
    }
    return true;
}

/* Keys of the older map keep their positions. */
static bool merge_maps(Render *r, const Map *old, const Map *new, const CombineRules *rules,
                       Map **out)
{
    Map *merged;
    if (!charge_items(r, (uint64_t)old->len + new->len, sizeof(MapEntry)) ||
        !copy_map(r, old, false, &merged)) {
        return false;
    }
    for (uint32_t i = 0; i < new->len; i++) {
        const MapEntry *entry = &new->entries[i];
        if (!op_charge_key(r, entry->key)) {
            return false;
        }
        MapEntry *existing = map_find(merged, entry->key);
        if (existing == NULL) {
            map_append(r->arena, merged, entry->key, entry->value);
        } else if (!merge_values(r, existing->value, entry->value, rules, &existing->value)) {
            return false;
        }
    }
    *out = merged;
    return true;
}

static bool read_combine_rules(Render *r, const Map *named, CombineRules *out)
{
    *out = (CombineRules){ .recursive = false, .lists = MERGE_REPLACE };
    for (uint32_t i = 0; named != NULL && i < named->len; i++) {
        Str name = value_str(named->entries[i].key);
        Value v = named->entries[i].value;
        if (str_eq(name, STR("recursive"))) {
            if (!op_truth(r, v, &out->recursive)) {
                return false;
            }
        } else if (str_eq(name, STR("list_merge"))) {
            size_t rule = 0;
            while (rule < COUNT_OF(list_merge_names) &&
                   !(v.kind == VALUE_STRING && str_eq_c(value_str(v), list_merge_names[rule]))) {
                rule++;
            }
            if (rule == COUNT_OF(list_merge_names)) {
                return render_raise(r, FAULT_FILTER_ARGUMENT,
                                    "list_merge must be replace, keep, append, prepend, append_rp "
                                    "or prepend_rp, not %" STR_FMT,
                                    STR_ARG(repr_for_message(r, v)));
            }
            out->lists = (ListMerge)rule;
        } else {
            return render_raise(r, FAULT_TYPE,
                                "combine() got an unexpected keyword argument '%" STR_FMT "'",
                                STR_ARG(name));
        }
    }
    return true;
}

static bool combine_with(Render *r, Value v, const CombineRules *rules, Map **merged)
{
    if (v.kind != VALUE_MAP) {
        return v.kind == VALUE_UNDEFINED
                   ? undefined_raise(r, v)
                   : render_raise(r, FAULT_TYPE, "combine() takes maps, not %s", op_type_name(v));
    }
    Map *map = v.map;
    if (value_is_secret(v) &&
        (!charge_items(r, map->len, sizeof(MapEntry)) || !copy_map(r, map, true, &map))) {
        return false;
    }
    return merge_maps(r, *merged, map, rules, merged);
}

static bool filter_combine(Render *r, const Args *args, Value *out)
{
    CombineRules rules;
    Map *merged = map_new(r->arena, 0);
    if (!read_combine_rules(r, args->named, &rules)) {
        return false;
    }
    for (uint32_t i = 0; i < args->count; i++) {
        Value v = args->values[i];
        if (!value_is_sequence(v)) {
            if (!combine_with(r, v, &rules, &merged)) {
                return false;
            }
            continue;
        }
        for (uint32_t k = 0; k < v.list->len; k++) {
            Value item = v.list->items[k];
            item.flags |= v.flags & VALUE_SECRET;
            if (!combine_with(r, item, &rules, &merged)) {
                return false;
            }
        }
    }
    *out = value_map(merged);
    return true;
}

/* Reads the key name from an argument; the key is secret if the argument is. */
static bool read_pair_name(Render *r, const Args *args, uint32_t index, Str fallback, Value *out)
{
    Str name;
    if (!arg_text(r, args, index, fallback, &name)) {
        return false;
    }
    *out = value_string(name);
    if (op_holds_secret(r, args->values[index])) {
        *out = value_with_secret(*out);
    }
    return true;
}

static bool read_pair_names(Render *r, const Args *args, Value *key, Value *value)
{
    return read_pair_name(r, args, 1, STR("key"), key) &&
           read_pair_name(r, args, 2, STR("value"), value);
}

static bool filter_dict2items(Render *r, const Args *args, Value *out)
{
    Value v = args->values[0];
    Value key_name, value_name;
    if (v.kind == VALUE_UNDEFINED) {
        return undefined_raise(r, v);
    }
    if (v.kind != VALUE_MAP) {
        return render_raise(r, FAULT_TYPE, "dict2items requires a dictionary, got %s instead",
                            op_type_name(v));
    }
    if (!read_pair_names(r, args, &key_name, &value_name) ||
        !charge_items(r, v.map->len, sizeof(Value) + sizeof(Map) + 2 * sizeof(MapEntry))) {
        return false;
    }
    List *items = list_new(r->arena, v.map->len);
    for (uint32_t i = 0; i < v.map->len; i++) {
        Map *pair = map_new(r->arena, 2);
        map_set(r->arena, pair, key_name, v.map->entries[i].key);
        map_set(r->arena, pair, value_name, v.map->entries[i].value);
        list_push(r->arena, items, value_map(pair));
    }
    *out = value_list(items);
    return true;
}

static bool pair_part(Render *r, Value item, Value name, Value *out)
{
    const Value *part = value_get(item, value_str(name));
    if (part == NULL) {
        return render_raise(r, FAULT_KEY, "items2dict requires '%" STR_FMT "' in every item",
                            STR_ARG(value_str(name)));
    }
    *out = *part;
    out->flags |= item.flags & VALUE_SECRET;
    return true;
}

static bool filter_items2dict(Render *r, const Args *args, Value *out)
{
    Value key_name, value_name;
    List *items;
    if (!read_pair_names(r, args, &key_name, &value_name) ||
        !iter_collect(r, args->values[0], &items)) {
        return false;
    }
    Map *map = map_new(r->arena, items->len);
    for (uint32_t i = 0; i < items->len; i++) {
        Value key, value;
        if (!pair_part(r, items->items[i], key_name, &key) ||
            !pair_part(r, items->items[i], value_name, &value) || !op_check_key(r, key)) {
            return false;
        }
        map_set(r->arena, map, key, value);
    }
    *out = value_map(map);
    return true;
}

/* Salt's filter: a path whose separator is not a dot. */
static bool filter_traverse(Render *r, const Args *args, Value *out)
{
    Str path, delimiter;
    if (!arg_text(r, args, 1, STR_EMPTY, &path) || !arg_text(r, args, 3, STR(":"), &delimiter)) {
        return false;
    }
    if (delimiter.len != 1) {
        return render_raise(r, FAULT_FILTER_ARGUMENT, "the delimiter must be a single character");
    }
    Value v = args->values[0];
    Str part;
    while (str_split_next(&path, delimiter.data[0], &part)) {
        int64_t index;
        bool number = value_is_sequence(v) && str_to_i64(part, &index);
        bool found = false;
        if (v.kind != VALUE_UNDEFINED &&
            !op_find_item(r, v, number ? value_int(index) : value_string(part), &v, &found)) {
            return false;
        }
        if (!found) {
            *out = arg_or(args, 2, value_string(STR_EMPTY));
            return true;
        }
    }
    *out = v;
    return true;
}

static bool filter_extract(Render *r, const Args *args, Value *out)
{
    Value v;
    if (!op_get_item(r, args->values[1], args->values[0], &v)) {
        return false;
    }
    if (arg_not_none(args, 2)) {
        Value more_keys = args->values[2];
        List *keys = list_new(r->arena, 1);
        if (value_is_sequence(more_keys)) {
            keys = more_keys.list;
        } else {
            list_push(r->arena, keys, more_keys);
        }
        for (uint32_t i = 0; i < keys->len; i++) {
            if (!op_get_item(r, v, keys->items[i], &v)) {
                return false;
            }
        }
    }
    *out = v;
    return true;
}

/* The list at `path` in `item`; sets `*found` to false if the item is skipped. */
static bool sub_list(Render *r, const AttributePath *path, Value item, bool skip, Value *out,
                     bool *found)
{
    if (!attribute_path_get(r, path, &item, value_null(), out)) {
        return false;
    }
    *found = out->kind != VALUE_UNDEFINED;
    if (*found && value_is_sequence(*out)) {
        return true;
    }
    if (!*found && skip) {
        return true;
    }
    return *found ? render_raise(r, FAULT_TYPE, "subelements requires a list at this path, not %s",
                                 op_type_name(*out))
                  : undefined_raise(r, *out);
}

static bool filter_subelements(Render *r, const Args *args, Value *out)
{
    Value v = args->values[0];
    bool skip;
    AttributePath path;
    if (!arg_truth(r, args, 2, false, &skip) || !attribute_path_make(r, args->values[1], &path)) {
        return false;
    }
    if (v.kind == VALUE_MAP) {
        v = view_new(r, v.map, VIEW_VALUES);
    }
    List *pairs = list_new(r->arena, 0);
    Iter iter;
    Value item, inner;
    if (!iter_start(r, v, &iter)) {
        return false;
    }
    while (iter_next(r, &iter, &item)) {
        bool found;
        if (!charge_iteration(r) || !sub_list(r, &path, item, skip, &inner, &found)) {
            return false;
        }
        if (!found) {
            continue;
        }
        if (!charge_items(r, inner.list->len, 3 * sizeof(Value) + sizeof(List))) {
            return false;
        }
        for (uint32_t i = 0; i < inner.list->len; i++) {
            List *pair = list_new(r->arena, 2);
            Value part = inner.list->items[i];
            part.flags |= inner.flags & VALUE_SECRET;
            list_push(r->arena, pair, item);
            list_push(r->arena, pair, part);
            if (!push_item(r, pairs, value_tuple(pair))) {
                return false;
            }
        }
    }
    *out = value_list(pairs);
    return !render_failed(r);
}

const Native filters_map[] = {
    { .name = "combine",
      .call = filter_combine,
      .params = { { "value" } },
      .flags = NATIVE_PASS_THROUGH | NATIVE_VARIADIC | NATIVE_KEYWORDS,
      .help =
          "Merges maps; later ones win. recursive=true also merges nested maps. list_merge "
          "controls how lists are merged: replace, keep, append, prepend, append_rp, prepend_rp.",
      .example = "{{ {'a': 1, 'n': {'x': 1}} | combine({'b': 2, 'n': {'y': 2}}, recursive=true) }}",
      .output = "{'a': 1, 'n': {'x': 1, 'y': 2}, 'b': 2}" },
    { .name = "dict2items",
      .call = filter_dict2items,
      .params = { { "value" }, { "key_name", "'key'" }, { "value_name", "'value'" } },
      .flags = NATIVE_PASS_THROUGH,
      .help = "Converts a map to a list of maps with key and value.",
      .example = "{{ {'web': 80} | dict2items }}",
      .output = "[{'key': 'web', 'value': 80}]" },
    { .name = "items2dict",
      .call = filter_items2dict,
      .params = { { "value" }, { "key_name", "'key'" }, { "value_name", "'value'" } },
      .flags = NATIVE_PASS_THROUGH,
      .help = "Converts a list of maps with key and value to a map.",
      .example = "{{ [{'key': 'web', 'value': 80}] | items2dict }}",
      .output = "{'web': 80}" },
    { .name = "traverse",
      .call = filter_traverse,
      .params = { { "value" }, { "key" }, { "default", "''" }, { "delimiter", "':'" } },
      .flags = NATIVE_PASS_THROUGH,
      .help = "Looks up a path of keys in nested maps and lists.",
      .example = "{{ {'a': {'b': [5, 6]}} | traverse('a:b:1') }} {{ {} | traverse('a:b', 0) }}",
      .output = "6 0" },
    { .name = "extract",
      .call = filter_extract,
      .params = { { "value" }, { "container" }, { "morekeys", "none" } },
      .flags = NATIVE_PASS_THROUGH,
      .help = "Returns the element with this key or index from a container; useful with map().",
      .example = "{{ [2, 0] | map('extract', ['x', 'y', 'z']) | list }}",
      .output = "['z', 'x']" },
    { .name = "subelements",
      .call = filter_subelements,
      .params = { { "value" }, { "subelements" }, { "skip_missing", "false" } },
      .flags = NATIVE_PASS_THROUGH,
      .help = "Pairs every item with each element of a list inside the item.",
      .example = "{% for user, key in [{'name': 'ann', 'keys': ['k1', 'k2']}] "
                 "| subelements('keys') %}{{ user.name }}:{{ key }} {% endfor %}",
      .output = "ann:k1 ann:k2 " },
    { 0 },
};
