#include "modules/fstab.h"

#include "modules/tool.h"

bool fstab_check_word(Str text, const char *what, Error *err)
{
    if (!tool_check_word(text, what, err)) {
        return false;
    }
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == ' ' || text.data[i] == '#') {
            return error_set(err, ERROR_INVALID, "'%s' must be one word, without whitespace or '#'",
                             what);
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

/* In a world-writable directory, the owner of a file can replace it with a symlink. */
static bool check_last(Call *call, Str path, Str above, Error *err)
{
    FileInfo directory, info;
    Str inside = arena_join(call->arena, above, STR("/."), STR_EMPTY);
    if (!host_stat(call->host, inside, &directory, err) ||
        !host_stat(call->host, path, &info, err)) {
        return false;
    }
    if (directory.kind != FILE_DIRECTORY || (directory.mode & S_IWOTH) == 0 ||
        info.kind == FILE_ABSENT || info.uid == 0) {
        return true;
    }
    Str owner = host_user_name(call->host, call->arena, info.uid);
    return error_set(err, ERROR_DENIED,
                     "%" STR_FMT " belongs to user '%" STR_FMT "', who could replace it",
                     STR_ARG(path), STR_ARG(owner));
}

bool fstab_guarded_path(Call *call, Str path, Str *out, Error *err)
{
    FileInfo info;
    Str real = path, above;
    while (real.len > 1 && real.data[real.len - 1] == '/') {
        real.len--;
    }
    if (!host_stat(call->host, real, &info, err) ||
        (info.kind == FILE_LINK && !info.planned &&
         !host_real_path(call->host, call->arena, real, &real, err))) {
        return false;
    }
    size_t slash = str_find_last(real, STR("/"));
    above = slash == 0 ? STR("/") : str_slice(real, 0, slash);
    if (real.len == 1) {
        *out = real;
        return true;
    }
    if (!host_protected_path(call->host, call->arena, above, &above, err) ||
        !check_last(call, real, above, err)) {
        return false;
    }
    *out = arena_join(call->arena, above.len > 1 ? above : STR_EMPTY, str_from_offset(real, slash),
                      STR_EMPTY);
    return true;
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
                        STR_ARG(line->device), STR_ARG(line->mount_point), STR_ARG(line->type),
                        STR_ARG(line->options), (long long)line->dump, (long long)line->pass);
}

static int64_t number(Str text)
{
    int64_t value;
    return str_to_i64(text, &value) ? value : 0;
}

/* The line may be formatted differently but have the same content. */
static bool line_matches(const Str *words, uint32_t count, const FstabLine *line)
{
    return str_eq(words[0], line->device) && str_eq(words[1], line->mount_point) &&
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
                    (key == FSTAB_BY_MOUNT_POINT || str_eq(words[2], STR("swap")));
        if (same && placed) {
            edit_remove(edit, i, 1);
            continue;
        }
        if (same) {
            placed = true;
            if (!line_matches(words, count, line)) {
                edit->lines.items[i] = line_text(edit->call->arena, line);
            }
        }
        i++;
    }
    if (!placed) {
        edit_insert(edit, edit->lines.len, line_text(edit->call->arena, line));
    }
}
