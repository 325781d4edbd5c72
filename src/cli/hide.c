#include "cli/hide.h"

static size_t indentation(Str line)
{
    size_t at = 0;
    while (at < line.len && (line.data[at] == ' ' || line.data[at] == '\t')) {
        at++;
    }
    return at;
}

/* Whether line `wanted` (from 1) is part of a secret value. */
static bool line_is_secret(Str text, uint32_t wanted)
{
    Str rest = text, line;
    bool inside = false, open = false;
    size_t depth = 0;
    for (uint32_t number = 1; number <= wanted && str_split_next(&rest, '\n', &line); number++) {
        Str words = str_trim(line);
        bool item = open && words.len > 0 && words.data[0] == '-';
        size_t indented = indentation(line);
        if (words.len > 0 && !(indented > depth || (item && indented == depth))) {
            inside = false;
        }
        if (str_find(line, STR("!secret"), 0) != STR_NOT_FOUND) {
            inside = true;
            depth = str_starts(words, STR("!secret")) && indented == 0 ? 0 : indented;
            open = str_ends(words, STR("!secret"));
        }
        if (number == wanted) {
            return inside;
        }
    }
    return false;
}

static Str mask(Arena *arena, Str text, size_t from)
{
    char *masked = arena_copy_c(arena, text);
    for (size_t i = from; i < text.len; i++) {
        masked[i] = masked[i] == ' ' || masked[i] == '\t' ? masked[i] : '*';
    }
    return str_from(masked, text.len);
}

/* 'word' in a message becomes (secret). */
static Str without_quotes(Arena *arena, Str message)
{
    Buf out = buf_make_in(arena, BUF_UNLIMITED);
    for (;;) {
        size_t open = str_find(message, STR("'"), 0);
        size_t close =
            open == STR_NOT_FOUND ? STR_NOT_FOUND : str_find(message, STR("'"), open + 1);
        if (close == STR_NOT_FOUND) {
            buf_put(&out, message);
            return buf_str(&out);
        }
        buf_put(&out, str_slice(message, 0, open));
        buf_put(&out, STR("(secret)"));
        message = str_from_offset(message, close + 1);
    }
}

static const Source *source_of(const Sources *sources, const Problem *problem)
{
    for (uint32_t i = 1; i <= sources->count; i++) {
        const Source *source = sources_get(sources, (uint16_t)i);
        if (str_eq(source->name, problem->file)) {
            return source;
        }
    }
    return NULL;
}

void hide_secrets(Problems *problems, const Sources *sources)
{
    for (uint32_t i = 0; i < problems->count; i++) {
        Problem *problem = &problems->items[i];
        const Source *source = source_of(sources, problem);
        if (source == NULL || !line_is_secret(source->text, problem->line)) {
            continue;
        }
        size_t tag = str_find(problem->excerpt, STR("!secret"), 0);
        problem->excerpt = mask(problems->arena, problem->excerpt,
                                tag == STR_NOT_FOUND ? 0 : tag + strlen("!secret"));
        problem->message = without_quotes(problems->arena, problem->message);
        if (!str_eq(problem->code, STR("E0121"))) {
            problem->hint = STR_EMPTY; /* most hints repeat parts of the line */
            problem->fix = (ProblemFix){ 0 };
        }
    }
}
