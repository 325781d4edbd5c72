/* Texts of paragraphs with "Field: value" lines, as Debian writes them: the list of installed
 * packages, sources of packages. Pure; any text can be read, what is no field is passed over. */
#pragma once

#include "base/str.h"

/* The next paragraph of `rest`, without the empty lines around it; false: no more. */
bool control_next_paragraph(Str *rest, Str *paragraph);
/* The next field; `value` holds further lines as they stand, without space around all of it. */
bool control_next_field(Str *rest, Str *name, Str *value);
/* Names of fields do not care for case. */
bool control_find(Str paragraph, Str name, Str *value);
/* The next name of a list such as "libc6 (>= 2.3), a | b:any", without conditions. */
bool control_next_name(Str *rest, Str *name);
