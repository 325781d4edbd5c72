/* The names that a text with templates looks up, as it is written: "vars.network.mtu",
 * "sysctl['fs.file-max']", "steps['get it'].StdOut". For telling people where a value comes from:
 * nothing is evaluated, names that the template sets itself are among them, and a text that cannot
 * be read to its end gives what stands before that. */
#pragma once

#include "lang/value.h"

/* Appends to `names` what is not there yet, as strings in `arena`. With `expression` the text is a
 * bare one. */
void template_names(Arena *arena, Str text, bool expression, List *names);
