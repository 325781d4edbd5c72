/* Words that mean the same: what others call what we call otherwise. Pure. */
#pragma once

#include "base/str.h"

/* The one of `choices` ("list|show") that means what `word` does; empty: none does. */
Str synonym_among(Str word, const char *choices);
/* The same, or else the nearest by its letters. */
Str synonym_or_near(Str word, const char *choices);
