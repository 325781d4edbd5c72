/* Comparison of version numbers. */
#pragma once

#include <stdbool.h>

#include "base/str.h"

/* Compares part by part: digits as numbers, letters as words; dots and other characters only
 * separate. A word is less than a number, and "1.2" is less than "1.2.0". Returns a negative, zero
 * or positive value. */
int version_compare_loose(Str a, Str b);

/* Compares semantic versions (semver.org 2.0); returns false if either is not one. Build metadata
 * is ignored. */
bool version_compare_semver(Str a, Str b, int *out);
