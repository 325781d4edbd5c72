#include "sys/seal.h"

#include <limits.h>

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include "base/bug.h"

bool seal_key_make(SealKey *out, Error *err)
{
    ERR_set_mark();
    bool ok = RAND_priv_bytes(out->bytes, sizeof out->bytes) == 1;
    ERR_pop_to_mark();
    return ok ||
           error_set(err, ERROR_OS, "cannot generate a key: libcrypto returned no random bytes");
}

void seal_key_clear(SealKey *key)
{
    OPENSSL_cleanse(key, sizeof *key);
}

static unsigned char *bytes_of(Str text)
{
    return (unsigned char *)(uintptr_t)text.data;
}

/* Writes `tag` when sealing and reads it when opening. OpenSSL skips empty associated data and so
 * does not distinguish it from none. */
static bool cipher(const SealKey *key, Str bound, Str in, unsigned char *tag, unsigned char *out,
                   bool seals)
{
    BUG_IF(bound.len == 0 || in.len == 0 || bound.len > INT_MAX || in.len > INT_MAX);
    EVP_CIPHER *siv = EVP_CIPHER_fetch(NULL, "AES-128-SIV", NULL);
    EVP_CIPHER_CTX *state = EVP_CIPHER_CTX_new();
    int len = 0;
    bool ok =
        siv != NULL && state != NULL &&
        EVP_CipherInit_ex2(state, siv, key->bytes, NULL, seals, NULL) == 1 &&
        (seals || EVP_CIPHER_CTX_ctrl(state, EVP_CTRL_AEAD_SET_TAG, SEAL_OVERHEAD, tag) == 1) &&
        EVP_CipherUpdate(state, NULL, &len, bytes_of(bound), (int)bound.len) == 1 &&
        EVP_CipherUpdate(state, out, &len, bytes_of(in), (int)in.len) == 1 && len == (int)in.len &&
        EVP_CipherFinal_ex(state, out + len, &len) == 1 &&
        (!seals || EVP_CIPHER_CTX_ctrl(state, EVP_CTRL_AEAD_GET_TAG, SEAL_OVERHEAD, tag) == 1);
    EVP_CIPHER_CTX_free(state);
    EVP_CIPHER_free(siv);
    return ok;
}

Str seal_encrypt(Arena *arena, const SealKey *key, Str bound, Str plain)
{
    unsigned char *out = arena_alloc(arena, SEAL_OVERHEAD + plain.len);
    bool ok = cipher(key, bound, plain, out, out + SEAL_OVERHEAD, true);
    if (!ok) {
        BUG("libcrypto failed to seal");
    }
    return str_from((const char *)out, SEAL_OVERHEAD + plain.len);
}

bool seal_decrypt(Arena *arena, const SealKey *key, Str bound, Str sealed, Str *out)
{
    *out = STR_EMPTY;
    if (sealed.len <= SEAL_OVERHEAD || sealed.len > INT_MAX) {
        return false;
    }
    size_t len = sealed.len - SEAL_OVERHEAD;
    unsigned char tag[SEAL_OVERHEAD];
    unsigned char *plain = arena_alloc(arena, len);
    memcpy(tag, sealed.data, sizeof tag);
    /* A failure to open is expected, and must not stay in OpenSSL's error queue. */
    ERR_set_mark();
    bool ok = cipher(key, bound, str_from_offset(sealed, SEAL_OVERHEAD), tag, plain, false);
    ERR_pop_to_mark();
    *out = ok ? str_from((const char *)plain, len) : STR_EMPTY;
    return ok;
}
