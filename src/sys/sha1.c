/* Low-level functions, for the reason given in sha256.c. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "sys/sha1.h"

#include <openssl/sha.h>

#include "base/bug.h"

_Static_assert(SHA1_SIZE == SHA_DIGEST_LENGTH, "same size as in libcrypto");

enum {
    BLOCK = 64,
    INNER = 0x36,
    OUTER = 0x5c
};

static void hash_two(const unsigned char *first, size_t first_len, const void *second,
                     size_t second_len, unsigned char *out)
{
    SHA_CTX state;
    if (SHA1_Init(&state) != 1 || SHA1_Update(&state, first, first_len) != 1 ||
        SHA1_Update(&state, second, second_len) != 1 || SHA1_Final(out, &state) != 1) {
        BUG("SHA-1 is not available");
    }
}

void sha1_hmac(Str key, Str text, unsigned char out[SHA1_SIZE])
{
    unsigned char block[BLOCK] = { 0 }, inner[SHA1_SIZE];
    if (key.len > BLOCK) {
        hash_two((const unsigned char *)key.data, key.len, "", 0, block);
    } else if (key.len > 0) {
        memcpy(block, key.data, key.len);
    }
    for (size_t i = 0; i < BLOCK; i++) {
        block[i] ^= INNER;
    }
    hash_two(block, BLOCK, text.len > 0 ? text.data : "", text.len, inner);
    for (size_t i = 0; i < BLOCK; i++) {
        block[i] ^= INNER ^ OUTER;
    }
    hash_two(block, BLOCK, inner, sizeof inner, out);
}
