/* Public keys on the curve P-256, the only kind in a cluster, and the pins that identify them.
 *
 * A key is a plain value: the uncompressed point. Nothing else from the input is preserved, not
 * curve parameters or another encoding, so a key has exactly one pin. */
#pragma once

#include "base/error.h"
#include "base/str.h"
#include "lang/record.h"

struct X509_pubkey_st;
struct evp_pkey_st;

enum {
    P256_PUBLIC_BYTES = 65,
    KEY_ID_BYTES = 20,       /* of subject and authority key identifiers */
    PIN_BYTES = 32,          /* a SHA-256 */
    PIN_TEXT = 7 + 64,       /* "sha256:" and its digits */
    P256_SIGNATURE_MAX = 72, /* an ECDSA signature in DER */
};

typedef struct P256Public {
    unsigned char point[P256_PUBLIC_BYTES];
} P256Public;

/* SHA-256 of the key as in certificates (SubjectPublicKeyInfo). It stays the same if a CA gets a
 * new certificate for its key. */
typedef struct Pin {
    unsigned char bytes[PIN_BYTES];
} Pin;

typedef struct P256Signature {
    unsigned char bytes[P256_SIGNATURE_MAX];
    size_t len;
} P256Signature;

void p256_public_pin(const P256Public *key, Pin *out);
bool p256_public_equal(const P256Public *a, const P256Public *b);
/* ECDSA with SHA-256. Also returns false if libcrypto fails. */
MUST_CHECK bool p256_public_verify(const P256Public *key, Str message,
                                   const P256Signature *signature);

/* Writes "sha256:", 64 lowercase digits and a NUL. */
void pin_text(const Pin *pin, char out[PIN_TEXT + 1]);
/* Accepts exactly that form. Fails with ERROR_INVALID. */
MUST_CHECK bool pin_parse(Str text, Pin *out, Error *err);
bool pin_equal(const Pin *a, const Pin *b);
bool pin_is_zero(const Pin *pin);           /* a zeroed pin, which is not that of any key */
extern const RecordCodec pin_codec;         /* pins as text */
extern const RecordCodec pin_or_none_codec; /* the same, with an empty string for a zeroed pin */

/* --- Private to this directory --------------------------------------------------------------- */

/* Reads the key of a certificate or request, which must be on P-256, as a named curve and
 * uncompressed. Fails with ERROR_INVALID. */
MUST_CHECK bool p256_public_read(struct X509_pubkey_st *from, P256Public *out, Error *err);
/* Creates libcrypto's object for the key; NULL if the point is not on the curve. */
struct evp_pkey_st *p256_public_open(const P256Public *key);
