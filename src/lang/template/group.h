/* The pairs that groupby gives: a tuple whose items are also called `grouper` and `list`. */
#pragma once

#include "lang/template/object.h"

/* `members` may still grow afterwards. */
Value group_new(Render *r, Value grouper, List *members);
bool value_is_group(Value v);
/* The pair as a plain tuple. */
Value group_tuple(Value v);
