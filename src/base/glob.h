/* Wildcards in names, as in shells: `*` any number of characters, `?` one character, `[abc]`,
 * `[a-z]`, `[!abc]` one of a set. `*` and `?` match '/' too: these are names, not paths. There is
 * no escape character; `[*]` is a literal star. An unclosed `[` is an ordinary character. */
#pragma once

#include <stdbool.h>

#include "base/str.h"

/* Whether the entire text matches. Takes at most pattern length x text length steps. */
bool glob_match(Str pattern, Str text);
/* Whether it contains a wildcard; without one, glob_match is equality. */
bool glob_is_pattern(Str pattern);
