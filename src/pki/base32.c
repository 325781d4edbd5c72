#include "pki/base32.h"

/* a-z, then 2-7. Computed, since a table lookup would be indexed by secret data. */
static char letter_of(unsigned value)
{
    /* 0 below 26, all ones from 26 on. */
    unsigned digit = 0U - ((25U - value) >> 31);
    return (char)('a' + value - (digit & ('a' + 26 - '2')));
}

/* The value of a character, 0 to 31, or more if it is invalid. */
static unsigned value_of(char c)
{
    unsigned byte = (unsigned char)c;
    unsigned letter = byte - 'a', digit = byte - '2';
    unsigned is_letter = 0U - ((letter - 26U) >> 31 & ~letter >> 31);
    unsigned is_digit = 0U - ((digit - 6U) >> 31 & ~digit >> 31);
    return (is_letter & letter) | (is_digit & (digit + 26)) | (~(is_letter | is_digit) & 64);
}

void base32_write(const unsigned char *bytes, size_t count, char *out)
{
    unsigned bits = 0, bit_count = 0;
    for (size_t i = 0; i < count; i++) {
        bits = bits << 8 | bytes[i];
        bit_count += 8;
        while (bit_count >= 5) {
            bit_count -= 5;
            *out++ = letter_of(bits >> bit_count & 31);
        }
    }
    if (bit_count > 0) {
        *out++ = letter_of(bits << (5 - bit_count) & 31);
    }
    *out = '\0';
}

bool base32_read(Str text, unsigned char *out, size_t count)
{
    if (text.len != BASE32_TEXT(count)) {
        return false;
    }
    unsigned bits = 0, bit_count = 0, invalid = 0;
    size_t to = 0;
    for (size_t i = 0; i < text.len; i++) {
        unsigned value = value_of(text.data[i]);
        invalid |= value & 64;
        bits = bits << 5 | (value & 31);
        bit_count += 5;
        if (bit_count >= 8) {
            bit_count -= 8;
            if (to < count) {
                out[to++] = (unsigned char)(bits >> bit_count);
            }
        }
    }
    /* Nonzero padding bits would be a second encoding of the same bytes. */
    invalid |= bits & ((1U << bit_count) - 1);
    return invalid == 0;
}
