/* Private keys on the curve P-256. They are in libcrypto's memory, which is wiped when they are
 * freed, and are exported only as the content of a file, in a KeyText that is wiped as well. */
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

/* From now on private keys are in memory that is excluded from core dumps and, if the limits allow
 * it, not swapped out, and libcrypto wipes whatever it frees. Must be called when a daemon starts,
 * before there are keys or threads and before libcrypto is used. The memory has space for the keys
 * of `connections` TLS connections: libcrypto keeps one for each until it is closed. */
void p256_private_protect(uint32_t connections);

MUST_CHECK bool p256_private_make(P256Private **out, Error *err);
void p256_private_free(P256Private *key); /* NULL is allowed; wipes it */
DEFINE_AUTO(P256Private, p256_private_free)

/* Fails with ERROR_INVALID; the message contains nothing of the key. */
MUST_CHECK bool p256_private_from_pem(Str pem, P256Private **out, Error *err);
MUST_CHECK bool p256_private_text(const P256Private *key, KeyText *out, Error *err);
void key_text_clear(KeyText *text); /* wipes it */
DEFINE_AUTO_CLEAR(KeyText, key_text_clear)

MUST_CHECK bool p256_public_of(const P256Private *key, P256Public *out, Error *err);
MUST_CHECK bool p256_private_sign(const P256Private *key, Str message, P256Signature *out,
                                  Error *err);
