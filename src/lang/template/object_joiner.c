/* joiner(separator): nothing on the first call, the separator on every later one. */
#include "lang/template/ops.h"

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
