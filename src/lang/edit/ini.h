/* INI files: sections of options, one per line.
 *
 * There is no standard; this is what most parsers have in common. `[name]` starts a section, lines
 * that start with '#' or ';' are comments. A line that is indented further than the option before
 * it, or follows a line that ends with a backslash, continues the value of that option. Sections
 * and options may occur several times. Everything else is preserved byte for byte. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

typedef struct IniRequest {
    Str section; /* empty: the part before the first section */
    Str option;  /* empty: the section itself */
    Str value;   /* lines after the first are indented */
    bool has_value;
    bool bare; /* an option without separator and value */
    bool absent;
    bool exclusive; /* remove other options of that name from the section */
    Str separator; /* "=" or ":"; its surrounding spaces are used if the file has no option to copy */
    Str comments; /* characters that start a comment after a value and whitespace; may be empty */
} IniRequest;

/* Fails with ERROR_INVALID if the request is invalid for any text. */
MUST_CHECK bool ini_request_check(const IniRequest *request, Error *err);
/* The edited text, which is `text` itself if there is nothing to do. The request must have been
 * checked. */
Str ini_edit(Arena *arena, Str text, const IniRequest *request);
