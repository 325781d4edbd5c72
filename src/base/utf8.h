/* UTF-8: validate text once on input, then iterate without checks that can fail.
 *
 * "Code point" is a Unicode scalar value: up to U+10FFFF, no surrogates, shortest form only.
 * Iterating over malformed text is safe and terminates: every invalid byte counts as U+FFFD. The
 * functions that count or index skip continuation bytes instead of decoding, so on malformed text
 * their results are only a reasonable guess. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

enum {
    UTF8_REPLACEMENT = 0xfffd,
    UTF8_BYTES_MAX = 4
};

/* Length of the longest valid prefix; `s.len` if all of it is valid. An error should point at the
 * byte after it. */
size_t utf8_valid_prefix(Str s);
static inline bool utf8_is_valid(Str s)
{
    return utf8_valid_prefix(s) == s.len;
}
/* Valid, and without ASCII control characters: a line that is safe to show. */
bool utf8_is_plain(Str s);

/* Length of the longest prefix of bytes below 128. */
size_t utf8_ascii_prefix(Str s);
static inline bool utf8_is_ascii(Str s)
{
    return utf8_ascii_prefix(s) == s.len;
}

static inline bool utf8_is_continuation(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* Decodes the code point that starts at `p` and returns its length (1 to 4), or 0 if the `len`
 * bytes do not start with a valid one. */
size_t utf8_decode(const char *p, size_t len, uint32_t *code);

/* The code point at `*pos`, which must be inside the text; moves `*pos` past it. */
uint32_t utf8_next_slow(Str s, size_t *pos);
static inline uint32_t utf8_next(Str s, size_t *pos)
{
    unsigned char first = (unsigned char)s.data[*pos];
    if (LIKELY(first < 0x80)) {
        ++*pos;
        return first;
    }
    return utf8_next_slow(s, pos);
}

/* The code point that ends before `*pos`, which must be above 0; moves `*pos` to its start. */
uint32_t utf8_previous_slow(Str s, size_t *pos);
static inline uint32_t utf8_previous(Str s, size_t *pos)
{
    unsigned char last = (unsigned char)s.data[*pos - 1];
    if (LIKELY(last < 0x80)) {
        --*pos;
        return last;
    }
    return utf8_previous_slow(s, pos);
}

/* Writes a code point to `out` and returns its length. Invalid ones become U+FFFD. */
size_t utf8_encode(uint32_t code, char out[UTF8_BYTES_MAX]);
void utf8_put(Buf *buf, uint32_t code);

/* Number of code points. The index of a byte offset is utf8_count() of the text before it. */
size_t utf8_count(Str s);
/* Byte offset of the code point at `index` (from 0); `s.len` past the end. */
size_t utf8_index_to_offset(Str s, size_t index);
