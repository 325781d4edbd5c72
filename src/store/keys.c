/* Formats and parses keys from the patterns in keys.h. Escaping makes the mapping reversible: '/',
 * '%', spaces and control characters in a part become %XX. */
#include "store/keys.h"

#include "base/buf.h"
#include "base/bug.h"

static const char *const patterns[] = {
#define KEY_KIND_PATTERN(constant, pattern) [constant] = (pattern),
    KEY_KINDS(KEY_KIND_PATTERN)
#undef KEY_KIND_PATTERN
};

static const char *key_pattern(KeyKind kind)
{
    BUG_IF(kind >= KEY_KIND_COUNT);
    return patterns[kind];
}

static bool is_part(Str segment)
{
    return segment.len > 0 && segment.data[0] == '<';
}

uint32_t key_part_count(KeyKind kind)
{
    uint32_t count = 0;
    Str rest = str_from_c(key_pattern(kind)), segment;
    while (str_split_next(&rest, '/', &segment)) {
        count += is_part(segment);
    }
    return count;
}

bool key_node_part(KeyKind kind, uint32_t *part)
{
    Str rest = str_from_c(key_pattern(kind)), segment;
    for (*part = 0; str_split_next(&rest, '/', &segment); *part += is_part(segment)) {
        if (str_eq_c(segment, "<node>")) {
            return true;
        }
    }
    return false;
}

static bool is_plain(char c)
{
    unsigned char byte = (unsigned char)c;
    return byte > ' ' && byte != 0x7f && c != '/' && c != '%';
}

static void put_part(Buf *out, Str part)
{
    static const char digits[] = "0123456789ABCDEF";
    BUG_IF(part.len == 0);
    for (size_t i = 0; i < part.len; i++) {
        unsigned char byte = (unsigned char)part.data[i];
        if (is_plain(part.data[i])) {
            buf_put_char(out, part.data[i]);
        } else {
            const char escaped[] = { '%', digits[byte >> 4], digits[byte & 15] };
            buf_put(out, str_from(escaped, sizeof escaped));
        }
    }
}

/* Writes the key up to the first missing part. Returns true if no part was missing. */
static bool put_key(Buf *out, Str prefix, KeyKind kind, const Str *parts, uint32_t count)
{
    buf_put(out, prefix);
    Str rest = str_from_c(key_pattern(kind)), segment;
    uint32_t used = 0;
    while (str_split_next(&rest, '/', &segment)) {
        buf_put_char(out, '/');
        if (!is_part(segment)) {
            buf_put(out, segment);
        } else if (used < count) {
            put_part(out, parts[used++]);
        } else {
            return false;
        }
    }
    BUG_IF(used != count);
    return true;
}

Str key_make(Arena *arena, Str prefix, KeyKind kind, const Str *parts, uint32_t count)
{
    Buf out = buf_make_in(arena, BUF_UNLIMITED);
    bool fits = put_key(&out, prefix, kind, parts, count);
    BUG_IF(!fits);
    return buf_str(&out);
}

Str key_make_prefix(Arena *arena, Str prefix, KeyKind kind, const Str *parts, uint32_t count)
{
    Buf out = buf_make_in(arena, BUF_UNLIMITED);
    put_key(&out, prefix, kind, parts, count);
    return buf_str(&out);
}

/* Accepts only what put_part writes, so that every key has one spelling. */
static bool parse_part(Arena *arena, Str segment, Str *out)
{
    Buf part = buf_make_in(arena, BUF_UNLIMITED);
    for (size_t i = 0; i < segment.len; i++) {
        char c = segment.data[i];
        if (c != '%') {
            if (!is_plain(c)) {
                return false;
            }
            buf_put_char(&part, c);
            continue;
        }
        if (i + 2 >= segment.len) {
            return false;
        }
        int high = ascii_hex_value(segment.data[i + 1]), low = ascii_hex_value(segment.data[i + 2]);
        bool lower = segment.data[i + 1] >= 'a' || segment.data[i + 2] >= 'a';
        char byte = (char)(high * 16 + low);
        if (high < 0 || low < 0 || lower || is_plain(byte)) {
            return false;
        }
        buf_put_char(&part, byte);
        i += 2;
    }
    *out = buf_str(&part);
    return part.len > 0;
}

static bool parse_as(Arena *arena, Str path, KeyKind kind, Str *parts)
{
    Str pattern = str_from_c(key_pattern(kind)), segment, found;
    uint32_t count = 0;
    while (str_split_next(&pattern, '/', &segment)) {
        if (!str_split_next(&path, '/', &found)) {
            return false;
        }
        if (is_part(segment) ? !parse_part(arena, found, &parts[count++])
                             : !str_eq(segment, found)) {
            return false;
        }
    }
    return !str_split_next(&path, '/', &found);
}

bool key_parse(Arena *arena, Str prefix, Str key, KeyKind *kind, Str *parts)
{
    if (key.len <= prefix.len || !str_starts(key, prefix) || key.data[prefix.len] != '/') {
        return false;
    }
    Str path = str_from_offset(key, prefix.len + 1);
    for (KeyKind i = 0; i < KEY_KIND_COUNT; i++) {
        if (parse_as(arena, path, i, parts)) {
            *kind = i;
            return true;
        }
    }
    return false;
}

Str key_sequence(Arena *arena, uint64_t number)
{
    return arena_format(arena, "%020llu", (unsigned long long)number);
}
