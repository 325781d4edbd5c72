/* Signatures with Ed25519 (RFC 8032): keys and signatures as bytes, and as the text that files hold.
 *
 * The library behind it is set up by the first call, which takes about a millisecond: nobody pays
 * for it who signs and verifies nothing. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

enum {
    ED25519_KEY = 32,       /* bytes of a private key, and of a public one */
    ED25519_SIGNATURE = 64, /* bytes */
    ED25519_ID = 16,        /* digits of a key's id */
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
/* By which people and files refer to a public key: the first digits of its SHA-256, and a NUL. */
void ed25519_id(const Ed25519Public *key, char out[ED25519_ID + 1]);
MUST_CHECK bool ed25519_sign(const Ed25519Private *key, Str message, Ed25519Signature *out,
                             Error *err);
/* False also when the library fails: what cannot be verified is not verified. */
MUST_CHECK bool ed25519_verify(const Ed25519Public *key, Str message,
                               const Ed25519Signature *signature);
void ed25519_forget(Ed25519Private *key); /* overwrites it */

/* Bytes of a key or signature as base64, and back. Back only what the first gives: every other
 * spelling is refused, so that there is one text for each. */
Str ed25519_text(Arena *arena, const unsigned char *bytes, size_t count);
MUST_CHECK bool ed25519_from_text(Str text, unsigned char *bytes, size_t count);
