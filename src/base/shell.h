/* Words of a command line, for a shell and for people who copy them into one. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"

/* In single quotes, so that every shell reads the same bytes back. */
void shell_put_quoted(Buf *out, Str word);
/* For people: as it is, in single quotes, or, with control characters in it, as $'..', which bash knows
 * and /bin/sh may not. */
void shell_put_word(Buf *out, Str word);
/* A name that a variable of the shell may have, close to `name`. */
Str shell_variable(Arena *arena, Str name);
