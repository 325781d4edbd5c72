#include "modules/fstab.h"

#include "modules/tool.h"

bool fstab_check_word(Str text, const char *what, Error *err)
{
    if (!tool_word(text, what, err)) {
        return false;
    }
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == ' ' || text.data[i] == '#') {
            return error_set(err, ERROR_INVALID, "'%s' is one word, without blanks and '#'", what);
        }
    }
    return true;
}

Str fstab_kernel_name(Call *call, Str path)
{
    Str real;
    Error ignored;
    return host_real_path(call->host, call->arena, path, &real, &ignored) ? real : path;
}

Str fstab_escape(Arena *arena, Str text)
{
    Buf out = buf_make_in(arena, BUF_UNLIMITED);
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c <= ' ' || c == '\\' || c == '#') {
            buf_put_format(&out, "\\%03o", c);
        } else {
            buf_put_char(&out, (char)c);
        }
    }
    return buf_str(&out);
}

static Str line_text(Arena *arena, const FstabLine *line)
{
    return arena_format(arena, "%" STR_FMT "\t%" STR_FMT "\t%" STR_FMT "\t%" STR_FMT "\t%lld %lld",
                        STR_ARG(line->device), STR_ARG(line->place), STR_ARG(line->type),
                        STR_ARG(line->options), (long long)line->dump, (long long)line->pass);
}

static int64_t number(Str text)
{
    int64_t value;
    return str_to_i64(text, &value) ? value : 0;
}

/* Written otherwise, it may still say the same. */
static bool says(const Str *words, uint32_t count, const FstabLine *line)
{
    return str_eq(words[0], line->device) && str_eq(words[1], line->place) &&
           str_eq(words[2], line->type) && count > 3 && str_eq(words[3], line->options) &&
           (count > 4 ? number(words[4]) : 0) == line->dump &&
           (count > 5 ? number(words[5]) : 0) == line->pass;
}

void fstab_edit(Edit *edit, FstabKey key, Str wanted, const FstabLine *line)
{
    bool placed = line == NULL;
    for (uint32_t i = 0; i < edit->lines.len;) {
        Str words[FSTAB_FIELDS];
        uint32_t count = edit_words(edit->lines.items[i], words, FSTAB_FIELDS);
        bool same = count >= 3 && str_eq(words[key], wanted) &&
                    (key == FSTAB_BY_PLACE || str_eq(words[2], STR("swap")));
        if (same && placed) {
            edit_remove(edit, i, 1);
            continue;
        }
        if (same) {
            placed = true;
            if (!says(words, count, line)) {
                edit->lines.items[i] = line_text(edit->call->arena, line);
            }
        }
        i++;
    }
    if (!placed) {
        edit_insert(edit, edit->lines.len, line_text(edit->call->arena, line));
    }
}
