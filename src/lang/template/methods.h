/* The methods of Python's types: tables of rows as in native.h, whose first parameter is the
 * owner. A row without a name ends a table. */
#pragma once

#include "lang/template/native.h"

extern const Native str_methods[];
extern const Native markup_methods[]; /* what markup has on top of str */
extern const Native list_methods[];
extern const Native tuple_methods[];
extern const Native map_methods[];
extern const Native int_methods[];
extern const Native float_methods[];

const Native *methods_search(const Native *table, Str name);
