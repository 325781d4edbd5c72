/* Deliberately uses libcrypto's low-level functions, although they are deprecated: their
 * replacements initialize the whole library first, with providers and configuration file. That
 * takes a millisecond, half the time of a small run, and can fail. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "sys/sha256.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include "base/bug.h"
#include "base/hex.h"

enum {
    BLOCK = 64, /* bytes that are hashed at once */
    INNER = 0x36,
    OUTER = 0x5c
};

_Static_assert(SHA256_HEX == 2 * SHA256_DIGEST_LENGTH, "two digits per byte");

_Static_assert(sizeof(SHA256_CTX) <= sizeof(Sha256), "space for libcrypto's state");

static SHA256_CTX *state_of(Sha256 *sha)
{
    return (SHA256_CTX *)sha->state;
}

void sha256_start(Sha256 *sha)
{
    BUG_IF(SHA256_Init(state_of(sha)) != 1);
}

void sha256_add(Sha256 *sha, Str piece)
{
    BUG_IF(SHA256_Update(state_of(sha), piece.data, piece.len) != 1);
}

static void finish_bytes(Sha256 *sha, unsigned char out[SHA256_DIGEST_LENGTH])
{
    BUG_IF(SHA256_Final(out, state_of(sha)) != 1);
}

void sha256_finish(Sha256 *sha, char out[SHA256_HEX + 1])
{
    unsigned char bytes[SHA256_DIGEST_LENGTH];
    finish_bytes(sha, bytes);
    hex_encode(bytes, sizeof bytes, out);
    OPENSSL_cleanse(bytes, sizeof bytes); /* it may be key material */
}

void sha256_hex(Str text, char out[SHA256_HEX + 1])
{
    Sha256 sha;
    sha256_start(&sha);
    sha256_add(&sha, text);
    sha256_finish(&sha, out);
}

static Str bytes_text(const unsigned char *bytes, size_t count)
{
    return str_from((const char *)bytes, count);
}

void sha256_hmac_hex(Str key, Str text, char out[SHA256_HEX + 1])
{
    unsigned char block[BLOCK] = { 0 }, inner[SHA256_DIGEST_LENGTH];
    Sha256 sha;
    if (key.len > BLOCK) {
        sha256_start(&sha);
        sha256_add(&sha, key);
        finish_bytes(&sha, block);
    } else if (key.len > 0) {
        memcpy(block, key.data, key.len);
    }
    for (size_t i = 0; i < BLOCK; i++) {
        block[i] ^= INNER;
    }
    sha256_start(&sha);
    sha256_add(&sha, bytes_text(block, sizeof block));
    sha256_add(&sha, text);
    finish_bytes(&sha, inner);
    for (size_t i = 0; i < BLOCK; i++) {
        block[i] ^= INNER ^ OUTER;
    }
    sha256_start(&sha);
    sha256_add(&sha, bytes_text(block, sizeof block));
    sha256_add(&sha, bytes_text(inner, sizeof inner));
    sha256_finish(&sha, out);
    OPENSSL_cleanse(block, sizeof block);
    OPENSSL_cleanse(inner, sizeof inner);
    OPENSSL_cleanse(&sha, sizeof sha);
}
