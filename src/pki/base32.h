/* Random bytes as a string that people can read to each other: base32 of RFC 4648 in lowercase,
 * without padding. Neither direction uses table lookups indexed by secret data. */
#pragma once

#include <stddef.h>

#include "base/own.h"
#include "base/str.h"

/* Length of the encoding of that many bytes. */
#define BASE32_TEXT(bytes) (((bytes)*8 + 4) / 5)

/* Writes the encoding and a NUL. */
void base32_write(const unsigned char *bytes, size_t count, char *out);
/* Decodes exactly `count` bytes from the form that base32_write() produces. Returns false for any
 * other input. */
MUST_CHECK bool base32_read(Str text, unsigned char *out, size_t count);
