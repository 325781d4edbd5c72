/* Callables written in C: methods bound to their owner, and global functions. */
#include "lang/template/methods.h"
#include "lang/template/ops.h"

typedef struct BoundMethod {
    Object base;
    Value owner;
    const Native *native;
} BoundMethod;

typedef struct Function {
    Object base;
    const Native *native;
} Function;

static bool bound_method_call(Render *r, Object *object, const Args *args, Value *out)
{
    const BoundMethod *method = (const BoundMethod *)object;
    Args all = { ARENA_ARRAY(r->arena, Value, (size_t)args->count + 1), args->count + 1,
                 args->named };
    all.values[0] = method->owner;
    if (args->count > 0) {
        memcpy(all.values + 1, args->values, args->count * sizeof(Value));
    }
    return native_call(r, method->native, "method", &all, out);
}

static bool bound_method_print(Render *r, Object *object, Buf *out)
{
    const BoundMethod *method = (const BoundMethod *)object;
    buf_put_format(out, "<built-in method %s of %s object at " OBJECT_ADDRESS ">",
                   method->native->name, op_type_name(method->owner));
    return true;
}

static bool bound_method_holds_secret(Render *r, const Object *object)
{
    return op_holds_secret(r, ((const BoundMethod *)object)->owner);
}

static const ObjectType bound_method_type = {
    .name = "builtin_function_or_method",
    .call = bound_method_call,
    .print = bound_method_print,
    .holds_secret = bound_method_holds_secret,
};

Value bound_method_new(Render *r, Value owner, const Native *native)
{
    BoundMethod *method = arena_alloc(r->arena, sizeof *method);
    *method = (BoundMethod){ { &bound_method_type }, owner, native };
    return value_object(&method->base);
}

static bool function_call(Render *r, Object *object, const Args *args, Value *out)
{
    return native_call(r, ((const Function *)object)->native, "function", args, out);
}

static bool function_print(Render *r, Object *object, Buf *out)
{
    buf_put_format(out, "<function %s at " OBJECT_ADDRESS ">",
                   ((const Function *)object)->native->name);
    return true;
}

static const ObjectType function_type = {
    .name = "function",
    .call = function_call,
    .print = function_print,
};

/* Globals that are classes in Python, which is visible when they are printed. */
static const struct ClassName {
    const char *name;
    const char *printed_name;
} class_names[] = {
    { "range", "range" },
    { "dict", "dict" },
    { "cycler", "jinja2.utils.Cycler" },
    { "joiner", "jinja2.utils.Joiner" },
    { "namespace", "jinja2.utils.Namespace" },
};

static const struct ClassName *class_find(const Native *native)
{
    for (size_t i = 0; i < COUNT_OF(class_names); i++) {
        if (strcmp(class_names[i].name, native->name) == 0) {
            return &class_names[i];
        }
    }
    return NULL;
}

static bool class_print(Render *r, Object *object, Buf *out)
{
    buf_put_format(out, "<class '%s'>",
                   class_find(((const Function *)object)->native)->printed_name);
    return true;
}

/* dict.fromkeys() is usually called on the class. */
static bool class_get_attr(Render *r, Object *object, Str name, Value *out, bool *found)
{
    *found = strcmp(((const Function *)object)->native->name, "dict") == 0 &&
             str_eq(name, STR("fromkeys"));
    if (*found) {
        *out = bound_method_new(r, value_object(object), methods_search(map_methods, name));
    }
    return true;
}

static const ObjectType class_type = {
    .name = "type",
    .get_attr = class_get_attr,
    .call = function_call,
    .print = class_print,
};

Value function_new(Render *r, const Native *native)
{
    Function *function = arena_alloc(r->arena, sizeof *function);
    const ObjectType *type = class_find(native) != NULL ? &class_type : &function_type;
    *function = (Function){ { type }, native };
    return value_object(&function->base);
}

bool value_is_callable(Value v)
{
    return v.kind == VALUE_OBJECT && v.object->type->call != NULL;
}
