#include "modules/pkg/blame.h"

#include "base/buf.h"

enum {
    LINES_MAX = 3 /* maximum number of lines of an explanation */
};

BlameLines blame_split(Arena *arena, Str output)
{
    BlameLines lines = { 0 };
    Str line;
    while (str_split_next(&output, '\n', &line)) {
        VEC_PUSH(arena, &lines, line);
    }
    return lines;
}

Str blame_join(Arena *arena, const Str *lines, uint32_t count)
{
    Buf out = buf_make_in(arena, BUF_UNLIMITED);
    for (uint32_t i = 0; i < count && out.len < BLAME_MAX; i++) {
        Str line = str_trim(lines[i]);
        if (line.len > 0) {
            size_t available = BLAME_MAX - out.len;
            bool goes_on = str_ends(buf_str(&out), STR(":"));
            buf_put_c(&out, out.len == 0 ? "" : goes_on ? " " : "; ");
            buf_put(&out, str_slice(line, 0, available));
        }
    }
    return buf_str(&out);
}

static bool is_part_of_name(Str text, size_t at)
{
    return at < text.len && (ascii_is_digit(text.data[at]) || ascii_is_alpha(text.data[at]) ||
                             text.data[at] == '-' || text.data[at] == '+');
}

static bool is_followed_by_version(Str text, size_t at)
{
    return at + 1 < text.len && text.data[at] == '-' && ascii_is_digit(text.data[at + 1]);
}

bool blame_mentions(Str line, Str name)
{
    for (size_t at = 0; (at = str_find(line, name, at)) != STR_NOT_FOUND; at++) {
        size_t end = at + name.len;
        bool begins = at == 0 || !is_part_of_name(line, at - 1);
        if (begins && (!is_part_of_name(line, end) || is_followed_by_version(line, end))) {
            return true;
        }
    }
    return false;
}

Str blame_last(Arena *arena, const BlameLines *lines)
{
    uint32_t len = lines->len;
    while (len > 0 && str_trim(lines->items[len - 1]).len == 0) {
        len--;
    }
    return len > 0 ? blame_join(arena, &lines->items[len - 1], 1) : STR_EMPTY;
}

static bool has_any(Str line, const char *const *words)
{
    for (; *words != NULL; words++) {
        if (str_find(line, str_from_c(*words), 0) != STR_NOT_FOUND) {
            return true;
        }
    }
    return false;
}

static bool is_complaint(Str line)
{
    static const char *const complaints[] = {
        "rror",
        "roblem",
        "onflict",
        "othing provides",
        "o match",
        "o provider",
        "ot found",
        "annot",
        "nable",
        "ailed",
        "o space",
        "too full",
        "more space",
        "not enough",
        "broken",
        "requires",
        "is locked",
        "breaks dependency",
        "exists in filesystem",
        NULL,
    };
    /* Whether the line suggests a solution or repeats the request: */
    static const char *const others[] = { "Solution ",    "do not install",
                                          "try to add",   "Choose from",
                                          "Continue?",    "skip the above",
                                          "Installing: ", NULL };
    /* "looking for conflicting packages..." */
    return has_any(line, complaints) && !has_any(line, others) && !str_ends(line, STR("..."));
}

bool blame_by_lines(Arena *arena, Str output, Str name, Str *words)
{
    BlameLines lines = blame_split(arena, output), about = { 0 }, rest = { 0 };
    for (uint32_t i = 0; i < lines.len; i++) {
        Str line = str_trim(lines.items[i]);
        if (str_starts(line, STR("- "))) {
            line = str_from_offset(line, 2);
        }
        if (!is_complaint(line)) {
            continue;
        }
        BlameLines *which = blame_mentions(line, name) ? &about : &rest;
        VEC_PUSH(arena, which, line);
        if (str_ends(line, STR(":")) && i + 1 < lines.len) {
            VEC_PUSH(arena, which, lines.items[++i]); /* the reason is on the next line */
        }
    }
    const BlameLines *chosen = about.len > 0 ? &about : &rest;
    *words = chosen->len > 0 ? blame_join(arena, chosen->items,
                                          chosen->len < LINES_MAX ? chosen->len : LINES_MAX)
                             : blame_last(arena, &lines);
    return about.len > 0;
}
