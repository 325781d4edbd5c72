/* Converts the result of an expression for use outside templates: documents have no ranges,
 * generators or undefined values. */
#pragma once

#include "lang/template/object.h"

/* The same value, with iterables (ranges, generators, views) converted to lists, and undefined
 * values to null, or UndefinedError in strict mode. Raises TypeError for values that cannot be
 * represented: functions, macros, namespaces. Unchanged parts are shared, not copied. */
MUST_CHECK bool value_plain(Render *r, Value v, Value *out);
