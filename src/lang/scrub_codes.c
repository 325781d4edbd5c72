/* Finds secrets in encoded data: base64, base32 and hexadecimal digits. Each character holds a few
 * bits. The start of the data is unknown, so its bits are cut into bytes at all offsets in
 * parallel. This also finds secrets inside longer data, because decoded bytes may start anywhere.
 *
 * Decoded text may itself be escaped or encoded, so it is searched as a separate text. */
#include "lang/scrub_search.h"

/* The meaning of a character in an encoding: its value, or one of these. */
enum {
    CODE_END = -1,  /* not part of the encoding */
    CODE_SKIP = -2, /* may occur between characters: newlines, indentation */
    NESTED_LENGTH_MIN = 8,
    PHASES_MAX = 8,
};

/* The value of the character at `*pos`, which is moved past it. */
typedef int NextCode(Str text, size_t *pos);

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Punctuation that may separate the pieces of a split string in lists and source code. */
static bool is_separator(char c)
{
    return c > ' ' && c < 0x7f && !ascii_is_alpha(c) && !ascii_is_digit(c) && c != '=';
}

static int base64_value(char c)
{
    switch (c) {
    case '+':
    case '-': return 62;
    case '/':
    case '_': return 63;
    default:
        return ascii_is_digit(c)                ? c - '0' + 52
               : c >= 'a' && c <= 'z'           ? c - 'a' + 26
               : c >= 'A' && c <= 'Z'           ? c - 'A'
               : is_blank(c) || is_separator(c) ? CODE_SKIP
                                                : CODE_END;
    }
}

/* Both alphabets, and characters that had to be escaped in a URL or in JSON. */
static inline int next_base64(Str text, size_t *pos)
{
    char c = text.data[(*pos)++];
    char next = *pos < text.len ? text.data[*pos] : '\0';
    uint32_t byte;
    if (c == '%' && scrub_read_hex(text, *pos, 2, &byte)) {
        *pos += 2;
        return base64_value((char)byte);
    }
    if (c == '\\' && (next == '/' || next == 'n' || next == 'r')) {
        ++*pos;
        return next == '/' ? 63 : CODE_SKIP;
    }
    if ((c == '+' || c == '-') && (*pos == text.len || is_blank(next)) &&
        (*pos == 1 || is_blank(text.data[*pos - 2]))) {
        return CODE_SKIP; /* a single '+' or '-' joins pieces or starts a line of a diff */
    }
    return base64_value(c);
}

/* The same with a '+' or '-' before each line, as in diffs. */
static inline int next_base64_marked(Str text, size_t *pos)
{
    char c = text.data[*pos];
    char next = *pos + 1 < text.len ? text.data[*pos + 1] : '\0';
    if (c == '\n' && (next == '+' || next == '-')) {
        *pos += 2;
        return CODE_SKIP;
    }
    return next_base64(text, pos);
}

/* In uppercase or lowercase. */
static inline int next_base32(Str text, size_t *pos)
{
    char c = text.data[(*pos)++];
    if (ascii_is_alpha(c)) {
        return ascii_lower(c) - 'a';
    }
    if (c >= '2' && c <= '7') {
        return c - '2' + 26;
    }
    if (c == '\n' || c == '\r') {
        while (*pos < text.len && is_blank(text.data[*pos])) {
            ++*pos;
        }
        return CODE_SKIP;
    }
    return CODE_END;
}

static inline int next_hex(Str text, size_t *pos)
{
    char c = text.data[(*pos)++];
    int digit = ascii_hex_value(c);
    if (c == '0' && *pos < text.len && ascii_lower(text.data[*pos]) == 'x') {
        ++*pos;
        return CODE_SKIP;
    }
    return digit >= 0 ? digit : is_blank(c) || is_separator(c) ? CODE_SKIP : CODE_END;
}

/* Returns `end`, moved past the padding that follows. */
static size_t skip_padding(Str text, size_t end)
{
    for (int i = 0; i < 6; i++) {
        uint32_t byte;
        if (end < text.len && text.data[end] == '=') {
            end++;
        } else if (end < text.len && text.data[end] == '%' &&
                   scrub_read_hex(text, end + 1, 2, &byte) && byte == '=') {
            end += 3;
        }
    }
    return end;
}

/* The decoded text so far. */
typedef struct DecodedText {
    Buf text;
    size_t start, end;
    unsigned continuation_bytes; /* remaining bytes of a UTF-8 character */
} DecodedText;

static void decoded_text_end(Search *search, DecodedText *nested)
{
    Str text = buf_str(&nested->text);
    if (text.len >= NESTED_LENGTH_MIN) {
        search_nested_text(search, text, nested->start, nested->end);
    }
    buf_reset(&nested->text);
    nested->continuation_bytes = 0;
}

static inline bool is_text(DecodedText *nested, unsigned char byte)
{
    if (byte < 0x80) {
        bool is_complete = nested->continuation_bytes == 0;
        nested->continuation_bytes = 0;
        return is_complete && (byte >= ' ' ? byte != 0x7f : is_blank((char)byte) || byte == '\0');
    }
    if (byte < 0xc0) {
        return nested->continuation_bytes > 0 && nested->continuation_bytes-- > 0;
    }
    bool is_complete = nested->continuation_bytes == 0;
    nested->continuation_bytes = byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : 1;
    return is_complete && byte < 0xf5;
}

static inline void decoded_text_put(Search *search, DecodedText *nested, unsigned char byte,
                                    size_t start, size_t end)
{
    if (!is_text(nested, byte)) {
        decoded_text_end(search, nested);
        return;
    }
    if (nested->text.len == 0) {
        nested->start = start;
    }
    buf_put_char(&nested->text, (char)byte);
    nested->end = end;
}

/* `bits` per character; bytes may start at every multiple of `step` bits. */
static ALWAYS_INLINE void decode_bits(Search *search, size_t bits, size_t step, NextCode *next)
{
    DecodedStream streams[PHASES_MAX];
    DecodedText nested_texts[PHASES_MAX];
    size_t phases = 8 / step;
    for (size_t i = 0; i < phases; i++) {
        streams[i] = decoded_stream_make(search);
        nested_texts[i] = (DecodedText){ .text = buf_make_in(&search->arena, BUF_UNLIMITED) };
    }
    uint32_t word = 0;        /* the latest bits */
    size_t count = 0;         /* characters since the last one that was not part of the encoding */
    size_t starts[4] = { 0 }; /* of the latest characters */
    search_begin(search);
    for (size_t pos = 0; pos <= search->text.len;) {
        size_t start = pos;
        int value = pos < search->text.len ? next(search->text, &pos) : CODE_END;
        if (value == CODE_SKIP) {
            continue;
        }
        if (value == CODE_END) {
            for (size_t i = 0; count > 0 && i < phases; i++) {
                if (start == search->text.len) {
                    decoded_stream_end(search, &streams[i]);
                }
                decoded_stream_reset(&streams[i]);
                decoded_text_end(search, &nested_texts[i]);
            }
            count = 0;
            pos += start == search->text.len;
            continue;
        }
        starts[count & 3] = start;
        word = word << bits | (uint32_t)value;
        size_t total = ++count * bits;
        for (size_t i = 0; i < phases; i++) {
            size_t rest = (total - i * step) & 7; /* bits after the byte that ends here */
            if (rest >= bits || total < i * step + 8) {
                continue;
            }
            unsigned char byte = (unsigned char)(word >> rest);
            size_t first = starts[(total - rest - 8) / bits & 3];
            size_t len = decoded_stream_feed(search, &streams[i], byte, first);
            if (len > 0) {
                search_found(search, len, decoded_stream_start(&streams[i], len),
                             skip_padding(search->text, pos));
            }
            if (!search->nested) {
                decoded_text_put(search, &nested_texts[i], byte, first, pos);
            }
        }
    }
}

void search_encoded(Search *search)
{
    decode_bits(search, 6, 2, next_base64);
    if (str_find(search->text, STR("\n+"), 0) != STR_NOT_FOUND ||
        str_find(search->text, STR("\n-"), 0) != STR_NOT_FOUND) {
        decode_bits(search, 6, 2, next_base64_marked);
    }
    decode_bits(search, 5, 1, next_base32);
    decode_bits(search, 4, 4, next_hex);
}
