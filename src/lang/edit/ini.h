/* INI texts: sections of options, one to a line.
 *
 * There is no standard; this is what most readers have in common. `[name]` starts a section, lines
 * that start with '#' or ';' are comments. A line that is indented further than the option before
 * it, or follows a line that ends with a backslash, belongs to the value of that option. A section
 * or option may occur several times. Everything that is not asked for stays as it is, byte by
 * byte. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

typedef struct IniWish {
    Str section; /* empty: what stands before the first section */
    Str option;  /* empty: the section itself */
    Str value;   /* several lines are indented below the first */
    bool has_value;
    bool bare; /* the option stands there without separator and value */
    bool absent;
    bool exclusive; /* it is the only one of its name in the section */
    Str separator;  /* "=" or ":"; blanks around it count where the text shows none */
    Str comments;   /* characters that start a comment behind a value and a blank; may be empty */
} IniWish;

/* Fails with ERROR_INVALID when no text could hold it. */
MUST_CHECK bool ini_wish_check(const IniWish *wish, Error *err);
/* The text as wished, which is `text` itself when nothing is to be done. The wish is a checked
 * one. */
Str ini_edit(Arena *arena, Str text, const IniWish *wish);
