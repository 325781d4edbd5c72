/* How a string is written: plain when nobody could misread it, else as a literal block, in single
 * or in double quotes. */
#include "base/utf8.h"
#include "base/visible.h"
#include "lang/yaml_load.h"
#include "lang/yaml_print.h"

typedef struct Look {
    bool escapes;  /* has characters that only double quotes can hold */
    bool breaks;   /* has line feeds */
    bool quotes;   /* plain would be misread everywhere */
    bool brackets; /* plain would be misread inside of brackets */
} Look;

/* c-printable without what hides or reorders text, or is a line break to other readers. */
static bool is_printable(uint32_t code)
{
    return (code >= 0x20 && code <= 0x7e) ||
           (((code >= 0xa0 && code <= 0xd7ff) || (code >= 0xe000 && code <= 0xfffd) ||
             (code >= 0x10000 && code <= 0x10ffff)) &&
            !visible_is_deceptive(code));
}

static bool is_blank_or_end(Str s, size_t at)
{
    return at >= s.len || s.data[at] == ' ' || s.data[at] == '\n';
}

static Look look_at(Str s, bool ascii)
{
    Look look = { 0 };
    for (size_t at = 0; at < s.len;) {
        size_t here = at;
        uint32_t code = utf8_next(s, &at);
        switch (code) {
        case '\n': look.breaks = true; break;
        case ':':
            look.quotes |= is_blank_or_end(s, at);
            look.brackets |= at < s.len && s.data[at] == '?'; /* libyaml minds */
            break;
        case '#': look.quotes |= here > 0 && s.data[here - 1] == ' '; break;
        case ',':
        case '[':
        case ']':
        case '{':
        case '}': look.brackets = true; break;
        case UTF8_REPLACEMENT: look.escapes |= at - here == 1; break; /* a byte that is none */
        default: look.escapes |= !is_printable(code) || (ascii && code > 0x7e); break;
        }
    }
    return look;
}

static bool starts_badly(Str s)
{
    static const char indicators[] = ",[]{}#&*!|>'\"%@` ";
    char first = s.data[0];
    if (first == '-' || first == '?' || first == ':') {
        return is_blank_or_end(s, 1) || str_starts(s, STR("---"));
    }
    return strchr(indicators, first) != NULL || str_starts(s, STR("..."));
}

/* A '?' or ':' in front means something inside of brackets, whatever follows. */
static bool starts_badly_in_brackets(Str s)
{
    return s.data[0] == '?' || s.data[0] == ':' || str_eq(s, STR("-"));
}

static size_t skip_digits(Str s, size_t at, const char *more)
{
    while (at < s.len && (ascii_is_digit(s.data[at]) || strchr(more, s.data[at]) != NULL)) {
        at++;
    }
    return at;
}

/* Numbers and dates of YAML 1.1 that are strings in 1.2: 1_000, 0b11, -0x1f, 1:30, 2001-02-03. */
static bool is_old_number(Str s)
{
    size_t start = s.data[0] == '-' || s.data[0] == '+' ? 1 : 0;
    Str number = str_from_offset(s, start);
    if (number.len == 0 || !(ascii_is_digit(number.data[0]) || number.data[0] == '.')) {
        return false;
    }
    if (number.len > 2 && number.data[0] == '0' && strchr("bxo", number.data[1]) != NULL) {
        return skip_digits(number, 2, "_abcdefABCDEF") == number.len;
    }
    size_t date = skip_digits(number, 0, "-");
    if (date >= 8 && date <= 10 && number.data[4] == '-') {
        return date == number.len || strchr("Tt ", number.data[date]) != NULL;
    }
    return skip_digits(number, 0, "_:.eE+-") == number.len &&
           (str_find(number, STR("_"), 0) != STR_NOT_FOUND ||
            str_find(number, STR(":"), 0) != STR_NOT_FOUND);
}

static bool is_misread(Str s)
{
    Value v;
    const char *code;
    return yaml_schema_resolve(s, &v) != YAML_SCALAR_FITS || v.kind != VALUE_STRING ||
           yaml_schema_surprise(s, &code) != NULL || is_old_number(s) || str_eq(s, STR("<<")) ||
           str_eq(s, STR("="));
}

static bool may_be_plain(Str s, Look look, YamlPosition position)
{
    if (s.len == 0 || look.quotes || look.escapes || look.breaks || starts_badly(s) ||
        s.data[s.len - 1] == ' ') {
        return false;
    }
    if (position.flow && (look.brackets || starts_badly_in_brackets(s))) {
        return false;
    }
    return !is_misread(s);
}

/* Blocks that start with a blank line or blanks need an indentation indicator, and those that
 * end with a line of blanks are read in different ways; both are rare enough for double quotes. */
static bool may_be_block(Str s, Look look, YamlPosition position)
{
    if (!look.breaks || look.escapes || position.flow || position.key || s.data[0] == ' ' ||
        s.data[0] == '\n') {
        return false;
    }
    size_t end = s.len;
    while (end > 0 && s.data[end - 1] == '\n') {
        end--;
    }
    return end > 0 && s.data[end - 1] != ' ';
}

static void put_block(YamlPrint *print, Str s, uint32_t indent)
{
    size_t end = s.len;
    while (s.data[end - 1] == '\n') {
        end--;
    }
    size_t line_ends = s.len - end;
    buf_put_c(print->out, line_ends == 0 ? "|-" : line_ends == 1 ? "|" : "|+");
    for (size_t at = 0; at < end;) {
        size_t next = str_find(s, STR("\n"), at);
        next = next == STR_NOT_FOUND || next > end ? end : next;
        yaml_print_line(print, next > at ? indent : 0);
        buf_put(print->out, str_slice(s, at, next));
        at = next + 1;
    }
    for (size_t i = 1; i < line_ends; i++) {
        yaml_print_line(print, 0);
    }
}

/* Breaks behind the word at `at` when the line is full: only single blanks between words can
 * become line breaks. */
static bool is_break_point(const YamlPrint *print, Str s, size_t at, YamlPosition position)
{
    return s.data[at] == ' ' && !position.key && at > 0 && at + 1 < s.len &&
           s.data[at - 1] != ' ' && s.data[at + 1] != ' ' && yaml_print_is_wide(print);
}

static void put_words(YamlPrint *print, Str s, YamlPosition position, bool quoted)
{
    for (size_t i = 0; i < s.len; i++) {
        if (is_break_point(print, s, i, position)) {
            yaml_print_line(print, position.indent + print->style.indent);
            continue;
        }
        buf_put_char(print->out, s.data[i]);
        if (quoted && s.data[i] == '\'') {
            buf_put_char(print->out, '\'');
        }
    }
}

static void put_escape(Buf *out, uint32_t code)
{
    static const struct {
        uint32_t code;
        char letter;
    } names[] = {
        { 0x00, '0' },  { 0x07, 'a' }, { 0x08, 'b' },   { '\t', 't' },   { '\n', 'n' },
        { 0x0b, 'v' },  { 0x0c, 'f' }, { '\r', 'r' },   { 0x1b, 'e' },   { '"', '"' },
        { '\\', '\\' }, { 0x85, 'N' }, { 0x2028, 'L' }, { 0x2029, 'P' },
    };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (names[i].code == code) {
            buf_put_char(out, '\\');
            buf_put_char(out, names[i].letter);
            return;
        }
    }
    buf_put_format(out, code <= 0xff ? "\\x%02X" : code <= 0xffff ? "\\u%04X" : "\\U%08X", code);
}

static void put_double(YamlPrint *print, Str s)
{
    buf_put_char(print->out, '"');
    for (size_t at = 0; at < s.len;) {
        size_t start = at;
        uint32_t code = utf8_next(s, &at);
        if (code == '"' || code == '\\' || !is_printable(code) ||
            (print->style.ascii && code > 0x7e)) {
            put_escape(print->out, code);
        } else if (code == UTF8_REPLACEMENT) {
            utf8_put(print->out, code); /* also for bytes that are no UTF-8 */
        } else {
            buf_put(print->out, str_slice(s, start, at));
        }
    }
    buf_put_char(print->out, '"');
}

void yaml_print_string(YamlPrint *print, Str s, YamlPosition position)
{
    Look look = look_at(s, print->style.ascii);
    if (may_be_plain(s, look, position)) {
        put_words(print, s, position, false);
    } else if (may_be_block(s, look, position)) {
        put_block(print, s, position.indent + print->style.indent);
    } else if (look.escapes || look.breaks) {
        put_double(print, s);
    } else {
        buf_put_char(print->out, '\'');
        put_words(print, s, position, true);
        buf_put_char(print->out, '\'');
    }
}
