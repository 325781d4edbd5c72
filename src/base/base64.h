/* Base64 with the standard letters (RFC 4648). */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

#define BASE64_DIGITS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

/* 0 to 63, or -1. */
int base64_digit(char c);
/* With '=' at the end, on one line. */
void base64_put(Buf *out, Str bytes);
/* The bytes. White space may stand anywhere, and '=' at the end may be missing. False when it is
 * something else. */
bool base64_decode(Arena *arena, Str text, Str *out);
