/* Conversion between bytes and hexadecimal digits. */
#pragma once

#include <stddef.h>

#include "base/str.h"

/* Two lowercase digits per byte, and a NUL. */
static inline void hex_encode(const unsigned char *bytes, size_t count, char *out)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < count; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[2 * count] = '\0';
}

/* Whether all characters are lowercase digits, the only form that hex_encode() produces. */
static inline bool hex_is_valid(Str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        if (!ascii_is_digit(c) && (c < 'a' || c > 'f')) {
            return false;
        }
    }
    return true;
}

/* The bytes of `2 * count` digits, which must be valid. */
static inline void hex_decode(const char *digits, size_t count, unsigned char *out)
{
    for (size_t i = 0; i < count; i++) {
        int high = ascii_hex_value(digits[2 * i]), low = ascii_hex_value(digits[2 * i + 1]);
        out[i] = (unsigned char)(high << 4 | low);
    }
}
