/* The methods of Python's types: tables of rows as in native.h whose first parameter is the owner.
 * A row without a name ends a table. */
#pragma once

#include "lang/template/ops.h"

extern const Native str_case_methods[];
extern const Native str_class_methods[];
extern const Native str_search_methods[];
extern const Native str_split_methods[];
extern const Native str_layout_methods[];
extern const Native markup_methods[]; /* methods of markup in addition to those of str */
extern const Native list_methods[];
extern const Native tuple_methods[];
extern const Native map_methods[];
extern const Native int_methods[];
extern const Native float_methods[];

/* All tables, for help and tests; ends with NULL. */
typedef struct MethodTable {
    const char *type; /* name of the type in Python */
    const Native *rows;
} MethodTable;
extern const MethodTable method_tables[];

const Native *methods_search(const Native *table, Str name);

/* --- Helpers for method implementations -------------------------------------------------- */

static inline bool method_arg_passed(const Args *args, uint32_t index)
{
    return !value_is_missing(args->values[index]);
}
/* Reads an optional integer; raises TypeError for other types. */
MUST_CHECK bool method_arg_int(Render *r, const Args *args, uint32_t index, int64_t fallback,
                               int64_t *out);
/* Reads a string argument of a string method. It is escaped if the owner is markup. */
MUST_CHECK bool method_arg_like(Render *r, const Args *args, uint32_t index, Value *out);
/* A string derived from `owner`: markup if the owner is. */
static inline Value method_text_like(Value owner, Str text)
{
    Value v = value_string(text);
    v.flags |= owner.flags & VALUE_MARKUP;
    return v;
}

/* Returns whether the list or map may be changed; raises TypeError if it is shared. Also records
 * that new values may outlive the statement. */
MUST_CHECK bool method_may_change(Render *r, Value owner);
/* Reserves space for one more item or entry. */
MUST_CHECK bool list_reserve(Render *r, const List *list);
MUST_CHECK bool map_reserve(Render *r, const Map *map);
/* dict.update(): adds the entries of a mapping, or the pairs of an iterable. */
MUST_CHECK bool map_update(Render *r, Map *map, Value other);
/* Raises ValueError or KeyError with repr(v) followed by `suffix`. Always returns false. */
bool raise_with_repr(Render *r, FaultClass class, Value v, const char *suffix);
