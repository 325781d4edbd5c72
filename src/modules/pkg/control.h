/* Parser for paragraphs of "Field: value" lines as Debian writes them (list of installed packages,
 * package sources). Pure. Any text is accepted; lines that are not fields are skipped. */
#pragma once

#include "base/str.h"

/* Sets `paragraph` to the next paragraph of `rest`, without surrounding empty lines. Returns false
 * at the end. */
bool control_next_paragraph(Str *rest, Str *paragraph);
/* Reads the next field. `value` contains continuation lines verbatim and is trimmed as a whole. */
bool control_next_field(Str *rest, Str *name, Str *value);
/* Field names are case-insensitive. */
bool control_find(Str paragraph, Str name, Str *value);
/* Reads the next package name of a list such as "libc6 (>= 2.3), a | b:any", without its
 * condition. */
bool control_next_name(Str *rest, Str *name);
