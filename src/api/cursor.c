#include "api/cursor.h"

#include "base/base64.h"
#include "base/bug.h"

enum {
    NUMBER_SIZE = 8, /* bytes per integer */
    HEAD_SIZE = 2 * NUMBER_SIZE,
    PADDING_UNIT = 128, /* plaintext is padded to a multiple of this */
};

static void put_number(Buf *out, uint64_t number)
{
    for (int shift = 56; shift >= 0; shift -= 8) {
        buf_put_char(out, (char)(number >> shift & 0xff));
    }
}

static uint64_t get_number(const char *bytes)
{
    uint64_t number = 0;
    for (int i = 0; i < NUMBER_SIZE; i++) {
        number = number << 8 | (unsigned char)bytes[i];
    }
    return number;
}

static void put_part(Buf *out, Str part)
{
    put_number(out, part.len);
    buf_put(out, part);
}

/* Length-prefixes each part, so that different lists cannot have the same encoding. */
static Str associated_data(Arena *arena, const CursorList *list)
{
    Buf out = buf_make_in(arena, BUF_UNLIMITED);
    put_part(&out, STR("eden.cursor/1"));
    put_part(&out, list->store);
    put_part(&out, list->kind);
    put_part(&out, list->selector);
    put_part(&out, list->scope);
    return buf_str(&out);
}

static char swap_char(char c, const char *from, const char *to)
{
    return c == from[0] ? to[0] : c == from[1] ? to[1] : c;
}

static Str swap_alphabet(Arena *arena, Str text, const char *from, const char *to)
{
    char *out = arena_copy_c(arena, text);
    for (size_t i = 0; i < text.len; i++) {
        out[i] = swap_char(out[i], from, to);
    }
    return str_from(out, text.len);
}

Str cursor_write(Arena *arena, const SealKey *key, const CursorList *list, const Cursor *cursor)
{
    Buf plain = buf_make_in(arena, BUF_UNLIMITED), text = buf_make_in(arena, BUF_UNLIMITED);
    put_number(&plain, (uint64_t)cursor->revision);
    put_part(&plain, cursor->after);
    while (plain.len % PADDING_UNIT != 0) {
        buf_put_char(&plain, '\0');
    }
    base64_encode(&text, seal_encrypt(arena, key, associated_data(arena, list), buf_str(&plain)));
    Str written = buf_str(&text);
    size_t end = str_find(written, STR("="), 0);
    return swap_alphabet(arena, str_slice(written, 0, end), "+/", "-_");
}

static bool parse_plain(Str plain, Cursor *out)
{
    if (plain.len < HEAD_SIZE) {
        return false;
    }
    uint64_t len = get_number(plain.data + NUMBER_SIZE);
    *out = (Cursor){ .revision = (int64_t)get_number(plain.data) };
    if (len == 0 || len > plain.len - HEAD_SIZE) {
        return false;
    }
    out->after = str_slice(plain, HEAD_SIZE, HEAD_SIZE + len);
    return true;
}

bool cursor_read(Arena *arena, const SealKey *key, const CursorList *list, Str text, Cursor *out,
                 Error *err)
{
    Str sealed, plain;
    *out = (Cursor){ .after = STR_EMPTY };
    if (text.len <= CURSOR_TEXT_MAX &&
        base64_decode(arena, swap_alphabet(arena, text, "-_", "+/"), &sealed) &&
        seal_decrypt(arena, key, associated_data(arena, list), sealed, &plain) &&
        parse_plain(plain, out)) {
        return true;
    }
    return error_set(err, ERROR_INVALID,
                     "'continue' does not belong to this list with this selector; start again from "
                     "the first page");
}
