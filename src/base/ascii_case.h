/* Case conversion of ASCII text. Each function writes the converted `text` to `out`, which must
 * have space for chunk_capacity(text.len) bytes. Returns false, with `out` unspecified, if the text
 * is not ASCII. */
#pragma once

#include "base/chunk.h"
#include "base/own.h"
#include "base/str.h"

MUST_CHECK bool ascii_copy_lower(Str text, char *out);
MUST_CHECK bool ascii_copy_upper(Str text, char *out);
/* Converts letters after whitespace or one of "-({[<", and at the start, to uppercase; others to
 * lowercase. */
MUST_CHECK bool ascii_copy_title(Str text, char *out);
