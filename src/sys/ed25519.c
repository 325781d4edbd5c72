#include "sys/ed25519.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "sys/sha256.h"

static bool fail(const char *what, Error *err)
{
    return error_set(err, ERROR_OS, "cannot %s: libcrypto does not support Ed25519", what);
}

bool ed25519_make(Ed25519Private *out, Error *err)
{
    EVP_PKEY *made = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    size_t len = sizeof out->bytes;
    bool ok = made != NULL && EVP_PKEY_get_raw_private_key(made, out->bytes, &len) == 1 &&
              len == sizeof out->bytes;
    EVP_PKEY_free(made);
    return ok || fail("make a key", err);
}

static EVP_PKEY *load_private(const Ed25519Private *key)
{
    return EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, key->bytes, sizeof key->bytes);
}

bool ed25519_public(const Ed25519Private *key, Ed25519Public *out, Error *err)
{
    EVP_PKEY *loaded = load_private(key);
    size_t len = sizeof out->bytes;
    bool ok = loaded != NULL && EVP_PKEY_get_raw_public_key(loaded, out->bytes, &len) == 1 &&
              len == sizeof out->bytes;
    EVP_PKEY_free(loaded);
    return ok || fail("read a key", err);
}

void ed25519_id(const Ed25519Public *key, char out[ED25519_ID + 1])
{
    char digits[SHA256_HEX + 1];
    sha256_hex(str_from((const char *)key->bytes, sizeof key->bytes), digits);
    memcpy(out, digits, ED25519_ID);
    out[ED25519_ID] = '\0';
}

bool ed25519_sign(const Ed25519Private *key, Str message, Ed25519Signature *out, Error *err)
{
    EVP_PKEY *loaded = load_private(key);
    EVP_MD_CTX *state = EVP_MD_CTX_new();
    size_t len = sizeof out->bytes;
    bool ok = loaded != NULL && state != NULL &&
              EVP_DigestSignInit(state, NULL, NULL, NULL, loaded) == 1 &&
              EVP_DigestSign(state, out->bytes, &len, (const unsigned char *)message.data,
                             message.len) == 1 &&
              len == sizeof out->bytes;
    EVP_MD_CTX_free(state);
    EVP_PKEY_free(loaded);
    return ok || fail("sign", err);
}

bool ed25519_verify(const Ed25519Public *key, Str message, const Ed25519Signature *signature)
{
    EVP_PKEY *loaded =
        EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, key->bytes, sizeof key->bytes);
    EVP_MD_CTX *state = EVP_MD_CTX_new();
    bool ok = loaded != NULL && state != NULL &&
              EVP_DigestVerifyInit(state, NULL, NULL, NULL, loaded) == 1 &&
              EVP_DigestVerify(state, signature->bytes, sizeof signature->bytes,
                               (const unsigned char *)message.data, message.len) == 1;
    EVP_MD_CTX_free(state);
    EVP_PKEY_free(loaded);
    return ok;
}

void ed25519_forget(Ed25519Private *key)
{
    OPENSSL_cleanse(key, sizeof *key);
}

/* Decodes `count` bytes and appends a NUL. */
static size_t text_length(size_t count)
{
    return (count + 2) / 3 * 4;
}

Str ed25519_text(Arena *arena, const unsigned char *bytes, size_t count)
{
    size_t len = text_length(count);
    char *text = arena_alloc(arena, len + 1);
    EVP_EncodeBlock((unsigned char *)text, bytes, (int)count);
    return str_from(text, len);
}

bool ed25519_from_text(Str text, unsigned char *bytes, size_t count)
{
    /* The decoder writes whole groups of three bytes. */
    unsigned char read[ED25519_SIGNATURE + 2], again[(ED25519_SIGNATURE + 2) / 3 * 4 + 1];
    if (count > ED25519_SIGNATURE || text.len != text_length(count) ||
        EVP_DecodeBlock(read, (const unsigned char *)text.data, (int)text.len) < (int)count) {
        return false;
    }
    EVP_EncodeBlock(again, read, (int)count);
    bool same = memcmp(again, text.data, text.len) == 0;
    if (same) {
        memcpy(bytes, read, count);
    }
    OPENSSL_cleanse(read, sizeof read);
    OPENSSL_cleanse(again, sizeof again);
    return same;
}
