#include "lang/template/methods.h"

const MethodTable method_tables[] = {
    { "str", str_case_methods },  { "str", str_class_methods },  { "str", str_search_methods },
    { "str", str_split_methods }, { "str", str_layout_methods }, { "Markup", markup_methods },
    { "list", list_methods },     { "tuple", tuple_methods },    { "dict", map_methods },
    { "int", int_methods },       { "float", float_methods },    { 0 },
};

const Native *methods_search(const Native *table, Str name)
{
    for (const Native *row = table; row->name != NULL; row++) {
        if (name.len > 0 && row->name[0] == name.data[0] && str_eq_c(name, row->name)) {
            return row;
        }
    }
    return NULL;
}

/* In most cases the prefix of a name determines which table of str has the method. */
static const Native *str_method_find(Str name)
{
    static const Native *const tables[] = { str_case_methods, str_search_methods, str_split_methods,
                                            str_layout_methods, str_class_methods };
    if (str_starts(name, STR("is"))) {
        return methods_search(str_class_methods, name);
    }
    for (size_t i = 0; i < COUNT_OF(tables); i++) {
        const Native *found = methods_search(tables[i], name);
        if (found != NULL) {
            return found;
        }
    }
    return NULL;
}

const Native *method_find(ValueKind kind, Str name)
{
    switch (kind) {
    case VALUE_STRING: return str_method_find(name);
    case VALUE_LIST: return methods_search(list_methods, name);
    case VALUE_TUPLE: return methods_search(tuple_methods, name);
    case VALUE_MAP: return methods_search(map_methods, name);
    case VALUE_BOOL:
    case VALUE_INT: return methods_search(int_methods, name);
    case VALUE_FLOAT: return methods_search(float_methods, name);
    default: return NULL;
    }
}

bool op_index(Render *r, Value v, int64_t *out)
{
    if (op_is_int(v)) {
        *out = op_int(v);
        return true;
    }
    return v.kind == VALUE_UNDEFINED
               ? undefined_raise(r, v)
               : render_raise(r, FAULT_TYPE, "'%s' object cannot be interpreted as an integer",
                              op_type_name(v));
}

bool method_arg_int(Render *r, const Args *args, uint32_t index, int64_t fallback, int64_t *out)
{
    *out = fallback;
    return !method_arg_passed(args, index) || op_index(r, args->values[index], out);
}

bool method_arg_like(Render *r, const Args *args, uint32_t index, Value *out)
{
    *out = args->values[index];
    return !value_is_markup(args->values[0]) || !value_is_string(*out) || op_escape(r, *out, out);
}

bool method_may_change(Render *r, Value owner)
{
    if (owner.kind == VALUE_MAP ? owner.map->frozen : owner.list->frozen) {
        return owner.kind == VALUE_MAP
                   ? render_raise(r, FAULT_TYPE,
                                  "this dict belongs to the context, which is shared; copy it with "
                                  "dict(x) and change the copy")
                   : render_raise(r, FAULT_TYPE,
                                  "this list belongs to the context, which is shared; copy it with "
                                  "x|list and change the copy");
    }
    r->escapes++;
    return true;
}

bool list_reserve(Render *r, const List *list)
{
    return list->len < list->cap || render_reserve(r, ((size_t)list->cap + 4) * 2 * sizeof(Value));
}

bool map_reserve(Render *r, const Map *map)
{
    return map->len < map->cap || render_reserve(r, ((size_t)map->cap + 4) * 2 *
                                                        (sizeof(MapEntry) + 2 * sizeof(uint64_t)));
}

bool raise_with_repr(Render *r, FaultClass class, Value v, const char *suffix)
{
    if (op_holds_secret(r, v)) {
        return render_raise(r, class, "(secret)%s", suffix);
    }
    Buf shown = render_buf(r);
    if (!op_repr(r, v, &shown)) {
        return false;
    }
    return render_raise(r, class, "%" STR_FMT "%s", STR_ARG(buf_str(&shown)), suffix);
}
