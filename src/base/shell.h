/* Words of a command line for people to copy into a shell. Nothing here runs one. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"

/* The word as a shell reads it back: as it is, in single quotes, or, with control characters in it,
 * as $'..'. */
void shell_put_word(Buf *out, Str word);
/* A name that a variable of the shell may have, close to `name`. */
Str shell_variable(Arena *arena, Str name);
