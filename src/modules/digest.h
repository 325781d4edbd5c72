/* Digests as sites write them: "sha256:" and 64 digits. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

/* In lower case. Fails with ERROR_INVALID for any other form. */
MUST_CHECK bool digest_parse(Arena *arena, Str given, Str *out, Error *err);
/* "sha256:" before the digits of sha256_finish. */
Str digest_from_hex(Arena *arena, const char *hex);
