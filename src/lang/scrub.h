/* Takes secrets out of text that somebody else made: the output of a command, a log, a diff.
 *
 *     SecretSet secrets;
 *     secret_set_init(&secrets, arena);
 *     if (!secret_set_add_value(&secrets, variables, err)) ...
 *     if (!scrubber_new(&secrets, &scrubber, err)) ...
 *     scrubber_apply(scrubber, output, &clean);
 *
 * A secret is found as it is and in the spellings that programs give it on the way:
 *   - base64, standard and URL-safe, alone or anywhere inside longer encoded data, also when
 *     broken into lines;
 *   - with percent escapes of any of its bytes, hexadecimal digits in either case, and `+` for a
 *     space;
 *   - with backslash escapes as in JSON and in Python's repr, again any of its characters.
 * Each is replaced by SCRUB_MARK; secrets that touch or overlap become one mark.
 *
 * Text shorter than SCRUB_SHORTEST is no secret here: it would be found everywhere. Time grows
 * with the length of the text, whatever the secrets are; memory with the secrets, and with the
 * number of places where one is found. */
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
/* Adds every secret string and number in `v`, at any depth: what is marked itself or lies in a
 * marked container. Keys count only when marked themselves. Fails with ERROR_LIMIT when there is
 * too much to look through. */
MUST_CHECK bool secret_set_add_value(SecretSet *set, Value v, Error *err);

/* A copy in which "(secret)" stands for every value that is marked; what holds none is shared. */
Value secrets_hide(Arena *arena, Value v);

typedef struct Scrubber Scrubber;

/* Never changes once made: threads may share it. Fails with ERROR_LIMIT when the secrets have more
 * than SCRUB_BYTES_MAX bytes: then nothing captured can be shown. */
MUST_CHECK bool scrubber_new(const SecretSet *set, Scrubber **out, Error *err);
void scrubber_free(Scrubber *scrubber); /* NULL is fine */
DEFINE_AUTO(Scrubber, scrubber_free)

/* Appends `text` to `out` without the secrets. */
void scrubber_apply(const Scrubber *scrubber, Str text, Buf *out);
