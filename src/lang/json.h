/* JSON texts to values and back.
 *
 * Reading is strict RFC 8259. Every value carries its exact place; integers are exact in 64
 * bits. A string without escapes borrows the text it was read from, so the text must outlive the
 * value; value_copy() cuts that tie. A byte order mark in front is skipped.
 *
 * Printing is stable: the same value and style give the same bytes. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/problems.h"
#include "base/source.h"
#include "lang/value.h"

/* --- Reading ----------------------------------------------------------------------------- */

/* A text that goes past one of these, or past the budget of the arena, ends in problem E0156. */
typedef struct JsonLimits {
    uint32_t size;  /* bytes of text */
    uint32_t depth; /* containers inside each other */
    uint32_t nodes; /* values, keys included */
} JsonLimits;

typedef struct JsonOptions {
    JsonLimits limits;
    bool duplicates;       /* of equal keys the last value wins, instead of being an error */
    bool wide_integers;    /* integers past 64 bits become floats, instead of being an error */
    bool python_constants; /* NaN, Infinity and -Infinity are numbers */
} JsonOptions;

extern const JsonOptions json_options_default;

/* Reads the one value of a source. False when errors were added to `problems`; `*out` is then
 * null. NULL options are the default ones. */
MUST_CHECK bool json_parse(Arena *arena, const Sources *sources, uint16_t source,
                           const JsonOptions *options, Value *out, Problems *problems);

/* Reads one value of many that follow each other, starting at `*offset`, and moves `*offset`
 * behind it. What follows is not looked at:
 *
 *     for (size_t at = 0; (at = json_skip_space(text, at)) < text.len;) {
 *         if (!json_parse_next(arena, sources, id, &at, NULL, &v, problems)) ...
 */
MUST_CHECK bool json_parse_next(Arena *arena, const Sources *sources, uint16_t source,
                                size_t *offset, const JsonOptions *options, Value *out,
                                Problems *problems);
size_t json_skip_space(Str text, size_t offset);

/* Reads the one value of a text that is no source: the values have no place, and the error says
 * "line 1, column 5: ...". Fails with ERROR_INVALID or ERROR_LIMIT. */
MUST_CHECK bool json_parse_text(Arena *arena, Str text, const JsonOptions *options, Value *out,
                                Error *err);

/* --- Printing ---------------------------------------------------------------------------- */

typedef struct JsonStyle {
    bool lines;     /* each item on a line of its own, `indent` spaces further in per level */
    uint8_t indent; /* for `lines` */
    bool spaced;    /* else all on one line; ", " and ": " between things, as Python does */
    bool sort_keys; /* as Python sorts them */
    bool ascii;     /* other characters as \u escapes */
    bool html_safe; /* < > & ' as \u escapes, so that it can stand in an HTML page */
    bool allow_nan; /* NaN, Infinity, -Infinity instead of an error */
    bool distinct;  /* keys that become the same text, as 1 and "1", are an error */
    /* Gives the plain value that stands for an object or undefined; NULL: these are errors. */
    bool (*replace)(void *context, Value v, Value *out, Error *err);
    void *context;
} JsonStyle;

/* Appends the value to `out`. Keys that are no strings become some as in Python ("1", "true",
 * "null", "1.5"); tuples are lists. Fails with ERROR_INVALID for what JSON cannot hold, and with
 * ERROR_LIMIT when the value is too deep (or holds itself) or `out` overflows; `out` then has a
 * part of it. NULL style: compact. */
MUST_CHECK bool json_print(Buf *out, Value v, const JsonStyle *style, Error *err);
/* One string in quotes. */
void json_print_string(Buf *out, Str s, const JsonStyle *style);
