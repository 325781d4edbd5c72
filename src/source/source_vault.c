/* The key is read or created on first use and stays in memory; each secret is sealed with a context
 * that it is bound to. */
#include "source/source_vault.h"

#include <openssl/crypto.h>
#include <stdlib.h>

#include "base/base64.h"
#include "base/hex.h"
#include "base/memory.h"
#include "sys/directory.h"
#include "sys/seal.h"

enum {
    TEXT = 2 * SEAL_KEY, /* size of the key file: digits, followed by a newline */
};

struct SourceVault {
    Arena arena;
    const char *directory;
    SealKey key;
    bool is_known;
};

SourceVault *source_vault_new(const char *directory)
{
    SourceVault *vault = memory_new(sizeof *vault);
    arena_init(&vault->arena, ARENA_UNLIMITED);
    vault->directory = arena_copy_c(&vault->arena, str_from_c(directory));
    return vault;
}

void source_vault_free(SourceVault *vault)
{
    if (vault != NULL) {
        seal_key_clear(&vault->key);
        arena_clear(&vault->arena);
        free(vault);
    }
}

static bool write_key(const SourceVault *vault, const Directory *directory, Error *err)
{
    char text[TEXT + 2];
    hex_encode(vault->key.bytes, SEAL_KEY, text);
    text[TEXT] = '\n';
    bool ok = directory_write(directory, SOURCE_KEY, str_from(text, TEXT + 1), true, err);
    OPENSSL_cleanse(text, sizeof text);
    return ok;
}

static bool read_key(SourceVault *vault, const Directory *directory, Error *err)
{
    char text[TEXT + 2];
    size_t len = 0;
    if (!directory_read_private(directory, SOURCE_KEY, text, sizeof text, &len, err)) {
        return false;
    }
    vault->is_known = len == TEXT + 1 && hex_is_valid(str_from(text, TEXT));
    if (vault->is_known) {
        hex_decode(text, SEAL_KEY, vault->key.bytes);
    }
    OPENSSL_cleanse(text, sizeof text);
    return vault->is_known ||
           error_set(err, ERROR_INVALID, "%s/%s is damaged", vault->directory, SOURCE_KEY);
}

static bool load_key(SourceVault *vault, bool creates, Error *err)
{
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    if (vault->is_known) {
        return true;
    }
    if (!directory_open(vault->directory, &directory, err)) {
        return false;
    }
    if (!creates || directory_has(&directory, SOURCE_KEY)) {
        return read_key(vault, &directory, err);
    }
    vault->is_known = seal_key_make(&vault->key, err) && write_key(vault, &directory, err);
    return vault->is_known;
}

bool source_vault_prepare(SourceVault *vault, Error *err)
{
    return vault == NULL || (load_key(vault, true, err) && source_vault_save(vault, err));
}

bool source_vault_seal(SourceVault *vault, Arena *arena, Str bound, Str plain, Str *out, Error *err)
{
    if (!load_key(vault, true, err) || !source_vault_save(vault, err)) {
        return false;
    }
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    base64_encode(&text, seal_encrypt(arena, &vault->key, bound, plain));
    *out = buf_str(&text);
    return true;
}

bool source_vault_open(SourceVault *vault, Arena *arena, Str bound, Str sealed, Str *out,
                       Error *err)
{
    Str bytes;
    return load_key(vault, false, err) &&
           ((base64_decode(arena, sealed, &bytes) &&
             seal_decrypt(arena, &vault->key, bound, bytes, out)) ||
            error_set(err, ERROR_INVALID, "it was sealed with a different key from %s/%s",
                      vault->directory, SOURCE_KEY));
}

bool source_vault_save(SourceVault *vault, Error *err)
{
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    return vault == NULL || !vault->is_known ||
           (directory_open(vault->directory, &directory, err) &&
            (directory_has(&directory, SOURCE_KEY) || write_key(vault, &directory, err)));
}
