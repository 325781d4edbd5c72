/* Private keys of the curve P-256. They live in libcrypto's memory, which is wiped when they are
 * freed, and leave it only as the text of a file, in a KeyText that is wiped as well. */
#pragma once

#include "pki/p256_public.h"

typedef struct evp_pkey_st P256Private;

enum {
    KEY_TEXT_MAX = 512,
};

typedef struct KeyText {
    char text[KEY_TEXT_MAX]; /* PKCS #8, not encrypted, in PEM */
    size_t len;
} KeyText;

/* From now on private keys are in memory that no core dump holds and, where the limits allow it, that is
 * not swapped out, and libcrypto wipes whatever it frees. For the start of a daemon, before there are keys
 * or threads and before libcrypto is used. */
void p256_private_protect(void);

MUST_CHECK bool p256_private_make(P256Private **out, Error *err);
void p256_private_free(P256Private *key); /* NULL is allowed; wipes it */
DEFINE_AUTO(P256Private, p256_private_free)

/* Fails with ERROR_INVALID; the text of the error holds nothing of the key. */
MUST_CHECK bool p256_private_from_pem(Str pem, P256Private **out, Error *err);
MUST_CHECK bool p256_private_text(const P256Private *key, KeyText *out, Error *err);
void key_text_clear(KeyText *text); /* wipes it */
DEFINE_AUTO_CLEAR(KeyText, key_text_clear)

MUST_CHECK bool p256_public_of(const P256Private *key, P256Public *out, Error *err);
MUST_CHECK bool p256_private_sign(const P256Private *key, Str message, P256Signature *out,
                                  Error *err);
