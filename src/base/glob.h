/* Names with wildcards, as shells have them: `*` any characters, also none, `?` one character,
 * `[abc]`, `[a-z]`, `[!abc]` one of a set. `*` and `?` match '/' too: these are names, not paths.
 * There is no escape; `[*]` is a literal star. A `[` that is never closed is an ordinary one. */
#pragma once

#include <stdbool.h>

#include "base/str.h"

/* Whether the whole text matches. Takes at most pattern times text steps. */
bool glob_match(Str pattern, Str text);
/* Whether there is a wildcard in it; without one, glob_match is equality. */
bool glob_is_pattern(Str pattern);
