/* Ed25519 signatures (RFC 8032): keys and signatures as bytes, and in their text form.
 *
 * libcrypto is initialized by the first call, which takes about a millisecond: programs that
 * neither sign nor verify do not pay for it. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

enum {
    ED25519_KEY = 32,       /* bytes of a private key and of a public key */
    ED25519_SIGNATURE = 64, /* bytes */
    ED25519_ID = 16,        /* hex digits of a key ID */
};

typedef struct Ed25519Private {
    unsigned char bytes[ED25519_KEY];
} Ed25519Private;

typedef struct Ed25519Public {
    unsigned char bytes[ED25519_KEY];
} Ed25519Public;

typedef struct Ed25519Signature {
    unsigned char bytes[ED25519_SIGNATURE];
} Ed25519Signature;

MUST_CHECK bool ed25519_make(Ed25519Private *out, Error *err);
MUST_CHECK bool ed25519_public(const Ed25519Private *key, Ed25519Public *out, Error *err);
/* The ID by which people and files refer to a public key: the first digits of its SHA-256, and a
 * NUL. */
void ed25519_id(const Ed25519Public *key, char out[ED25519_ID + 1]);
MUST_CHECK bool ed25519_sign(const Ed25519Private *key, Str message, Ed25519Signature *out,
                             Error *err);
/* Also false if libcrypto fails. */
MUST_CHECK bool ed25519_verify(const Ed25519Public *key, Str message,
                               const Ed25519Signature *signature);
void ed25519_forget(Ed25519Private *key); /* wipes the key */

/* Base64 encoding of keys and signatures. Decoding accepts only the canonical encoding, so each
 * value has exactly one text. */
Str ed25519_text(Arena *arena, const unsigned char *bytes, size_t count);
MUST_CHECK bool ed25519_from_text(Str text, unsigned char *bytes, size_t count);
