/* Prints a unified diff of two texts with three lines of context, like `diff -u`.
 *
 * Finds the shortest edit script (Myers); if that has more than TEXT_DIFF_CHANGES_MAX lines,
 * everything between the first and the last difference is shown as replaced. So time and memory are
 * proportional to the texts. */
#pragma once

#include "base/buf.h"

enum {
    TEXT_DIFF_CONTEXT = 3,
    TEXT_DIFF_CHANGES_MAX = 500
};

/* Appends to `out`: a line "--- OLD_NAME", a line "+++ NEW_NAME", then the hunks. Appends nothing
 * if the texts are equal. A name that contains a newline is quoted. */
void text_diff(Str old_text, Str new_text, Str old_name, Str new_name, Buf *out);
