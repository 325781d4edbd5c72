/* What YAML 1.2 forbids and libyaml lets pass: comments glued to what stands before them,
 * continuation lines that are not indented, directives without a document end before them.
 * Each check looks at the text around an event; a document without such a place costs a byte
 * comparison here and there. */
#include "lang/yaml_load.h"

enum {
    DIRECTIVES_MAX = 64, /* libyaml compares each with all before it */
};

static bool is_break(char c)
{
    return c == '\n' || c == '\r';
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static char char_at(const YamlLoad *load, size_t at)
{
    return at < load->text.len ? load->text.data[at] : '\0';
}

static size_t line_end(Str text, size_t at)
{
    while (at < text.len && !is_break(text.data[at])) {
        at++;
    }
    return at;
}

static size_t next_line(Str text, size_t at)
{
    at = line_end(text, at);
    if (at + 1 < text.len && text.data[at] == '\r' && text.data[at + 1] == '\n') {
        return at + 2;
    }
    return at < text.len ? at + 1 : at;
}

static bool glued_comment(YamlLoad *load, size_t at)
{
    Problem *problem = problems_add(load->problems, "E0101", load->source, (uint32_t)at, 1,
                                    "a comment needs a space before its '#'");
    problem->hint = STR("put a space here, or quote the text");
    return false;
}

/* --- Directives --------------------------------------------------------------------------- */

static bool check_directive(YamlLoad *load, Str line, uint32_t at)
{
    Str name = STR("%YAML");
    if (!str_starts(line, name) || line.len == name.len || !is_blank(line.data[name.len])) {
        return true;
    }
    size_t i = name.len;
    while (i < line.len && is_blank(line.data[i])) {
        i++;
    }
    while (i < line.len && (ascii_is_digit(line.data[i]) || line.data[i] == '.')) {
        i++;
    }
    if (i < line.len && !is_blank(line.data[i])) {
        problems_add(load->problems, "E0120", load->source, at, (uint32_t)line.len,
                     "this is no valid YAML version");
        return false;
    }
    return true;
}

bool yaml_strict_directives(YamlLoad *load, uint32_t from)
{
    Str text = load->text;
    unsigned count = 0;
    for (size_t at = from; at < text.len; at = next_line(text, at)) {
        Str line = str_slice(text, at, line_end(text, at));
        if (line.len > 0 && line.data[0] == '%') {
            if (++count > DIRECTIVES_MAX) {
                problems_add(load->problems, "E0105", load->source, (uint32_t)at, 1,
                             "too many directives (the limit is %d)", DIRECTIVES_MAX);
                return false;
            }
            if (!check_directive(load, line, (uint32_t)at)) {
                return false;
            }
            continue;
        }
        Str rest = str_trim(line);
        if (rest.len > 0 && rest.data[0] != '#') {
            break;
        }
    }
    return true;
}

bool yaml_strict_document(YamlLoad *load, const yaml_event_t *event)
{
    bool directives = event->data.document_start.version_directive != NULL ||
                      event->data.document_start.tag_directives.start !=
                          event->data.document_start.tag_directives.end;
    if (!load->document_open_ended || !directives) {
        return true;
    }
    uint32_t at = yaml_load_offset(load, event->start_mark.index);
    Problem *problem = problems_add(load->problems, "E0120", load->source, at, 1,
                                    "a directive stands behind a document that has not ended");
    problem->hint = STR("end that document with a line '...'");
    return false;
}

/* --- Indentation -------------------------------------------------------------------------- */

/* Every line but the first of what lies between `start` and `end` must be indented by more than
 * its parent. Closing brackets may stand below the start of their key: the specification says
 * otherwise, but the habit is common and no reader minds. */
static bool check_indentation(YamlLoad *load, uint32_t start, uint32_t end, bool brackets)
{
    if (load->depth == 0 || load->frames[load->depth - 1].flow) {
        return true;
    }
    uint32_t parent = load->frames[load->depth - 1].column;
    Str text = str_slice(load->text, 0, end);
    for (size_t at = next_line(text, start); at < text.len; at = next_line(text, at)) {
        size_t first = at;
        while (first < text.len && text.data[first] == ' ') {
            first++;
        }
        size_t content = first;
        while (content < text.len && is_blank(text.data[content])) {
            content++;
        }
        if (first - at > parent || content == text.len || is_break(text.data[content])) {
            continue;
        }
        char c = text.data[content];
        if (brackets && (c == '#' || ((c == ']' || c == '}') && first - at == parent))) {
            continue;
        }
        bool tab = content > first;
        Problem *problem =
            problems_add(load->problems, tab ? "E0107" : "E0117", load->source, (uint32_t)at,
                         (uint32_t)(content - at),
                         tab ? "a tab is no indentation" : "this line is not indented far enough");
        problem->hint = arena_format(load->problems->arena, "it needs %u space%s or more",
                                     parent + 1, parent == 0 ? "" : "s");
        return false;
    }
    return true;
}

/* --- Scalars ------------------------------------------------------------------------------ */

/* The lines before the first one with text decide nothing, but they must not be longer than its
 * indentation: such spaces would be lost. */
static bool check_leading_lines(YamlLoad *load, size_t at)
{
    Str text = load->text;
    size_t longest = 0, longest_at = 0;
    for (; at < text.len; at = next_line(text, at)) {
        size_t first = at;
        while (first < text.len && text.data[first] == ' ') {
            first++;
        }
        if (first < text.len && !is_break(text.data[first])) {
            size_t indent = first - at;
            if (load->depth > 0 && indent <= load->frames[load->depth - 1].column) {
                return true; /* not its text any more */
            }
            if (longest > indent) {
                problems_add(load->problems, "E0117", load->source, (uint32_t)longest_at,
                             (uint32_t)longest,
                             "an empty line has more spaces than the text below it is indented by");
                return false;
            }
            return true;
        }
        if (first - at > longest) {
            longest = first - at;
            longest_at = at;
        }
    }
    return true;
}

static bool check_block_scalar(YamlLoad *load, uint32_t start)
{
    Str text = load->text;
    bool indented = false;
    size_t at = (size_t)start + 1;
    while (at < text.len &&
           (ascii_is_digit(text.data[at]) || text.data[at] == '+' || text.data[at] == '-')) {
        indented |= ascii_is_digit(text.data[at]);
        at++;
    }
    if (char_at(load, at) == '#') {
        return glued_comment(load, at);
    }
    return indented || check_leading_lines(load, next_line(text, at));
}

bool yaml_strict_scalar(YamlLoad *load, const yaml_event_t *event, uint32_t start, uint32_t end)
{
    switch (event->data.scalar.style) {
    case YAML_SINGLE_QUOTED_SCALAR_STYLE:
    case YAML_DOUBLE_QUOTED_SCALAR_STYLE:
        if (char_at(load, end) == '#') {
            return glued_comment(load, end);
        }
        return event->start_mark.line == event->end_mark.line ||
               check_indentation(load, start, end, false);
    case YAML_LITERAL_SCALAR_STYLE:
    case YAML_FOLDED_SCALAR_STYLE: return check_block_scalar(load, start);
    default: break;
    }
    if (load->flow_depth > 0 && end - start == 1 && load->text.data[start] == '-') {
        Problem *problem = problems_add(load->problems, "E0118", load->source, start, 1,
                                        "a lone '-' is no value inside brackets");
        problem->hint = STR("quote it");
        return false;
    }
    return true;
}

/* --- Flow collections --------------------------------------------------------------------- */

bool yaml_strict_flow_start(YamlLoad *load, uint32_t start)
{
    return char_at(load, (size_t)start + 1) != '#' || glued_comment(load, (size_t)start + 1);
}

bool yaml_strict_flow_end(YamlLoad *load, const YamlFrame *frame, uint32_t end)
{
    if (char_at(load, end) == '#') {
        return glued_comment(load, end);
    }
    return check_indentation(load, frame->start, end, true);
}

bool yaml_strict_separator(YamlLoad *load, uint32_t end)
{
    size_t at = end;
    while (is_blank(char_at(load, at))) {
        at++;
    }
    return char_at(load, at) != ',' || char_at(load, at + 1) != '#' || glued_comment(load, at + 1);
}
