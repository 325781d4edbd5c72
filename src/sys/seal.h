/* Encrypts and authenticates bytes that pass through untrusted parties: AES-SIV (RFC 5297). It is
 * deterministic and needs no nonce, so a key can be used for years: equal inputs give equal
 * outputs, which is all that can be learned from them apart from the length. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/own.h"
#include "base/str.h"

enum {
    SEAL_KEY = 32,     /* bytes */
    SEAL_OVERHEAD = 16 /* bytes added by sealing */
};

typedef struct SealKey {
    unsigned char bytes[SEAL_KEY];
} SealKey;

MUST_CHECK bool seal_key_make(SealKey *out, Error *err);
void seal_key_clear(SealKey *key);

/* The result opens only with the same key and the same `bound`, which is not included in it.
 * Neither may be empty. */
Str seal_encrypt(Arena *arena, const SealKey *key, Str bound, Str plain);
/* Returns false if it was not sealed with this key and `bound`. */
MUST_CHECK bool seal_decrypt(Arena *arena, const SealKey *key, Str bound, Str sealed, Str *out);
