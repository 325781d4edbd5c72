/* Implements format(value, spec), Python's format specification for strings and numbers.
 *
 *     [[fill]align][sign][z][#][0][width][grouping][.precision][type] */
#include <math.h>

#include "base/utf8.h"
#include "lang/number.h"
#include "lang/template/format.h"

static bool is_align(uint32_t code)
{
    return code == '<' || code == '>' || code == '^' || code == '=';
}

/* Parses a decimal number; -1 if there are no digits. */
static bool take_number(Render *r, Str text, size_t *pos, int64_t *out)
{
    size_t start = *pos;
    int64_t number = 0;
    for (; *pos < text.len && ascii_is_digit(text.data[*pos]); ++*pos) {
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, text.data[*pos] - '0', &number)) {
            return render_raise(r, FAULT_VALUE, "Too many decimal digits in format string");
        }
    }
    *out = *pos > start ? number : -1;
    return true;
}

static bool take_char(Str text, size_t *pos, char c)
{
    if (*pos < text.len && text.data[*pos] == c) {
        ++*pos;
        return true;
    }
    return false;
}

static void take_align(Str text, size_t *pos, FormatSpec *out)
{
    if (text.len == 0) {
        return;
    }
    size_t second = 0;
    uint32_t fill = utf8_next(text, &second);
    if (second < text.len && is_align((unsigned char)text.data[second])) {
        out->fill = fill;
        out->align = text.data[second];
        *pos = second + 1;
    } else if (is_align(fill)) {
        out->align = (char)fill;
        *pos = 1;
    }
}

static bool take_grouping(Render *r, Str text, size_t *pos, FormatSpec *out)
{
    if (*pos >= text.len || (text.data[*pos] != ',' && text.data[*pos] != '_')) {
        return true;
    }
    out->grouping = text.data[(*pos)++];
    if (*pos < text.len && (text.data[*pos] == ',' || text.data[*pos] == '_')) {
        return text.data[*pos] != out->grouping
                   ? render_raise(r, FAULT_VALUE, "Cannot specify both ',' and '_'.")
                   : render_raise(r, FAULT_VALUE, "Cannot specify '%c' with '%c'.", out->grouping,
                                  out->grouping);
    }
    return true;
}

static bool spec_parse(Render *r, Str text, Value v, FormatSpec *out)
{
    *out = (FormatSpec){ .fill = ' ', .width = -1, .precision = -1 };
    size_t pos = 0;
    take_align(text, &pos, out);
    bool has_fill = pos > 1;
    if (pos < text.len &&
        (text.data[pos] == '+' || text.data[pos] == '-' || text.data[pos] == ' ')) {
        out->sign = text.data[pos++];
    }
    out->positive_zero = take_char(text, &pos, 'z');
    out->alternate = take_char(text, &pos, '#');
    if (!has_fill && pos < text.len && text.data[pos] == '0') {
        /* A zero before the width pads with zeros; numbers get them after the sign. */
        out->fill = '0';
        if (out->align == 0 && !value_is_string(v)) {
            out->align = '=';
        }
        pos++;
    }
    if (!take_number(r, text, &pos, &out->width) || !take_grouping(r, text, &pos, out)) {
        return false;
    }
    if (take_char(text, &pos, '.')) {
        if (!take_number(r, text, &pos, &out->precision)) {
            return false;
        }
        if (out->precision < 0) {
            return render_raise(r, FAULT_VALUE, "Format specifier missing precision");
        }
    }
    if (pos + 1 < text.len) {
        return render_raise(r, FAULT_VALUE,
                            "Invalid format specifier '%" STR_FMT "' for object of type '%s'",
                            STR_ARG(text), op_type_name(v));
    }
    if (pos < text.len) {
        out->type = text.data[pos];
    }
    char type = out->type == 0 && value_is_string(v) ? 's' : out->type;
    if (out->grouping != 0 && type != 0 &&
        strchr(out->grouping == ',' ? "defgEG%F" : "defgEG%FboxX", type) == NULL) {
        return render_raise(r, FAULT_VALUE, "Cannot specify '%c' with '%c'.", out->grouping, type);
    }
    return true;
}

static bool raise_type(Render *r, char type, Value v)
{
    return render_raise(r, FAULT_VALUE, "Unknown format code '%c' for object of type '%s'", type,
                        op_type_name(v));
}

static bool format_string(Render *r, Value v, const FormatSpec *spec, Buf *out)
{
    if (spec->type != 0 && spec->type != 's') {
        return raise_type(r, spec->type, v);
    }
    if (spec->sign != 0) {
        return render_raise(r, FAULT_VALUE,
                            spec->sign == ' ' ? "Space not allowed in string format specifier"
                                              : "Sign not allowed in string format specifier");
    }
    if (spec->positive_zero) {
        return render_raise(r, FAULT_VALUE,
                            "Negative zero coercion (z) not allowed in string format specifier");
    }
    if (spec->alternate) {
        return render_raise(r, FAULT_VALUE,
                            "Alternate form (#) not allowed in string format specifier");
    }
    if (spec->align == '=') {
        return render_raise(r, FAULT_VALUE, "'=' alignment not allowed in string format specifier");
    }
    format_put_text(spec, format_cut(value_str(v), spec->precision), '<', out);
    return op_charge_bytes(r, v.len);
}

static bool is_zero(Str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        if (c == 'e' || c == 'E' || c == '%') {
            break;
        }
        if (c != '0' && c != '.' && c != '-') {
            return false;
        }
    }
    return true;
}

static bool format_float(Render *r, Value v, double x, FormatSpec *spec, Buf *out)
{
    char type = spec->type;
    if (type != 0 && strchr("eEfFgGn%", type) == NULL) {
        return raise_type(r, type, v);
    }
    bool percent = type == '%';
    if (percent) {
        x *= 100;
        spec->type = 'f';
    } else if (type == 'n') {
        spec->type = 'g';
    }
    Buf buf = render_buf(r);
    if (type == 0 && spec->precision < 0) {
        number_put_repr(&buf, x);
    } else if (!format_put_float(r, x, spec, spec->precision < 0 ? 6 : spec->precision, &buf)) {
        return false;
    }
    if (percent) {
        buf_put_char(&buf, '%');
    }
    Value text;
    if (!render_take(r, &buf, &text)) {
        return false;
    }
    FormatNumber number = format_split_float(value_str(text));
    if (spec->positive_zero && is_zero(value_str(text))) {
        number.negative = false;
    }
    format_put_number(spec, &number, '>', out);
    return true;
}

static bool format_char(Render *r, int64_t code, const FormatSpec *spec, Buf *out)
{
    if (spec->sign != 0) {
        return render_raise(r, FAULT_VALUE, "Sign not allowed with integer format specifier 'c'");
    }
    if (spec->alternate) {
        return render_raise(r, FAULT_VALUE,
                            "Alternate form (#) not allowed with integer format specifier 'c'");
    }
    if (code < 0 || code > 0x10ffff) {
        return render_raise(r, FAULT_OVERFLOW, "%%c arg not in range(0x110000)");
    }
    char bytes[UTF8_BYTES_MAX];
    size_t len = utf8_encode((uint32_t)code, bytes);
    format_put_text(spec, str_from(bytes, len), '>', out);
    return true;
}

static bool format_int(Render *r, Value v, FormatSpec *spec, Buf *out)
{
    int64_t integer = op_int(v);
    if (spec->type != 0 && strchr("eEfFgG%", spec->type) != NULL) {
        return format_float(r, v, (double)integer, spec, out);
    }
    if (spec->type != 0 && strchr("bcdnoxX", spec->type) == NULL) {
        return raise_type(r, spec->type, v);
    }
    if (spec->precision >= 0) {
        return render_raise(r, FAULT_VALUE, "Precision not allowed in integer format specifier");
    }
    if (spec->positive_zero) {
        return render_raise(r, FAULT_VALUE,
                            "Negative zero coercion (z) not allowed in integer format specifier");
    }
    unsigned base = 10;
    Str prefix = STR_EMPTY;
    switch (spec->type) {
    case 'c': return format_char(r, integer, spec, out);
    case 'b':
        base = 2;
        prefix = STR("0b");
        break;
    case 'o':
        base = 8;
        prefix = STR("0o");
        break;
    case 'x':
        base = 16;
        prefix = STR("0x");
        break;
    case 'X':
        base = 16;
        prefix = STR("0X");
        break;
    default: break;
    }
    char buffer[FORMAT_DIGITS_MAX];
    uint64_t magnitude = integer < 0 ? 0 - (uint64_t)integer : (uint64_t)integer;
    FormatNumber number = { .negative = integer < 0,
                            .prefix = spec->alternate ? prefix : STR_EMPTY,
                            .digits = format_digits(magnitude, base, spec->type == 'X', buffer),
                            .suffix = STR_EMPTY };
    format_put_number(spec, &number, '>', out);
    return true;
}

bool format_value(Render *r, Value v, Str spec_text, Buf *out)
{
    if (spec_text.len == 0) {
        return op_print(r, v, out);
    }
    if (v.kind != VALUE_STRING && v.kind != VALUE_FLOAT && !op_is_int(v)) {
        return render_raise(r, FAULT_TYPE, "unsupported format string passed to %s.__format__",
                            op_type_name(v));
    }
    FormatSpec spec;
    if (!spec_parse(r, spec_text, v, &spec)) {
        return false;
    }
    switch ((ValueKind)v.kind) {
    case VALUE_STRING: return format_string(r, v, &spec, out);
    case VALUE_FLOAT: return format_float(r, v, v.number, &spec, out);
    default: return format_int(r, v, &spec, out);
    }
}
