/* Parses the scalars of JSON: strings, numbers and the three literals. */
#include "lang/json_reader.h"

#include <math.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/bug.h"
#include "base/utf8.h"
#include "lang/number.h"

#define EACH_BYTE(byte) (0x0101010101010101u * (byte))

#ifndef __SSE2__
/* The high bit of each zero byte. */
static uint64_t zero_bytes(uint64_t word)
{
    return ~(((word & EACH_BYTE(0x7f)) + EACH_BYTE(0x7f)) | word) & EACH_BYTE(0x80);
}

/* The high bit of each byte that is a control character. */
static uint64_t control_bytes(uint64_t word)
{
    return ~(((word & EACH_BYTE(0x7f)) + EACH_BYTE(0x60)) | word) & EACH_BYTE(0x80);
}
#endif

/* The first quote, backslash or control character at or after `p`. `*wide` records whether there is
 * a byte above 127 before it. */
static inline const char *scan_string(const char *p, const char *end, unsigned *wide)
{
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\');
    const __m128i control = _mm_set1_epi8(0x1f);
    for (; end - p >= 16; p += 16) {
        __m128i block = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i stop = _mm_or_si128(
            _mm_or_si128(_mm_cmpeq_epi8(block, quote), _mm_cmpeq_epi8(block, backslash)),
            _mm_cmpeq_epi8(_mm_min_epu8(block, control), block));
        unsigned stops = (unsigned)_mm_movemask_epi8(stop);
        unsigned high = (unsigned)_mm_movemask_epi8(block);
        if (stops != 0) {
            *wide |= high & (stops ^ (stops - 1));
            return p + __builtin_ctz(stops);
        }
        *wide |= high;
    }
#else
    for (; end - p >= 8; p += 8) {
        uint64_t word;
        memcpy(&word, p, sizeof word);
        if ((control_bytes(word) | zero_bytes(word ^ EACH_BYTE('"')) |
             zero_bytes(word ^ EACH_BYTE('\\'))) != 0) {
            break;
        }
        *wide |= (word & EACH_BYTE(0x80)) != 0;
    }
#endif
    for (; p < end && *p != '"' && *p != '\\' && (unsigned char)*p >= 0x20; p++) {
        *wide |= (unsigned char)*p & 0x80;
    }
    return p;
}

/* Parses four hexadecimal digits; returns -1 if invalid. */
static int parse_hex4(const char *p, const char *end)
{
    if (end - p < 4) {
        return -1;
    }
    int code = 0;
    for (int i = 0; i < 4; i++) {
        int digit = ascii_hex_value(p[i]);
        if (digit < 0) {
            return -1;
        }
        code = code << 4 | digit;
    }
    return code;
}

/* Decodes the \u escape at `p` to `*out`, including the second half of a surrogate pair. */
static const char *unescape_code(JsonReader *reader, const char *p, const char *end, char **out)
{
    int code = parse_hex4(p + 2, end);
    if (code < 0) {
        return json_fault(&reader->faults, "E0152", p, 2, "four hexadecimal digits must follow",
                          "bad \\u escape");
    }
    const char *next = p + 6;
    if (code >= 0xd800 && code <= 0xdfff) {
        int low = code <= 0xdbff && end - next >= 6 && next[0] == '\\' && next[1] == 'u'
                      ? parse_hex4(next + 2, end)
                      : -1;
        if (low < 0xdc00 || low > 0xdfff) {
            return json_fault(&reader->faults, "E0152", p, 6,
                              "\\ud800 to \\udfff are valid only in pairs",
                              "incomplete surrogate pair");
        }
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        next += 6;
    }
    *out += utf8_encode((uint32_t)code, *out);
    return next;
}

static char escaped_char(char c)
{
    switch (c) {
    case '"':
    case '\\':
    case '/': return c;
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    default: return '\0';
    }
}

/* The position of the closing quote of a string whose first escape is at `p`. */
static const char *find_string_end(JsonReader *reader, const char *start, const char *p)
{
    unsigned wide = 0;
    while (p < reader->end && *p != '"') {
        if (*p != '\\' || reader->end - p < 2) {
            return json_fault_in_string(&reader->faults, start, *p == '\\' ? reader->end : p);
        }
        p = scan_string(p + 2, reader->end, &wide);
    }
    return p < reader->end ? p : json_fault_in_string(&reader->faults, start, p);
}

/* Parses the string with the opening quote at `start` and its first escape at `p`. The decoded
 * string is never longer than the escaped one. */
static const char *parse_escaped(JsonReader *reader, const char *start, const char *p, Value *out)
{
    const char *close = find_string_end(reader, start, p);
    if (close == NULL) {
        return NULL;
    }
    size_t capacity = (size_t)(close - start);
    char *text = arena_try_alloc(reader->arena, capacity);
    if (text == NULL) {
        return json_fault(&reader->faults, "E0156", start, 1, "",
                          "the JSON text needs too much memory");
    }
    char *to = text;
    const char *from = start + 1;
    while (from < close) {
        size_t plain = (size_t)(p - from);
        memcpy(to, from, plain);
        to += plain;
        if (p == close) {
            break;
        }
        if (p[1] == 'u') {
            p = unescape_code(reader, p, close, &to);
            if (p == NULL) {
                return NULL;
            }
        } else {
            char c = escaped_char(p[1]);
            if (c == '\0') {
                return json_fault(&reader->faults, "E0152", p, 2, "write \\\\ for a backslash",
                                  "unknown escape '\\%c'",
                                  (unsigned char)p[1] < 0x80 && p[1] > ' ' ? p[1] : '?');
            }
            *to++ = c;
            p += 2;
        }
        from = p;
        unsigned wide = 0;
        p = scan_string(p, close, &wide);
    }
    arena_shrink(reader->arena, text, capacity, (size_t)(to - text));
    out->text = text;
    out->len = (uint32_t)(to - text);
    return close + 1;
}

const char *json_read_string(JsonReader *reader, const char *start, Value *out)
{
    unsigned wide = 0;
    const char *text = start + 1;
    const char *p = scan_string(text, reader->end, &wide);
    *out = (Value){ .kind = VALUE_STRING,
                    .flags = VALUE_QUOTED,
                    .source = reader->source,
                    .len = (uint32_t)(p - text),
                    .text = text,
                    .start = json_reader_offset(reader, start) };
    if (LIKELY(p < reader->end && *p == '"')) {
        p++;
    } else if (p < reader->end && *p == '\\') {
        wide = 1;
        p = parse_escaped(reader, start, p, out);
        if (p == NULL) {
            return NULL;
        }
    } else {
        return json_fault_in_string(&reader->faults, start, p);
    }
    out->span = (uint32_t)(p - start);
    if (UNLIKELY(wide != 0)) {
        Str source = str_from(text, out->span - 2);
        size_t valid = utf8_valid_prefix(source);
        if (valid < source.len) {
            return json_fault(&reader->faults, "E0157", text + valid, 1, "",
                              "byte 0x%02x is not UTF-8", (unsigned char)text[valid]);
        }
    }
    return p;
}

/* Adds the digits at `p` to `*mantissa`, which may wrap around: callers count the digits. */
static inline const char *parse_digits(const char *p, const char *end, uint64_t *mantissa)
{
    uint64_t m = *mantissa;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    while (end - p >= 8) {
        uint64_t word;
        memcpy(&word, p, sizeof word);
        /* The upper half of every byte is 3, even after adding 6 to the lower half. */
        if (((word & EACH_BYTE(0xf0)) | ((word + EACH_BYTE(6)) & EACH_BYTE(0xf0)) >> 4) !=
            EACH_BYTE(0x33)) {
            break;
        }
        /* Combines digits into pairs, pairs into fours, and fours into eight, all in one word. */
        word = (word & EACH_BYTE(0x0f)) * (10 * 256 + 1) >> 8;
        word = (word & 0x00ff00ff00ff00ffu) * (100 * 65536 + 1) >> 16;
        word = (word & 0x0000ffff0000ffffu) * (10000 * ((uint64_t)1 << 32) + 1) >> 32;
        m = m * 100000000 + word;
        p += 8;
    }
#endif
    for (; p < end && ascii_is_digit(*p); p++) {
        m = m * 10 + (uint64_t)(*p - '0');
    }
    *mantissa = m;
    return p;
}

static const char *finish_float(JsonReader *reader, const char *start, const char *p, double number,
                                Value *out)
{
    if (UNLIKELY(isinf(number))) {
        return json_fault(&reader->faults, "E0155", start, (size_t)(p - start), "",
                          "number is too large for a 64-bit float");
    }
    out->kind = VALUE_FLOAT;
    out->number = number;
    return p;
}

/* Parses the number at `start` whose integer part ends at `p`, followed by a fraction or an
 * exponent. */
static const char *parse_float(JsonReader *reader, const char *start, const char *p,
                               uint64_t mantissa, Value *out)
{
    const char *end = reader->end;
    bool negative = *start == '-';
    int64_t exponent = 0;
    size_t digits = (size_t)(p - start) - negative;
    if (*p == '.') {
        const char *fraction = p + 1;
        p = parse_digits(fraction, end, &mantissa);
        if (p == fraction) {
            return json_fault_in_number(&reader->faults, start, p);
        }
        exponent = fraction - p;
        digits += (size_t)(p - fraction);
    }
    if (p < end && (*p == 'e' || *p == 'E')) {
        p++;
        bool is_negative_exponent = p < end && *p == '-';
        p += p < end && (*p == '-' || *p == '+');
        const char *first = p;
        int64_t shift = 0;
        for (; p < end && ascii_is_digit(*p); p++) {
            shift = shift < 100000 ? shift * 10 + (*p - '0') : shift;
        }
        if (p == first) {
            return json_fault_in_number(&reader->faults, start, p);
        }
        exponent += is_negative_exponent ? -shift : shift;
    }
    double number;
    if (LIKELY(digits <= 19)) {
        number = number_from_decimal(mantissa, exponent);
        number = negative ? -number : number;
    } else {
        bool parsed = number_parse_float(str_from(start, (size_t)(p - start)), &number);
        BUG_IF(!parsed);
    }
    return finish_float(reader, start, p, number, out);
}

/* Handles an integer from `start` to `p` that exceeds 64 bits. */
static const char *parse_wide_integer(JsonReader *reader, const char *start, const char *p,
                                      Value *out)
{
    if (reader->options->wide_integers) {
        double number;
        bool parsed = number_parse_float(str_from(start, (size_t)(p - start)), &number);
        BUG_IF(!parsed);
        return finish_float(reader, start, p, number, out);
    }
    json_fault(&reader->faults, "E0155", start, (size_t)(p - start), "quote it to keep all digits",
               "integer does not fit in 64 bits");
    return ++reader->failures < JSON_FAILURES_MAX ? p : NULL;
}

/* Parses NaN, Infinity or -Infinity at `p`; returns NULL without reporting a fault if there is
 * none. */
static const char *parse_constant(const JsonReader *reader, const char *p, Value *out)
{
    static const struct {
        Str name;
        double number;
    } constants[] = { { STR("NaN"), NAN },
                      { STR("Infinity"), INFINITY },
                      { STR("-Infinity"), -INFINITY } };
    Str rest = str_from(p, (size_t)(reader->end - p));
    for (size_t i = 0; reader->options->python_constants && i < COUNT_OF(constants); i++) {
        if (str_starts(rest, constants[i].name)) {
            out->kind = VALUE_FLOAT;
            out->number = constants[i].number;
            return p + constants[i].name.len;
        }
    }
    return NULL;
}

/* Parses the number at `start`, which is a minus or a digit. Sets kind and number of `*out`. */
static inline const char *parse_number(JsonReader *reader, const char *start, Value *out)
{
    const char *end = reader->end;
    bool negative = *start == '-';
    const char *first = start + negative;
    uint64_t mantissa = 0;
    const char *p = parse_digits(first, end, &mantissa);
    size_t digits = (size_t)(p - first);
    if (UNLIKELY(digits == 0 || (digits > 1 && *first == '0'))) {
        const char *constant = parse_constant(reader, start, out);
        return constant != NULL ? constant : json_fault_in_number(&reader->faults, start, first);
    }
    if (p < end && (*p == '.' || *p == 'e' || *p == 'E')) {
        return parse_float(reader, start, p, mantissa, out);
    }
    if (UNLIKELY(digits > 19 || (digits == 19 && mantissa > (uint64_t)INT64_MAX + negative))) {
        return parse_wide_integer(reader, start, p, out);
    }
    out->kind = VALUE_INT;
    out->integer = (int64_t)(negative ? 0 - mantissa : mantissa);
    return p;
}

static bool starts_with(const char *p, const char *end, const char *word, size_t len)
{
    return (size_t)(end - p) >= len && memcmp(p, word, len) == 0;
}

/* Parses any scalar except a string. */
const char *json_read_scalar(JsonReader *reader, const char *start, JsonExpected expected,
                             const char *open, Value *out)
{
    const char *p = start;
    *out = (Value){ .source = reader->source, .start = json_reader_offset(reader, start) };
    switch (*start) {
    case '-':
    case '0' ... '9': p = parse_number(reader, start, out); break;
    case 't':
        out->kind = VALUE_BOOL;
        out->boolean = true;
        p += starts_with(start, reader->end, "true", 4) ? 4 : 0;
        break;
    case 'f':
        out->kind = VALUE_BOOL;
        p += starts_with(start, reader->end, "false", 5) ? 5 : 0;
        break;
    case 'n': p += starts_with(start, reader->end, "null", 4) ? 4 : 0; break;
    default: break;
    }
    if (UNLIKELY(p == start)) {
        p = parse_constant(reader, start, out);
        if (p == NULL) {
            return json_fault_unexpected(&reader->faults, expected, start, open);
        }
    }
    out->span = (uint32_t)(p - start);
    return p;
}
