#include "base/json_out.h"

#include "base/base64.h"
#include "base/utc.h"
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

/* Whether all eight bytes are ASCII and need no escape. A borrow can only cause false negatives. */
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
    size_t plain = 0; /* start of the bytes that need no escape */
    for (size_t pos = 0; pos < s.len;) {
        if (s.len - pos >= 8 && are_plain(s.data + pos)) {
            pos += 8;
            continue;
        }
        unsigned char c = (unsigned char)s.data[pos];
        size_t next = pos + 1;
        uint32_t code;
        if (c >= 0x80) {
            size_t bytes = utf8_decode(s.data + pos, s.len - pos, &code);
            if (bytes > 0) {
                pos += bytes;
                continue;
            }
        } else if (c >= ' ' && c != '"' && c != '\\' && c != 0x7f) {
            pos = next;
            continue;
        }
        buf_put(out, str_slice(s, plain, pos));
        if (c >= 0x80) {
            utf8_put(out, UTF8_REPLACEMENT);
        } else {
            put_escaped(out, c);
        }
        plain = pos = next;
    }
    buf_put(out, str_from_offset(s, plain));
    buf_put_char(out, '"');
}

/* Writes a comma unless an opening bracket precedes. */
static void put_comma(Buf *out)
{
    char last = out->len > 0 ? out->data[out->len - 1] : '{';
    if (last != '{' && last != '[') {
        buf_put_char(out, ',');
    }
}

void json_out_name(Buf *out, const char *name)
{
    put_comma(out);
    json_text_put(out, str_from_c(name));
    buf_put_char(out, ':');
}

void json_out_start(Buf *out, const char *format)
{
    buf_put_char(out, '{');
    json_out_text(out, "format", str_from_c(format));
}

void json_out_open(Buf *out, const char *name, char bracket)
{
    if (name == NULL) {
        put_comma(out);
    } else {
        json_out_name(out, name);
    }
    buf_put_char(out, bracket);
}

void json_out_close(Buf *out, char bracket)
{
    buf_put_char(out, bracket);
}

void json_out_text(Buf *out, const char *name, Str text)
{
    json_out_name(out, name);
    json_text_put(out, text);
}

void json_out_item(Buf *out, Str text)
{
    put_comma(out);
    json_text_put(out, text);
}

void json_out_int(Buf *out, const char *name, int64_t number)
{
    json_out_name(out, name);
    buf_put_i64(out, number);
}

void json_out_bool(Buf *out, const char *name, bool value)
{
    json_out_name(out, name);
    buf_put_c(out, value ? "true" : "false");
}

void json_out_null(Buf *out, const char *name)
{
    json_out_name(out, name);
    buf_put_c(out, "null");
}

void json_out_time(Buf *out, const char *name, int64_t ms)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    json_out_text(out, name, utc_text(&arena, ms));
}

void json_out_bytes(Buf *out, const char *name, Str bytes)
{
    if (utf8_is_valid(bytes)) {
        json_out_text(out, name, bytes);
        return;
    }
    put_comma(out);
    buf_put_format(out, "\"%s_base64\":\"", name);
    base64_encode(out, bytes);
    buf_put_char(out, '"');
}
