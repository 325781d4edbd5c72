/* Regular expressions for configuration: compiled once, matched against one line at a time.
 * Matching is bounded: a pattern with excessive backtracking fails with ERROR_LIMIT. Templates use
 * template/regex.h instead, which charges the render. */
#pragma once

#include "base/error.h"
#include "base/own.h"
#include "base/str.h"

typedef struct Pattern Pattern;

/* Fails with ERROR_INVALID; the message contains the cause and its position. */
MUST_CHECK bool pattern_new(Str text, Pattern **out, Error *err);
void pattern_free(Pattern *pattern); /* NULL is allowed */
DEFINE_AUTO(Pattern, pattern_free)

/* Whether it matches anywhere in the text, which may be arbitrary bytes. */
MUST_CHECK bool pattern_find(const Pattern *pattern, Str text, bool *found, Error *err);
