#include "facts/os_release.h"

#include "base/buf.h"

/* Quotes and backslashes as in a shell, of which the file is a small part. */
static Str unquote(Arena *arena, Str text)
{
    text = str_trim(text);
    char quote = text.len >= 2 ? text.data[0] : '\0';
    if ((quote != '"' && quote != '\'') || text.data[text.len - 1] != quote) {
        return text;
    }
    text = str_slice(text, 1, text.len - 1);
    if (quote == '\'' || str_find(text, STR("\\"), 0) == STR_NOT_FOUND) {
        return text;
    }
    Buf plain = buf_make_in(arena, text.len);
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == '\\' && i + 1 < text.len) {
            i++;
        }
        buf_put_char(&plain, text.data[i]);
    }
    return buf_str(&plain);
}

bool os_release_get(const FactWorld *world, Arena *arena, const char *key, Str *out, Error *err)
{
    Str text;
    if (!fact_text(&world->root, arena, "/etc/os-release", &text, err)) {
        return false;
    }
    if (text.len == 0 && !fact_text(&world->root, arena, "/usr/lib/os-release", &text, err)) {
        return false;
    }
    *out = STR_EMPTY;
    for (Str line; str_split_next(&text, '\n', &line);) {
        Str left;
        line = str_trim(line);
        if (str_split_next(&line, '=', &left) && str_eq_c(left, key)) {
            *out = unquote(arena, line);
        }
    }
    return true;
}
