/* Seals the secrets of sources with a key in a file of the server, which is part of backups, so
 * that records in the store do not reveal them. Loop thread only. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/own.h"

typedef struct SourceVault SourceVault;

#define SOURCE_KEY "source_key" /* name of the file */

/* `directory` is that of the server, and is copied. Reads nothing yet. */
SourceVault *source_vault_new(const char *directory);
void source_vault_free(SourceVault *vault); /* NULL is allowed */
DEFINE_AUTO(SourceVault, source_vault_free)

/* Returns base64. The same `bound` is required for opening; it is not part of the result. The first
 * call creates the key. Fails on file errors. */
MUST_CHECK bool source_vault_seal(SourceVault *vault, Arena *arena, Str bound, Str plain, Str *out,
                                  Error *err);
/* Fails with ERROR_INVALID if it was sealed with a different key, or bound to something else, and
 * on file errors. */
MUST_CHECK bool source_vault_open(SourceVault *vault, Arena *arena, Str bound, Str sealed, Str *out,
                                  Error *err);
/* Creates the key now if there is none. NULL is allowed. */
MUST_CHECK bool source_vault_prepare(SourceVault *vault, Error *err);
/* Writes the key file again if it is missing and the key is in memory. NULL is allowed. */
MUST_CHECK bool source_vault_save(SourceVault *vault, Error *err);
