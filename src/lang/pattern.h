/* Regular expressions for the configuration itself: compiled once, asked about one line at a time.
 * Matching is bounded: a pattern that backtracks without end fails with ERROR_LIMIT. Templates have
 * their own, template/regex.h, which charges a render. */
#pragma once

#include "base/error.h"
#include "base/own.h"
#include "base/str.h"

typedef struct Pattern Pattern;

/* Fails with ERROR_INVALID, what is wrong and where. */
MUST_CHECK bool pattern_new(Str text, Pattern **out, Error *err);
void pattern_free(Pattern *pattern); /* NULL is fine */
DEFINE_AUTO(Pattern, pattern_free)

/* Whether it matches anywhere in the text, which may be any bytes. */
MUST_CHECK bool pattern_find(const Pattern *pattern, Str text, bool *found, Error *err);
