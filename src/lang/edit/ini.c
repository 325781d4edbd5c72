/* Edits an INI file as a list of lines. Every line is classified once (section, option,
 * continuation, other); edits mark lines as dropped, rewrite them or insert new ones, and all other
 * lines are written back unchanged.
 *
 * A new option is inserted after a commented-out line with the same option, otherwise after the
 * last option of its section, and copies the indentation and separator of its neighbor. If the file
 * already satisfies the request, ini_edit() returns the input itself, which is how callers detect
 * that nothing changed. */
#include "lang/edit/ini.h"

#include "base/buf.h"
#include "base/vec.h"

typedef enum LineKind {
    LINE_OTHER, /* blank lines and comments */
    LINE_SECTION,
    LINE_OPTION,
    LINE_CONTINUATION, /* belongs to the option before it */
} LineKind;

typedef struct Line {
    Str text; /* without its newline */
    Str end;  /* "\n", "\r\n", or empty for the last line */
    LineKind kind;
    bool in_section; /* in a section with the requested name */
    bool is_removed;
    Str name;     /* of a section or option */
    size_t value; /* of an option: offset of its value in `text`; if `has_value` */
    bool has_value;
    size_t indent;
} Line;

typedef VEC(Line) Lines;

typedef struct Ini {
    Arena *arena;
    const IniRequest *request;
    char separator;
    Lines lines;
    Str bom; /* byte order mark, or empty */
    Str line_end;
    bool changed;
} Ini;

#define BOM STR("\xef\xbb\xbf")

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_comment(Str trimmed)
{
    return trimmed.len > 0 && (trimmed.data[0] == '#' || trimmed.data[0] == ';');
}

/* --- Requests ------------------------------------------------------------------------------- */

/* Includes newlines, but not tabs. */
static bool has_control_characters(Str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if ((unsigned char)text.data[i] < ' ' && text.data[i] != '\t') {
            return true;
        }
    }
    return false;
}

static bool is_trimmed(Str text)
{
    return str_trim(text).len == text.len;
}

/* Splits off the next line of a value, trimmed. */
static bool next_value_line(Str *rest, Str *line)
{
    if (!str_split_next(rest, '\n', line)) {
        return false;
    }
    *line = str_trim(*line);
    return true;
}

static Str value_text(Str value)
{
    return str_ends(value, STR("\n")) ? str_slice(value, 0, value.len - 1) : value;
}

/* The start of a comment: one of these characters, at the start or after whitespace. */
static size_t find_comment(Str text, Str characters)
{
    for (size_t i = 0; characters.len > 0 && i < text.len; i++) {
        if (memchr(characters.data, text.data[i], characters.len) != NULL &&
            (i == 0 || is_blank(text.data[i - 1]))) {
            return i;
        }
    }
    return STR_NOT_FOUND;
}

static bool check_value(const IniRequest *request, Error *err)
{
    Str rest = value_text(request->value), line;
    if (str_ends(rest, STR("\\"))) {
        return error_set(err, ERROR_INVALID,
                         "'value' ends with a backslash, which would continue it on the next line");
    }
    if (!is_trimmed(str_slice(rest, 0, str_find(rest, STR("\n"), 0)))) {
        return error_set(err, ERROR_INVALID,
                         "'value' has leading or trailing whitespace, which most parsers of such "
                         "files strip; add quotes if the parser supports them");
    }
    if (find_comment(rest, request->comments) != STR_NOT_FOUND) {
        return error_set(err, ERROR_INVALID, "'value' contains a comment");
    }
    for (bool first = true; next_value_line(&rest, &line); first = false) {
        if (has_control_characters(line)) {
            return error_set(err, ERROR_INVALID, "'value' contains a control character");
        }
        if (!first && (line.len == 0 || is_comment(line))) {
            return error_set(err, ERROR_INVALID,
                             "a line of 'value' is empty or would be a comment");
        }
    }
    return true;
}

bool ini_request_check(const IniRequest *request, Error *err)
{
    Str separator = str_trim(request->separator), option = request->option;
    if (!str_eq(separator, STR("=")) && !str_eq(separator, STR(":"))) {
        return error_set(err, ERROR_INVALID,
                         "'separator' must be '=' or ':', optionally with spaces around it");
    }
    if (has_control_characters(request->section) || !is_trimmed(request->section)) {
        return error_set(err, ERROR_INVALID,
                         "'section' must be a single line without leading or trailing whitespace");
    }
    if (option.len == 0) {
        return request->section.len > 0 ||
               error_set(err, ERROR_INVALID, "'option' or 'section' is required");
    }
    if (has_control_characters(option) || !is_trimmed(option) || option.data[0] == '[' ||
        str_ends(option, STR("\\")) || str_starts(option, BOM) || is_comment(option) ||
        str_find(option, separator, 0) != STR_NOT_FOUND) {
        return error_set(err, ERROR_INVALID, "'%" STR_FMT "' is not a valid option name",
                         STR_ARG(option));
    }
    return !request->has_value || check_value(request, err);
}

/* --- Parsing -------------------------------------------------------------------------------- */

static bool read_section(Str trimmed, Str *name)
{
    if (trimmed.len < 2 || trimmed.data[0] != '[') {
        return false;
    }
    size_t end =
        trimmed.data[trimmed.len - 1] == ']' ? trimmed.len - 1 : str_find(trimmed, STR("]"), 0);
    if (end == STR_NOT_FOUND) {
        return false;
    }
    Str trailing = str_trim(str_from_offset(trimmed, end + 1));
    *name = str_trim(str_slice(trimmed, 1, end));
    return trailing.len == 0 || is_comment(trailing);
}

static void read_option(const Ini *ini, Line *line)
{
    const char *pos = memchr(line->text.data, ini->separator, line->text.len);
    line->kind = LINE_OPTION;
    line->has_value = pos != NULL;
    line->name = str_trim(pos == NULL ? line->text
                                      : str_slice(line->text, 0, (size_t)(pos - line->text.data)));
    if (pos == NULL) {
        return;
    }
    line->value = (size_t)(pos - line->text.data) + 1;
    while (line->value < line->text.len && is_blank(line->text.data[line->value])) {
        line->value++;
    }
}

/* Whether a line continues the value of the option whose last line is `previous`. */
static bool is_continuation(const Line *option, const Line *previous, const Line *line, Str trimmed)
{
    if (option == NULL) {
        return false;
    }
    bool escaped = previous->kind != LINE_OTHER && str_ends(previous->text, STR("\\"));
    return escaped || (trimmed.len > 0 && !is_comment(trimmed) && line->indent > option->indent);
}

static void read_lines(Ini *ini, Str text)
{
    bool in_section = ini->request->section.len == 0;
    uint32_t option = UINT32_MAX; /* index of the option whose value may continue */
    ini->line_end = STR("\n");
    while (text.len > 0) {
        const char *found = memchr(text.data, '\n', text.len);
        size_t len = found == NULL ? text.len : (size_t)(found - text.data);
        Line line = { .text = str_slice(text, 0, len), .end = str_slice(text, len, len + 1) };
        text = str_from_offset(text, len + 1);
        if (line.end.len > 0 && str_ends(line.text, STR("\r"))) {
            line.text.len--;
            line.end = STR("\r\n");
        }
        if (ini->lines.len == 0) {
            ini->line_end = line.end.len > 1 ? line.end : ini->line_end;
        }
        while (line.indent < line.text.len && is_blank(line.text.data[line.indent])) {
            line.indent++;
        }
        Str trimmed = str_trim(line.text);
        const Line *previous_option = option == UINT32_MAX ? NULL : &ini->lines.items[option];
        const Line *previous = ini->lines.len == 0 ? NULL : &ini->lines.items[ini->lines.len - 1];
        if (is_continuation(previous_option, previous, &line, trimmed)) {
            line.kind = LINE_CONTINUATION;
        } else if (trimmed.len == 0) {
            option = UINT32_MAX;
        } else if (read_section(trimmed, &line.name)) {
            line.kind = LINE_SECTION;
            in_section = str_eq(line.name, ini->request->section);
            option = UINT32_MAX;
        } else if (!is_comment(trimmed)) {
            read_option(ini, &line);
            option = ini->lines.len;
        }
        line.in_section = in_section;
        VEC_PUSH(ini->arena, &ini->lines, line);
    }
}

/* --- Searching ------------------------------------------------------------------------------ */

/* The start of a comment after the value, including the whitespace before it; or the end of the
 * line. */
static size_t value_end(const Ini *ini, const Line *line)
{
    size_t comment = find_comment(str_from_offset(line->text, line->value), ini->request->comments);
    if (comment == STR_NOT_FOUND) {
        return line->text.len;
    }
    size_t end = line->value + comment;
    while (end > line->value && is_blank(line->text.data[end - 1])) {
        end--;
    }
    return end;
}

static bool is_requested_option(const Ini *ini, const Line *line)
{
    return line->kind == LINE_OPTION && line->in_section &&
           str_eq(line->name, ini->request->option);
}

/* The line after the option on line `pos` and its continuation lines. Comments between these belong
 * to the option: without it, the lines below them would be something else. */
static uint32_t option_end(const Ini *ini, uint32_t pos)
{
    uint32_t end = pos + 1;
    for (uint32_t i = end; i < ini->lines.len; i++) {
        if (ini->lines.items[i].kind == LINE_CONTINUATION) {
            end = i + 1;
        } else if (ini->lines.items[i].kind != LINE_OTHER) {
            break;
        }
    }
    return end;
}

/* Whether the option on line `pos` has the requested value. */
static bool has_requested_value(const Ini *ini, uint32_t pos)
{
    const Line *line = &ini->lines.items[pos];
    if (ini->request->bare || !line->has_value) {
        return ini->request->bare && !line->has_value;
    }
    Str rest = value_text(ini->request->value), expected = STR_EMPTY;
    (void)next_value_line(&rest, &expected);
    bool same =
        str_eq(str_trim(str_slice(line->text, line->value, value_end(ini, line))), expected);
    for (uint32_t end = option_end(ini, pos); same && ++pos < end;) {
        same = ini->lines.items[pos].kind == LINE_OTHER ||
               (next_value_line(&rest, &expected) &&
                str_eq(str_trim(ini->lines.items[pos].text), expected));
    }
    return same && rest.len == 0;
}

/* A comment such as `#port = 80`. */
static bool is_commented_option(const Ini *ini, const Line *line)
{
    Str text = str_trim(line->text);
    if (line->kind != LINE_OTHER || !line->in_section || !is_comment(text)) {
        return false;
    }
    while (text.len > 0 && (is_comment(text) || is_blank(text.data[0]))) {
        text = str_from_offset(text, 1);
    }
    const char *pos = text.len == 0 ? NULL : memchr(text.data, ini->separator, text.len);
    return pos != NULL &&
           str_eq(str_trim(str_slice(text, 0, (size_t)(pos - text.data))), ini->request->option);
}

/* --- Editing -------------------------------------------------------------------------------- */

static void remove_option(Ini *ini, uint32_t pos)
{
    for (uint32_t end = option_end(ini, pos); pos < end; pos++) {
        ini->lines.items[pos].is_removed = true;
    }
    ini->changed = true;
}

static void insert_line(Ini *ini, uint32_t pos, LineKind kind, Str text)
{
    VEC_PUSH(ini->arena, &ini->lines, (Line){ 0 });
    Line *items = ini->lines.items;
    memmove(&items[pos + 1], &items[pos], (ini->lines.len - 1 - pos) * sizeof(Line));
    items[pos] = (Line){ .text = text, .end = ini->line_end, .kind = kind, .in_section = true };
    if (pos > 0 && items[pos - 1].end.len == 0) {
        items[pos - 1].end = ini->line_end;
    }
    ini->changed = true;
}

/* Inserts the lines of the value after the first one, at `pos`. */
static void insert_continuation(Ini *ini, uint32_t pos, Str rest, Str indent)
{
    Str line;
    while (next_value_line(&rest, &line)) {
        insert_line(ini, pos++, LINE_CONTINUATION,
                    arena_join(ini->arena, indent, STR("    "), line));
    }
}

/* Sets the requested value on line `pos`; name, indentation and separator are preserved. */
static void rewrite_option(Ini *ini, uint32_t pos)
{
    Line *line = &ini->lines.items[pos];
    Str indent = str_slice(line->text, 0, line->indent);
    Str rest = value_text(ini->request->value), first = STR_EMPTY;
    Buf out = buf_make_in(ini->arena, BUF_UNLIMITED);
    for (uint32_t i = option_end(ini, pos); i > pos + 1; i--) {
        ini->lines.items[i - 1].is_removed = true;
    }
    if (ini->request->bare || !line->has_value) {
        buf_put(&out, indent);
        buf_put(&out, line->name);
        if (!ini->request->bare) {
            buf_put(&out, ini->request->separator);
        }
    } else {
        Str prefix = str_slice(line->text, 0, line->value);
        buf_put(&out, prefix);
        bool spaced = prefix.len >= 2 && is_blank(prefix.data[prefix.len - 2]);
        if (prefix.data[prefix.len - 1] == ini->separator && spaced) {
            buf_put_char(&out, ' ');
        }
    }
    (void)next_value_line(&rest, &first);
    if (first.len == 0) {
        while (out.len > 0 && is_blank(out.data[out.len - 1])) {
            out.len--;
        }
    }
    buf_put(&out, ini->request->bare ? STR_EMPTY : first);
    if (line->has_value && !ini->request->bare) {
        Str comment = str_from_offset(line->text, value_end(ini, line));
        while (str_ends(comment, STR("\\"))) {
            comment.len--; /* it would continue the value on the next line */
        }
        buf_put_c(&out, comment.len > 0 && !is_blank(comment.data[0]) ? " " : "");
        buf_put(&out, comment);
    }
    line->text = buf_str(&out);
    ini->changed = true;
    if (!ini->request->bare) {
        insert_continuation(ini, pos + 1, rest, indent);
    }
}

/* The option whose formatting a new one copies: the nearest one in its section above `pos`, or the
 * first of the text. */
static const Line *find_neighbor(const Ini *ini, uint32_t pos)
{
    for (uint32_t i = pos; i > 0 && ini->lines.items[i - 1].kind != LINE_SECTION; i--) {
        if (ini->lines.items[i - 1].kind == LINE_OPTION && ini->lines.items[i - 1].has_value) {
            return &ini->lines.items[i - 1];
        }
    }
    for (uint32_t i = 0; i < ini->lines.len; i++) {
        if (ini->lines.items[i].kind == LINE_OPTION && ini->lines.items[i].has_value) {
            return &ini->lines.items[i];
        }
    }
    return NULL;
}

/* The indentation of a new option on line `pos`: no more than the option above, because otherwise
 * it would continue that option's value, and no less than what follows. */
static Str indent_for(const Ini *ini, uint32_t pos, Str indent)
{
    for (uint32_t i = pos; i > 0; i--) {
        const Line *above = &ini->lines.items[i - 1];
        if (above->kind != LINE_CONTINUATION && str_trim(above->text).len == 0) {
            break; /* an empty line ends a value, unless a backslash continues it there */
        }
        if (above->kind == LINE_OPTION) {
            indent = above->indent < indent.len ? str_slice(above->text, 0, above->indent) : indent;
            break;
        }
    }
    while (pos < ini->lines.len && is_comment(str_trim(ini->lines.items[pos].text))) {
        pos++;
    }
    const Line *next = pos < ini->lines.len ? &ini->lines.items[pos] : NULL;
    bool starts_entry = next != NULL && (next->kind == LINE_OPTION || next->kind == LINE_SECTION);
    return starts_entry && next->indent > indent.len ? str_slice(next->text, 0, next->indent)
                                                     : indent;
}

/* The separator of a line, with surrounding whitespace reduced to one space. */
static Str separator_of(const Ini *ini, Str text)
{
    const char *found = memchr(text.data, ini->separator, text.len);
    size_t position = (size_t)(found - text.data);
    bool space_before = position > 0 && is_blank(text.data[position - 1]);
    bool space_after = position + 1 < text.len ? is_blank(text.data[position + 1]) : space_before;
    return arena_format(ini->arena, "%s%c%s", space_before ? " " : "", ini->separator,
                        space_after ? " " : "");
}

static void insert_option(Ini *ini, uint32_t pos)
{
    Str indent = STR_EMPTY, separator = ini->request->separator;
    if (pos > 0 && ini->lines.items[pos - 1].kind != LINE_OTHER &&
        str_ends(ini->lines.items[pos - 1].text, STR("\\"))) {
        insert_line(ini, pos++, LINE_CONTINUATION, STR_EMPTY);
    }
    const Line *neighbor = find_neighbor(ini, pos);
    if (neighbor != NULL) {
        indent = str_slice(neighbor->text, 0, neighbor->indent);
    }
    if (pos > 0 && is_commented_option(ini, &ini->lines.items[pos - 1])) {
        neighbor = &ini->lines.items[pos - 1];
    }
    if (neighbor != NULL) {
        separator = separator_of(ini, neighbor->text);
    }
    indent = indent_for(ini, pos, indent);
    Str rest = value_text(ini->request->value), first = STR_EMPTY;
    (void)next_value_line(&rest, &first);
    Str text = arena_join(ini->arena, indent, ini->request->option, STR_EMPTY);
    if (!ini->request->bare) {
        text = arena_join(ini->arena, text, separator, first);
    }
    while (text.len > 0 && is_blank(text.data[text.len - 1])) {
        text.len--;
    }
    insert_line(ini, pos, LINE_OPTION, text);
    if (!ini->request->bare) {
        insert_continuation(ini, pos + 1, rest, indent);
    }
}

/* The last section with the requested name: `*first` is the line after its header, `*end` the
 * header of the next one. */
static bool find_section(const Ini *ini, uint32_t *first, uint32_t *end)
{
    bool found = ini->request->section.len == 0;
    *first = 0;
    *end = found ? 0 : ini->lines.len;
    for (uint32_t i = 0; i < ini->lines.len && ini->request->section.len > 0; i++) {
        if (ini->lines.items[i].kind == LINE_SECTION && ini->lines.items[i].in_section) {
            *first = i + 1;
            found = true;
        }
    }
    for (*end = *first; *end < ini->lines.len && ini->lines.items[*end].kind != LINE_SECTION;) {
        (*end)++;
    }
    return found;
}

/* Where to insert the option: after a commented-out line with it, after the last option, or after
 * the header. If there is none of these, before the next header and its comments; `*is_separate` is
 * then set, and a blank line must follow. */
static uint32_t find_insert_position(const Ini *ini, uint32_t first, uint32_t end,
                                     bool *is_separate)
{
    uint32_t position = UINT32_MAX;
    bool example = false;
    for (uint32_t i = first; i < end; i++) {
        const Line *line = &ini->lines.items[i];
        if (is_commented_option(ini, line)) {
            position = i + 1;
            example = true;
        } else if (!example && (line->kind == LINE_OPTION || line->kind == LINE_CONTINUATION)) {
            position = i + 1;
        }
    }
    /* A comment may be between the lines of a value. */
    for (uint32_t i = position; position != UINT32_MAX && i < end; i++) {
        const Line *line = &ini->lines.items[i];
        if (line->kind != LINE_CONTINUATION && !is_comment(str_trim(line->text))) {
            break;
        }
        position = line->kind == LINE_CONTINUATION ? i + 1 : position;
    }
    *is_separate = position == UINT32_MAX && first == 0;
    if (!*is_separate) {
        return position != UINT32_MAX ? position : first;
    }
    while (end > 0 && end < ini->lines.len &&
           is_comment(str_trim(ini->lines.items[end - 1].text))) {
        end--;
    }
    return end;
}

static void append_section(Ini *ini)
{
    uint32_t len = ini->lines.len;
    if (len > 0 && str_trim(ini->lines.items[len - 1].text).len > 0) {
        insert_line(ini, len++, LINE_OTHER, STR_EMPTY);
    }
    insert_line(ini, len, LINE_SECTION,
                arena_join(ini->arena, STR("["), ini->request->section, STR("]")));
}

static void add_option(Ini *ini)
{
    uint32_t first, end;
    if (!find_section(ini, &first, &end)) {
        append_section(ini);
        first = end = ini->lines.len;
    }
    bool is_separate;
    uint32_t position = find_insert_position(ini, first, end, &is_separate);
    insert_option(ini, position);
    position = option_end(ini, position);
    if (is_separate && position < ini->lines.len) {
        insert_line(ini, position, LINE_OTHER, STR_EMPTY);
    }
}

static void ensure_option(Ini *ini)
{
    uint32_t matching = UINT32_MAX, last = UINT32_MAX;
    for (uint32_t i = 0; i < ini->lines.len; i++) {
        if (is_requested_option(ini, &ini->lines.items[i])) {
            last = i;
            matching = has_requested_value(ini, i) ? i : matching;
        }
    }
    if (!ini->request->exclusive && matching == UINT32_MAX && last != UINT32_MAX) {
        insert_option(ini, option_end(ini, last));
        return;
    }
    if (last == UINT32_MAX) {
        add_option(ini);
        return;
    }
    uint32_t chosen = matching != UINT32_MAX ? matching : last;
    for (uint32_t i = 0; ini->request->exclusive && i < ini->lines.len; i++) {
        if (i != chosen && is_requested_option(ini, &ini->lines.items[i])) {
            remove_option(ini, i);
        }
    }
    if (matching == UINT32_MAX) {
        rewrite_option(ini, chosen);
    }
}

static void remove_options(Ini *ini)
{
    for (uint32_t i = 0; i < ini->lines.len; i++) {
        if (is_requested_option(ini, &ini->lines.items[i]) &&
            (!ini->request->has_value || has_requested_value(ini, i))) {
            remove_option(ini, i);
        }
    }
}

/* Removes all sections with the requested name, except comments directly before the next header. */
static void remove_sections(Ini *ini)
{
    for (uint32_t i = 0; i < ini->lines.len; i++) {
        if (ini->lines.items[i].kind != LINE_SECTION || !ini->lines.items[i].in_section) {
            continue;
        }
        uint32_t end = i + 1;
        while (end < ini->lines.len && ini->lines.items[end].kind != LINE_SECTION) {
            end++;
        }
        while (end > i + 1 && end < ini->lines.len &&
               is_comment(str_trim(ini->lines.items[end - 1].text))) {
            end--;
        }
        while (i < end) {
            ini->lines.items[i++].is_removed = true;
        }
        i--;
        ini->changed = true;
    }
}

static Str join_lines(const Ini *ini)
{
    Buf out = buf_make_in(ini->arena, BUF_UNLIMITED);
    buf_put(&out, ini->bom);
    for (uint32_t i = 0; i < ini->lines.len; i++) {
        if (!ini->lines.items[i].is_removed) {
            /* The start of a name must not become the byte order mark of the file. */
            if (out.len == 0 && str_starts(ini->lines.items[i].text, BOM)) {
                buf_put(&out, ini->line_end);
            }
            buf_put(&out, ini->lines.items[i].text);
            buf_put(&out, ini->lines.items[i].end);
        }
    }
    return buf_str(&out);
}

Str ini_edit(Arena *arena, Str text, const IniRequest *request)
{
    Ini ini = { .arena = arena,
                .request = request,
                .separator = str_trim(request->separator).data[0],
                .bom = str_starts(text, BOM) ? BOM : STR_EMPTY };
    uint32_t first, end;
    read_lines(&ini, str_from_offset(text, ini.bom.len));
    if (request->option.len > 0) {
        (request->absent ? remove_options : ensure_option)(&ini);
    } else if (request->absent) {
        remove_sections(&ini);
    } else if (!find_section(&ini, &first, &end)) {
        append_section(&ini);
    }
    return ini.changed ? join_lines(&ini) : text;
}
