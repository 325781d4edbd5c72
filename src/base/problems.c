/* Collects and prints problems. Each problem stores an excerpt of its line when it is added,
 * because the source may be gone when it is printed; of a very long line only the part around the
 * location is stored. Columns are code points when stored and terminal columns when printed: tabs,
 * wide characters and escapes of control characters are measured by visible.h.
 *
 * The number of problems is limited: further ones are counted and written to a scratch problem, so
 * that callers need no error path. */
#include "base/problems.h"

#include <stdio.h>

#include "base/bug.h"
#include "base/json_out.h"
#include "base/utf8.h"
#include "base/visible.h"

enum {
    EXCERPT_COLUMNS = 100, /* maximum width of an excerpt */
    EXCERPT_BEFORE = 30,   /* columns before the location, if the line is longer */
    EXCERPT_CONTEXT = 400, /* code points stored on each side of the location */
    TAB_STOP = 4,
    ORIGINS_SHOWN = 8,
};

typedef struct SeverityRow {
    const char *name;
    const char *color;
} SeverityRow;

static const SeverityRow severity_rows[] = {
    [SEVERITY_ERROR] = { "error", "\033[1;31m" },
    [SEVERITY_WARNING] = { "warning", "\033[1;33m" },
    [SEVERITY_HINT] = { "hint", "\033[1;36m" },
};

static const char *const bold = "\033[1m";
static const char *const gutter_color = "\033[1;34m";

static const char *severity_name(Severity severity)
{
    BUG_IF((size_t)severity >= COUNT_OF(severity_rows));
    return severity_rows[severity].name;
}

void problems_init(Problems *problems, Arena *arena)
{
    *problems = (Problems){ .arena = arena };
}

/* Stores only the part of the line around the location, so that problems in a line of megabytes
 * stay small. */
static void store_excerpt(Problem *problem, Arena *arena, Str line)
{
    size_t index = problem->column - 1;
    size_t first = index > EXCERPT_CONTEXT ? index - EXCERPT_CONTEXT : 0;
    size_t start = utf8_index_to_offset(line, first);
    Str rest = str_from_offset(line, start);
    size_t len = utf8_index_to_offset(rest, index - first + EXCERPT_CONTEXT);
    problem->excerpt = arena_copy(arena, str_slice(rest, 0, len));
    problem->excerpt_column = (uint32_t)first + 1;
    problem->excerpt_cut = len < rest.len;
}

static void set_location(Problem *problem, Arena *arena, const Source *source, uint32_t offset,
                         uint32_t length)
{
    LineColumn location = source_location(source, offset);
    problem->file = arena_copy(arena, source->name);
    problem->line = location.line;
    problem->column = location.column;
    Str text = source->text;
    size_t start = offset < text.len ? offset : text.len;
    size_t end = length < text.len - start ? start + length : text.len;
    size_t span = utf8_count(str_slice(text, start, end));
    problem->span = span == 0 ? 1 : (uint32_t)span;
    store_excerpt(problem, arena, source_line_at(source, offset));
}

/* A message that quotes an entire document would hide the problem, so it is truncated. */
PRINTF_LIKE(2, 0) static Str format_message(Arena *arena, const char *format, va_list args)
{
    char text[PROBLEM_MESSAGE_MAX + 4];
    int wanted = vsnprintf(text, PROBLEM_MESSAGE_MAX + 1, format, args);
    BUG_IF(wanted < 0);
    if (wanted <= PROBLEM_MESSAGE_MAX) {
        return arena_copy(arena, str_from(text, (size_t)wanted));
    }
    size_t len = PROBLEM_MESSAGE_MAX;
    while (len > 0 && utf8_is_continuation(text[len - 1])) {
        len--;
    }
    len -= len > 0 && (unsigned char)text[len - 1] >= 0xc0; /* its first byte */
    memcpy(text + len, "...", 3);
    return arena_copy(arena, str_from(text, len + 3));
}

/* Space for one more; beyond the maximum, the scratch problem. */
static Problem *next_problem(Problems *problems, Severity severity)
{
    problems->errors += severity == SEVERITY_ERROR;
    if (problems->count == PROBLEMS_MAX) {
        problems->dropped++;
        return &problems->scratch;
    }
    if (problems->count == problems->cap) {
        uint32_t cap = problems->cap == 0 ? 8 : problems->cap * 2;
        problems->items = arena_grow(problems->arena, problems->items,
                                     problems->cap * sizeof(Problem), cap * sizeof(Problem));
        problems->cap = cap;
    }
    return &problems->items[problems->count++];
}

void problems_add_copy(Problems *problems, const Problem *problem)
{
    *next_problem(problems, problem->severity) = *problem;
}

bool problems_contain(const Problems *problems, const Problem *problem)
{
    for (uint32_t i = 0; i < problems->count; i++) {
        const Problem *other = &problems->items[i];
        if (other->line == problem->line && other->column == problem->column &&
            str_eq(other->code, problem->code) && str_eq(other->file, problem->file)) {
            return true;
        }
    }
    return false;
}

static bool has_error_at(const Problems *problems, uint32_t count, const Problem *problem)
{
    for (uint32_t i = 0; i < count; i++) {
        const Problem *other = &problems->items[i];
        if (other->severity == SEVERITY_ERROR && other->line == problem->line &&
            other->column == problem->column && str_eq(other->file, problem->file)) {
            return true;
        }
    }
    return false;
}

void problems_merge(Problems *problems, const Problems *found)
{
    uint32_t before = problems->count;
    for (uint32_t i = 0; i < found->count; i++) {
        const Problem *problem = &found->items[i];
        if (problem->line == 0 ||
            (!problems_contain(problems, problem) && !has_error_at(problems, before, problem))) {
            problems_add_copy(problems, problem);
        }
    }
}

PRINTF_LIKE(7, 0)
static Problem *add(Problems *problems, Severity severity, const char *code, const Source *source,
                    uint32_t offset, uint32_t length, const char *format, va_list args)
{
    Problem *problem = next_problem(problems, severity);
    *problem = (Problem){ .severity = severity };
    if (problem == &problems->scratch) {
        return problem;
    }
    problem->code = arena_copy(problems->arena, str_from_c(code));
    problem->message = format_message(problems->arena, format, args);
    if (source != NULL) {
        set_location(problem, problems->arena, source, offset, length);
    }
    return problem;
}

Problem *problems_add(Problems *problems, const char *code, const Source *source, uint32_t offset,
                      uint32_t length, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    Problem *problem = add(problems, SEVERITY_ERROR, code, source, offset, length, format, args);
    va_end(args);
    return problem;
}

Problem *problems_add_severity(Problems *problems, Severity severity, const char *code,
                               const Source *source, uint32_t offset, uint32_t length,
                               const char *format, ...)
{
    va_list args;
    va_start(args, format);
    Problem *problem = add(problems, severity, code, source, offset, length, format, args);
    va_end(args);
    return problem;
}

/* Whether a problem comes after another one of the same file. */
static bool comes_after(const Problem *a, const Problem *b)
{
    return str_eq(a->file, b->file) &&
           (a->line > b->line || (a->line == b->line && a->column > b->column));
}

void problems_remove_warning(Problems *problems, const char *code, const Source *source,
                             uint32_t offset)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; source != NULL && i < problems->count; i++) {
        const Problem *problem = &problems->items[i];
        bool is_removed = problem->severity != SEVERITY_ERROR && str_eq_c(problem->code, code) &&
                          str_eq(problem->file, source->name);
        if (is_removed) {
            LineColumn location = source_location(source, offset);
            is_removed = problem->line == location.line && problem->column == location.column;
        }
        if (!is_removed) {
            problems->items[kept++] = *problem;
        }
    }
    problems->count = source != NULL ? kept : problems->count;
}

void problems_sort(Problems *problems)
{
    Problem *items = problems->items;
    for (uint32_t i = 1; i < problems->count; i++) {
        Problem current = items[i];
        uint32_t pos = i;
        while (pos > 0 && !str_eq(items[pos - 1].file, current.file)) {
            pos--;
        }
        pos = pos == 0 ? i : pos; /* the first of its file stays in place */
        for (; pos > 0 && comes_after(&items[pos - 1], &current); pos--) {
        }
        memmove(&items[pos + 1], &items[pos], (i - pos) * sizeof *items);
        items[pos] = current;
    }
}

void problem_fix(Arena *arena, Problem *problem, Str text)
{
    if (problem->line > 0) {
        problem->fix = (ProblemFix){ .line = problem->line,
                                     .column = problem->column,
                                     .end_column = problem->column + problem->span,
                                     .text = arena_copy(arena, text) };
    }
}

void problem_fix_at(Arena *arena, Problem *problem, const Source *source, uint32_t offset,
                    uint32_t length, Str text)
{
    LineColumn from = source_location(source, offset),
               to = source_location(source, offset + length);
    if (from.line == to.line) {
        problem->fix = (ProblemFix){ .line = from.line,
                                     .column = from.column,
                                     .end_column = to.column,
                                     .text = arena_copy(arena, text) };
    }
}

void problem_add_origin(Arena *arena, Problem *problem, Str file, uint32_t line)
{
    ProblemOrigin **end = &problem->origin;
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = ARENA_NEW(arena, ProblemOrigin);
    **end = (ProblemOrigin){ .file = file, .line = line };
}

void problem_add_note(Arena *arena, Problem *problem, Str message, Str file, uint32_t line)
{
    ProblemNote **end = &problem->notes;
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = ARENA_NEW(arena, ProblemNote);
    **end = (ProblemNote){ .message = message, .file = file, .line = line };
}

static void color_on(ProblemStyle style, const char *color, Buf *out)
{
    if (style.color) {
        buf_put_c(out, color);
    }
}

static void color_off(ProblemStyle style, Buf *out)
{
    if (style.color) {
        buf_put(out, STR("\033[0m"));
    }
}

static void print_title(const Problem *problem, ProblemStyle style, Buf *out)
{
    color_on(style, severity_rows[problem->severity].color, out);
    buf_put_c(out, severity_name(problem->severity));
    if (problem->code.len > 0) {
        buf_put_format(out, "[%" STR_FMT "]", STR_ARG(problem->code));
    }
    color_off(style, out);
    color_on(style, bold, out);
    buf_put(out, STR(": "));
    visible_put(out, problem->message);
    color_off(style, out);
    buf_put_char(out, '\n');
}

static void print_file_and_line(Str file, uint32_t line, Buf *out)
{
    visible_put(out, file);
    if (line > 0) {
        buf_put_format(out, "%s%u", file.len > 0 ? ":" : "", line);
    }
}

static void print_location(const Problem *problem, ProblemStyle style, Buf *out)
{
    if (problem->file.len == 0 && problem->line == 0 && problem->origin == NULL) {
        return;
    }
    color_on(style, gutter_color, out);
    buf_put(out, STR("  --> "));
    color_off(style, out);
    print_file_and_line(problem->file, problem->line, out);
    if (problem->line > 0 && problem->column > 0) {
        buf_put_format(out, ":%u", problem->column);
    }
    unsigned printed = 0;
    const ProblemOrigin *origin = problem->origin;
    for (; origin != NULL && printed < ORIGINS_SHOWN; origin = origin->next, printed++) {
        buf_put(out, printed == 0 ? STR("   (from ") : STR(", from "));
        print_file_and_line(origin->file, origin->line, out);
    }
    if (printed > 0) {
        buf_put(out, origin == NULL ? STR(")") : STR(", ...)"));
    }
    buf_put_char(out, '\n');
}

/* The next character of an excerpt as displayed at column `column`; a tab becomes the spaces up to
 * the next tab stop. */
static VisiblePiece excerpt_next(Str line, size_t *pos, size_t column)
{
    if (line.data[*pos] != '\t') {
        return visible_next(line, pos);
    }
    ++*pos;
    unsigned width = TAB_STOP - (unsigned)(column % TAB_STOP);
    return (VisiblePiece){ .text = "    ", .bytes = width, .width = width };
}

/* Display columns, from 0, of the entire excerpt and of the part to underline. */
typedef struct Extent {
    size_t start;
    size_t end;
    size_t width;
} Extent;

static Extent measure(const Problem *problem, size_t index)
{
    Extent extent = { 0 };
    size_t last = index + (problem->span == 0 ? 1 : problem->span);
    size_t i = 0;
    for (size_t pos = 0; pos < problem->excerpt.len; i++) {
        if (i == index) {
            extent.start = extent.width;
        }
        if (i == last) {
            extent.end = extent.width;
        }
        extent.width += excerpt_next(problem->excerpt, &pos, extent.width).width;
    }
    if (i <= index) {
        extent.start = extent.width;
    }
    if (i <= last) {
        extent.end = extent.width;
    }
    if (extent.end <= extent.start) {
        extent.end = extent.start + 1;
    }
    return extent;
}

/* Prints the characters in display columns `from` to `to`, and returns the column where the first
 * of them starts. */
static size_t print_window(Str line, size_t from, size_t to, Buf *out)
{
    size_t column = 0;
    size_t first = SIZE_MAX;
    for (size_t pos = 0; pos < line.len;) {
        VisiblePiece piece = excerpt_next(line, &pos, column);
        if (column >= from && column + piece.width <= to) {
            first = first == SIZE_MAX ? column : first;
            buf_put(out, str_from(piece.text, piece.bytes));
        }
        column += piece.width;
    }
    return first == SIZE_MAX ? from : first;
}

static void print_gutter(const char *label, int digits, char mark, ProblemStyle style, Buf *out)
{
    color_on(style, gutter_color, out);
    buf_put_format(out, "%*s %c", digits, label, mark);
    color_off(style, out);
}

static void print_excerpt(const Problem *problem, const char *label, int digits, ProblemStyle style,
                          Buf *out)
{
    uint32_t first_column = problem->excerpt_column == 0 ? 1 : problem->excerpt_column;
    size_t index = problem->column > first_column ? problem->column - first_column : 0;
    Extent extent = measure(problem, index);
    size_t from = 0;
    size_t to = extent.width;
    if (extent.width > EXCERPT_COLUMNS) {
        from = extent.start > EXCERPT_BEFORE ? extent.start - EXCERPT_BEFORE : 0;
        if (from + EXCERPT_COLUMNS > extent.width) {
            from = extent.width - EXCERPT_COLUMNS;
        }
        to = from + EXCERPT_COLUMNS;
    }
    bool omitted_before = from > 0 || first_column > 1;
    bool omitted_after = to < extent.width || problem->excerpt_cut;

    print_gutter(label, digits, '|', style, out);
    buf_put_c(out, omitted_before ? " ..." : " ");
    size_t printed_from = print_window(problem->excerpt, from, to, out);
    buf_put_c(out, omitted_after ? "...\n" : "\n");

    print_gutter("", digits, '|', style, out);
    buf_put_repeat(out, ' ', 1 + (omitted_before ? 3 : 0) + extent.start - printed_from);
    color_on(style, severity_rows[problem->severity].color, out);
    size_t end = extent.end > to && extent.start < to ? to : extent.end;
    buf_put_repeat(out, '^', end - extent.start);
    if (problem->hint.len > 0) {
        buf_put_char(out, ' ');
        visible_put(out, problem->hint);
    }
    color_off(style, out);
    buf_put_char(out, '\n');
}

void problem_print(const Problem *problem, ProblemStyle style, Buf *out)
{
    char label[12];
    int digits = snprintf(label, sizeof label, "%u", problem->line);
    if (problem->line == 0) {
        digits = 1;
    }
    print_title(problem, style, out);
    print_location(problem, style, out);
    if (problem->line > 0 && problem->excerpt.len > 0) {
        print_excerpt(problem, label, digits, style, out);
    } else if (problem->hint.len > 0) {
        print_gutter("", digits, '=', style, out);
        buf_put_char(out, ' ');
        visible_put(out, problem->hint);
        buf_put_char(out, '\n');
    }
    for (const ProblemNote *note = problem->notes; note != NULL; note = note->next) {
        print_gutter("", digits, '=', style, out);
        buf_put_char(out, ' ');
        visible_put(out, note->message);
        if (note->line > 0) {
            buf_put(out, STR(" at "));
            print_file_and_line(note->file, note->line, out);
        }
        buf_put_char(out, '\n');
    }
    if (problem->code.len > 0) {
        print_gutter("", digits, '=', style, out);
        buf_put_format(out, " eden explain %" STR_FMT "\n", STR_ARG(problem->code));
    }
}

static void print_count(uint32_t count, const char *what, bool *first, Buf *out)
{
    if (count > 0) {
        buf_put_format(out, "%s%u %s%s", *first ? "" : ", ", count, what, count == 1 ? "" : "s");
        *first = false;
    }
}

void problems_print(const Problems *problems, ProblemStyle style, Buf *out)
{
    bool first = true;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < problems->count; i++) {
            const Problem *problem = &problems->items[i];
            if ((problem->severity == SEVERITY_ERROR) == (pass == 0)) {
                buf_put_c(out, first ? "" : "\n");
                problem_print(problem, style, out);
                first = false;
            }
        }
    }
    if (problems->count + problems->dropped < 2) {
        return;
    }
    uint32_t printed[COUNT_OF(severity_rows)] = { 0 };
    for (uint32_t i = 0; i < problems->count; i++) {
        printed[problems->items[i].severity]++;
    }
    buf_put_char(out, '\n');
    first = true;
    print_count(problems->errors, "error", &first, out);
    print_count(printed[SEVERITY_WARNING], "warning", &first, out);
    print_count(printed[SEVERITY_HINT], "hint", &first, out);
    if (problems->dropped > 0) {
        buf_put_format(out, " (%u not shown)", problems->dropped);
    } else if (problems->count == PROBLEMS_MAX) {
        buf_put(out, STR(" (there may be more)")); /* parsers stop when the list is full */
    }
    buf_put_char(out, '\n');
}

static void put_json_text(Buf *out, const char *key, Str text)
{
    buf_put_format(out, ",\"%s\":", key);
    if (text.len == 0) {
        buf_put(out, STR("null"));
    } else {
        json_text_put(out, text);
    }
}

static void put_json_number(Buf *out, const char *key, uint32_t number)
{
    buf_put_format(out, ",\"%s\":", key);
    if (number == 0) {
        buf_put(out, STR("null"));
    } else {
        buf_put_i64(out, number);
    }
}

static void print_json(const Problem *problem, Buf *out)
{
    buf_put_format(out, "{\"severity\":\"%s\"", severity_name(problem->severity));
    put_json_text(out, "code", problem->code);
    put_json_text(out, "message", problem->message);
    put_json_text(out, "file", problem->file);
    put_json_number(out, "line", problem->line);
    put_json_number(out, "column", problem->line == 0 ? 0 : problem->column);
    put_json_text(out, "hint", problem->hint);
    if (problem->fix.line > 0) {
        buf_put_format(out, ",\"fix\":{\"line\":%u,\"column\":%u,\"end_column\":%u,\"text\":",
                       problem->fix.line, problem->fix.column, problem->fix.end_column);
        json_text_put(out, problem->fix.text);
        buf_put_char(out, '}');
    }
    if (problem->server_code.len > 0) {
        put_json_text(out, "server_code", problem->server_code);
        put_json_text(out, "pointer", problem->pointer);
    }
    buf_put(out, STR(",\"from\":["));
    for (const ProblemOrigin *origin = problem->origin; origin != NULL; origin = origin->next) {
        buf_put(out, STR("{\"file\":"));
        json_text_put(out, origin->file);
        put_json_number(out, "line", origin->line);
        buf_put_c(out, origin->next == NULL ? "}" : "},");
    }
    buf_put(out, STR("],\"notes\":["));
    for (const ProblemNote *note = problem->notes; note != NULL; note = note->next) {
        buf_put(out, STR("{\"message\":"));
        json_text_put(out, note->message);
        put_json_text(out, "file", note->file);
        put_json_number(out, "line", note->line);
        buf_put_c(out, note->next == NULL ? "}" : "},");
    }
    buf_put(out, STR("]}"));
}

void problems_print_json(const Problems *problems, Buf *out)
{
    buf_put(out, STR("{\"format\":\"eden.problems/1\",\"problems\":["));
    for (uint32_t i = 0; i < problems->count; i++) {
        buf_put_c(out, i == 0 ? "" : ",");
        print_json(&problems->items[i], out);
    }
    buf_put(out, STR("]}\n"));
}
