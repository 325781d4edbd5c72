/* Parses and prints JSON.
 *
 * Parsing is strict RFC 8259. Every value has its exact location; integers are exact up to 64 bits.
 * A string without escapes borrows from the input, which must outlive the value; value_copy() makes
 * it independent. A leading byte order mark is skipped.
 *
 * Printing is deterministic: the same value and style produce the same bytes. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/problems.h"
#include "base/source.h"
#include "lang/value.h"

/* --- Parsing ----------------------------------------------------------------------------- */

/* Input that exceeds one of these limits, or the budget of the arena, is reported as problem
 * E0156. */
typedef struct JsonLimits {
    uint32_t size;  /* bytes of input */
    uint32_t depth; /* nesting depth of containers */
    uint32_t nodes; /* values, including keys */
} JsonLimits;

typedef struct JsonOptions {
    JsonLimits limits;
    bool allow_duplicates; /* the last of several equal keys wins, instead of being an error */
    bool wide_integers;    /* integers beyond 64 bits become floats, instead of being an error */
    bool python_constants; /* NaN, Infinity and -Infinity are numbers */
} JsonOptions;

extern const JsonOptions json_options_default;

/* Parses the single value of a source. Returns false if errors were added to `problems`; `*out` is
 * then null. NULL options select the defaults. */
MUST_CHECK bool json_parse(Arena *arena, const Sources *sources, uint16_t source,
                           const JsonOptions *options, Value *out, Problems *problems);

/* Parses one of several concatenated values, starting at `*offset`, and moves `*offset` past it.
 * What follows is not checked:
 *
 *     for (size_t at = 0; (at = json_skip_space(text, at)) < text.len;) {
 *         if (!json_parse_next(arena, sources, id, &at, NULL, &v, problems)) ... */
MUST_CHECK bool json_parse_next(Arena *arena, const Sources *sources, uint16_t source,
                                size_t *offset, const JsonOptions *options, Value *out,
                                Problems *problems);
size_t json_skip_space(Str text, size_t offset);

/* Parses the single value of a string that is not a source: the values have no location, and the
 * error starts with "line 1, column 5: ...". Fails with ERROR_INVALID or ERROR_LIMIT. */
MUST_CHECK bool json_parse_text(Arena *arena, Str text, const JsonOptions *options, Value *out,
                                Error *err);

/* --- Printing ---------------------------------------------------------------------------- */

typedef struct JsonStyle {
    bool lines;     /* each item on a separate line, indented by `indent` spaces per level */
    uint8_t indent; /* for `lines` */
    bool spaced;    /* if not `lines`: ", " and ": " as separators, as in Python */
    bool sort_keys; /* in Python's order */
    bool ascii;     /* escape non-ASCII characters as \u */
    bool html_safe; /* escape < > & ' as \u, so that the result is safe in an HTML page */
    bool allow_nan; /* NaN, Infinity, -Infinity instead of an error */
    bool distinct;  /* keys with the same text, such as 1 and "1", are an error */
    /* Returns a plain value in place of an object or undefined value; NULL: these are errors. */
    bool (*replace)(void *context, Value v, Value *out, Error *err);
    void *context;
} JsonStyle;

/* Appends the value to `out`. Keys that are not strings are converted as in Python ("1", "true",
 * "null", "1.5"); tuples become lists. Fails with ERROR_INVALID if JSON cannot represent the value,
 * and with ERROR_LIMIT if the value is too deep (or contains itself) or `out` overflows; `out` is
 * then incomplete. A NULL style is compact. */
MUST_CHECK bool json_print(Buf *out, Value v, const JsonStyle *style, Error *err);
/* A quoted string. */
void json_print_string(Buf *out, Str s, const JsonStyle *style);
