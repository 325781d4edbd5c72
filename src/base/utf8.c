/* Most text is ASCII, so every function that scans an entire text first tries eight bytes at a
 * time. Words are read with memcpy: alignment does not matter, and neither does byte order, because
 * the masks treat all bytes alike. */
#include "base/utf8.h"

#include "base/bug.h"

static uint64_t word_at(const char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

#define EACH_BYTE(byte) (0x0101010101010101u * (byte))

/* The number of bytes among the eight that are not continuation bytes (10xxxxxx). */
static size_t word_starts(uint64_t word)
{
    uint64_t continuations = (word >> 7) & (~word >> 6) & EACH_BYTE(1);
    return 8 - (size_t)((continuations * EACH_BYTE(1)) >> 56);
}

size_t utf8_ascii_prefix(Str s)
{
    size_t pos = 0;
    while (s.len - pos >= 32) {
        const char *p = s.data + pos;
        uint64_t any = word_at(p) | word_at(p + 8) | word_at(p + 16) | word_at(p + 24);
        if ((any & EACH_BYTE(0x80)) != 0) {
            break;
        }
        pos += 32;
    }
    while (s.len - pos >= 8 && (word_at(s.data + pos) & EACH_BYTE(0x80)) == 0) {
        pos += 8;
    }
    while (pos < s.len && (unsigned char)s.data[pos] < 0x80) {
        pos++;
    }
    return pos;
}

/* The bounds of the second byte exclude overlong forms (after E0, F0), surrogates (after ED) and
 * numbers beyond U+10FFFF (after F4): Unicode 15, table 3-7. */
size_t utf8_decode(const char *p, size_t len, uint32_t *code)
{
    if (len == 0) {
        return 0;
    }
    const unsigned char *b = (const unsigned char *)p;
    if (b[0] < 0x80) {
        *code = b[0];
        return 1;
    }
    if (b[0] < 0xc2 || b[0] > 0xf4 || len < 2) {
        return 0;
    }
    if (b[0] < 0xe0) {
        if ((b[1] & 0xc0) != 0x80) {
            return 0;
        }
        *code = (uint32_t)(b[0] & 0x1f) << 6 | (b[1] & 0x3f);
        return 2;
    }
    unsigned least = b[0] == 0xe0 ? 0xa0 : b[0] == 0xf0 ? 0x90 : 0x80;
    unsigned most = b[0] == 0xed ? 0x9f : b[0] == 0xf4 ? 0x8f : 0xbf;
    if (b[1] < least || b[1] > most || len < 3 || (b[2] & 0xc0) != 0x80) {
        return 0;
    }
    if (b[0] < 0xf0) {
        *code = (uint32_t)(b[0] & 0x0f) << 12 | (uint32_t)(b[1] & 0x3f) << 6 | (b[2] & 0x3f);
        return 3;
    }
    if (len < 4 || (b[3] & 0xc0) != 0x80) {
        return 0;
    }
    *code = (uint32_t)(b[0] & 0x07) << 18 | (uint32_t)(b[1] & 0x3f) << 12 |
            (uint32_t)(b[2] & 0x3f) << 6 | (b[3] & 0x3f);
    return 4;
}

size_t utf8_valid_prefix(Str s)
{
    for (size_t pos = 0;;) {
        pos += utf8_ascii_prefix(str_from_offset(s, pos));
        /* Text in another script rarely returns to ASCII for long. */
        while (pos < s.len && (unsigned char)s.data[pos] >= 0x80) {
            uint32_t code;
            size_t bytes = utf8_decode(s.data + pos, s.len - pos, &code);
            if (bytes == 0) {
                return pos;
            }
            pos += bytes;
        }
        if (pos == s.len) {
            return pos;
        }
    }
}

bool utf8_is_plain(Str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if ((unsigned char)s.data[i] < ' ' || s.data[i] == 0x7f) {
            return false;
        }
    }
    return utf8_is_valid(s);
}

uint32_t utf8_next_slow(Str s, size_t *pos)
{
    BUG_IF(*pos >= s.len);
    uint32_t code;
    size_t bytes = utf8_decode(s.data + *pos, s.len - *pos, &code);
    if (bytes == 0) {
        ++*pos;
        return UTF8_REPLACEMENT;
    }
    *pos += bytes;
    return code;
}

uint32_t utf8_previous_slow(Str s, size_t *pos)
{
    BUG_IF(*pos == 0 || *pos > s.len);
    size_t end = *pos;
    size_t start = end - 1;
    while (start > 0 && end - start < UTF8_BYTES_MAX && utf8_is_continuation(s.data[start])) {
        start--;
    }
    uint32_t code = UTF8_REPLACEMENT;
    if (utf8_decode(s.data + start, end - start, &code) == end - start) {
        *pos = start;
        return code;
    }
    *pos = end - 1;
    return UTF8_REPLACEMENT;
}

size_t utf8_encode(uint32_t code, char out[UTF8_BYTES_MAX])
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xc0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if ((code >= 0xd800 && code <= 0xdfff) || code > 0x10ffff) {
        code = UTF8_REPLACEMENT;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xe0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 0x3f));
        out[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 0x3f));
    out[2] = (char)(0x80 | (code >> 6 & 0x3f));
    out[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}

void utf8_put(Buf *buf, uint32_t code)
{
    char bytes[UTF8_BYTES_MAX];
    buf_put(buf, str_from(bytes, utf8_encode(code, bytes)));
}

size_t utf8_count(Str s)
{
    size_t count = 0;
    size_t pos = 0;
    for (; s.len - pos >= 8; pos += 8) {
        count += word_starts(word_at(s.data + pos));
    }
    for (; pos < s.len; pos++) {
        count += !utf8_is_continuation(s.data[pos]);
    }
    return count;
}

size_t utf8_index_to_offset(Str s, size_t index)
{
    size_t pos = 0;
    for (; s.len - pos >= 8; pos += 8) {
        size_t starts = word_starts(word_at(s.data + pos));
        if (starts > index) {
            break;
        }
        index -= starts;
    }
    for (; pos < s.len; pos++) {
        if (!utf8_is_continuation(s.data[pos])) {
            if (index == 0) {
                return pos;
            }
            index--;
        }
    }
    return s.len;
}
