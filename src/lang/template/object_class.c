/* value.__class__: Python's class of a value; only its name is available to templates. */
#include "lang/template/ops.h"

typedef struct Class {
    Object base;
    const char *module; /* NULL for Python's builtin types */
    Str name;
} Class;

static const ObjectType class_type;

static Value class_make(Render *r, const char *module, Str name)
{
    Class *class = arena_alloc(r->arena, sizeof *class);
    *class = (Class){ { &class_type }, module, name };
    return value_object(&class->base);
}

Value class_new(Render *r, Value v)
{
    const char *name = op_type_name(v);
    switch ((ValueKind)v.kind) {
    case VALUE_OBJECT: return class_make(r, v.object->type->module, str_from_c(name));
    case VALUE_STRING:
        return class_make(r, value_is_markup(v) ? "markupsafe" : NULL, str_from_c(name));
    case VALUE_UNDEFINED:
        return class_make(r, "jinja2.runtime",
                          arena_format(r->arena, "%s%s", undefined_prefix(r, v), name));
    default: return class_make(r, NULL, str_from_c(name));
    }
}

static bool class_get_attr(Render *r, Object *object, Str name, Value *out, bool *found)
{
    const Class *class = (const Class *)object;
    *found = true;
    if (str_eq(name, STR("__name__")) || str_eq(name, STR("__qualname__"))) {
        *out = value_string(class->name);
    } else if (str_eq(name, STR("__module__"))) {
        *out = value_string(class->module == NULL ? STR("builtins") : str_from_c(class->module));
    } else {
        *found = false;
    }
    return true;
}

static bool class_equal(Render *r, Object *object, Value other, bool *out)
{
    *out = false;
    if (other.kind == VALUE_OBJECT && other.object->type == &class_type) {
        const Class *a = (const Class *)object, *b = (const Class *)other.object;
        *out = str_eq(a->name, b->name) && str_eq(str_from_c(a->module), str_from_c(b->module));
    }
    return true;
}

static bool class_print(Render *r, Object *object, Buf *out)
{
    const Class *class = (const Class *)object;
    buf_put(out, STR("<class '"));
    if (class->module != NULL) {
        buf_put_format(out, "%s.", class->module);
    }
    buf_put(out, class->name);
    buf_put(out, STR("'>"));
    return true;
}

static const ObjectType class_type = {
    .name = "type",
    .get_attr = class_get_attr,
    .equal = class_equal,
    .print = class_print,
};
