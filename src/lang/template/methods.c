#include "lang/template/methods.h"

const Native *methods_search(const Native *table, Str name)
{
    for (const Native *row = table; row->name != NULL; row++) {
        if (row->name[0] == (name.len > 0 ? name.data[0] : '\0') && str_eq_c(name, row->name)) {
            return row;
        }
    }
    return NULL;
}

const Native *method_find(ValueKind kind, Str name)
{
    switch (kind) {
    case VALUE_STRING: return methods_search(str_methods, name);
    case VALUE_LIST: return methods_search(list_methods, name);
    case VALUE_TUPLE: return methods_search(tuple_methods, name);
    case VALUE_MAP: return methods_search(map_methods, name);
    case VALUE_BOOL:
    case VALUE_INT: return methods_search(int_methods, name);
    case VALUE_FLOAT: return methods_search(float_methods, name);
    default: return NULL;
    }
}
