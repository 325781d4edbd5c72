/* Detects what YAML 1.2 forbids and libyaml accepts: comments without a preceding space,
 * continuation lines that are not indented, directives without a document end before them. Each
 * check inspects the text around an event; for a valid document it costs a few byte comparisons. */
#include "lang/yaml_load.h"

enum {
    DIRECTIVES_MAX = 64, /* libyaml compares each with all previous ones */
};

static bool is_break(char c)
{
    return c == '\n' || c == '\r';
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static char char_at(const YamlLoad *load, size_t pos)
{
    return pos < load->text.len ? load->text.data[pos] : '\0';
}

static bool report_missing_space(YamlLoad *load, size_t pos)
{
    if (pos > 0 && load->text.data[pos - 1] == '{') {
        problems_add(load->problems, "E0103", load->source, (uint32_t)pos - 1, 2,
                     "template comment outside a string")
            ->hint = STR("YAML is parsed before templates; write '# ...' for a comment");
        return false;
    }
    Problem *problem = problems_add(load->problems, "E0101", load->source, (uint32_t)pos, 1,
                                    "a comment needs a space before its '#'");
    problem->hint = STR("add a space here, or quote the text");
    return false;
}

/* --- Directives --------------------------------------------------------------------------- */

typedef enum Directive {
    DIRECTIVE_KNOWN,   /* libyaml handles it */
    DIRECTIVE_UNKNOWN, /* ignored: an unknown name, or another version of YAML */
    DIRECTIVE_WRONG,
} Directive;

static Directive parse_directive(Str line)
{
    if (str_starts(line, STR("%TAG")) && line.len > 4 && is_blank(line.data[4])) {
        return DIRECTIVE_KNOWN;
    }
    if (!str_starts(line, STR("%YAML")) || line.len == 5 || !is_blank(line.data[5])) {
        return DIRECTIVE_UNKNOWN;
    }
    size_t pos = 5;
    while (pos < line.len && is_blank(line.data[pos])) {
        pos++;
    }
    size_t version = pos;
    while (pos < line.len && (ascii_is_digit(line.data[pos]) || line.data[pos] == '.')) {
        pos++;
    }
    if (pos == version || (pos < line.len && !is_blank(line.data[pos]))) {
        return DIRECTIVE_WRONG;
    }
    Str number = str_slice(line, version, pos);
    Str rest = str_trim(str_from_offset(line, pos));
    /* more words: libyaml reports them */
    bool plain = rest.len == 0 || !ascii_is_digit(rest.data[0]);
    return plain && (str_eq(number, STR("1.1")) || str_eq(number, STR("1.2"))) ? DIRECTIVE_KNOWN
                                                                               : DIRECTIVE_UNKNOWN;
}

static bool directive_problem(YamlLoad *load, size_t pos, const char *message, const char *hint)
{
    Problem *problem =
        problems_add(load->problems, "E0120", load->source, (uint32_t)pos, 1, "%s", message);
    problem->hint = str_from_c(hint);
    return false;
}

static bool check_directive(YamlLoad *load, Str line, size_t pos, unsigned count)
{
    if (load->document_open_ended) {
        return directive_problem(load, pos, "directive after a document that has not ended",
                                 "end the document with a line '...'");
    }
    if (count > DIRECTIVES_MAX) {
        return yaml_load_limit(load, (uint32_t)pos, "too many directives", DIRECTIVES_MAX);
    }
    switch (parse_directive(line)) {
    case DIRECTIVE_KNOWN: return true;
    case DIRECTIVE_UNKNOWN: yaml_repair_comment(load, (uint32_t)pos); return true;
    case DIRECTIVE_WRONG: return directive_problem(load, pos, "invalid YAML version", "");
    }
    return true;
}

bool yaml_strict_prologue(YamlLoad *load, uint32_t from, uint32_t dots)
{
    Str text = yaml_load_parsed_text(load);
    unsigned directives = 0;
    size_t pos = from;
    if (dots != UINT32_MAX) {
        Str rest = str_trim(str_slice(text, pos, yaml_text_line_end(text, pos)));
        if (rest.len > 0 && rest.data[0] != '#') {
            return true; /* libyaml reports it */
        }
        pos = yaml_text_next_line(text, pos);
    }
    for (; pos < text.len; pos = yaml_text_next_line(text, pos)) {
        Str line = str_slice(text, pos, yaml_text_line_end(text, pos));
        Str rest = str_trim(line);
        if (line.len > 0 && line.data[0] == '%') {
            if (!check_directive(load, line, pos, ++directives)) {
                return false;
            }
        } else if (yaml_text_is_marker(text, pos, '.') && directives == 0) {
            if (dots == UINT32_MAX) {
                yaml_repair_comment(load, (uint32_t)pos); /* it ends nothing */
            } else {
                dots = (uint32_t)pos;
            }
        } else if (rest.len > 0 && rest.data[0] != '#') {
            break;
        }
    }
    bool starts = yaml_text_is_marker(text, pos, '-');
    if (directives > 0 && !starts) {
        return directive_problem(load, pos, "missing line '---' after the directives", "");
    }
    if (dots != UINT32_MAX && !starts && pos < text.len) {
        yaml_repair_document(load, dots);
    }
    return !load->repair.needs_reparse;
}

/* --- Indentation -------------------------------------------------------------------------- */

/* Every line except the first between `start` and `end` must be indented by more than its parent.
 * Closing brackets may be in the column of their key: the specification forbids it, but the habit
 * is common and every parser accepts it. */
static bool check_indentation(YamlLoad *load, uint32_t start, uint32_t end, bool brackets)
{
    if (load->depth == 0 || load->frames[load->depth - 1].flow) {
        return true;
    }
    uint32_t parent = load->frames[load->depth - 1].column;
    Str text = str_slice(load->text, 0, end);
    for (size_t pos = yaml_text_next_line(text, start); pos < text.len;
         pos = yaml_text_next_line(text, pos)) {
        size_t first = pos;
        while (first < text.len && text.data[first] == ' ') {
            first++;
        }
        size_t content = first;
        while (content < text.len && is_blank(text.data[content])) {
            content++;
        }
        if (first - pos > parent || content == text.len || is_break(text.data[content])) {
            continue;
        }
        char c = text.data[content];
        if (brackets && (c == '#' || ((c == ']' || c == '}') && first - pos == parent))) {
            continue;
        }
        bool tab = content > first;
        Problem *problem = problems_add(load->problems, tab ? "E0107" : "E0117", load->source,
                                        (uint32_t)pos, (uint32_t)(content - pos),
                                        tab ? "tabs are not allowed for indentation"
                                            : "this line is not indented enough");
        problem->hint = arena_format(load->problems->arena, "it needs at least %u space%s",
                                     parent + 1, parent == 0 ? "" : "s");
        return false;
    }
    return true;
}

bool yaml_strict_block_start(YamlLoad *load, uint32_t start)
{
    if (LIKELY(!yaml_repair_is_tabbed(load, start))) {
        return true;
    }
    Problem *problem = problems_add(load->problems, "E0107", load->source, start - 1, 1,
                                    "tabs are not allowed for indentation");
    problem->hint = STR("use spaces");
    return false;
}

/* --- Scalars ------------------------------------------------------------------------------ */

/* The lines before the first one with text do not determine anything, but they must not be longer
 * than its indentation: such spaces would be lost. */
static bool check_leading_lines(YamlLoad *load, size_t pos)
{
    Str text = load->text;
    size_t longest = 0, longest_at = 0;
    for (; pos < text.len; pos = yaml_text_next_line(text, pos)) {
        size_t first = pos;
        while (first < text.len && text.data[first] == ' ') {
            first++;
        }
        if (first < text.len && !is_break(text.data[first])) {
            size_t indent = first - pos;
            if (load->depth > 0 && indent <= load->frames[load->depth - 1].column) {
                return true; /* no longer part of its text */
            }
            if (longest > indent) {
                problems_add(
                    load->problems, "E0117", load->source, (uint32_t)longest_at, (uint32_t)longest,
                    "an empty line has more spaces than the indentation of the text below it");
                return false;
            }
            return true;
        }
        if (first - pos > longest) {
            longest = first - pos;
            longest_at = pos;
        }
    }
    return true;
}

static bool check_block_scalar(YamlLoad *load, uint32_t start)
{
    YamlBlockHeader header = yaml_block_header(load->text, start);
    if (char_at(load, header.end) == '#') {
        return report_missing_space(load, header.end);
    }
    return header.has_indent || check_leading_lines(load, header.content);
}

bool yaml_strict_scalar(YamlLoad *load, const yaml_event_t *event, uint32_t start, uint32_t end)
{
    switch (event->data.scalar.style) {
    case YAML_SINGLE_QUOTED_SCALAR_STYLE:
    case YAML_DOUBLE_QUOTED_SCALAR_STYLE:
        if (char_at(load, end) == '#') {
            return report_missing_space(load, end);
        }
        return event->start_mark.line == event->end_mark.line ||
               check_indentation(load, start, end, false);
    case YAML_LITERAL_SCALAR_STYLE:
    case YAML_FOLDED_SCALAR_STYLE: return check_block_scalar(load, start);
    default: break;
    }
    if (load->flow_depth > 0 && end - start == 1 && load->text.data[start] == '-') {
        Problem *problem = problems_add(load->problems, "E0118", load->source, start, 1,
                                        "a lone '-' is not a value inside brackets");
        problem->hint = STR("quote it");
        return false;
    }
    return true;
}

/* --- Flow collections --------------------------------------------------------------------- */

bool yaml_strict_flow_start(YamlLoad *load, uint32_t start)
{
    return char_at(load, (size_t)start + 1) != '#' || report_missing_space(load, (size_t)start + 1);
}

bool yaml_strict_flow_end(YamlLoad *load, const YamlFrame *frame, uint32_t end)
{
    if (char_at(load, end) == '#') {
        return report_missing_space(load, end);
    }
    return check_indentation(load, frame->start, end, true);
}

bool yaml_strict_separator(YamlLoad *load, uint32_t end)
{
    size_t pos = end;
    while (is_blank(char_at(load, pos))) {
        pos++;
    }
    return char_at(load, pos) != ',' || char_at(load, pos + 1) != '#' ||
           report_missing_space(load, pos + 1);
}
