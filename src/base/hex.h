/* Bytes as hexadecimal digits. */
#pragma once

#include <stddef.h>

/* Two lower-case digits for each byte, and a NUL. */
static inline void hex_put(const unsigned char *bytes, size_t count, char *out)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < count; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[2 * count] = '\0';
}
