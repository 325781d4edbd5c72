/* Removes secrets from text that programs, files and messages are made of: the output of a command,
 * a log, a diff.
 *
 *     SecretSet secrets;
 *     secret_set_init(&secrets, arena);
 *     if (!secret_set_add_value(&secrets, variables, err)) ...
 *     if (!scrubber_new(&secrets, &scrubber, err)) ...
 *     scrubber_apply(scrubber, output, &clean);
 *
 * A secret is found as it is, in upper and lower case and with capitals, and in the spellings that programs
 * give it on the way:
 *   - escapes and quotes of any of its characters, as URLs, JSON, Python, C, shells, HTML, mail, YAML,
 *     SQL and CSV have them (scrub_escapes.c);
 *   - base64, base32 and hexadecimal digits, alone or anywhere inside longer encoded data, and what is
 *     escaped or encoded inside (scrub_codes.c);
 *   - a number for each byte or character, and dumps (scrub_numbers.c);
 *   - broken into lines or single characters, or escaped several times (scrub_loose.c);
 *   - cut at the end of a line, when at least 8 bytes and half of it are left.
 * Each is replaced by SCRUB_MARK; secrets that touch or overlap become one mark.
 *
 * Text shorter than SCRUB_SHORTEST is not looked for: it would be found everywhere. Time grows
 * with the length of the text, whatever the secrets are; memory with the secrets, and with the
 * number of places where one is found. docs/secrets.md tells users what is found. */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "base/own.h"
#include "base/str_map.h"
#include "lang/value.h"

#define SCRUB_MARK "(secret)"

enum {
    SCRUB_SHORTEST = 4,        /* bytes */
    SCRUB_BYTES_MAX = 4 << 20, /* of all secrets together */
};

/* The secrets to look for. Their bytes are borrowed until scrubber_new() returns. */
typedef struct SecretSet {
    StrMap texts; /* each once, to NULL */
    size_t bytes;
} SecretSet;

void secret_set_init(SecretSet *set, Arena *arena);
/* Short ones are ignored. */
void secret_set_add(SecretSet *set, Str secret);
/* The same, and without the blanks around it, and each of its lines: programs print them one by
 * one, and indent them. */
void secret_set_add_lines(SecretSet *set, Str secret);
/* Adds, with its lines, every secret string and number in `v`, at any depth: what is marked itself
 * or lies in a marked container. Keys count only when marked themselves. Fails with ERROR_LIMIT
 * when there is too much to look through. */
MUST_CHECK bool secret_set_add_value(SecretSet *set, Value v, Error *err);

/* The same walk for a caller that keeps them elsewhere. Texts are the value's, those of numbers in
 * `arena`. */
typedef void SecretFound(void *context, Str secret);
MUST_CHECK bool secrets_find(Value v, Arena *arena, SecretFound *found, void *context, Error *err);

/* A copy in which "(secret)" stands for every value that is marked; what holds none is shared. */
Value secrets_hide(Arena *arena, Value v);
/* A copy as it is shown: the same, and every other text, key and number with what `shown` makes of it. */
typedef Str SecretsShown(void *context, Str text, Arena *arena);
Value secrets_replace(Arena *arena, Value v, SecretsShown *shown, void *context);

typedef struct Scrubber Scrubber;

/* Never changes once made: threads may share it. Fails with ERROR_LIMIT when the secrets have more
 * than SCRUB_BYTES_MAX bytes: then nothing captured can be shown. */
MUST_CHECK bool scrubber_new(const SecretSet *set, Scrubber **out, Error *err);
void scrubber_free(Scrubber *scrubber); /* NULL is fine */
DEFINE_AUTO(Scrubber, scrubber_free)

/* Appends `text` to `out` without the secrets. */
void scrubber_apply(const Scrubber *scrubber, Str text, Buf *out);
/* The same for a text that was cut somewhere: the first part of a secret at its end goes too, when it
 * has SCRUB_SHORTEST bytes or more. */
void scrubber_apply_cut(const Scrubber *scrubber, Str text, Buf *out);
/* Lengths of the longest secret in `text`, 0 when there is none: as it is, and in any spelling. */
typedef struct ScrubberFound {
    size_t as_is;
    size_t spelled;
} ScrubberFound;
/* Calls `respelled` with each part of `text` that is a secret in another spelling. */
ScrubberFound scrubber_find(const Scrubber *scrubber, Str text, SecretFound *respelled,
                            void *context);
