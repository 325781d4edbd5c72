/* Makes untrusted text safe to show on a terminal: control characters, invalid UTF-8 and invisible
 * characters that reorder or hide text (bidirectional controls, zero width) are escaped: `\n`,
 * `\x1b`, `\u202e`. Everything else is unchanged. */
#pragma once

#include "base/buf.h"
#include "base/str.h"

typedef struct VisiblePiece {
    char text[8];
    unsigned bytes;
    unsigned width; /* columns on a terminal: 0 for combining marks, 2 for wide characters */
} VisiblePiece;

/* The displayed form of the character at `*pos` (inside the text); moves `*pos` past it. */
VisiblePiece visible_next(Str s, size_t *pos);

/* Whether it is invisible and misleads the reader. */
bool visible_is_deceptive(uint32_t code);

/* All of `s`, on one line. */
void visible_put(Buf *out, Str s);
