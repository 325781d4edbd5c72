#include "sys/sha256.h"

#include <openssl/evp.h>

#include "base/bug.h"

void sha256_hex(Str text, char out[SHA256_HEX + 1])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char bytes[EVP_MAX_MD_SIZE];
    unsigned length = 0;
    if (EVP_Digest(text.data, text.len, bytes, &length, EVP_sha256(), NULL) != 1) {
        BUG("SHA-256 is not there");
    }
    for (unsigned i = 0; i < SHA256_HEX / 2; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[SHA256_HEX] = '\0';
}
