/* Problem codes as rows, from the codes.def of each folder, in order. */
#pragma once

#include "base/str.h"

typedef struct Code {
    const char *name; /* "E0204"; NULL ends the table */
    const char *title;
    const char *text;
} Code;

extern const Code codes[];
/* By its name in any case, or by the class that a template's fault has in Jinja2 and in batches
 * ("UndefinedError"). NULL when there is none. */
const Code *code_find(Str name);
