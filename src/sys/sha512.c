/* Low-level functions, for the reason given in sha256.c. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "sys/sha512.h"

#include <openssl/sha.h>

#include "base/bug.h"
#include "base/hex.h"

_Static_assert(SHA512_HEX == 2 * SHA512_DIGEST_LENGTH, "two digits per byte");

_Static_assert(sizeof(SHA512_CTX) <= sizeof(Sha512), "space for libcrypto's state");

static SHA512_CTX *state_of(Sha512 *sha)
{
    return (SHA512_CTX *)sha->state;
}

void sha512_start(Sha512 *sha)
{
    BUG_IF(SHA512_Init(state_of(sha)) != 1);
}

void sha512_add(Sha512 *sha, Str piece)
{
    BUG_IF(SHA512_Update(state_of(sha), piece.data, piece.len) != 1);
}

void sha512_finish(Sha512 *sha, char out[SHA512_HEX + 1])
{
    unsigned char bytes[SHA512_DIGEST_LENGTH];
    BUG_IF(SHA512_Final(bytes, state_of(sha)) != 1);
    hex_encode(bytes, sizeof bytes, out);
}
