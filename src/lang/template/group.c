#include "lang/template/group.h"

#include "lang/template/ops.h"

typedef struct Group {
    Object base;
    List pair;
} Group;

static Value pair_of(const Object *object)
{
    return value_tuple(&((Group *)object)->pair);
}

static bool group_get_attr(Render *r, Object *object, Str name, Value *out, bool *found)
{
    const Group *group = (const Group *)object;
    if (str_eq(name, STR("grouper"))) {
        *out = group->pair.items[0];
    } else if (str_eq(name, STR("list"))) {
        *out = group->pair.items[1];
    } else {
        const Native *method = method_find(VALUE_TUPLE, name);
        *found = method != NULL;
        if (*found) {
            *out = bound_method_new(r, pair_of(object), method);
        }
        return true;
    }
    *found = true;
    return true;
}

static bool group_get_item(Render *r, Object *object, Value key, Value *out, bool *found)
{
    *found = false;
    if (key.kind != VALUE_INT && key.kind != VALUE_BOOL) {
        return true;
    }
    int64_t index = key.kind == VALUE_INT ? key.integer : key.boolean;
    if (index < 0) {
        index += 2;
    }
    *found = index == 0 || index == 1;
    if (*found) {
        *out = ((Group *)object)->pair.items[index];
    }
    return true;
}

static bool group_iterate(Render *r, Object *object, Iter *iter)
{
    return iter_start(r, pair_of(object), iter);
}

static bool group_length(Render *r, Object *object, int64_t *out)
{
    *out = 2;
    return true;
}

static bool group_contains(Render *r, Object *object, Value needle, bool *out)
{
    return op_contains(r, needle, pair_of(object), out);
}

static bool group_slice(Render *r, Object *object, Value start, Value stop, Value step, Value *out)
{
    return op_slice(r, pair_of(object), start, stop, step, out);
}

static bool group_equal(Render *r, Object *object, Value other, bool *out)
{
    if (value_is_group(other)) {
        other = group_tuple(other);
    }
    return op_equal(r, pair_of(object), other, out);
}

static bool group_print(Render *r, Object *object, Buf *out)
{
    return op_repr(r, pair_of(object), out);
}

static bool group_holds_secret(Render *r, const Object *object)
{
    return op_holds_secret(r, pair_of(object));
}

static const ObjectType group_type = {
    .name = "_GroupTuple",
    .module = "jinja2.filters",
    .get_attr = group_get_attr,
    .get_item = group_get_item,
    .iterate = group_iterate,
    .length = group_length,
    .contains = group_contains,
    .slice = group_slice,
    .equal = group_equal,
    .print = group_print,
    .holds_secret = group_holds_secret,
    .sequence = true,
};

Value group_new(Render *r, Value grouper, List *members)
{
    Group *group = ARENA_NEW(r->arena, Group);
    group->base.type = &group_type;
    group->pair = (List){ .items = ARENA_ARRAY(r->arena, Value, 2), .len = 2, .cap = 2 };
    group->pair.items[0] = grouper;
    group->pair.items[1] = value_list(members);
    return value_object(&group->base);
}

bool value_is_group(Value v)
{
    return v.kind == VALUE_OBJECT && v.object->type == &group_type;
}

Value group_tuple(Value v)
{
    return pair_of(v.object);
}
