/* Incremental SHA-512, as 128 lowercase hex digits: start, add each piece, finish. */
#pragma once

#include "base/str.h"

enum {
    SHA512_HEX = 128
};

typedef struct Sha512 {
    uint64_t state[28]; /* libcrypto's state */
} Sha512;
void sha512_start(Sha512 *sha);
void sha512_add(Sha512 *sha, Str piece);
/* Writes the digits and a NUL. */
void sha512_finish(Sha512 *sha, char out[SHA512_HEX + 1]);
