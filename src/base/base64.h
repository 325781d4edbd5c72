/* Base64 with the standard letters (RFC 4648). */
#pragma once

#include "base/arena.h"
#include "base/str.h"

/* The bytes. White space may stand anywhere, and '=' at the end may be missing. False when it is
 * something else. */
bool base64_decode(Arena *arena, Str text, Str *out);
