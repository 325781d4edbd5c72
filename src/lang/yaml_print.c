/* Prints values as YAML. Containers are printed in block style, recursively and with an explicit
 * indentation, or in flow style where the style or the context requires it (inside brackets and in
 * keys). A string is plain if it cannot be misread, otherwise a literal block, or in single or
 * double quotes.
 *
 * The output must parse to the same value in YAML 1.1 and 1.2 parsers, so anything ambiguous
 * between them is quoted or written differently, such as floats always with a decimal point. */
#include <math.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "base/visible.h"
#include "lang/number.h"
#include "lang/yaml.h"
#include "lang/yaml_load.h"

enum {
    INDENT_DEFAULT = 2,
    INDENT_MAX = 8,
    SIMPLE_KEY_MAX = 1000, /* parsers search for the ':' of a key within 1,024 characters */
};

typedef struct YamlPrint {
    Buf *out;
    YamlStyle style;
    Error *err;
    size_t line; /* start of the current line in `out` */
    bool secret; /* inside a value that is already marked */
} YamlPrint;

typedef struct YamlPosition {
    uint32_t indent; /* of the container; text of several lines is indented further */
    bool flow;
    bool key;
} YamlPosition;

/* Ends the line and indents the next. */
static void start_line(YamlPrint *print, uint32_t indent)
{
    buf_put_char(print->out, '\n');
    print->line = print->out->len;
    buf_put_repeat(print->out, ' ', indent);
}

/* Whether the current line exceeds the width of the style. */
static bool is_wide(const YamlPrint *print)
{
    if (print->style.width == 0 || print->out->len - print->line <= print->style.width) {
        return false;
    }
    return utf8_count(str_from_offset(buf_str(print->out), print->line)) > print->style.width;
}

/* --- Strings ------------------------------------------------------------------------------ */

typedef struct StringTraits {
    bool escapes;  /* contains characters that require double quotes */
    bool breaks;   /* contains line feeds */
    bool quotes;   /* cannot be plain */
    bool brackets; /* cannot be plain inside brackets */
} StringTraits;

/* c-printable, except characters that hide or reorder text, or are line breaks to other parsers. */
static bool is_printable(uint32_t code)
{
    return (code >= 0x20 && code <= 0x7e) ||
           (((code >= 0xa0 && code <= 0xd7ff) || (code >= 0xe000 && code <= 0xfffd) ||
             (code >= 0x10000 && code <= 0x10ffff)) &&
            !visible_is_deceptive(code));
}

static bool is_blank_or_end(Str s, size_t pos)
{
    return pos >= s.len || s.data[pos] == ' ' || s.data[pos] == '\n';
}

static StringTraits inspect(Str s, bool ascii)
{
    StringTraits traits = { 0 };
    for (size_t pos = 0; pos < s.len;) {
        size_t here = pos;
        uint32_t code = utf8_next(s, &pos);
        switch (code) {
        case '\n': traits.breaks = true; break;
        case ':':
            traits.quotes |= is_blank_or_end(s, pos);
            traits.brackets |= pos < s.len && s.data[pos] == '?'; /* libyaml rejects it */
            break;
        case '#': traits.quotes |= here > 0 && s.data[here - 1] == ' '; break;
        case ',':
        case '[':
        case ']':
        case '{':
        case '}': traits.brackets = true; break;
        case UTF8_REPLACEMENT: traits.escapes |= pos - here == 1; break; /* an invalid byte */
        default: traits.escapes |= !is_printable(code) || (ascii && code > 0x7e); break;
        }
    }
    return traits;
}

static bool cannot_start_plain(Str s)
{
    static const char indicators[] = ",[]{}#&*!|>'\"%@` ";
    char first = s.data[0];
    if (first == '-' || first == '?' || first == ':') {
        return is_blank_or_end(s, 1) || str_starts(s, STR("---"));
    }
    return strchr(indicators, first) != NULL || str_starts(s, STR("..."));
}

/* A leading '?' or ':' has a meaning inside brackets, whatever follows. */
static bool cannot_start_in_flow(Str s)
{
    return s.data[0] == '?' || s.data[0] == ':' || str_eq(s, STR("-"));
}

static size_t skip_digits(Str s, size_t pos, const char *more)
{
    while (pos < s.len && (ascii_is_digit(s.data[pos]) || strchr(more, s.data[pos]) != NULL)) {
        pos++;
    }
    return pos;
}

/* Numbers and dates of YAML 1.1 that are strings in 1.2: 1_000, 0b11, -0x1f, 1:30, 2001-02-03. */
static bool is_yaml11_number(Str s)
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

static bool is_ambiguous(Str s)
{
    Value v;
    const char *code;
    return yaml_schema_resolve(s, &v) != YAML_SCALAR_FITS || v.kind != VALUE_STRING ||
           yaml_schema_lint(s, &code) != NULL || is_yaml11_number(s) || str_eq(s, STR("<<")) ||
           str_eq(s, STR("="));
}

static bool may_be_plain(Str s, StringTraits traits, YamlPosition position)
{
    if (s.len == 0 || traits.quotes || traits.escapes || traits.breaks || cannot_start_plain(s) ||
        s.data[s.len - 1] == ' ') {
        return false;
    }
    if (position.flow && (traits.brackets || cannot_start_in_flow(s))) {
        return false;
    }
    return !is_ambiguous(s);
}

/* Blocks that start with a blank line or whitespace need an indentation indicator, and those that
 * end with a line of spaces are read differently by different parsers; both are rare enough for
 * double quotes. */
static bool may_be_block(Str s, StringTraits traits, YamlPosition position)
{
    if (!traits.breaks || traits.escapes || position.flow || position.key || s.data[0] == ' ' ||
        s.data[0] == '\n') {
        return false;
    }
    size_t end = s.len;
    while (end > 0 && s.data[end - 1] == '\n') {
        end--;
    }
    return end > 0 && s.data[end - 1] != ' ';
}

static void put_literal(YamlPrint *print, Str s, uint32_t indent)
{
    size_t end = s.len;
    while (s.data[end - 1] == '\n') {
        end--;
    }
    size_t line_ends = s.len - end;
    buf_put_c(print->out, line_ends == 0 ? "|-" : line_ends == 1 ? "|" : "|+");
    for (size_t pos = 0; pos < end;) {
        size_t next = str_find(s, STR("\n"), pos);
        next = next == STR_NOT_FOUND || next > end ? end : next;
        start_line(print, next > pos ? indent : 0);
        buf_put(print->out, str_slice(s, pos, next));
        pos = next + 1;
    }
    for (size_t i = 1; i < line_ends; i++) {
        start_line(print, 0);
    }
}

/* Whether to break after the word at `pos` because the line is full: only single spaces between
 * words can become line breaks. */
static bool is_break_point(const YamlPrint *print, Str s, size_t pos, YamlPosition position)
{
    return s.data[pos] == ' ' && !position.key && pos > 0 && pos + 1 < s.len &&
           s.data[pos - 1] != ' ' && s.data[pos + 1] != ' ' && is_wide(print);
}

static void put_words(YamlPrint *print, Str s, YamlPosition position, bool quoted)
{
    for (size_t i = 0; i < s.len; i++) {
        if (is_break_point(print, s, i, position)) {
            start_line(print, position.indent + print->style.indent);
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
    for (size_t pos = 0; pos < s.len;) {
        size_t start = pos;
        uint32_t code = utf8_next(s, &pos);
        if (code == '"' || code == '\\' || !is_printable(code) ||
            (print->style.ascii && code > 0x7e)) {
            put_escape(print->out, code);
        } else if (code == UTF8_REPLACEMENT) {
            utf8_put(print->out, code); /* also for bytes that are not UTF-8 */
        } else {
            buf_put(print->out, str_slice(s, start, pos));
        }
    }
    buf_put_char(print->out, '"');
}

/* Prints the string in the plainest style that parses to the same string. */
static void put_string(YamlPrint *print, Str s, YamlPosition position)
{
    StringTraits traits = inspect(s, print->style.ascii);
    if (may_be_plain(s, traits, position)) {
        put_words(print, s, position, false);
    } else if (may_be_block(s, traits, position)) {
        put_literal(print, s, position.indent + print->style.indent);
    } else if (traits.escapes || traits.breaks) {
        put_double(print, s);
    } else {
        buf_put_char(print->out, '\'');
        put_words(print, s, position, true);
        buf_put_char(print->out, '\'');
    }
}

/* --- Scalars ------------------------------------------------------------------------------ */

/* Always with a decimal point: YAML 1.1 parsers read 1e+16 as a string. */
static void put_float(Buf *out, double number)
{
    if (isnan(number)) {
        buf_put_c(out, ".nan");
        return;
    }
    if (isinf(number)) {
        buf_put_c(out, number < 0 ? "-.inf" : ".inf");
        return;
    }
    char text[NUMBER_TEXT_MAX];
    Str digits = str_from(text, number_format_repr(number, text));
    size_t exponent = str_find(digits, STR("e"), 0);
    if (exponent == STR_NOT_FOUND || str_find(digits, STR("."), 0) != STR_NOT_FOUND) {
        buf_put(out, digits);
        return;
    }
    buf_put(out, str_slice(digits, 0, exponent));
    buf_put_c(out, ".0");
    buf_put(out, str_from_offset(digits, exponent));
}

static void put_scalar(YamlPrint *print, Value v, YamlPosition position)
{
    switch (v.kind) {
    case VALUE_NULL: buf_put_c(print->out, "null"); break;
    case VALUE_BOOL: buf_put_c(print->out, v.boolean ? "true" : "false"); break;
    case VALUE_INT: number_put_int(print->out, v.integer); break;
    case VALUE_FLOAT: put_float(print->out, v.number); break;
    case VALUE_STRING: put_string(print, value_str(v), position); break;
    default: BUG("a %s is not a scalar", value_kind_name(v.kind));
    }
}

/* --- Order of keys ------------------------------------------------------------------------ */

static int key_rank(Value v)
{
    return v.kind == VALUE_INT ? VALUE_FLOAT : v.kind;
}

static int compare_numbers(Value a, Value b)
{
    if (a.kind == VALUE_INT && b.kind == VALUE_INT) {
        return (a.integer > b.integer) - (a.integer < b.integer);
    }
    double x = a.kind == VALUE_INT ? (double)a.integer : a.number;
    double y = b.kind == VALUE_INT ? (double)b.integer : b.number;
    if (isnan(x) || isnan(y)) {
        /* last, otherwise the order would be inconsistent */
        return (isnan(x) != 0) - (isnan(y) != 0);
    }
    int order = (x > y) - (x < y);
    return order != 0 ? order : a.kind - b.kind; /* equal only because of rounding */
}

static int compare_keys(Value a, Value b)
{
    if (key_rank(a) != key_rank(b)) {
        return key_rank(a) - key_rank(b);
    }
    switch (a.kind) {
    case VALUE_BOOL: return a.boolean - b.boolean;
    case VALUE_INT:
    case VALUE_FLOAT: return compare_numbers(a, b);
    case VALUE_STRING: return str_compare(value_str(a), value_str(b));
    case VALUE_TUPLE:
        for (uint32_t i = 0; i < a.list->len && i < b.list->len; i++) {
            int order = compare_keys(a.list->items[i], b.list->items[i]);
            if (order != 0) {
                return order;
            }
        }
        return (a.list->len > b.list->len) - (a.list->len < b.list->len);
    default: return 0;
    }
}

static int compare_entries(const void *a, const void *b)
{
    const MapEntry *left = *(const MapEntry *const *)a, *right = *(const MapEntry *const *)b;
    int order = compare_keys(left->key, right->key);
    return order != 0 ? order : (left > right) - (left < right); /* stable */
}

/* The entries in the order of printing; the caller frees the array. */
static const MapEntry **entries_of(const YamlPrint *print, const Map *map)
{
    const MapEntry **entries = malloc(map->len * sizeof *entries + 1);
    if (entries == NULL) {
        memory_exhausted(map->len * sizeof *entries);
    }
    for (uint32_t i = 0; i < map->len; i++) {
        entries[i] = &map->entries[i];
    }
    if (print->style.sort_keys) {
        qsort(entries, map->len, sizeof *entries, compare_entries);
    }
    return entries;
}

/* --- Containers --------------------------------------------------------------------------- */

static bool too_deep(YamlPrint *print)
{
    return error_set(print->err, ERROR_LIMIT, "the value is nested too deeply to print (limit: %d)",
                     VALUE_DEPTH_MAX);
}

static bool check_output(YamlPrint *print)
{
    if (print->out->overflow) {
        return error_set(print->err, ERROR_LIMIT, "the output is longer than %zu bytes",
                         print->out->max);
    }
    return true;
}

/* Replaces an object or undefined value. */
static bool plain_value(YamlPrint *print, Value *v)
{
    if (v->kind < VALUE_OBJECT) {
        return true;
    }
    if (print->style.replace == NULL) {
        return error_set(print->err, ERROR_INVALID, "YAML cannot represent a value of type %s",
                         value_kind_name(v->kind));
    }
    if (!print->style.replace(print->style.context, *v, v, print->err)) {
        return false;
    }
    BUG_IF(v->kind >= VALUE_OBJECT);
    return true;
}

static bool is_container(Value v)
{
    return v.kind == VALUE_MAP || value_is_sequence(v);
}

static uint32_t size_of(Value v)
{
    return v.kind == VALUE_MAP ? v.map->len : v.list->len;
}

static bool holds_scalars_only(Value v)
{
    for (uint32_t i = 0; i < size_of(v); i++) {
        Value item = v.kind == VALUE_MAP ? v.map->entries[i].value : v.list->items[i];
        if (item.kind > VALUE_STRING) {
            return false;
        }
    }
    return true;
}

static bool wants_flow(const YamlPrint *print, Value v)
{
    return size_of(v) == 0 || print->style.flow == YAML_FLOW_ALL ||
           (print->style.flow == YAML_FLOW_LEAVES && holds_scalars_only(v));
}

/* The tag of a secret applies to everything in it. */
static bool wants_tag(const YamlPrint *print, Value v)
{
    return print->style.tag_secrets && !print->secret && value_is_secret(v);
}

static bool put_flow(YamlPrint *print, Value v, YamlPosition position, unsigned depth);

static void put_comma(YamlPrint *print, uint32_t index, YamlPosition position)
{
    if (index == 0) {
        return;
    }
    buf_put_char(print->out, ',');
    if (!position.key && is_wide(print)) {
        start_line(print, position.indent + print->style.indent);
    } else {
        buf_put_char(print->out, ' ');
    }
}

/* Prints a key, which must be on one line; a very long one uses the `?` form. */
static bool put_key(YamlPrint *print, Value key, YamlPosition position, unsigned depth)
{
    size_t start = print->out->len;
    position.key = true;
    if (!put_flow(print, key, position, depth)) {
        return false;
    }
    size_t len = print->out->len - start;
    if (len <= SIMPLE_KEY_MAX) {
        buf_put_char(print->out, ':');
        return true;
    }
    print->out->len = start;
    buf_put_c(print->out, "? ");
    if (!put_flow(print, key, position, depth)) {
        return false;
    }
    start_line(print, position.indent + (position.flow ? print->style.indent : 0));
    buf_put_char(print->out, ':');
    return true;
}

static bool put_flow_map(YamlPrint *print, const Map *map, YamlPosition position, unsigned depth)
{
    const MapEntry **entries = entries_of(print, map);
    bool ok = true;
    buf_put_char(print->out, '{');
    for (uint32_t i = 0; i < map->len && ok; i++) {
        put_comma(print, i, position);
        ok = put_key(print, entries[i]->key, position, depth + 1);
        buf_put_char(print->out, ' ');
        ok = ok && put_flow(print, entries[i]->value, position, depth + 1);
    }
    buf_put_char(print->out, '}');
    free(entries);
    return ok;
}

static bool put_flow_list(YamlPrint *print, const List *list, YamlPosition position, unsigned depth)
{
    buf_put_char(print->out, '[');
    for (uint32_t i = 0; i < list->len; i++) {
        put_comma(print, i, position);
        if (!put_flow(print, list->items[i], position, depth + 1)) {
            return false;
        }
    }
    buf_put_char(print->out, ']');
    return true;
}

/* Prints everything that does not start new lines. */
static bool put_flow(YamlPrint *print, Value v, YamlPosition position, unsigned depth)
{
    if (depth > VALUE_DEPTH_MAX) {
        return too_deep(print);
    }
    if (!check_output(print) || !plain_value(print, &v)) {
        return false;
    }
    bool tagged = wants_tag(print, v);
    if (tagged) {
        buf_put_c(print->out, "!secret ");
        print->secret = true;
    }
    bool ok = true;
    if (!is_container(v)) {
        put_scalar(print, v, position);
    } else {
        position.flow = true;
        ok = v.kind == VALUE_MAP ? put_flow_map(print, v.map, position, depth)
                                 : put_flow_list(print, v.list, position, depth);
    }
    print->secret = print->secret && !tagged;
    return ok;
}

static bool put_block(YamlPrint *print, Value v, uint32_t indent, unsigned depth);

/* Prints a container that is not empty, with its tag on the previous line. */
static bool put_tagged_block(YamlPrint *print, Value v, uint32_t indent, unsigned depth)
{
    buf_put_c(print->out, "!secret");
    print->secret = true;
    start_line(print, indent);
    bool ok = put_block(print, v, indent, depth);
    print->secret = false;
    return ok;
}

/* Prints what follows `key:`. */
static bool put_entry_value(YamlPrint *print, Value v, uint32_t indent, unsigned depth)
{
    if (!plain_value(print, &v)) {
        return false;
    }
    if (!is_container(v) || wants_flow(print, v)) {
        buf_put_char(print->out, ' ');
        return put_flow(print, v, (YamlPosition){ .indent = indent }, depth);
    }
    bool flush = v.kind != VALUE_MAP && print->style.flush_lists;
    uint32_t inner = flush ? indent : indent + print->style.indent;
    if (wants_tag(print, v)) {
        buf_put_char(print->out, ' ');
        return put_tagged_block(print, v, inner, depth);
    }
    start_line(print, inner);
    return put_block(print, v, inner, depth);
}

static bool put_block_map(YamlPrint *print, const Map *map, uint32_t indent, unsigned depth)
{
    const MapEntry **entries = entries_of(print, map);
    bool ok = true;
    for (uint32_t i = 0; i < map->len && ok; i++) {
        if (i > 0) {
            start_line(print, indent);
        }
        ok = put_key(print, entries[i]->key, (YamlPosition){ .indent = indent }, depth + 1) &&
             put_entry_value(print, entries[i]->value, indent, depth + 1);
    }
    free(entries);
    return ok;
}

static bool put_item(YamlPrint *print, Value v, uint32_t indent, unsigned depth)
{
    if (!plain_value(print, &v)) {
        return false;
    }
    buf_put_char(print->out, '-');
    if (!is_container(v) || wants_flow(print, v)) {
        buf_put_char(print->out, ' ');
        return put_flow(print, v, (YamlPosition){ .indent = indent }, depth);
    }
    if (wants_tag(print, v)) {
        buf_put_char(print->out, ' ');
        return put_tagged_block(print, v, indent + print->style.indent, depth);
    }
    buf_put_repeat(print->out, ' ', print->style.indent - 1u);
    return put_block(print, v, indent + print->style.indent, depth);
}

/* Prints a container that is not empty in lines that start at `indent`; the first line is already
 * indented. */
static bool put_block(YamlPrint *print, Value v, uint32_t indent, unsigned depth)
{
    if (depth > VALUE_DEPTH_MAX) {
        return too_deep(print);
    }
    if (!check_output(print)) {
        return false;
    }
    if (v.kind == VALUE_MAP) {
        return put_block_map(print, v.map, indent, depth);
    }
    for (uint32_t i = 0; i < v.list->len; i++) {
        if (i > 0) {
            start_line(print, indent);
        }
        if (!put_item(print, v.list->items[i], indent, depth + 1)) {
            return false;
        }
    }
    return true;
}

bool yaml_print(Buf *out, Value v, const YamlStyle *style, Error *err)
{
    YamlPrint print = { .out = out, .err = err, .line = out->len };
    if (style != NULL) {
        print.style = *style;
    }
    if (print.style.indent < INDENT_DEFAULT) {
        print.style.indent = INDENT_DEFAULT;
    } else if (print.style.indent > INDENT_MAX) {
        print.style.indent = INDENT_MAX;
    }
    if (!plain_value(&print, &v)) {
        return false;
    }
    bool ok;
    if (!is_container(v) || wants_flow(&print, v)) {
        ok = put_flow(&print, v, (YamlPosition){ 0 }, 0);
    } else {
        ok = wants_tag(&print, v) ? put_tagged_block(&print, v, 0, 0) : put_block(&print, v, 0, 0);
    }
    if (!ok) {
        return false;
    }
    buf_put_char(out, '\n');
    return check_output(&print);
}

bool yaml_print_all(Buf *out, const List *documents, const YamlStyle *style, Error *err)
{
    for (uint32_t i = 0; i < documents->len; i++) {
        if (i > 0) {
            buf_put_c(out, "---\n");
        }
        if (!yaml_print(out, documents->items[i], style, err)) {
            return false;
        }
    }
    return true;
}
