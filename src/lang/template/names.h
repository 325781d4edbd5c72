/* Finds the names that a template looks up, as they are written: "vars.network.mtu",
 * "sysctl['fs.file-max']", "steps['get it'].StdOut". They are used to explain where a value comes
 * from: nothing is evaluated, and names that the template sets itself are included. If the text is
 * invalid, the names up to that point are returned. */
#pragma once

#include "lang/value.h"

/* Appends names that are not in `names` yet, as strings in `arena`. `expression`: the text is a
 * bare expression, not a template. */
void template_names(Arena *arena, Str text, bool expression, List *names);
