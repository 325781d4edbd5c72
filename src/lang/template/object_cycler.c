/* cycler(...): gives its items in turn, round and round. */
#include "lang/template/methods.h"
#include "lang/template/ops.h"

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
      NATIVE_PASSES,
      "The current item; goes on to the next one.",
      "{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.next() }}",
      "aba" },
    { "reset",
      cycler_reset,
      { { "self" } },
      NATIVE_PLAIN,
      "Back to the first item.",
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
