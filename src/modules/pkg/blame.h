/* Determines from a package manager's output what failed, and for which package. Pure. */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "base/vec.h"

enum {
    BLAME_MAX = 400 /* maximum length of an explanation, in bytes */
};

typedef VEC(Str) BlameLines;

BlameLines blame_split(Arena *arena, Str output);
/* Joins the lines with "; ", or with a space after a line that ends with a colon. */
Str blame_join(Arena *arena, const Str *lines, uint32_t count);
/* Returns true if the line contains the name of the package as a word, optionally followed by a
 * version: "vim-9.0-1.noarch" mentions "vim", "vim-tiny" does not. */
bool blame_mentions(Str line, Str name);
/* The last nonempty line. */
Str blame_last(Arena *arena, const BlameLines *lines);

/* For package managers that report each problem on one line: joins the lines that look like errors,
 * those about this package first. Returns false if none of them is about this package. */
bool blame_by_lines(Arena *arena, Str output, Str name, Str *words);
