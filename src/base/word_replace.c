#include "base/word_replace.h"

#include "base/buf.h"

static bool is_inside(char c)
{
    return ascii_is_name(c) || (unsigned char)c >= 0x80;
}

/* The next occurrence as a word of its own. */
static size_t find_word(Str text, Str word, size_t from)
{
    size_t pos = from;
    while ((pos = str_find(text, word, pos)) != STR_NOT_FOUND) {
        size_t end = pos + word.len;
        if ((pos == 0 || !is_inside(text.data[pos - 1])) &&
            (end == text.len || !is_inside(text.data[end]))) {
            break;
        }
        pos++;
    }
    return pos;
}

Str word_replace(Arena *arena, Str text, Str word, Str with)
{
    size_t pos = word.len > 0 ? find_word(text, word, 0) : STR_NOT_FOUND, from = 0;
    if (pos == STR_NOT_FOUND) {
        return text;
    }
    Buf out = buf_make_in(arena, BUF_UNLIMITED);
    while (pos != STR_NOT_FOUND) {
        buf_put(&out, str_slice(text, from, pos));
        buf_put(&out, with);
        from = pos + word.len;
        pos = find_word(text, word, from);
    }
    buf_put(&out, str_from_offset(text, from));
    return buf_str(&out);
}
