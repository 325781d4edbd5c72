#include "lang/template/plain.h"

#include "lang/template/ops.h"

/* Whether the conversion left the value unchanged. */
static bool is_same(Value a, Value b)
{
    return a.kind == b.kind && (a.kind < VALUE_LIST || a.list == b.list);
}

/* A list that starts with the first `count` items of another. */
static bool copy_start(Render *r, const List *from, uint32_t count, List **out)
{
    if (!render_reserve(r, (size_t)from->len * sizeof(Value))) {
        return false;
    }
    *out = list_new(r->arena, from->len);
    for (uint32_t i = 0; i < count; i++) {
        list_push(r->arena, *out, from->items[i]);
    }
    return true;
}

static bool plain_items(Render *r, Value v, Value *out)
{
    List *changed = NULL;
    for (uint32_t i = 0; i < v.list->len; i++) {
        Value item;
        if (!value_plain(r, v.list->items[i], &item)) {
            return false;
        }
        if (changed == NULL && !is_same(item, v.list->items[i]) &&
            !copy_start(r, v.list, i, &changed)) {
            return false;
        }
        if (changed != NULL) {
            list_push(r->arena, changed, item);
        }
    }
    *out = v;
    out->list = changed == NULL ? v.list : changed;
    return true;
}

static bool plain_entries(Render *r, Value v, Value *out)
{
    Map *changed = NULL;
    for (uint32_t i = 0; i < v.map->len; i++) {
        const MapEntry *entry = &v.map->entries[i];
        Value value;
        if (!value_plain(r, entry->value, &value)) {
            return false;
        }
        if (changed == NULL && !is_same(value, entry->value)) {
            if (!render_reserve(r, (size_t)v.map->len * 2 * sizeof(MapEntry))) {
                return false;
            }
            changed = map_new(r->arena, v.map->len);
            for (uint32_t k = 0; k < i; k++) {
                map_append(r->arena, changed, v.map->entries[k].key, v.map->entries[k].value);
            }
        }
        if (changed != NULL) {
            map_append(r->arena, changed, entry->key, value);
        }
    }
    *out = v;
    out->map = changed == NULL ? v.map : changed;
    return true;
}

static bool plain_object(Render *r, Value v, Value *out)
{
    if (v.object->type->iterate == NULL) {
        return render_raise(r, FAULT_TYPE,
                            "a value of type '%s' cannot be represented in JSON or YAML",
                            op_type_name(v));
    }
    List *items;
    if (!iter_collect(r, v, &items)) {
        return false;
    }
    Value list = value_list(items);
    list.flags |= v.flags & VALUE_SECRET;
    return plain_items(r, list, out);
}

static bool plain_container(Render *r, Value v, Value *out)
{
    Nest nest;
    if (!render_enter(r, &nest, v.list)) {
        return false;
    }
    bool ok = v.kind == VALUE_MAP      ? plain_entries(r, v, out)
              : v.kind == VALUE_OBJECT ? plain_object(r, v, out)
                                       : plain_items(r, v, out);
    render_leave(r, &nest);
    return ok;
}

bool value_plain(Render *r, Value v, Value *out)
{
    if (!render_charge(r, 1) || !op_force(r, v, &v)) {
        return false;
    }
    switch (v.kind) {
    case VALUE_LIST:
    case VALUE_TUPLE:
    case VALUE_MAP:
    case VALUE_OBJECT: return plain_container(r, v, out);
    case VALUE_UNDEFINED:
        *out = value_null();
        return undefined_mode(r, v) != UNDEFINED_STRICT || undefined_raise(r, v);
    default: *out = v; return true;
    }
}
