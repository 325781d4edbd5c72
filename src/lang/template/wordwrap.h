/* Breaking text into lines of a width, as Python's textwrap does it for Jinja2: white space
 * stays as it is, every line of the text is a paragraph of its own. */
#pragma once

#include "lang/template/render.h"

typedef struct WrapRules {
    int64_t width; /* above 0 */
    bool break_long_words;
    bool break_on_hyphens;
    Str between; /* put between lines */
} WrapRules;

/* Fails only when the budget is used up. */
MUST_CHECK bool wordwrap(Render *r, Str text, const WrapRules *rules, Buf *out);
