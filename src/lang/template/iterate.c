/* Iterates over anything that is iterable in Python. */
#include "base/utf8.h"
#include "lang/template/ops.h"

/* Items of a secret container are secret. Always returns true. */
static bool mark_item(Iter *iter, Value *item)
{
    if (UNLIKELY(iter->secret)) {
        item->flags |= VALUE_SECRET;
    }
    return true;
}

static bool empty_next(Render *r, Iter *iter, Value *item)
{
    return false;
}

static bool map_next(Render *r, Iter *iter, Value *item)
{
    const Map *map = iter->owner.map;
    if (UNLIKELY(map->len != iter->stop)) {
        return render_raise(r, FAULT_PYTHON_RUNTIME, "dictionary changed size during iteration");
    }
    if (iter->position >= map->len || !render_charge(r, 1)) {
        return false;
    }
    *item = map->entries[iter->position++].key;
    return mark_item(iter, item);
}

static bool string_next(Render *r, Iter *iter, Value *item)
{
    Str text = value_str(iter->owner);
    size_t pos = iter->position;
    if (pos >= text.len || !render_charge(r, 1)) {
        return false;
    }
    utf8_next(text, &pos);
    *item = value_string(str_slice(text, iter->position, pos));
    iter->position = pos;
    return mark_item(iter, item);
}

bool iter_start(Render *r, Value v, Iter *iter)
{
    *iter = (Iter){ .owner = v, .secret = value_is_secret(v) };
    switch ((ValueKind)v.kind) {
    case VALUE_LIST:
    case VALUE_TUPLE: iter->list = v.list; return true;
    case VALUE_MAP:
        iter->next = map_next;
        iter->stop = v.map->len;
        return true;
    case VALUE_STRING: iter->next = string_next; return true;
    case VALUE_OBJECT:
        if (v.object->type->iterate != NULL) {
            return v.object->type->iterate(r, v.object, iter);
        }
        if (op_is_lazy(v)) {
            return op_force(r, v, &v) && iter_start(r, v, iter);
        }
        break;
    case VALUE_UNDEFINED:
        iter->next = empty_next;
        return undefined_mode(r, v) == UNDEFINED_STRICT ? undefined_raise(r, v) : true;
    default: break;
    }
    return render_raise(r, FAULT_TYPE, "'%s' object is not iterable", op_type_name(v));
}

static List *list_copy(Render *r, Value v)
{
    const List *list = v.list;
    if (!render_charge(r, list->len / 16) || !render_reserve(r, list->len * sizeof(Value))) {
        return NULL;
    }
    List *copy = list_new(r->arena, list->len);
    if (list->len > 0) {
        memcpy(copy->items, list->items, list->len * sizeof(Value));
    }
    copy->len = list->len;
    for (uint32_t i = 0; value_is_secret(v) && i < copy->len; i++) {
        copy->items[i].flags |= VALUE_SECRET;
    }
    return copy;
}

bool iter_collect(Render *r, Value v, List **out)
{
    if (value_is_sequence(v)) {
        *out = list_copy(r, v);
        return *out != NULL;
    }
    Iter iter;
    Value item;
    if (!iter_start(r, v, &iter)) {
        return false;
    }
    List *list = list_new(r->arena, v.kind == VALUE_MAP ? v.map->len : 0);
    while (iter_next(r, &iter, &item)) {
        if (list->len == list->cap &&
            !render_reserve(r, 2 * ((size_t)list->cap + 1) * sizeof(Value))) {
            return false;
        }
        list_push(r->arena, list, item);
    }
    if (render_failed(r)) {
        return false;
    }
    *out = list;
    return true;
}

/* --- Generators ------------------------------------------------------------------------------- */

/* A generator over existing items: it can be consumed only once. */
typedef struct Generator {
    Object base;
    List *items;
    uint32_t position;
    const char *name;
} Generator;

static bool generator_next(Render *r, Iter *iter, Value *item)
{
    Generator *generator = (Generator *)iter->owner.object;
    if (generator->position >= generator->items->len || !render_charge(r, 1)) {
        return false;
    }
    *item = generator->items->items[generator->position++];
    return mark_item(iter, item);
}

static bool generator_iterate(Render *r, Object *object, Iter *iter)
{
    iter->next = generator_next;
    return true;
}

static bool generator_print(Render *r, Object *object, Buf *out)
{
    buf_put_format(out, "<generator object %s at " OBJECT_ADDRESS ">",
                   ((const Generator *)object)->name);
    return true;
}

static bool generator_holds_secret(Render *r, const Object *object)
{
    return op_holds_secret(r, value_list(((const Generator *)object)->items));
}

static const ObjectType generator_type = {
    .name = "generator",
    .iterate = generator_iterate,
    .print = generator_print,
    .holds_secret = generator_holds_secret,
};

Value generator_new(Render *r, List *items, const char *name)
{
    Generator *generator = arena_alloc(r->arena, sizeof *generator);
    *generator = (Generator){ { &generator_type }, items, 0, name };
    return value_object(&generator->base);
}
