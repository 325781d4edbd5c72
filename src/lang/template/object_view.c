/* dict.keys(), .values() and .items(): live views of the map. */
#include "lang/template/ops.h"

typedef struct View {
    Object base;
    Map *map;
} View;

static const ObjectType view_types[VIEW_ITEMS + 1];

Value view_new(Render *r, Map *map, ViewKind kind)
{
    View *view = arena_alloc(r->arena, sizeof *view);
    *view = (View){ { &view_types[kind] }, map };
    return value_object(&view->base);
}

static ViewKind view_kind(const Object *object)
{
    return (ViewKind)(object->type - view_types);
}

/* Allocates a pair at once: loops over items() create one for every entry. */
static Value pair_new(Render *r, Value first, Value second)
{
    typedef struct Pair {
        List list;
        Value items[2];
    } Pair;
    Pair *pair = arena_alloc(r->arena, sizeof *pair);
    pair->items[0] = first;
    pair->items[1] = second;
    pair->list = (List){ .items = pair->items, .len = 2, .cap = 2 };
    return value_tuple(&pair->list);
}

static Value view_entry(Render *r, ViewKind kind, const MapEntry *entry)
{
    switch (kind) {
    case VIEW_KEYS: return entry->key;
    case VIEW_VALUES: return entry->value;
    case VIEW_ITEMS: break;
    }
    return pair_new(r, entry->key, entry->value);
}

static bool view_next(Render *r, Iter *iter, Value *item)
{
    const View *view = (const View *)iter->owner.object;
    if (UNLIKELY(view->map->len != iter->stop)) {
        return render_raise(r, FAULT_PYTHON_RUNTIME, "dictionary changed size during iteration");
    }
    if (iter->position >= view->map->len || !render_charge(r, 1)) {
        return false;
    }
    MapEntry entry = view->map->entries[iter->position++];
    if (UNLIKELY(iter->secret)) {
        entry.key.flags |= VALUE_SECRET;
        entry.value.flags |= VALUE_SECRET;
    }
    *item = view_entry(r, view_kind(iter->owner.object), &entry);
    return true;
}

static bool view_iterate(Render *r, Object *object, Iter *iter)
{
    iter->next = view_next;
    iter->stop = ((const View *)object)->map->len;
    return true;
}

static bool view_length(Render *r, Object *object, int64_t *out)
{
    *out = ((const View *)object)->map->len;
    return true;
}

static bool keys_contains(Render *r, Object *object, Value needle, bool *out)
{
    if (!op_check_hashable(r, needle)) {
        return false;
    }
    *out = map_find(((const View *)object)->map, needle) != NULL;
    return true;
}

static bool items_contains(Render *r, Object *object, Value needle, bool *out)
{
    *out = false;
    if (needle.kind != VALUE_TUPLE || needle.list->len != 2) {
        return true;
    }
    if (!op_check_hashable(r, needle.list->items[0])) {
        return false;
    }
    const MapEntry *entry = map_find(((const View *)object)->map, needle.list->items[0]);
    return entry == NULL || op_equal(r, entry->value, needle.list->items[1], out);
}

/* Keys and items compare like sets. */
static bool view_equal(Render *r, Object *object, Value other, bool *out)
{
    *out = false;
    if (other.kind != VALUE_OBJECT || other.object->type != object->type) {
        return true;
    }
    const View *a = (const View *)object, *b = (const View *)other.object;
    if (a->map->len != b->map->len) {
        return true;
    }
    if (view_kind(object) == VIEW_ITEMS) {
        return op_equal(r, value_map(a->map), value_map(b->map), out);
    }
    *out = true;
    for (uint32_t i = 0; i < a->map->len && *out; i++) {
        if (!render_charge(r, 1) || !op_charge_key(r, a->map->entries[i].key)) {
            return false;
        }
        *out = map_find(b->map, a->map->entries[i].key) != NULL;
    }
    return true;
}

static bool view_print(Render *r, Object *object, Buf *out)
{
    const View *view = (const View *)object;
    ViewKind kind = view_kind(object);
    buf_put_c(out, object->type->name);
    buf_put(out, STR("(["));
    for (uint32_t i = 0; i < view->map->len && !out->overflow; i++) {
        const MapEntry *entry = &view->map->entries[i];
        buf_put(out, i > 0 ? STR(", ") : STR_EMPTY);
        buf_put(out, kind == VIEW_ITEMS ? STR("(") : STR_EMPTY);
        if (!render_charge(r, 1) || (kind != VIEW_VALUES && !op_repr(r, entry->key, out))) {
            return false;
        }
        buf_put(out, kind == VIEW_ITEMS ? STR(", ") : STR_EMPTY);
        if (kind != VIEW_KEYS && !op_repr(r, entry->value, out)) {
            return false;
        }
        buf_put(out, kind == VIEW_ITEMS ? STR(")") : STR_EMPTY);
    }
    buf_put(out, STR("])"));
    return true;
}

static bool view_holds_secret(Render *r, const Object *object)
{
    return op_holds_secret(r, value_map(((const View *)object)->map));
}

static const ObjectType view_types[VIEW_ITEMS + 1] = {
    [VIEW_KEYS] = { .name = "dict_keys",
                    .unhashable = true,
                    .iterate = view_iterate,
                    .length = view_length,
                    .holds_secret = view_holds_secret,
                    .contains = keys_contains,
                    .equal = view_equal,
                    .print = view_print },
    [VIEW_VALUES] = { .name = "dict_values",
                      .iterate = view_iterate,
                      .length = view_length,
                      .holds_secret = view_holds_secret,
                      .print = view_print },
    [VIEW_ITEMS] = { .name = "dict_items",
                     .unhashable = true,
                     .iterate = view_iterate,
                     .length = view_length,
                     .holds_secret = view_holds_secret,
                     .contains = items_contains,
                     .equal = view_equal,
                     .print = view_print },
};
