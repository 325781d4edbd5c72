/* Two texts as a unified diff with three lines of context, as `diff -u` would show them.
 *
 * The shortest way from one to the other is looked for (Myers); where it would take more than
 * TEXT_DIFF_CHANGES_MAX lines, what lies between the first and the last difference is shown as
 * replaced. So time and memory stay in proportion to the texts. */
#pragma once

#include "base/buf.h"

enum {
    TEXT_DIFF_CONTEXT = 3,
    TEXT_DIFF_CHANGES_MAX = 500
};

/* Appends to `out`: a line "--- OLD_NAME", a line "+++ NEW_NAME", then the hunks. Nothing when the
 * texts are equal. A name with a line end in it is quoted. */
void text_diff(Str old_text, Str new_text, Str old_name, Str new_name, Buf *out);
