/* Regular expressions as Python writes them, on PCRE2 without its compiler to machine code.
 *
 * Patterns are compiled once per render and kept with it. Matching is bounded: what it costs is
 * charged in steps, and a pattern that backtracks without end fails with LimitError. */
#pragma once

#include "lang/template/render.h"

typedef struct Regex Regex;

enum RegexFlag {
    REGEX_IGNORE_CASE = 1 << 0,
    REGEX_MULTILINE = 1 << 1,
};

/* Byte offsets; REGEX_UNSET for a group that took no part. */
#define REGEX_UNSET SIZE_MAX

typedef struct RegexSpan {
    size_t start, end;
} RegexSpan;

/* Starts as zeros; filled again and again, it keeps its memory for matches of one pattern. */
typedef struct RegexMatch {
    RegexSpan *groups; /* the whole match first; in the arena */
    uint32_t count;    /* of groups, the whole match included */
} RegexMatch;

typedef enum RegexAnchor {
    REGEX_ANYWHERE,
    REGEX_AT_START, /* re.match */
    REGEX_WHOLE,    /* re.fullmatch */
} RegexAnchor;

/* Raises ValueError for a bad pattern. */
MUST_CHECK bool regex_get(Render *r, Str pattern, unsigned flags, const Regex **out);

typedef struct RegexSearch {
    const Regex *regex;
    Str text;
    size_t from;
    RegexAnchor anchor;
    bool not_empty; /* no match that is empty and begins at `from` */
} RegexSearch;

/* The first match at or after `from`. `*found` says whether there is one. */
MUST_CHECK bool regex_match(Render *r, const RegexSearch *search, RegexMatch *out, bool *found);

/* Walks over all matches as Python does: an empty one may follow right behind one that is not.
 * False at the end, or when a fault was raised. */
typedef struct RegexWalk {
    const Regex *regex;
    Str text;
    size_t at;
    bool after_empty;
} RegexWalk;

bool regex_next(Render *r, RegexWalk *walk, RegexMatch *out);

/* Number of groups, without the whole match. */
uint32_t regex_group_count(const Regex *regex);
/* Number of a group by its name, or 0. */
uint32_t regex_group_number(const Regex *regex, Str name);
