#include "cli/problem_input.h"

#include "base/source.h"
#include "sys/file.h"

enum {
    FILE_MAX = 8 << 20
};

static Severity severity_of(Value problem)
{
    Str text = value_get_text(problem, "severity");
    return str_eq(text, STR("warning")) ? SEVERITY_WARNING
           : str_eq(text, STR("hint"))  ? SEVERITY_HINT
                                        : SEVERITY_ERROR;
}

/* The line of a text, without its end; empty if there is no such line. */
static Str line_of(Str text, int64_t line)
{
    Str rest = text, found = STR_EMPTY;
    for (int64_t i = 0; i < line; i++) {
        if (!str_split_next(&rest, '\n', &found)) {
            return STR_EMPTY;
        }
    }
    return found;
}

static Str excerpt_of(Arena *arena, const char *directory, Str file, int64_t line)
{
    Str text;
    Error err;
    return directory != NULL && line > 0 &&
                   file_read_beneath(arena, directory, file, FILE_MAX, &text, &err)
               ? line_of(text, line)
               : STR_EMPTY;
}

void problem_input_add(Problems *problems, Value object, const char *directory)
{
    Arena *arena = problems->arena;
    const List *items = value_get_list(object, "problems");
    for (uint32_t i = 0; i < items->len; i++) {
        Value item = items->items[i];
        Str message = value_get_text(item, "message"), file = value_get_text(item, "file");
        int64_t line = value_get_int(item, "line"), column = value_get_int(item, "column");
        Problem *problem = problems_add_severity(problems, severity_of(item),
                                                 arena_copy_c(arena, value_get_text(item, "code")),
                                                 NULL, 0, 0, "%" STR_FMT, STR_ARG(message));
        problem->hint = value_get_text(item, "hint");
        if (file.len > 0) {
            problem->file = directory == NULL
                                ? file
                                : arena_format(arena, "%s/%" STR_FMT, directory, STR_ARG(file));
            problem->line = line > 0 && line < UINT32_MAX ? (uint32_t)line : 0;
            problem->column = column > 0 && column < UINT32_MAX ? (uint32_t)column : 0;
            problem->excerpt = excerpt_of(arena, directory, file, line);
            problem->span = 1;
        }
    }
}
