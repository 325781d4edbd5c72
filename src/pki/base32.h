/* Random bytes as text that people can read to each other: base32 of RFC 4648 in small letters,
 * without "=" at the end. Neither way looks anything up by a secret byte. */
#pragma once

#include <stddef.h>

#include "base/own.h"
#include "base/str.h"

/* The characters for so many bytes. */
#define BASE32_TEXT(bytes) (((bytes)*8 + 4) / 5)

/* Writes them and a NUL. */
void base32_write(const unsigned char *bytes, size_t count, char *out);
/* Exactly `count` bytes in the form that base32_write() gives; false for every other text. */
MUST_CHECK bool base32_read(Str text, unsigned char *out, size_t count);
