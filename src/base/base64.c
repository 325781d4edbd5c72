#include "base/base64.h"

int base64_digit(char c)
{
    if (ascii_is_digit(c)) {
        return c - '0' + 52;
    }
    if (ascii_is_alpha(c)) {
        return c >= 'a' ? c - 'a' + 26 : c - 'A';
    }
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

void base64_encode(Buf *out, Str bytes)
{
    static const char digits[] = BASE64_DIGITS;
    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t left = bytes.len - i;
        uint32_t bits = (uint32_t)(unsigned char)bytes.data[i] << 16;
        bits |= left > 1 ? (uint32_t)(unsigned char)bytes.data[i + 1] << 8 : 0;
        bits |= left > 2 ? (uint32_t)(unsigned char)bytes.data[i + 2] : 0;
        buf_put_char(out, digits[bits >> 18]);
        buf_put_char(out, digits[bits >> 12 & 63]);
        buf_put_char(out, left > 1 ? digits[bits >> 6 & 63] : '=');
        buf_put_char(out, left > 2 ? digits[bits & 63] : '=');
    }
}

bool base64_decode(Arena *arena, Str text, Str *out)
{
    Buf bytes = buf_make_in(arena, BUF_UNLIMITED);
    uint32_t bits = 0;
    unsigned count = 0;
    bool ended = false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        int value = base64_digit(c);
        if (ascii_is_space(c)) {
            continue;
        }
        if (c == '=') {
            ended = true;
            continue;
        }
        if (value < 0 || ended) {
            return false;
        }
        bits = bits << 6 | (uint32_t)value;
        if (++count == 4) {
            buf_put_char(&bytes, (char)(bits >> 16));
            buf_put_char(&bytes, (char)(bits >> 8));
            buf_put_char(&bytes, (char)bits);
            bits = count = 0;
        }
    }
    if (count == 1) {
        return false;
    }
    if (count > 1) {
        bits <<= 6 * (4 - count);
        buf_put_char(&bytes, (char)(bits >> 16));
        if (count == 3) {
            buf_put_char(&bytes, (char)(bits >> 8));
        }
    }
    *out = buf_str(&bytes);
    return true;
}
