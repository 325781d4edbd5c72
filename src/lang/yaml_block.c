/* Block scalars (`|` and `>`) by the rules of YAML 1.2, for those that libyaml does not parse: text
 * that starts with a tab, text at column 0 of a document, and a last line of spaces without line
 * end. The end of input counts as a line end here. */
#include "lang/yaml_load.h"

static bool is_break(char c)
{
    return c == '\n' || c == '\r';
}

size_t yaml_text_line_end(Str text, size_t at)
{
    while (at + 8 <= text.len && !source_may_end_line(text.data + at)) {
        at += 8;
    }
    while (at < text.len && !is_break(text.data[at])) {
        at++;
    }
    return at;
}

size_t yaml_text_next_line(Str text, size_t at)
{
    at = yaml_text_line_end(text, at);
    if (at + 1 < text.len && text.data[at] == '\r' && text.data[at + 1] == '\n') {
        return at + 2;
    }
    return at < text.len ? at + 1 : at;
}

bool yaml_text_is_marker(Str text, size_t at, char c)
{
    if (at + 3 > text.len || text.data[at] != c || text.data[at + 1] != c ||
        text.data[at + 2] != c) {
        return false;
    }
    return at + 3 == text.len || ascii_is_space(text.data[at + 3]);
}

YamlBlockHeader yaml_block_header(Str text, uint32_t start)
{
    YamlBlockHeader header = { .folded = text.data[start] == '>', .chomp = ' ' };
    size_t at = (size_t)start + 1;
    for (; at < text.len; at++) {
        char c = text.data[at];
        if (c == '+' || c == '-') {
            header.chomp = c;
        } else if (ascii_is_digit(c)) {
            header.has_indent = true;
        } else {
            break;
        }
    }
    header.end = (uint32_t)at;
    header.content = (uint32_t)yaml_text_next_line(text, at);
    return header;
}

static size_t count_spaces(Str text, size_t at)
{
    size_t spaces = 0;
    while (at + spaces < text.len && text.data[at + spaces] == ' ') {
        spaces++;
    }
    return spaces;
}

typedef struct Lines {
    size_t indent; /* indentation of the first line that is not empty */
    bool found;    /* there is one that belongs to the scalar */
    bool fits;     /* false if a preceding empty line has more spaces */
} Lines;

static Lines detect_indent(Str text, size_t at, int parent)
{
    size_t longest = 0;
    for (; at < text.len; at = yaml_text_next_line(text, at)) {
        size_t spaces = count_spaces(text, at);
        bool empty = at + spaces == text.len || is_break(text.data[at + spaces]);
        if (!empty) {
            bool marker = spaces == 0 && (yaml_text_is_marker(text, at, '-') ||
                                          yaml_text_is_marker(text, at, '.'));
            bool found = (int)spaces > parent && !marker;
            return (Lines){ spaces, found, !found || longest <= spaces };
        }
        longest = spaces > longest ? spaces : longest;
    }
    return (Lines){ .indent = longest, .fits = true };
}

/* Writes the `breaks` line ends between two lines of text. Folding turns a single one into a space
 * and drops the first of several, but not next to lines that start with whitespace. */
static void put_breaks(Buf *out, size_t breaks, bool fold)
{
    if (fold && breaks == 1) {
        buf_put_char(out, ' ');
    } else {
        buf_put_repeat(out, '\n', fold ? breaks - 1 : breaks);
    }
}

bool yaml_block_read(YamlLoad *load, uint32_t start, int parent, YamlBlock *out)
{
    Str text = load->text;
    YamlBlockHeader header = yaml_block_header(text, start);
    Lines lines = detect_indent(text, header.content, parent);
    if (header.has_indent || !lines.fits) {
        return false;
    }
    AUTO_CLEAR(Buf) value = buf_make(load->options.limits.scalar);
    size_t breaks = 0;
    bool first = true, spaced_before = false;
    size_t at = header.content;
    while (at < text.len) {
        size_t end = yaml_text_line_end(text, at);
        size_t spaces = count_spaces(text, at);
        bool empty = at + spaces >= end && spaces <= lines.indent;
        if (!empty) {
            bool marker = lines.indent == 0 && (yaml_text_is_marker(text, at, '-') ||
                                                yaml_text_is_marker(text, at, '.'));
            if (!lines.found || spaces < lines.indent || marker) {
                break;
            }
            Str line = str_slice(text, at + lines.indent, end);
            bool spaced = line.data[0] == ' ' || line.data[0] == '\t';
            put_breaks(&value, breaks, header.folded && !first && !spaced && !spaced_before);
            buf_put(&value, line);
            spaced_before = spaced;
            first = false;
            breaks = 0;
        }
        breaks++;
        at = yaml_text_next_line(text, at);
    }
    if (header.chomp == '+') {
        buf_put_repeat(&value, '\n', breaks);
    } else if (header.chomp == ' ' && !first) {
        buf_put_char(&value, '\n');
    }
    if (value.overflow) {
        return false;
    }
    out->content = header.content;
    out->end = (uint32_t)at;
    out->text = arena_copy(load->arena, buf_str(&value));
    return true;
}
