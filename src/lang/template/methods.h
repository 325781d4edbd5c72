/* The methods of Python's types: tables of rows as in native.h, whose first parameter is the
 * owner. A row without a name ends a table. */
#pragma once

#include "lang/template/ops.h"

extern const Native str_case_methods[];
extern const Native str_class_methods[];
extern const Native str_search_methods[];
extern const Native str_split_methods[];
extern const Native str_layout_methods[];
extern const Native markup_methods[]; /* what markup has on top of str */
extern const Native list_methods[];
extern const Native tuple_methods[];
extern const Native map_methods[];
extern const Native int_methods[];
extern const Native float_methods[];

/* All of them, for help and tests; ends with NULL. */
typedef struct MethodTable {
    const char *type; /* Python's name of it */
    const Native *rows;
} MethodTable;
extern const MethodTable method_tables[];

const Native *methods_search(const Native *table, Str name);

/* --- For the functions behind the rows --------------------------------------------------- */

static inline bool method_arg_given(const Args *args, uint32_t place)
{
    return !value_is_missing(args->values[place]);
}
/* An optional integer; TypeError for anything else. */
MUST_CHECK bool method_arg_int(Render *r, const Args *args, uint32_t place, int64_t fallback,
                               int64_t *out);
/* A text where the method of a string takes one. Markup escapes it. */
MUST_CHECK bool method_arg_like(Render *r, const Args *args, uint32_t place, Value *out);
/* A text that came from `owner`: markup if that is. */
static inline Value method_text_like(Value owner, Str text)
{
    Value v = value_string(text);
    v.flags |= owner.flags & VALUE_MARKUP;
    return v;
}

/* Whether the list or map may be changed; TypeError when it belongs to another user. Tells the
 * render that values made now last. */
MUST_CHECK bool method_may_change(Render *r, Value owner);
/* Room for one more item or entry. */
MUST_CHECK bool list_room(Render *r, const List *list);
MUST_CHECK bool map_room(Render *r, const Map *map);
/* dict.update(): takes over the entries of a mapping, or the pairs of an iterable. */
MUST_CHECK bool map_update(Render *r, Map *map, Value other);
/* ValueError or KeyError with repr(v) in front of `rest`. Always false. */
bool raise_with_repr(Render *r, FaultClass class, Value v, const char *rest);
