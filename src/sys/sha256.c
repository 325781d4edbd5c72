/* libcrypto's plain functions on purpose, though it calls them deprecated: the ones that replace
 * them set up the whole library first, with its providers and its configuration file. That takes
 * a millisecond, which is half of a run with little to do, and can fail. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "sys/sha256.h"

#include <openssl/sha.h>

#include "base/bug.h"

_Static_assert(SHA256_HEX == 2 * SHA256_DIGEST_LENGTH, "two digits for each byte");

void sha256_hex(Str text, char out[SHA256_HEX + 1])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char bytes[SHA256_DIGEST_LENGTH];
    SHA256_CTX state;
    if (SHA256_Init(&state) != 1 || SHA256_Update(&state, text.data, text.len) != 1 ||
        SHA256_Final(bytes, &state) != 1) {
        BUG("SHA-256 is not there");
    }
    for (size_t i = 0; i < sizeof bytes; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[SHA256_HEX] = '\0';
}
