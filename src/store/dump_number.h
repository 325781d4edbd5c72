/* Numbers and texts as a dump has them. */
#pragma once

#include "base/buf.h"

static inline void dump_put_number(Buf *out, uint32_t bytes, uint64_t number)
{
    for (uint32_t i = bytes; i > 0; i--) {
        buf_put_char(out, (char)(number >> 8 * (i - 1)));
    }
}

/* Takes it from the front of `text`, which is long enough. */
static inline uint64_t dump_take_number(Str *text, uint32_t bytes)
{
    uint64_t number = 0;
    for (uint32_t i = 0; i < bytes; i++) {
        number = number << 8 | (unsigned char)text->data[i];
    }
    *text = str_from_offset(*text, bytes);
    return number;
}

static inline bool dump_is_text(char c)
{
    return c >= ' ' && c <= '~';
}
