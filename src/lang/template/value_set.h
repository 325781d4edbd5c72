/* A set of values with Python's equality. What can be a map's key is found by hash, the rest by
 * comparing one by one, which is charged. */
#pragma once

#include "lang/template/ops.h"

typedef struct ValueSet {
    Map *keys;
    List *others; /* lists, maps, undefined and the like */
} ValueSet;

ValueSet value_set_make(Render *r);
/* `*added` is false when an equal value was there already. */
MUST_CHECK bool value_set_add(Render *r, ValueSet *set, Value v, bool *added);
MUST_CHECK bool value_set_has(Render *r, const ValueSet *set, Value v, bool *has);
/* All items of an iterable. */
MUST_CHECK bool value_set_add_all(Render *r, ValueSet *set, Value items);
