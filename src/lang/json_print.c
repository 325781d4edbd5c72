/* Prints values as JSON. Strings are scanned in blocks of 16 bytes for characters that need
 * escapes; everything between them is copied. Depth and output size are limited, because values may
 * share children or contain themselves. */
#include <math.h>
#include <stdlib.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/bug.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "lang/json.h"
#include "lang/number.h"

static const JsonStyle compact_style = { 0 };

typedef struct Printer {
    Buf *out;
    const JsonStyle *style;
    Error *err;
    Str item_separator; /* "," or ", " */
    Str key_separator;  /* ":" or ": " */
} Printer;

/* --- Strings ----------------------------------------------------------------------------- */

/* Whether the byte must be escaped in a string of this style. */
static bool needs_escape(unsigned char c, const JsonStyle *style)
{
    return c < 0x20 || c == '"' || c == '\\' || c >= 0x80 || (style->ascii && c == 0x7f) ||
           (style->html_safe && (c == '<' || c == '>' || c == '&' || c == '\''));
}

/* Length of the prefix that needs no escapes. */
static size_t plain_prefix(Str s, size_t pos, const JsonStyle *style)
{
    size_t start = pos;
#ifdef __SSE2__
    /* Bytes above 127 are negative here, so they are detected along with control characters. */
    const __m128i space = _mm_set1_epi8(' '), quote = _mm_set1_epi8('"');
    const __m128i backslash = _mm_set1_epi8('\\');
    const __m128i delete = style->ascii ? _mm_set1_epi8(0x7f) : quote;
    for (; !style->html_safe && s.len - pos >= 16; pos += 16) {
        __m128i block = _mm_loadu_si128((const __m128i *)(const void *)(s.data + pos));
        __m128i stop = _mm_or_si128(
            _mm_or_si128(_mm_cmpeq_epi8(block, quote), _mm_cmpeq_epi8(block, backslash)),
            _mm_or_si128(_mm_cmplt_epi8(block, space), _mm_cmpeq_epi8(block, delete)));
        int stops = _mm_movemask_epi8(stop);
        if (stops != 0) {
            return pos + (size_t)__builtin_ctz((unsigned)stops) - start;
        }
    }
#endif
    while (pos < s.len && !needs_escape((unsigned char)s.data[pos], style)) {
        pos++;
    }
    return pos - start;
}

static void put_code_escape(Buf *out, uint32_t unit)
{
    static const char hex[] = "0123456789abcdef";
    char text[6] = {
        '\\', 'u', hex[unit >> 12 & 15], hex[unit >> 8 & 15], hex[unit >> 4 & 15], hex[unit & 15]
    };
    buf_put(out, str_from(text, sizeof text));
}

static void put_ascii_special(Buf *out, char c)
{
    switch (c) {
    case '"': buf_put(out, STR("\\\"")); break;
    case '\\': buf_put(out, STR("\\\\")); break;
    case '\b': buf_put(out, STR("\\b")); break;
    case '\f': buf_put(out, STR("\\f")); break;
    case '\n': buf_put(out, STR("\\n")); break;
    case '\r': buf_put(out, STR("\\r")); break;
    case '\t': buf_put(out, STR("\\t")); break;
    default: put_code_escape(out, (unsigned char)c); break;
    }
}

/* Invalid UTF-8 is printed as U+FFFD: the result is valid JSON for any bytes. */
static void put_wide(Buf *out, uint32_t code, const JsonStyle *style)
{
    if (!style->ascii) {
        utf8_put(out, code);
    } else if (code < 0x10000) {
        put_code_escape(out, code);
    } else {
        put_code_escape(out, 0xd800 + ((code - 0x10000) >> 10));
        put_code_escape(out, 0xdc00 + ((code - 0x10000) & 0x3ff));
    }
}

void json_print_string(Buf *out, Str s, const JsonStyle *style)
{
    if (style == NULL) {
        style = &compact_style;
    }
    buf_put_char(out, '"');
    for (size_t pos = 0; pos < s.len;) {
        size_t plain = plain_prefix(s, pos, style);
        buf_put(out, str_from(s.data + pos, plain));
        pos += plain;
        if (pos == s.len) {
            break;
        }
        if ((unsigned char)s.data[pos] < 0x80) {
            put_ascii_special(out, s.data[pos++]);
        } else {
            put_wide(out, utf8_next(s, &pos), style);
        }
    }
    buf_put_char(out, '"');
}

/* --- Values ------------------------------------------------------------------------------ */

static bool put_float(Printer *printer, double number)
{
    if (isfinite(number)) {
        number_put_repr(printer->out, number);
        return true;
    }
    if (!printer->style->allow_nan) {
        return error_set(printer->err, ERROR_INVALID,
                         "Out of range float values are not JSON compliant");
    }
    buf_put_c(printer->out, isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity");
    return true;
}

static bool put_key(Printer *printer, Value key)
{
    Buf *out = printer->out;
    switch ((ValueKind)key.kind) {
    case VALUE_STRING: json_print_string(out, value_str(key), printer->style); return true;
    case VALUE_NULL: buf_put(out, STR("\"null\"")); return true;
    case VALUE_BOOL: buf_put_c(out, key.boolean ? "\"true\"" : "\"false\""); return true;
    case VALUE_INT:
        buf_put_char(out, '"');
        number_put_int(out, key.integer);
        buf_put_char(out, '"');
        return true;
    case VALUE_FLOAT:
        buf_put_char(out, '"');
        if (!put_float(printer, key.number)) {
            return false;
        }
        buf_put_char(out, '"');
        return true;
    default:
        return error_set(printer->err, ERROR_INVALID,
                         "keys must be str, int, float, bool or None, not %s",
                         value_python_name(key));
    }
}

/* The order of numbers of any type; exact for 64-bit integers. */
static int compare_numbers(Value a, Value b)
{
    if (a.kind != VALUE_FLOAT && b.kind != VALUE_FLOAT) {
        int64_t x = a.kind == VALUE_BOOL ? a.boolean : a.integer;
        int64_t y = b.kind == VALUE_BOOL ? b.boolean : b.integer;
        return (x > y) - (x < y);
    }
    long double x = a.kind == VALUE_FLOAT  ? (long double)a.number
                    : a.kind == VALUE_BOOL ? (long double)a.boolean
                                           : (long double)a.integer;
    long double y = b.kind == VALUE_FLOAT  ? (long double)b.number
                    : b.kind == VALUE_BOOL ? (long double)b.boolean
                                           : (long double)b.integer;
    return (x > y) - (x < y);
}

static bool is_number(Value v)
{
    return v.kind == VALUE_BOOL || v.kind == VALUE_INT || v.kind == VALUE_FLOAT;
}

static int compare_keys(const void *a, const void *b)
{
    Value x = ((const MapEntry *)a)->key, y = ((const MapEntry *)b)->key;
    return x.kind == VALUE_STRING ? str_compare(value_str(x), value_str(y)) : compare_numbers(x, y);
}

/* The entries sorted by key; the caller frees them. As in Python, fails if the keys cannot be
 * compared. */
static bool sort_entries(const Printer *printer, const Map *map, MapEntry **out)
{
    for (uint32_t i = 1; i < map->len; i++) {
        Value a = map->entries[i - 1].key, b = map->entries[i].key;
        if (!(a.kind == VALUE_STRING && b.kind == VALUE_STRING) &&
            !(is_number(a) && is_number(b))) {
            return error_set(printer->err, ERROR_INVALID,
                             "'<' not supported between instances of '%s' and '%s'",
                             value_python_name(b), value_python_name(a));
        }
    }
    size_t size = map->len * sizeof(MapEntry);
    MapEntry *entries = malloc(size);
    if (entries == NULL) {
        memory_exhausted(size);
    }
    memcpy(entries, map->entries, size);
    qsort(entries, map->len, sizeof(MapEntry), compare_keys);
    *out = entries;
    return true;
}

static bool put_value(Printer *printer, Value v, unsigned depth);

static void start_line(const Printer *printer, unsigned depth)
{
    if (printer->style->lines) {
        buf_put_char(printer->out, '\n');
        buf_put_repeat(printer->out, ' ', (size_t)printer->style->indent * depth);
    }
}

static bool put_list(Printer *printer, const List *list, unsigned depth)
{
    buf_put_char(printer->out, '[');
    for (uint32_t i = 0; i < list->len; i++) {
        if (i > 0) {
            buf_put(printer->out, printer->item_separator);
        }
        start_line(printer, depth + 1);
        if (!put_value(printer, list->items[i], depth + 1)) {
            return false;
        }
    }
    if (list->len > 0) {
        start_line(printer, depth);
    }
    buf_put_char(printer->out, ']');
    return true;
}

/* Fails if another key of the map has the text that was printed for `key`. Keys of two types other
 * than string never have the same text, so only a string can collide. */
static bool check_distinct(const Printer *printer, const Map *map, Value key, size_t start)
{
    if (key.kind == VALUE_STRING || !printer->style->distinct) {
        return true;
    }
    Str text = str_slice(buf_str(printer->out), start + 1, printer->out->len - 1);
    return map_find_str(map, text) == NULL ||
           error_set(printer->err, ERROR_INVALID,
                     "a map has the keys %" STR_FMT " and '%" STR_FMT "', which are equal in JSON",
                     STR_ARG(text), STR_ARG(text));
}

/* `entries` are those of the map, possibly in a different order. */
static bool put_entries(Printer *printer, const Map *map, const MapEntry *entries, unsigned depth)
{
    for (uint32_t i = 0; i < map->len; i++) {
        if (i > 0) {
            buf_put(printer->out, printer->item_separator);
        }
        start_line(printer, depth + 1);
        size_t start = printer->out->len;
        if (!put_key(printer, entries[i].key) ||
            !check_distinct(printer, map, entries[i].key, start)) {
            return false;
        }
        buf_put(printer->out, printer->key_separator);
        if (!put_value(printer, entries[i].value, depth + 1)) {
            return false;
        }
    }
    return true;
}

static bool put_map(Printer *printer, const Map *map, unsigned depth)
{
    MapEntry *sorted = NULL;
    if (printer->style->sort_keys && map->len > 1 && !sort_entries(printer, map, &sorted)) {
        return false;
    }
    buf_put_char(printer->out, '{');
    bool done = put_entries(printer, map, sorted != NULL ? sorted : map->entries, depth);
    free(sorted);
    if (map->len > 0) {
        start_line(printer, depth);
    }
    buf_put_char(printer->out, '}');
    return done;
}

static bool put_replaced(Printer *printer, Value v, unsigned depth)
{
    if (printer->style->replace == NULL) {
        return error_set(printer->err, ERROR_INVALID, "Object of type %s is not JSON serializable",
                         value_python_name(v));
    }
    Value plain;
    return printer->style->replace(printer->style->context, v, &plain, printer->err) &&
           put_value(printer, plain, depth + 1);
}

static bool put_value(Printer *printer, Value v, unsigned depth)
{
    Buf *out = printer->out;
    bool too_deep = v.kind >= VALUE_LIST && depth >= VALUE_DEPTH_MAX;
    if (too_deep || (v.kind >= VALUE_STRING && out->overflow)) {
        /* Shared parts can make the output of a small value huge, so a full buffer ends the
         * walk. */
        return out->overflow ? error_set(printer->err, ERROR_LIMIT, "JSON text is too large")
                             : error_set(printer->err, ERROR_LIMIT,
                                         "value is nested deeper than %d levels or contains itself",
                                         VALUE_DEPTH_MAX);
    }
    switch ((ValueKind)v.kind) {
    case VALUE_NULL: buf_put(out, STR("null")); return true;
    case VALUE_BOOL: buf_put_c(out, v.boolean ? "true" : "false"); return true;
    case VALUE_INT: number_put_int(out, v.integer); return true;
    case VALUE_FLOAT: return put_float(printer, v.number);
    case VALUE_STRING: json_print_string(out, value_str(v), printer->style); return true;
    case VALUE_LIST:
    case VALUE_TUPLE: return put_list(printer, v.list, depth);
    case VALUE_MAP: return put_map(printer, v.map, depth);
    case VALUE_OBJECT:
    case VALUE_UNDEFINED: return put_replaced(printer, v, depth);
    }
    BUG("value of kind %d", v.kind);
}

bool json_print(Buf *out, Value v, const JsonStyle *style, Error *err)
{
    if (style == NULL) {
        style = &compact_style;
    }
    bool spaced = style->spaced && !style->lines;
    Printer printer = {
        .out = out,
        .style = style,
        .err = err,
        .item_separator = spaced ? STR(", ") : STR(","),
        .key_separator = spaced || style->lines ? STR(": ") : STR(":"),
    };
    if (!put_value(&printer, v, 0)) {
        return false;
    }
    return !out->overflow || error_set(err, ERROR_LIMIT, "JSON text is too large");
}
