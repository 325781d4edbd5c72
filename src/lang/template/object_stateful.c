/* Objects that templates create and that change at run time: cycler(), joiner(), namespace(). */
#include "lang/template/methods.h"
#include "lang/template/ops.h"

/* --- cycler(...): cycles through its items ---------------------------------------------------- */

typedef struct Cycler {
    Object base;
    List *items;
    uint32_t position;
} Cycler;

static bool cycler_next(Render *r, const Args *args, Value *out)
{
    Cycler *cycler = (Cycler *)args->values[0].object;
    *out = cycler->items->items[cycler->position];
    cycler->position = (cycler->position + 1) % cycler->items->len;
    return true;
}

static bool cycler_reset(Render *r, const Args *args, Value *out)
{
    ((Cycler *)args->values[0].object)->position = 0;
    *out = value_null();
    return true;
}

static const Native cycler_methods[] = {
    { "next",
      cycler_next,
      { { "self" } },
      NATIVE_PASS_THROUGH,
      "Returns the current item and advances to the next one.",
      "{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.next() }}",
      "aba" },
    { "reset",
      cycler_reset,
      { { "self" } },
      NATIVE_PLAIN,
      "Starts again with the first item.",
      "{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.reset() }}{{ c.next() }}",
      "aNonea" },
    { 0 },
};

static bool cycler_get_attr(Render *r, Object *object, Str name, Value *out, bool *found)
{
    const Cycler *cycler = (const Cycler *)object;
    *found = true;
    if (str_eq(name, STR("current"))) {
        *out = cycler->items->items[cycler->position];
    } else if (str_eq(name, STR("items"))) {
        *out = value_tuple(cycler->items);
    } else if (str_eq(name, STR("pos"))) {
        *out = value_int(cycler->position);
    } else {
        const Native *method = methods_search(cycler_methods, name);
        *found = method != NULL;
        if (*found) {
            *out = bound_method_new(r, value_object(object), method);
        }
    }
    return true;
}

static bool cycler_holds_secret(Render *r, const Object *object)
{
    return op_holds_secret(r, value_list(((const Cycler *)object)->items));
}

static const ObjectType cycler_type = {
    .name = "Cycler",
    .module = "jinja2.utils",
    .get_attr = cycler_get_attr,
    .holds_secret = cycler_holds_secret,
};

Value cycler_new(Render *r, List *items)
{
    Cycler *cycler = arena_alloc(r->arena, sizeof *cycler);
    *cycler = (Cycler){ { &cycler_type }, items, 0 };
    return value_object(&cycler->base);
}

/* --- joiner(separator): empty on the first call, the separator on later ones ------------------ */

typedef struct Joiner {
    Object base;
    Value separator;
    bool used;
} Joiner;

static bool joiner_call(Render *r, Object *object, const Args *args, Value *out)
{
    Joiner *joiner = (Joiner *)object;
    if (args->count > 0 || (args->named != NULL && args->named->len > 0)) {
        return render_raise(r, FAULT_TYPE, "a joiner takes no arguments");
    }
    *out = joiner->used ? joiner->separator : value_string(STR_EMPTY);
    joiner->used = true;
    return true;
}

static bool joiner_get_attr(Render *r, Object *object, Str name, Value *out, bool *found)
{
    const Joiner *joiner = (const Joiner *)object;
    *found = true;
    if (str_eq(name, STR("sep"))) {
        *out = joiner->separator;
    } else if (str_eq(name, STR("used"))) {
        *out = value_bool(joiner->used);
    } else {
        *found = false;
    }
    return true;
}

static bool joiner_holds_secret(Render *r, const Object *object)
{
    return op_holds_secret(r, ((const Joiner *)object)->separator);
}

static const ObjectType joiner_type = {
    .name = "Joiner",
    .module = "jinja2.utils",
    .get_attr = joiner_get_attr,
    .call = joiner_call,
    .holds_secret = joiner_holds_secret,
};

Value joiner_new(Render *r, Value separator)
{
    Joiner *joiner = arena_alloc(r->arena, sizeof *joiner);
    *joiner = (Joiner){ { &joiner_type }, separator, false };
    return value_object(&joiner->base);
}

/* --- namespace(): the only object whose attributes a template may set ------------------------- */

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
