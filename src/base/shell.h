/* Quoting of command line words, for shells and for users who copy them into one. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"

/* In single quotes, so that every shell reads back the same bytes. */
void shell_put_quoted(Buf *out, Str word);
/* For display: verbatim, in single quotes, or, if it contains control characters, as $'..', which
 * bash supports and /bin/sh may not. */
void shell_put_word(Buf *out, Str word);
/* A valid name of a shell variable, similar to `name`. */
Str shell_variable(Arena *arena, Str name);
