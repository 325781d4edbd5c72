/* SHA-256 as 64 lowercase hex digits, which identify stored content. */
#pragma once

#include "base/str.h"

enum {
    SHA256_HEX = 64
};

/* Writes the digits and a NUL. */
void sha256_hex(Str text, char out[SHA256_HEX + 1]);

/* The same incrementally: start, add each piece, finish. */
typedef struct Sha256 {
    uint64_t state[16]; /* libcrypto's state */
} Sha256;
void sha256_start(Sha256 *sha);
void sha256_add(Sha256 *sha, Str piece);
void sha256_finish(Sha256 *sha, char out[SHA256_HEX + 1]);

/* HMAC with SHA-256 (RFC 2104), as digits. */
void sha256_hmac_hex(Str key, Str text, char out[SHA256_HEX + 1]);
