/* Strings in JSON, for what base prints itself: log lines and problems. Values as JSON are
 * lang/json's work. */
#pragma once

#include "base/buf.h"
#include "base/str.h"

/* The text in double quotes. Bytes that are no UTF-8 become U+FFFD, so the result is always valid
 * JSON on one line. */
void json_text_put(Buf *out, Str s);
