/* Loading and saving credentials. Both loading and saving check that the key matches the
 * certificates, so a damaged file is noticed before it is used. */
#include "pki/credential.h"

#include <openssl/crypto.h>

#include "base/buf.h"
#include "base/memory.h"
#include "pki/pem.h"

enum {
    FILE_MAX = 64 << 10,
};

typedef struct FileText {
    char *bytes;
    size_t len;
} FileText;

static void file_text_clear(FileText *text)
{
    OPENSSL_clear_free(text->bytes, FILE_MAX);
}
DEFINE_AUTO_CLEAR(FileText, file_text_clear)

static FileText file_text_make(void)
{
    FileText text = { .bytes = OPENSSL_zalloc(FILE_MAX) };
    if (text.bytes == NULL) {
        memory_exhausted(FILE_MAX);
    }
    return text;
}

static bool file_text_put(FileText *text, Str piece)
{
    if (piece.len > FILE_MAX - text->len) {
        return false;
    }
    memcpy(text->bytes + text->len, piece.data, piece.len);
    text->len += piece.len;
    return true;
}

void credential_clear(Credential *credential)
{
    p256_private_free(TAKE(credential->key));
}

static bool keys_match(const P256Private *key, CertificateSet chain, Error *err)
{
    P256Public public_key;
    if (!p256_public_of(key, &public_key, err)) {
        return false;
    }
    return (chain.count > 0 && p256_public_equal(&public_key, &chain.items[0].key)) ||
           error_set(err, ERROR_INVALID, "the private key does not match the certificate");
}

bool credential_save(const Directory *directory, const char *name, const P256Private *key,
                     CertificateSet chain, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    AUTO_CLEAR(KeyText) key_text = { 0 };
    AUTO_CLEAR(FileText) text = file_text_make();
    if (!keys_match(key, chain, err) || !p256_private_text(key, &key_text, err)) {
        return error_wrap(err, "%s/%s", directory->path, name);
    }
    bool fits = file_text_put(&text, str_from(key_text.text, key_text.len));
    for (uint32_t i = 0; i < chain.count && fits; i++) {
        fits = file_text_put(&text, certificate_pem(&arena, &chain.items[i]));
    }
    if (!fits) {
        return error_set(err, ERROR_LIMIT, "%s/%s: larger than %d bytes", directory->path, name,
                         FILE_MAX);
    }
    return directory_write(directory, name, str_from(text.bytes, text.len), true, err);
}

static bool read_text(Str text, Arena *arena, Credential *out, Error *err)
{
    Str rest = text;
    PemBlock block;
    bool found;
    if (!pem_next(&rest, &block, &found, err)) {
        return false;
    }
    Str key_text = str_slice(text, 0, text.len - rest.len);
    AUTO(P256Private) *key = NULL;
    Certificate *chain;
    uint32_t count;
    if (!p256_private_from_pem(key_text, &key, err) ||
        !certificates_from_pem(arena, rest, &chain, &count, err)) {
        return false;
    }
    CertificateSet set = { chain, count };
    if (!keys_match(key, set, err)) {
        return false;
    }
    *out = (Credential){ .key = TAKE(key), .chain = set };
    return true;
}

bool credential_load(const Directory *directory, const char *name, Arena *arena, Credential *out,
                     Error *err)
{
    AUTO_CLEAR(FileText) text = file_text_make();
    return directory_read_private(directory, name, text.bytes, FILE_MAX, &text.len, err) &&
           (read_text(str_from(text.bytes, text.len), arena, out, err) ||
            error_wrap(err, "%s/%s", directory->path, name));
}
