#include "base/shell.h"

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool is_plain(char c)
{
    return is_name(c) || (c != '\0' && strchr("@%+=:,./-", c) != NULL);
}

static bool is_control(char c)
{
    return (unsigned char)c < 0x20 || c == 0x7f;
}

void shell_put_quoted(Buf *out, Str word)
{
    buf_put_char(out, '\'');
    for (size_t i = 0; i < word.len; i++) {
        if (word.data[i] == '\'') {
            buf_put_c(out, "'\\''");
        } else {
            buf_put_char(out, word.data[i]);
        }
    }
    buf_put_char(out, '\'');
}

static void put_escaped(Buf *out, Str word)
{
    buf_put_c(out, "$'");
    for (size_t i = 0; i < word.len; i++) {
        char c = word.data[i];
        if (is_control(c)) {
            buf_put_format(out, "\\%03o", (unsigned)(unsigned char)c);
        } else if (c == '\'' || c == '\\') {
            buf_put_format(out, "\\%c", c);
        } else {
            buf_put_char(out, c);
        }
    }
    buf_put_char(out, '\'');
}

void shell_put_word(Buf *out, Str word)
{
    bool plain = word.len > 0, control = false;
    for (size_t i = 0; i < word.len; i++) {
        plain = plain && is_plain(word.data[i]);
        control = control || is_control(word.data[i]);
    }
    if (plain) {
        buf_put(out, word);
    } else if (control) {
        put_escaped(out, word);
    } else {
        shell_put_quoted(out, word);
    }
}

Str shell_variable(Arena *arena, Str name)
{
    Buf out = buf_make_in(arena, BUF_UNLIMITED);
    if (name.len == 0 || (name.data[0] >= '0' && name.data[0] <= '9')) {
        buf_put_char(&out, '_');
    }
    for (size_t i = 0; i < name.len; i++) {
        buf_put_char(&out, is_name(name.data[i]) ? name.data[i] : '_');
    }
    return buf_str(&out);
}
