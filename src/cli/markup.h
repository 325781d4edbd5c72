/* Text in HTML and Markdown. */
#pragma once

#include "base/buf.h"

/* Escapes text for HTML, also in attributes with double quotes. Characters that cannot be seen or
 * mislead the reader are shown as escapes (base/visible.h); lines and tabs stay. */
void markup_put(Buf *out, Str text);
/* A line of Markdown without markup of its own, whatever the text contains: for GitLab, GitHub and
 * others that accept HTML entities. */
void markup_put_markdown(Buf *out, Str text);
/* A block of code in Markdown, with a fence that the text does not contain; `language` may be "". */
void markup_put_fence(Buf *out, const char *language, Str text);
