/* Letters of ASCII texts. Each function writes `text` in another case to `out`, which has room for
 * chunk_room(text.len) bytes. False, with nothing of use in `out`, when the text is not ASCII. */
#pragma once

#include "base/chunk.h"
#include "base/own.h"
#include "base/str.h"

MUST_CHECK bool ascii_copy_lower(Str text, char *out);
MUST_CHECK bool ascii_copy_upper(Str text, char *out);
/* Letters behind one of "-({[<" or white space, and at the start, in upper case; others lower. */
MUST_CHECK bool ascii_copy_title(Str text, char *out);
