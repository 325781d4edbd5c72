#include "base/word_replace.h"

#include "base/buf.h"

static bool is_inside(char c)
{
    return ascii_is_name(c) || (unsigned char)c >= 0x80;
}

/* The next occurrence as a word of its own. */
static size_t find_word(Str text, Str word, size_t from)
{
    size_t at = from;
    while ((at = str_find(text, word, at)) != STR_NOT_FOUND) {
        size_t end = at + word.len;
        if ((at == 0 || !is_inside(text.data[at - 1])) &&
            (end == text.len || !is_inside(text.data[end]))) {
            break;
        }
        at++;
    }
    return at;
}

Str word_replace(Arena *arena, Str text, Str word, Str with)
{
    size_t at = word.len > 0 ? find_word(text, word, 0) : STR_NOT_FOUND, from = 0;
    if (at == STR_NOT_FOUND) {
        return text;
    }
    Buf out = buf_make_in(arena, BUF_UNLIMITED);
    while (at != STR_NOT_FOUND) {
        buf_put(&out, str_slice(text, from, at));
        buf_put(&out, with);
        from = at + word.len;
        at = find_word(text, word, from);
    }
    buf_put(&out, str_from_offset(text, from));
    return buf_str(&out);
}
