/* Character references of HTML as text: "&lt;" to "<". */
#pragma once

#include "base/buf.h"

typedef struct HtmlEntity {
    const char *name; /* without the ampersand; most end with a semicolon */
    const char *text;
} HtmlEntity;

/* Made at build time by tools/html-entities; sorted by name. */
extern const HtmlEntity html_entities[];
extern const size_t html_entity_count;

/* Replaces named, decimal and hexadecimal references as the HTML standard asks for text: also
 * old names without a semicolon, and the characters of Windows-1252 for numbers 128 to 159. */
void html_unescape(Str text, Buf *out);
