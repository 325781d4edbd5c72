/* Comparing version numbers. */
#pragma once

#include <stdbool.h>

#include "base/str.h"

/* Part by part: digits as numbers, letters as words; dots and other characters only separate.
 * A word counts less than a number, and "1.2" less than "1.2.0". Negative, zero, positive. */
int version_compare_loose(Str a, Str b);

/* Semantic versions (semver.org 2.0): false when one is none. Build metadata does not count. */
bool version_compare_semver(Str a, Str b, int *out);
