/* What an expression gives, for those outside of templates: documents know no ranges, generators
 * and undefined values. */
#pragma once

#include "lang/template/object.h"

/* The same value with lists in the place of all that can be walked through (ranges, generators,
 * views), and null for undefined ones; UndefinedError in strict mode. TypeError for what has no
 * such form: functions, macros, namespaces. What needs no change is shared, not copied. */
MUST_CHECK bool value_plain(Render *r, Value v, Value *out);
