/* Methods of dict. */
#include "lang/template/methods.h"

static bool map_get_method(Render *r, const Args *args, Value *out)
{
    if (!op_check_hashable(r, args->values[1])) {
        return false;
    }
    const MapEntry *entry = map_find(args->values[0].map, args->values[1]);
    *out = entry != NULL                ? entry->value
           : method_arg_passed(args, 2) ? args->values[2]
                                        : value_null();
    return true;
}

static bool map_clear(Render *r, const Args *args, Value *out)
{
    Map *map = args->values[0].map;
    if (!method_may_change(r, args->values[0])) {
        return false;
    }
    *map = (Map){ 0 };
    *out = value_null();
    return true;
}

static bool map_copy(Render *r, const Args *args, Value *out)
{
    const Map *map = args->values[0].map;
    if (!render_charge(r, map->len / 4) ||
        !render_reserve(r, map->len * (sizeof(MapEntry) + 4 * sizeof(uint64_t)))) {
        return false;
    }
    Map *copy = map_new(r->arena, map->len);
    for (uint32_t i = 0; i < map->len; i++) {
        if (!op_charge_key(r, map->entries[i].key)) {
            return false;
        }
        map_append(r->arena, copy, map->entries[i].key, map->entries[i].value);
    }
    *out = value_map(copy);
    return true;
}

static bool map_fromkeys(Render *r, const Args *args, Value *out)
{
    Map *map = map_new(r->arena, 0);
    Value value = method_arg_passed(args, 2) ? args->values[2] : value_null();
    Iter iter;
    Value key;
    if (!iter_start(r, args->values[1], &iter)) {
        return false;
    }
    while (iter_next(r, &iter, &key)) {
        if (!op_check_key(r, key) || !map_reserve(r, map)) {
            return false;
        }
        map_set(r->arena, map, key, value);
    }
    *out = value_map(map);
    return !render_failed(r);
}

static bool map_items(Render *r, const Args *args, Value *out)
{
    *out = view_new(r, args->values[0].map, VIEW_ITEMS);
    return true;
}

static bool map_keys(Render *r, const Args *args, Value *out)
{
    *out = view_new(r, args->values[0].map, VIEW_KEYS);
    return true;
}

static bool map_values(Render *r, const Args *args, Value *out)
{
    *out = view_new(r, args->values[0].map, VIEW_VALUES);
    return true;
}

/* Removing an entry moves the later ones. */
static bool remove_key(Render *r, Map *map, Value key)
{
    if (!render_charge(r, map->len / 4)) {
        return false;
    }
    map_remove(map, key);
    return true;
}

static bool map_pop(Render *r, const Args *args, Value *out)
{
    Map *map = args->values[0].map;
    Value key = args->values[1];
    if (!method_may_change(r, args->values[0]) || !op_check_hashable(r, key)) {
        return false;
    }
    const MapEntry *entry = map_find(map, key);
    if (entry == NULL) {
        *out = args->values[2];
        return method_arg_passed(args, 2) || raise_with_repr(r, FAULT_KEY, key, "");
    }
    *out = entry->value;
    return remove_key(r, map, key);
}

static bool map_popitem(Render *r, const Args *args, Value *out)
{
    Map *map = args->values[0].map;
    if (!method_may_change(r, args->values[0])) {
        return false;
    }
    if (map->len == 0) {
        return render_raise(r, FAULT_KEY, "'popitem(): dictionary is empty'");
    }
    MapEntry last = map->entries[map->len - 1];
    List *pair = list_new(r->arena, 2);
    list_push(r->arena, pair, last.key);
    list_push(r->arena, pair, last.value);
    *out = value_tuple(pair);
    return remove_key(r, map, last.key);
}

static bool map_setdefault(Render *r, const Args *args, Value *out)
{
    Map *map = args->values[0].map;
    if (!method_may_change(r, args->values[0]) || !op_check_key(r, args->values[1])) {
        return false;
    }
    const MapEntry *entry = map_find(map, args->values[1]);
    if (entry == NULL) {
        if (!map_reserve(r, map)) {
            return false;
        }
        Value value = method_arg_passed(args, 2) ? args->values[2] : value_null();
        entry = map_append(r->arena, map, args->values[1], value);
    }
    *out = entry->value;
    return true;
}

static bool update_from_map(Render *r, Map *map, Value other)
{
    const Map *from = other.map;
    for (uint32_t i = 0; i < from->len; i++) {
        MapEntry entry = from->entries[i];
        if (!render_charge(r, 1) || !op_charge_key(r, entry.key) || !map_reserve(r, map)) {
            return false;
        }
        if (value_is_secret(other)) {
            entry.key.flags |= VALUE_SECRET;
            entry.value.flags |= VALUE_SECRET;
        }
        map_set(r->arena, map, entry.key, entry.value);
    }
    return true;
}

static bool update_from_pair(Render *r, Map *map, Value item, uint64_t number)
{
    List *pair;
    if (item.kind <= VALUE_FLOAT ||
        (item.kind == VALUE_OBJECT && item.object->type->iterate == NULL)) {
        return render_raise(r, FAULT_TYPE,
                            "cannot convert dictionary update sequence element #%llu to a sequence",
                            (unsigned long long)number);
    }
    if (!iter_collect(r, item, &pair)) {
        return false;
    }
    if (pair->len != 2) {
        return render_raise(r, FAULT_VALUE,
                            "dictionary update sequence element #%llu has length %u; 2 is required",
                            (unsigned long long)number, pair->len);
    }
    if (!op_check_key(r, pair->items[0]) || !map_reserve(r, map)) {
        return false;
    }
    map_set(r->arena, map, pair->items[0], pair->items[1]);
    return true;
}

/* An object that counts as a mapping: iterating yields its keys, its values are looked up. */
static bool update_from_object(Render *r, Map *map, Value other)
{
    Iter iter;
    Value key, value;
    if (!iter_start(r, other, &iter)) {
        return false;
    }
    while (iter_next(r, &iter, &key)) {
        if (!op_get_item(r, other, key, &value) || !op_check_key(r, key) || !map_reserve(r, map)) {
            return false;
        }
        map_set(r->arena, map, key, value);
    }
    return !render_failed(r);
}

bool map_update(Render *r, Map *map, Value other)
{
    if (other.kind == VALUE_MAP) {
        return other.map == map || update_from_map(r, map, other);
    }
    if (other.kind == VALUE_OBJECT && other.object->type->mapping) {
        return update_from_object(r, map, other);
    }
    if (other.kind == VALUE_UNDEFINED) {
        return undefined_raise(r, other); /* Python queries its keys first */
    }
    Iter iter;
    Value item;
    if (!iter_start(r, other, &iter)) {
        return false;
    }
    for (uint64_t number = 0; iter_next(r, &iter, &item); number++) {
        if (!update_from_pair(r, map, item, number)) {
            return false;
        }
    }
    return !render_failed(r);
}

static bool map_update_method(Render *r, const Args *args, Value *out)
{
    Map *map = args->values[0].map;
    if (!method_may_change(r, args->values[0]) ||
        (method_arg_passed(args, 1) && !map_update(r, map, args->values[1])) ||
        (args->named != NULL && !map_update(r, map, value_map(args->named)))) {
        return false;
    }
    *out = value_null();
    return true;
}

/* clang-format off */
const Native map_methods[] = {
    { "get", map_get_method, { { "self" }, { "key" }, { "default", "none" } }, NATIVE_PASS_THROUGH,
      "Returns the value of the key, or the default.",
      "{{ {'a': 1}.get('b', 2) }}", "2" },
    { "items", map_items, { { "self" } }, NATIVE_PASS_THROUGH,
      "Returns the key-value pairs.",
      "{% for k, v in {'a': 1, 'b': 2}.items() %}{{ k }}={{ v }} {% endfor %}", "a=1 b=2 " },
    { "keys", map_keys, { { "self" } }, NATIVE_PASS_THROUGH,
      "Returns the keys.",
      "{{ {'a': 1, 'b': 2}.keys()|join(' ') }}", "a b" },
    { "values", map_values, { { "self" } }, NATIVE_PASS_THROUGH,
      "Returns the values.",
      "{{ {'a': 1, 'b': 2}.values()|sum }}", "3" },
    { "clear", map_clear, { { "self" } }, NATIVE_PLAIN,
      "Removes all entries.",
      "{% set d = {'a': 1} %}{% do d.clear() %}{{ d }}", "{}" },
    { "copy", map_copy, { { "self" } }, NATIVE_PASS_THROUGH,
      "Returns a copy of the dict.",
      "{{ {'a': 1}.copy() }}", "{'a': 1}" },
    { "fromkeys", map_fromkeys, { { "self" }, { "iterable" }, { "value", "none" } }, 0,
      "Returns a new dict with the items as keys, all with the same value.",
      "{{ dict.fromkeys('ab', 0) }}", "{'a': 0, 'b': 0}" },
    { "pop", map_pop, { { "self" }, { "key" }, { "default", "none" } }, NATIVE_PASS_THROUGH,
      "Removes the key and returns its value, or the default; raises KeyError if there is neither.",
      "{% set d = {'a': 1, 'b': 2} %}{{ d.pop('a') }} {{ d }}", "1 {'b': 2}" },
    { "popitem", map_popitem, { { "self" } }, NATIVE_PASS_THROUGH,
      "Removes the last entry and returns it as a pair.",
      "{% set d = {'a': 1, 'b': 2} %}{{ d.popitem() }} {{ d }}", "('b', 2) {'a': 1}" },
    { "setdefault", map_setdefault, { { "self" }, { "key" }, { "default", "none" } },
      NATIVE_PASS_THROUGH,
      "Returns the value of the key, after setting it to the default if there is none.",
      "{% set d = {} %}{{ d.setdefault('a', 1) }} {{ d }}", "1 {'a': 1}" },
    { "update", map_update_method, { { "self" }, { "other", "{}" } },
      NATIVE_PLAIN | NATIVE_KEYWORDS,
      "Adds the entries of another dict or of an iterable of pairs, and keyword arguments.",
      "{% set d = {'a': 1} %}{% do d.update({'b': 2}, c=3) %}{{ d }}",
      "{'a': 1, 'b': 2, 'c': 3}" },
    { 0 },
};
/* clang-format on */
