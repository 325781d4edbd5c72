#include "base/visible.h"

#include "base/utf8.h"

typedef struct Range {
    uint32_t first;
    uint32_t last;
} Range;

/* Invisible characters that mislead the reader. */
static const Range deceptive[] = {
    { 0x80, 0x9f },     { 0xad, 0xad },     { 0x061c, 0x061c }, { 0x200b, 0x200f },
    { 0x2028, 0x202e }, { 0x2060, 0x2069 }, { 0xfeff, 0xfeff }, { 0xfff9, 0xfffb },
};

/* The blocks that terminals display with no width or in two columns. A few characters in them
 * differ; then a caret is off by one, which does not justify a table of all of Unicode. */
static const Range zero_width[] = {
    { 0x0300, 0x036f }, { 0x0483, 0x0489 },   { 0x0591, 0x05bd }, { 0x064b, 0x065f },
    { 0x1ab0, 0x1aff }, { 0x1dc0, 0x1dff },   { 0x20d0, 0x20ff }, { 0xfe00, 0xfe0f },
    { 0xfe20, 0xfe2f }, { 0xe0100, 0xe01ef },
};
static const Range double_width[] = {
    { 0x1100, 0x115f },   { 0x2e80, 0x303e },   { 0x3041, 0xa4cf },   { 0xa960, 0xa97f },
    { 0xac00, 0xd7a3 },   { 0xf900, 0xfaff },   { 0xfe30, 0xfe6f },   { 0xff00, 0xff60 },
    { 0xffe0, 0xffe6 },   { 0x1f300, 0x1f64f }, { 0x1f680, 0x1f6ff }, { 0x1f900, 0x1f9ff },
    { 0x20000, 0x3fffd },
};

static bool in_ranges(const Range *ranges, size_t count, uint32_t code)
{
    for (size_t i = 0; i < count; i++) {
        if (code < ranges[i].first) {
            return false;
        }
        if (code <= ranges[i].last) {
            return true;
        }
    }
    return false;
}

bool visible_is_deceptive(uint32_t code)
{
    return in_ranges(deceptive, COUNT_OF(deceptive), code);
}

static VisiblePiece escape(char letter, uint32_t code, unsigned digits)
{
    VisiblePiece piece = { .text = { '\\', letter }, .bytes = 2 + digits, .width = 2 + digits };
    for (unsigned i = 0; i < digits; i++) {
        piece.text[2 + i] = "0123456789abcdef"[code >> 4 * (digits - 1 - i) & 15];
    }
    return piece;
}

VisiblePiece visible_next(Str s, size_t *pos)
{
    unsigned char first = (unsigned char)s.data[*pos];
    if (first >= ' ' && first < 0x7f) {
        ++*pos;
        return (VisiblePiece){ .text = { (char)first }, .bytes = 1, .width = 1 };
    }
    uint32_t code;
    size_t bytes = utf8_decode(s.data + *pos, s.len - *pos, &code);
    if (bytes <= 1) {
        ++*pos;
        switch (first) {
        case '\n': return escape('n', 0, 0);
        case '\r': return escape('r', 0, 0);
        case '\t': return escape('t', 0, 0);
        default: return escape('x', first, 2);
        }
    }
    VisiblePiece piece = { .bytes = (unsigned)bytes, .width = 1 };
    memcpy(piece.text, s.data + *pos, bytes);
    *pos += bytes;
    if (in_ranges(deceptive, COUNT_OF(deceptive), code)) {
        return escape('u', code, 4);
    }
    if (in_ranges(zero_width, COUNT_OF(zero_width), code)) {
        piece.width = 0;
    } else if (in_ranges(double_width, COUNT_OF(double_width), code)) {
        piece.width = 2;
    }
    return piece;
}

void visible_put(Buf *out, Str s)
{
    for (size_t pos = 0; pos < s.len;) {
        VisiblePiece piece = visible_next(s, &pos);
        buf_put(out, str_from(piece.text, piece.bytes));
    }
}
