/* namespace(): the one object whose attributes a template may set. */
#include "lang/template/ops.h"

typedef struct Namespace {
    Object base;
    Map *attributes;
} Namespace;

static bool namespace_get_attr(Render *r, Object *object, Str name, Value *out, bool *found)
{
    const MapEntry *entry = map_find_str(((const Namespace *)object)->attributes, name);
    *found = entry != NULL;
    if (*found) {
        *out = entry->value;
    }
    return true;
}

static bool namespace_print(Render *r, Object *object, Buf *out)
{
    buf_put(out, STR("<Namespace "));
    if (!op_repr(r, value_map(((const Namespace *)object)->attributes), out)) {
        return false;
    }
    buf_put_char(out, '>');
    return true;
}

static bool namespace_holds_secret(Render *r, const Object *object)
{
    return op_holds_secret(r, value_map(((const Namespace *)object)->attributes));
}

static const ObjectType namespace_type = {
    .name = "Namespace",
    .module = "jinja2.utils",
    .get_attr = namespace_get_attr,
    .print = namespace_print,
    .holds_secret = namespace_holds_secret,
};

Value namespace_new(Render *r, Map *attributes)
{
    Namespace *namespace = arena_alloc(r->arena, sizeof *namespace);
    *namespace = (Namespace){ { &namespace_type }, attributes };
    return value_object(&namespace->base);
}

bool value_is_namespace(Value v)
{
    return v.kind == VALUE_OBJECT && v.object->type == &namespace_type;
}

Map *namespace_attributes(Value v)
{
    return ((Namespace *)v.object)->attributes;
}
