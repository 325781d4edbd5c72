#include "pki/p256_private.h"

#include <malloc.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

#include "pki/crypto_fault.h"
#include "pki/handle.h"
#include "pki/pem.h"

static const char label[] = "PRIVATE KEY";

enum {
    DER_MAX = 256,              /* 138 bytes are usual */
    SECURE_HEAP = 64 << 10,     /* size without connections; must be a power of two */
    SECURE_PER_CONNECTION = 32, /* additional size per connection */
    SECURE_MIN = 16,
};

typedef struct KeyBytes {
    unsigned char bytes[DER_MAX];
} KeyBytes;

static void key_bytes_clear(KeyBytes *bytes)
{
    OPENSSL_cleanse(bytes, sizeof *bytes);
}
DEFINE_AUTO_CLEAR(KeyBytes, key_bytes_clear)

/* --- Memory of libcrypto --------------------------------------------------------------------- */

static void *set_allocators(size_t size, const char *file, int line)
{
    return malloc(size);
}

static void wipe_memory(void *memory, const char *file, int line)
{
    if (memory != NULL) {
        OPENSSL_cleanse(memory, malloc_usable_size(memory));
        free(memory);
    }
}

/* Not realloc: it may leave a copy in the old memory. */
static void *resize_memory(void *memory, size_t size, const char *file, int line)
{
    size_t old_size = memory == NULL ? 0 : malloc_usable_size(memory);
    void *moved = size == 0 ? NULL : malloc(size);
    if (moved != NULL && memory != NULL) {
        memcpy(moved, memory, old_size < size ? old_size : size);
    }
    if (moved != NULL || size == 0) {
        wipe_memory(memory, file, line);
    }
    return moved;
}

/* libcrypto does not wipe the memory in which it decodes keys, nor that of TLS, before freeing it;
 * these functions do. They are rejected once it has allocated anything. */
void p256_private_protect(uint32_t connections)
{
    size_t size = SECURE_HEAP;
    while (size < SECURE_HEAP + (size_t)connections * SECURE_PER_CONNECTION) {
        size *= 2;
    }
    (void)CRYPTO_set_mem_functions(set_allocators, resize_memory, wipe_memory);
    /* 2: enabled, but may be swapped out. 0: keys are in ordinary memory. */
    (void)CRYPTO_secure_malloc_init(size, SECURE_MIN);
}

/* --- Keys ------------------------------------------------------------------------------------ */

bool p256_private_make(P256Private **out, Error *err)
{
    crypto_begin();
    EVP_PKEY *result = EVP_EC_gen("P-256");
    if (result == NULL) {
        return crypto_fail(err, ERROR_OS, "cannot generate a P-256 key");
    }
    *out = result;
    return crypto_done();
}

void p256_private_free(P256Private *key)
{
    EVP_PKEY_free(key);
}

static bool is_on_curve(const EVP_PKEY *key)
{
    char group[32];
    size_t len;
    return EVP_PKEY_get_base_id(key) == EVP_PKEY_EC &&
           EVP_PKEY_get_group_name(key, group, sizeof group, &len) == 1 &&
           strcmp(group, "prime256v1") == 0;
}

/* Private and public key must match; otherwise an attacker could make us sign with a key that is
 * not ours. */
static bool is_whole(EVP_PKEY *key)
{
    AUTO(EVP_PKEY_CTX) *context = EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL);
    return context != NULL && EVP_PKEY_check(context) == 1;
}

bool p256_private_from_pem(Str pem, P256Private **out, Error *err)
{
    PemBlock block;
    AUTO_CLEAR(KeyBytes) der;
    size_t len = 0;
    if (!pem_read_single(pem, label, &block, err)) {
        return error_wrap(err, "the private key");
    }
    if (pem_bytes_max(&block) > sizeof der.bytes) {
        return error_set(err, ERROR_INVALID, "the private key is too large for P-256");
    }
    if (!pem_bytes(&block, der.bytes, &len, err)) {
        return error_wrap(err, "the private key");
    }
    crypto_begin();
    const unsigned char *at = der.bytes;
    AUTO(PKCS8_PRIV_KEY_INFO) *packed = d2i_PKCS8_PRIV_KEY_INFO(NULL, &at, (long)len);
    if (packed == NULL || at != der.bytes + len) {
        return crypto_fail(err, ERROR_INVALID, "the private key is not PKCS #8");
    }
    AUTO(EVP_PKEY) *key = EVP_PKCS82PKEY(packed);
    if (key == NULL) {
        return crypto_fail(err, ERROR_INVALID, "cannot read the private key");
    }
    if (!is_on_curve(key)) {
        return crypto_fail(err, ERROR_INVALID, "the private key is not a P-256 key");
    }
    if (!is_whole(key)) {
        return crypto_fail(err, ERROR_INVALID, "the private key is damaged");
    }
    *out = TAKE(key);
    return crypto_done();
}

bool p256_private_text(const P256Private *key, KeyText *out, Error *err)
{
    AUTO_CLEAR(KeyBytes) der;
    crypto_begin();
    AUTO(PKCS8_PRIV_KEY_INFO) *packed = EVP_PKEY2PKCS8(key);
    int len = packed == NULL ? -1 : i2d_PKCS8_PRIV_KEY_INFO(packed, NULL);
    unsigned char *to = der.bytes;
    if (len <= 0 || len > DER_MAX || pem_size(label, (size_t)len) > sizeof out->text ||
        i2d_PKCS8_PRIV_KEY_INFO(packed, &to) != len) {
        return crypto_fail(err, ERROR_OS, "cannot write a private key");
    }
    pem_write(label, der.bytes, (size_t)len, out->text);
    out->len = pem_size(label, (size_t)len);
    return crypto_done();
}

void key_text_clear(KeyText *text)
{
    OPENSSL_cleanse(text, sizeof *text);
}

bool p256_public_of(const P256Private *key, P256Public *out, Error *err)
{
    P256Public public;
    size_t len = 0;
    crypto_begin();
    if (EVP_PKEY_get_octet_string_param(key, OSSL_PKEY_PARAM_PUB_KEY, public.point,
                                        sizeof public.point, &len) != 1 ||
        len != sizeof public.point || public.point[0] != POINT_CONVERSION_UNCOMPRESSED) {
        return crypto_fail(err, ERROR_OS, "cannot derive the public key");
    }
    *out = public;
    return crypto_done();
}

bool p256_private_sign(const P256Private *key, Str message, P256Signature *out, Error *err)
{
    crypto_begin();
    AUTO(EVP_MD_CTX) *state = EVP_MD_CTX_new();
    P256Signature result = { .len = sizeof result.bytes };
    /* libcrypto counts references, so its parameter is not const. */
    if (state == NULL ||
        EVP_DigestSignInit(state, NULL, EVP_sha256(), NULL, (EVP_PKEY *)key) != 1 ||
        EVP_DigestSign(state, result.bytes, &result.len, (const unsigned char *)message.data,
                       message.len) != 1) {
        return crypto_fail(err, ERROR_OS, "cannot sign");
    }
    *out = result;
    return crypto_done();
}
