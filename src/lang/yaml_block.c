/* Block scalars (`|` and `>`) by the rules of YAML 1.2, for those that libyaml does not parse: text
 * that starts with a tab, text at column 0 of a document, and a last line of spaces without a
 * newline. The end of input counts as a newline here. */
#include "lang/yaml_load.h"

static bool is_break(char c)
{
    return c == '\n' || c == '\r';
}

size_t yaml_text_line_end(Str text, size_t pos)
{
    while (pos + 8 <= text.len && !source_may_contain_line_end(text.data + pos)) {
        pos += 8;
    }
    while (pos < text.len && !is_break(text.data[pos])) {
        pos++;
    }
    return pos;
}

size_t yaml_text_next_line(Str text, size_t pos)
{
    pos = yaml_text_line_end(text, pos);
    if (pos + 1 < text.len && text.data[pos] == '\r' && text.data[pos + 1] == '\n') {
        return pos + 2;
    }
    return pos < text.len ? pos + 1 : pos;
}

bool yaml_text_is_marker(Str text, size_t pos, char c)
{
    if (pos + 3 > text.len || text.data[pos] != c || text.data[pos + 1] != c ||
        text.data[pos + 2] != c) {
        return false;
    }
    return pos + 3 == text.len || ascii_is_space(text.data[pos + 3]);
}

YamlBlockHeader yaml_block_header(Str text, uint32_t start)
{
    YamlBlockHeader header = { .folded = text.data[start] == '>', .chomp = ' ' };
    size_t pos = (size_t)start + 1;
    for (; pos < text.len; pos++) {
        char c = text.data[pos];
        if (c == '+' || c == '-') {
            header.chomp = c;
        } else if (ascii_is_digit(c)) {
            header.has_indent = true;
        } else {
            break;
        }
    }
    header.end = (uint32_t)pos;
    header.content = (uint32_t)yaml_text_next_line(text, pos);
    return header;
}

static size_t count_spaces(Str text, size_t pos)
{
    size_t spaces = 0;
    while (pos + spaces < text.len && text.data[pos + spaces] == ' ') {
        spaces++;
    }
    return spaces;
}

typedef struct Lines {
    size_t indent; /* indentation of the first line that is not empty */
    bool found;    /* there is one that belongs to the scalar */
    bool fits;     /* false if a preceding empty line has more spaces */
} Lines;

static Lines detect_indent(Str text, size_t pos, int parent)
{
    size_t longest = 0;
    for (; pos < text.len; pos = yaml_text_next_line(text, pos)) {
        size_t spaces = count_spaces(text, pos);
        bool empty = pos + spaces == text.len || is_break(text.data[pos + spaces]);
        if (!empty) {
            bool marker = spaces == 0 && (yaml_text_is_marker(text, pos, '-') ||
                                          yaml_text_is_marker(text, pos, '.'));
            bool found = (int)spaces > parent && !marker;
            return (Lines){ spaces, found, !found || longest <= spaces };
        }
        longest = spaces > longest ? spaces : longest;
    }
    return (Lines){ .indent = longest, .fits = true };
}

/* Writes the `breaks` newlines between two lines of text. Folding turns a single one into a space
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
    size_t pos = header.content;
    while (pos < text.len) {
        size_t end = yaml_text_line_end(text, pos);
        size_t spaces = count_spaces(text, pos);
        bool empty = pos + spaces >= end && spaces <= lines.indent;
        if (!empty) {
            bool marker = lines.indent == 0 && (yaml_text_is_marker(text, pos, '-') ||
                                                yaml_text_is_marker(text, pos, '.'));
            if (!lines.found || spaces < lines.indent || marker) {
                break;
            }
            Str line = str_slice(text, pos + lines.indent, end);
            bool spaced = line.data[0] == ' ' || line.data[0] == '\t';
            put_breaks(&value, breaks, header.folded && !first && !spaced && !spaced_before);
            buf_put(&value, line);
            spaced_before = spaced;
            first = false;
            breaks = 0;
        }
        breaks++;
        pos = yaml_text_next_line(text, pos);
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
    out->end = (uint32_t)pos;
    out->text = arena_copy(load->arena, buf_str(&value));
    return true;
}
