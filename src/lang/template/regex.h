/* Regular expressions with Python's syntax, using PCRE2 without JIT.
 *
 * Patterns are compiled once per render and cached in it. Matching is bounded: its cost is charged
 * in steps, and a pattern with excessive backtracking fails with LimitError. */
#pragma once

#include "lang/template/render.h"

typedef struct Regex Regex;

enum RegexFlag {
    REGEX_IGNORE_CASE = 1 << 0,
    REGEX_MULTILINE = 1 << 1,
};

/* Byte offsets; REGEX_UNSET for a group that did not participate. */
#define REGEX_UNSET SIZE_MAX

typedef struct RegexSpan {
    size_t start, end;
} RegexSpan;

/* Initialized with zeros; its memory is reused for further matches of the same pattern. */
typedef struct RegexMatch {
    RegexSpan *groups; /* whole match first; in the arena */
    uint32_t count;    /* number of groups including the whole match */
} RegexMatch;

typedef enum RegexAnchor {
    REGEX_ANYWHERE,
    REGEX_AT_START, /* re.match */
    REGEX_FULL,     /* re.fullmatch */
} RegexAnchor;

/* Raises ValueError for an invalid pattern. */
MUST_CHECK bool regex_get(Render *r, Str pattern, unsigned flags, const Regex **out);

typedef struct RegexSearch {
    const Regex *regex;
    Str text;
    size_t from;
    RegexAnchor anchor;
    bool not_empty; /* reject an empty match at `from` */
} RegexSearch;

/* Finds the first match at or after `from`. `*found` is set to whether there is one. */
MUST_CHECK bool regex_match(Render *r, const RegexSearch *search, RegexMatch *out, bool *found);

/* Iterates over all matches like Python: an empty match may directly follow one that is not empty.
 * Returns false at the end and on failure. */
typedef struct RegexIterator {
    const Regex *regex;
    Str text;
    size_t pos;
    bool after_empty;
} RegexIterator;

bool regex_next(Render *r, RegexIterator *walk, RegexMatch *out);

/* Number of groups, excluding the whole match. */
uint32_t regex_group_count(const Regex *regex);
/* The number of a named group, or 0. */
uint32_t regex_group_number(const Regex *regex, Str name);
