/* A set of values with Python's equality. Values that can be map keys are found by hash, the others
 * by linear search, which is charged. */
#pragma once

#include "lang/template/ops.h"

typedef struct ValueSet {
    Map *keys;
    List *others; /* lists, maps, undefined values and so on */
} ValueSet;

ValueSet value_set_make(Render *r);
/* `*added` is false if an equal value was already in the set. */
MUST_CHECK bool value_set_add(Render *r, ValueSet *set, Value v, bool *added);
MUST_CHECK bool value_set_has(Render *r, const ValueSet *set, Value v, bool *has);
/* Adds all items of an iterable. */
MUST_CHECK bool value_set_add_all(Render *r, ValueSet *set, Value items);
