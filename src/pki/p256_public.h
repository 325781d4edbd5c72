/* Public keys of the curve P-256, the only kind in a cluster, and the pins that name them.
 *
 * A key is a plain value: the point, uncompressed. Nothing else of what somebody sent survives
 * reading it, neither parameters of the curve nor another encoding, so one key has one pin. */
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

/* SHA-256 of the key as certificates hold it (SubjectPublicKeyInfo). It stays the same when a CA
 * gets a new certificate for its key. */
typedef struct Pin {
    unsigned char bytes[PIN_BYTES];
} Pin;

typedef struct P256Signature {
    unsigned char bytes[P256_SIGNATURE_MAX];
    size_t len;
} P256Signature;

void p256_public_pin(const P256Public *key, Pin *out);
bool p256_public_equal(const P256Public *a, const P256Public *b);
/* ECDSA with SHA-256. False also when libcrypto fails: what cannot be verified is not verified. */
MUST_CHECK bool p256_public_verify(const P256Public *key, Str message,
                                   const P256Signature *signature);

/* "sha256:" and 64 lower-case digits, and a NUL. */
void pin_text(const Pin *pin, char out[PIN_TEXT + 1]);
/* Takes exactly that form. Fails with ERROR_INVALID. */
MUST_CHECK bool pin_parse(Str text, Pin *out, Error *err);
bool pin_equal(const Pin *a, const Pin *b);
bool pin_is_zero(const Pin *pin);           /* no key has it */
extern const RecordCodec pin_codec;         /* pins in that form */
extern const RecordCodec pin_or_none_codec; /* or an empty text, for one of zeros */

/* --- Between files of this folder ---------------------------------------------------------- */

/* The key of a certificate or request, if it is on P-256, named and uncompressed. Fails with
 * ERROR_INVALID. */
MUST_CHECK bool p256_public_read(struct X509_pubkey_st *from, P256Public *out, Error *err);
/* libcrypto's object for it; NULL when the point is not on the curve. */
struct evp_pkey_st *p256_public_open(const P256Public *key);
