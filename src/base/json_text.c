#include "base/json_text.h"

#include "base/utf8.h"

static void put_escaped(Buf *out, unsigned char c)
{
    switch (c) {
    case '"': buf_put(out, STR("\\\"")); break;
    case '\\': buf_put(out, STR("\\\\")); break;
    case '\n': buf_put(out, STR("\\n")); break;
    case '\r': buf_put(out, STR("\\r")); break;
    case '\t': buf_put(out, STR("\\t")); break;
    default: buf_put_format(out, "\\u%04x", c); break;
    }
}

/* Whether each of eight bytes is ASCII and goes out as it is. A borrow can only make one of them
 * look special that is not. */
static bool are_plain(const char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    const uint64_t ones = 0x0101010101010101u;
    uint64_t control = word - ones * ' ';
    uint64_t quote = (word ^ ones * '"') - ones;
    uint64_t backslash = (word ^ ones * '\\') - ones;
    uint64_t delete = (word ^ ones * 0x7f) - ones;
    return ((word | control | quote | backslash | delete) & ones * 0x80) == 0;
}

void json_text_put(Buf *out, Str s)
{
    buf_put_char(out, '"');
    size_t plain = 0; /* start of the bytes that can go out as they are */
    for (size_t at = 0; at < s.len;) {
        if (s.len - at >= 8 && are_plain(s.data + at)) {
            at += 8;
            continue;
        }
        unsigned char c = (unsigned char)s.data[at];
        size_t next = at + 1;
        uint32_t code;
        if (c >= 0x80) {
            size_t bytes = utf8_decode(s.data + at, s.len - at, &code);
            if (bytes > 0) {
                at += bytes;
                continue;
            }
        } else if (c >= ' ' && c != '"' && c != '\\' && c != 0x7f) {
            at = next;
            continue;
        }
        buf_put(out, str_slice(s, plain, at));
        if (c >= 0x80) {
            utf8_put(out, UTF8_REPLACEMENT);
        } else {
            put_escaped(out, c);
        }
        plain = at = next;
    }
    buf_put(out, str_from_offset(s, plain));
    buf_put_char(out, '"');
}
