/* Text from outside made safe and honest to show on a terminal: control characters, bytes that are
 * no UTF-8 and the invisible characters that reorder or hide text (bidirectional controls, zero
 * width) come out as escapes: `\n`, `\x1b`, `\u202e`. Everything else stays as it is. */
#pragma once

#include "base/buf.h"
#include "base/str.h"

typedef struct VisiblePiece {
    char text[8];
    unsigned bytes;
    unsigned width; /* columns on a terminal: 0 for combining marks, 2 for wide characters */
} VisiblePiece;

/* How the character at `*at` (inside the text) is shown; moves `*at` behind it. */
VisiblePiece visible_next(Str s, size_t *at);

/* Whether it is invisible and changes what a reader believes to see. */
bool visible_is_deceptive(uint32_t code);

/* All of `s`, in one line. */
void visible_put(Buf *out, Str s);
