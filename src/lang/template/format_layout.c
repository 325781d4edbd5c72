/* Padding, signs, grouping and digits, shared by all three kinds of formatting. */
#include "base/utf8.h"
#include "lang/number.h"
#include "lang/template/format.h"

Str format_digits(uint64_t magnitude, unsigned base, bool upper, char buffer[FORMAT_DIGITS_MAX])
{
    const char *letters = upper ? "0123456789ABCDEF" : "0123456789abcdef";
    size_t pos = FORMAT_DIGITS_MAX;
    do {
        buffer[--pos] = letters[magnitude % base];
        magnitude /= base;
    } while (magnitude > 0);
    return str_from(buffer + pos, FORMAT_DIGITS_MAX - pos);
}

Str format_cut(Str text, int64_t count)
{
    return count < 0 ? text : str_slice(text, 0, utf8_index_to_offset(text, (size_t)count));
}

FormatNumber format_split_float(Str text)
{
    FormatNumber number = { .negative = text.len > 0 && text.data[0] == '-' };
    text = str_from_offset(text, number.negative ? 1 : 0);
    size_t digits = 0;
    while (digits < text.len && ascii_is_digit(text.data[digits])) {
        digits++;
    }
    number.digits = str_slice(text, 0, digits);
    number.suffix = str_from_offset(text, digits);
    return number;
}

bool format_put_float(Render *r, double x, const FormatSpec *spec, int64_t precision, Buf *out)
{
    if (precision > INT32_MAX) {
        return render_raise(r, FAULT_VALUE, "precision too big");
    }
    /* The largest double has 309 digits before the decimal point. */
    if (!render_reserve(r, (size_t)precision + 400) || !op_charge_bytes(r, (size_t)precision)) {
        return false;
    }
    FloatSpec digits = { spec->type, spec->alternate, (int)precision };
    number_put_float_spec(out, x, digits);
    return true;
}

static void put_fill(uint32_t fill, int64_t count, Buf *out)
{
    if (count <= 0) {
        return;
    }
    if (fill < 0x80) {
        buf_put_repeat(out, (char)fill, (size_t)count);
        return;
    }
    char bytes[UTF8_BYTES_MAX];
    size_t len = utf8_encode(fill, bytes);
    if (count > VALUE_STRING_MAX || !buf_reserve(out, (size_t)count * len)) {
        buf_overflow(out);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        buf_put(out, str_from(bytes, len));
    }
}

void format_put_text(const FormatSpec *spec, Str text, char fallback_align, Buf *out)
{
    char align = spec->align != 0 ? spec->align : fallback_align;
    int64_t pad = spec->width < 0 ? 0 : spec->width - (int64_t)utf8_count(text);
    int64_t left_pad = pad <= 0 ? 0 : align == '<' ? 0 : align == '^' ? pad / 2 : pad;
    put_fill(spec->fill, left_pad, out);
    buf_put(out, text);
    put_fill(spec->fill, pad - left_pad, out);
}

/* Digits with leading `zeros` and a separator between groups. */
static void put_grouped(Str digits, int64_t zeros, char separator, unsigned group, Buf *out)
{
    if (separator == 0) {
        put_fill('0', zeros, out);
        buf_put(out, digits);
        return;
    }
    int64_t count = zeros + (int64_t)digits.len;
    if (count > VALUE_STRING_MAX || !buf_reserve(out, (size_t)count * 2)) {
        buf_overflow(out);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        if (i > 0 && (count - i) % group == 0) {
            buf_put_char(out, separator);
        }
        buf_put_char(out, i < zeros ? '0' : digits.data[i - zeros]);
    }
}

void format_put_number(const FormatSpec *spec, const FormatNumber *number, char fallback_align,
                       Buf *out)
{
    char align = spec->align != 0 ? spec->align : fallback_align;
    char sign = number->negative ? '-' : spec->sign == '+' || spec->sign == ' ' ? spec->sign : 0;
    bool decimal = spec->type != 'x' && spec->type != 'X' && spec->type != 'o' && spec->type != 'b';
    unsigned group = decimal ? 3 : 4;
    char separator = number->digits.len > 0 ? spec->grouping : 0;
    int64_t other_width = (sign != 0) + (int64_t)number->prefix.len + (int64_t)number->suffix.len;
    int64_t digits = (int64_t)number->digits.len, zeros = 0;
    if (align == '=' && spec->fill == '0' && separator != 0 && spec->width > other_width) {
        /* Padding zeros are grouped too. A separator never comes first, so the result may be one
         * character wider than requested. */
        int64_t digits_width = spec->width - other_width;
        int64_t digit_count = digits_width / (group + 1) * group + digits_width % (group + 1);
        if (digits_width % (group + 1) == 0 && digits_width > 0) {
            digit_count++;
        }
        zeros = digit_count > digits ? digit_count - digits : 0;
    }
    int64_t number_width = digits + zeros;
    if (separator != 0) {
        number_width += (number_width - 1) / group;
    }
    int64_t pad = spec->width - other_width - number_width;
    pad = pad < 0 ? 0 : pad;
    int64_t left_pad = align == '>' ? pad : align == '^' ? pad / 2 : 0;
    put_fill(spec->fill, left_pad, out);
    if (sign != 0) {
        buf_put_char(out, sign);
    }
    buf_put(out, number->prefix);
    if (align == '=') {
        put_fill(spec->fill, pad, out);
    }
    put_grouped(number->digits, zeros, separator, group, out);
    buf_put(out, number->suffix);
    if (align != '=') {
        put_fill(spec->fill, pad - left_pad, out);
    }
}

bool format_ascii(Render *r, Value v, Buf *out)
{
    Buf buf = render_buf(r);
    Value number_width;
    if (!op_repr(r, v, &buf) || !render_take(r, &buf, &number_width)) {
        return false;
    }
    Str text = value_str(number_width);
    for (size_t pos = 0; pos < text.len;) {
        size_t plain = utf8_ascii_prefix(str_from_offset(text, pos));
        buf_put(out, str_slice(text, pos, pos + plain));
        pos += plain;
        if (pos < text.len) {
            uint32_t code = utf8_next(text, &pos);
            buf_put_format(out,
                           code < 0x100     ? "\\x%02x"
                           : code < 0x10000 ? "\\u%04x"
                                            : "\\U%08x",
                           (unsigned)code);
        }
    }
    return true;
}
