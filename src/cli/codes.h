/* Problem codes as rows, from the codes.def of each directory, in order. */
#pragma once

#include "base/str.h"

typedef struct Code {
    const char *name; /* "E0204"; NULL ends the table */
    const char *title;
    const char *text;
} Code;

extern const Code codes[];
/* Looks up a code by name, ignoring case, or by the class of the error in Jinja2
 * ("UndefinedError"). Returns NULL if there is none. */
const Code *code_find(Str name);
