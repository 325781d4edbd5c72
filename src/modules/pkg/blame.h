/* Finding in the output of a package manager what went wrong, and with whom. Pure. */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "base/vec.h"

enum {
    BLAME_MAX = 400 /* bytes of an explanation */
};

typedef VEC(Str) BlameLines;

BlameLines blame_split(Arena *arena, Str output);
/* One after another with "; " between them, unless the one before ends with a colon. */
Str blame_join(Arena *arena, const Str *lines, uint32_t count);
/* Whether the line has the name of the package as a whole word; a version may follow it:
 * "vim-9.0-1.noarch" has "vim", "vim-tiny" has not. */
bool blame_mentions(Str line, Str name);
/* The last line that is not empty. */
Str blame_last(Arena *arena, const BlameLines *lines);

/* For those who write one line about each problem: the lines that sound like one, first those about
 * this package. False: none is about it. */
bool blame_by_lines(Arena *arena, Str output, Str name, Str *words);
