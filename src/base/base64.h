/* Base64 with the standard alphabet (RFC 4648). */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

#define BASE64_DIGITS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

/* 0 to 63, or -1. */
int base64_digit(char c);
/* With '=' padding, on one line. */
void base64_encode(Buf *out, Str bytes);
/* Decodes. Whitespace is allowed anywhere, and the '=' padding is optional. Returns false if the
 * text is invalid. */
bool base64_decode(Arena *arena, Str text, Str *out);
