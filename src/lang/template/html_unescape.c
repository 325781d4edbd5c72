#include "lang/template/html_unescape.h"

#include "base/search.h"
#include "base/utf8.h"

enum {
    NAME_MAX_BYTES = 32
};

/* The characters that browsers display for the numbers 128 to 159. */
static const uint16_t windows_1252[32] = {
    0x20ac, 0x81,   0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160,
    0x2039, 0x0152, 0x8d,   0x017d, 0x8f,   0x90,   0x2018, 0x2019, 0x201c, 0x201d, 0x2022,
    0x2013, 0x2014, 0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0x9d,   0x017e, 0x0178,
};

/* Control characters and noncharacters are parse errors and produce nothing. */
static bool is_dropped(uint32_t code)
{
    return (code >= 1 && code <= 8) || code == 0xb || (code >= 0xe && code <= 0x1f) ||
           (code >= 0x7f && code <= 0x9f) || (code >= 0xfdd0 && code <= 0xfdef) ||
           (code & 0xfffe) == 0xfffe;
}

static void put_number(uint32_t code, Buf *out)
{
    if (code >= 0x80 && code <= 0x9f) {
        utf8_put(out, windows_1252[code - 0x80]);
    } else if (code == 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) {
        utf8_put(out, UTF8_REPLACEMENT);
    } else if (code == '\r' || !is_dropped(code)) {
        utf8_put(out, code);
    }
}

/* Decodes "&#..."; returns the number of bytes consumed, or 0 if it is not a reference. */
static size_t unescape_number(Str text, Buf *out)
{
    size_t pos = 2;
    bool hex = pos < text.len && (text.data[pos] == 'x' || text.data[pos] == 'X');
    pos += hex;
    size_t digits = pos;
    uint32_t code = 0;
    for (; pos < text.len; pos++) {
        int digit = ascii_hex_value(text.data[pos]);
        if (digit < 0 || (digit > 9 && !hex)) {
            break;
        }
        if (code <= 0x10ffff) {
            code = code * (hex ? 16 : 10) + (uint32_t)digit;
        }
    }
    if (pos == digits) {
        return 0;
    }
    put_number(code, out);
    return pos < text.len && text.data[pos] == ';' ? pos + 1 : pos;
}

static const HtmlEntity *find_entity(Str name)
{
    uint32_t index =
        SEARCH(html_entity_count, pos, str_compare(str_from_c(html_entities[pos].name), name) < 0);
    return index < html_entity_count && str_eq_c(name, html_entities[index].name)
               ? &html_entities[index]
               : NULL;
}

/* Decodes "&name;", or the longest known prefix of a name. */
static size_t unescape_name(Str text, Buf *out)
{
    size_t end = 1;
    while (end < text.len && end <= NAME_MAX_BYTES && text.data[end] != ';' &&
           memchr("\t\n\f <&#", text.data[end], 7) == NULL) {
        end++;
    }
    if (end < text.len && text.data[end] == ';') {
        end++;
    }
    for (; end > 2; end--) {
        const HtmlEntity *entity = find_entity(str_slice(text, 1, end));
        if (entity != NULL) {
            buf_put_c(out, entity->text);
            return end;
        }
    }
    return 0;
}

void html_unescape(Str text, Buf *out)
{
    size_t from = 0;
    while (from < text.len) {
        const char *ampersand = memchr(text.data + from, '&', text.len - from);
        size_t pos = ampersand == NULL ? text.len : (size_t)(ampersand - text.data);
        buf_put(out, str_slice(text, from, pos));
        if (pos == text.len) {
            return;
        }
        Str rest = str_from_offset(text, pos);
        size_t used = rest.len > 1 && rest.data[1] == '#' ? unescape_number(rest, out)
                                                          : unescape_name(rest, out);
        if (used == 0) {
            buf_put_char(out, '&');
            used = 1;
        }
        from = pos + used;
    }
}
