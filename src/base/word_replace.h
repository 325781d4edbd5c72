/* Replaces a word in a text, so that texts can be compared that differ only in a name. */
#pragma once

#include "base/arena.h"

/* Every occurrence of `word` that is not part of a longer word (of letters, digits and '_') becomes
 * `with`. Returns the text itself if the word does not occur or is empty. */
Str word_replace(Arena *arena, Str text, Str word, Str with);
