/* Bytes that go through the hands of others, who may neither read nor change them: AES-SIV (RFC 5297).
 * Nothing is drawn for it, so that a key may last for years: what is sealed twice looks the same, and
 * that is all that can be learned of it beside its length. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/own.h"
#include "base/str.h"

enum {
    SEAL_KEY = 32,     /* bytes */
    SEAL_OVERHEAD = 16 /* bytes by which it gets longer */
};

typedef struct SealKey {
    unsigned char bytes[SEAL_KEY];
} SealKey;

MUST_CHECK bool seal_key_make(SealKey *out, Error *err);
void seal_key_clear(SealKey *key);

/* It opens only with the same key and the same `bound`, which is not part of it. Neither is empty. */
Str seal_close(Arena *arena, const SealKey *key, Str bound, Str plain);
/* False: it was not sealed so. */
MUST_CHECK bool seal_open(Arena *arena, const SealKey *key, Str bound, Str sealed, Str *out);
