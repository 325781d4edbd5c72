/* Removes secrets from text: the output of a command, a log, a diff, a message.
 *
 *     SecretSet secrets;
 *     secret_set_init(&secrets, arena);
 *     if (!secret_set_add_value(&secrets, variables, err)) ...
 *     if (!scrubber_new(&secrets, &scrubber, err)) ...
 *     scrubber_apply(scrubber, output, &clean);
 *
 * A secret is found verbatim, in uppercase and lowercase and capitalized, and in the spellings that
 * programs produce:
 *   - escapes and quotes of any of its characters, as in URLs, JSON, Python, C, shells, HTML,
 *     mail, YAML, SQL and CSV (scrub_escapes.c);
 *   - base64, base32 and hexadecimal digits, alone or anywhere inside longer encoded data, which
 *     may in turn contain escaped or encoded secrets (scrub_codes.c);
 *   - a number for each byte or character, and dumps (scrub_numbers.c);
 *   - broken into lines or single characters, or escaped several times (scrub_loose.c);
 *   - truncated at the end of a line, if at least 8 bytes and half of it remain.
 *
 * Each is replaced by SCRUB_MARK; secrets that touch or overlap become one mark.
 *
 * Secrets shorter than SCRUB_LENGTH_MIN are ignored: they would match everywhere. Time is linear in
 * the length of the text, regardless of the secrets; memory grows with the secrets and the number
 * of matches. docs/secrets.md documents for users what is found. */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "base/own.h"
#include "base/str_map.h"
#include "lang/value.h"

#define SCRUB_MARK "(secret)"

enum {
    SCRUB_LENGTH_MIN = 4,      /* in bytes */
    SCRUB_BYTES_MAX = 4 << 20, /* of all secrets together */
};

/* The secrets to search for. Their bytes are borrowed until scrubber_new() returns. */
typedef struct SecretSet {
    StrMap texts; /* set of strings; the values are NULL */
    size_t bytes;
} SecretSet;

void secret_set_init(SecretSet *set, Arena *arena);
/* Secrets shorter than SCRUB_LENGTH_MIN are ignored. */
void secret_set_add(SecretSet *set, Str secret);
/* Also adds it without surrounding whitespace, each of its lines, and passwords in URLs: programs
 * print lines separately and indent them. */
void secret_set_add_lines(SecretSet *set, Str secret);
/* Adds every secret string and number in `v` and its lines, at any depth: values that are marked or
 * are in a marked container. Keys count only if they are marked themselves. Fails with ERROR_LIMIT
 * if there is too much to search. */
MUST_CHECK bool secret_set_add_value(SecretSet *set, Value v, Error *err);

/* The same walk for callers that store the secrets themselves. Strings belong to the value; those
 * of numbers are in `arena`. */
typedef void SecretFound(void *context, Str secret);
MUST_CHECK bool secrets_find(Value v, Arena *arena, SecretFound *found, void *context, Error *err);

/* A copy in which every marked value is replaced by "(secret)"; parts without secrets are
 * shared. */
Value secrets_hide(Arena *arena, Value v);
/* A copy for display: as secrets_hide(), and every other string, key and number is passed through
 * `filter`. */
typedef Str SecretsFilter(void *context, Str text, Arena *arena);
Value secrets_replace(Arena *arena, Value v, SecretsFilter *filter, void *context);

typedef struct Scrubber Scrubber;

/* A Scrubber is immutable: threads may share it. Fails with ERROR_LIMIT if the secrets exceed
 * SCRUB_BYTES_MAX bytes in total; the caller must then not show captured output at all. */
MUST_CHECK bool scrubber_new(const SecretSet *set, Scrubber **out, Error *err);
void scrubber_free(Scrubber *scrubber); /* NULL is allowed */
DEFINE_AUTO(Scrubber, scrubber_free)

/* Appends `text` to `out` without the secrets. */
void scrubber_apply(const Scrubber *scrubber, Str text, Buf *out);
/* The same for a truncated text: a prefix of a secret at its end is removed too, if it is
 * SCRUB_LENGTH_MIN bytes or longer. */
void scrubber_apply_cut(const Scrubber *scrubber, Str text, Buf *out);
/* Lengths of the longest secret in `text`, verbatim and in any spelling; 0 if there is none. */
typedef struct ScrubberMatch {
    size_t verbatim;
    size_t any_spelling;
} ScrubberMatch;
/* Calls `on_respelled` with each part of `text` that is a secret in a different spelling. */
ScrubberMatch scrubber_find(const Scrubber *scrubber, Str text, SecretFound *on_respelled,
                            void *context);
