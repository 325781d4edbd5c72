/* Public keys that sources of packages are signed with: OpenPGP, armored or in base64. Pure. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

typedef struct RepoKey {
    Str content;  /* as it goes into a file */
    bool armored; /* lines of text; otherwise bytes */
} RepoKey;

/* Takes "-----BEGIN PGP PUBLIC KEY BLOCK-----", base64 of the bytes, or the bytes. Anything else,
 * a private key too, is ERROR_INVALID. */
MUST_CHECK bool repo_key_read(Arena *arena, Str given, RepoKey *out, Error *err);
