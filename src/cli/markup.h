/* Escapes text for HTML and Markdown. */
#pragma once

#include "base/buf.h"

/* Escapes text for HTML, also in attributes with double quotes. Invisible and misleading characters
 * are shown as escapes (base/visible.h); newlines and tabs are preserved. */
void markup_put(Buf *out, Str text);
/* Escapes a line of text for Markdown, so that none of it is interpreted as markup by GitLab,
 * GitHub and other implementations that support HTML entities. */
void markup_put_markdown(Buf *out, Str text);
/* Writes a code block in Markdown, with a fence that the text does not contain; `language` may be
 * "". */
void markup_put_fence(Buf *out, const char *language, Str text);
