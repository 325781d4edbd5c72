/* Formats numbers. The shortest text of a float is found by Giulietti's Schubfach algorithm ("The
 * Schubfach way to render doubles", 2020): three 64x128 bit products yield the scaled value and the
 * bounds of the interval that rounds to it, and the interval contains at most one number with one
 * digit fewer. */
#include "lang/number.h"

#include <math.h>
#include <stdio.h>

#include "base/bug.h"
#include "base/decimal.h"
#include "lang/number_powers.h"

/* A decimal number: digits * 10^exponent. */
typedef struct Decimal {
    uint64_t digits;
    int exponent;
} Decimal;

/* floor(power * factor / 2^128), with the lowest bit set if any truncated bit was set. */
static uint64_t multiply_to_odd(uint64_t high, uint64_t low, uint64_t factor)
{
    __uint128_t lower = (__uint128_t)low * factor;
    __uint128_t product = (__uint128_t)high * factor + (uint64_t)(lower >> 64);
    return (uint64_t)(product >> 64) | ((uint64_t)product > 1);
}

/* `fraction` and `biased` are the fields of a finite double that is not zero. */
static Decimal shortest_decimal(uint64_t fraction, int biased)
{
    /* The value is c * 2^q. Its neighbors are 2^q away, except that the lower one is half as far if
     * c is a power of two. All bounds are multiples of 2^(q-2), hence the factors of 4. */
    bool normal = biased != 0;
    uint64_t c = normal ? fraction | (uint64_t)1 << 52 : fraction;
    int q = normal ? biased - 1075 : -1074;
    bool closer = fraction == 0 && biased > 1;
    /* The bounds of an odd value are exclusive: parsing rounds ties to even. */
    uint64_t odd = c & 1;

    /* k = floor(log10 of the interval's width); shift = q + floor(log2(10^-k)) + 1. */
    int k = (q * 1262611 - (closer ? 524031 : 0)) >> 22;
    int shift = q + (-k * 1741647 >> 19) + 1;
    uint64_t high = number_powers[-k - NUMBER_POWER_MIN][0];
    uint64_t low = number_powers[-k - NUMBER_POWER_MIN][1] + (-k < -27 || -k > 55);

    uint64_t lower = multiply_to_odd(high, low, (4 * c - 2 + closer) << shift) + odd;
    uint64_t value = multiply_to_odd(high, low, (4 * c) << shift);
    uint64_t upper = multiply_to_odd(high, low, (4 * c + 2) << shift) - odd;

    uint64_t s = value / 4;
    if (s >= 10) {
        uint64_t tens = s / 10;
        bool down_fits = lower <= 40 * tens;
        bool up_fits = 40 * tens + 40 <= upper;
        if (down_fits != up_fits) {
            return (Decimal){ tens + up_fits, k + 1 };
        }
    }
    bool down_fits = lower <= 4 * s;
    bool up_fits = 4 * s + 4 <= upper;
    if (down_fits != up_fits) {
        return (Decimal){ s + up_fits, k };
    }
    uint64_t middle = 4 * s + 2;
    bool up = value > middle || (value == middle && (s & 1) != 0);
    return (Decimal){ s + up, k };
}

/* Python's layout: plain if the decimal point is within or near the digits, otherwise with an
 * exponent of at least two digits. */
static char *put_decimal(char *out, Decimal decimal)
{
    char buffer[24];
    char *end = buffer + sizeof buffer;
    char *digits = decimal_write_before(end, decimal.digits);
    int exponent = decimal.exponent;
    while (end[-1] == '0') {
        end--;
        exponent++;
    }
    int count = (int)(end - digits);
    int point = count + exponent; /* digits before the decimal point */

    if (point > 16 || point <= -4) {
        *out++ = digits[0];
        if (count > 1) {
            *out++ = '.';
            memcpy(out, digits + 1, (size_t)count - 1);
            out += count - 1;
        }
        *out++ = 'e';
        *out++ = point > 0 ? '+' : '-';
        int magnitude = point > 0 ? point - 1 : 1 - point;
        if (magnitude >= 100) {
            *out++ = (char)('0' + magnitude / 100);
            magnitude %= 100;
        }
        memcpy(out, decimal_pairs + (size_t)magnitude * 2, 2);
        return out + 2;
    }
    if (point <= 0) {
        memcpy(out, "0.000", 5);
        out += 2 - point;
        memcpy(out, digits, (size_t)count);
        return out + count;
    }
    int integer_digits = count < point ? count : point;
    memcpy(out, digits, (size_t)integer_digits);
    memset(out + integer_digits, '0', (size_t)(point - integer_digits));
    out += point;
    *out++ = '.';
    if (count > point) {
        memcpy(out, digits + point, (size_t)(count - point));
        return out + (count - point);
    }
    *out++ = '0';
    return out;
}

/* Fast path: most floats written by hand have few decimal places. Among decimal numbers of up to 15
 * digits only one parses to a given double; so if x times 1000, as an integer, divided by 1000 is x
 * again, those are the shortest digits. (Both operands are exact, so the quotient is the double
 * nearest to the decimal number.) */
static char *put_short_decimal(char *out, double magnitude)
{
    if (!(magnitude < 1e12)) {
        return NULL;
    }
    uint64_t thousandths = (uint64_t)(magnitude * 1000 + 0.5);
    if ((double)thousandths / 1000 != magnitude) {
        return NULL;
    }
    char buffer[24];
    char *end = buffer + sizeof buffer;
    char *start = decimal_write_before(end, thousandths / 1000);
    memcpy(out, start, (size_t)(end - start));
    out += end - start;
    uint32_t places = (uint32_t)(thousandths % 1000);
    *out++ = '.';
    *out++ = (char)('0' + places / 100);
    if (places % 100 != 0) {
        memcpy(out, decimal_pairs + (size_t)(places % 100) * 2, 2);
        out += places % 10 != 0 ? 2 : 1;
    }
    return out;
}

size_t number_format_repr(double x, char out[NUMBER_TEXT_MAX])
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    uint64_t fraction = bits & (((uint64_t)1 << 52) - 1);
    int biased = (int)(bits >> 52) & 0x7ff;

    char *pos = out;
    if (bits >> 63 != 0 && !isnan(x)) {
        *pos++ = '-';
    }
    if (biased == 0x7ff) {
        memcpy(pos, fraction == 0 ? "inf" : "nan", 3);
        pos += 3;
    } else if (biased == 0 && fraction == 0) {
        memcpy(pos, "0.0", 3);
        pos += 3;
    } else {
        char *end = put_short_decimal(pos, fabs(x));
        pos = end != NULL ? end : put_decimal(pos, shortest_decimal(fraction, biased));
    }
    *pos = '\0';
    return (size_t)(pos - out);
}

size_t number_format_int(int64_t value, char out[NUMBER_TEXT_MAX])
{
    char buffer[24];
    char *end = buffer + sizeof buffer;
    char *start = decimal_write_before(end, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
    if (value < 0) {
        *--start = '-';
    }
    size_t len = (size_t)(end - start);
    memcpy(out, start, len);
    out[len] = '\0';
    return len;
}

void number_put_repr(Buf *out, double x)
{
    if (LIKELY(out->cap - out->len >= NUMBER_TEXT_MAX)) {
        out->len += number_format_repr(x, out->data + out->len);
        return;
    }
    char text[NUMBER_TEXT_MAX];
    buf_put(out, str_from(text, number_format_repr(x, text)));
}

void number_put_int(Buf *out, int64_t value)
{
    char text[NUMBER_TEXT_MAX];
    buf_put(out, str_from(text, number_format_int(value, text)));
}

/* Format without type letter: as many digits as for g, plain if the exponent leaves space for a
 * fractional digit, and ".0" if there is none. */
static void put_general_with_point(Buf *out, double x, FloatSpec spec)
{
    int precision = spec.precision > 0 ? spec.precision : 1;
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    buf_put_format(&text, "%.*e", precision - 1, x);
    Str s = buf_str(&text);
    size_t e = str_find(s, STR("e"), 0);
    int64_t exponent = 0;
    BUG_IF(e == STR_NOT_FOUND || !number_parse_int(str_from_offset(s, e + 1), 10, &exponent, NULL));
    bool plain = exponent >= -4 && exponent < precision - 1;
    if (plain) {
        buf_reset(&text);
        buf_put_format(&text, "%.*f", (int)(precision - 1 - exponent), x);
        s = buf_str(&text);
        e = s.len;
    }
    Str tail = str_from_offset(s, e);
    Str number = str_slice(s, 0, e);
    bool has_point = str_find(number, STR("."), 0) != STR_NOT_FOUND;
    if (has_point && !spec.alternate) {
        while (str_ends(number, STR("0"))) {
            number.len--;
        }
        if (str_ends(number, STR("."))) {
            number.len--;
            has_point = false;
        }
    }
    buf_put(out, number);
    if (!has_point) {
        buf_put_c(out, plain ? ".0" : spec.alternate ? "." : "");
    }
    buf_put(out, tail);
}

void number_put_float_spec(Buf *out, double x, FloatSpec spec)
{
    if (!isfinite(x)) {
        bool upper = spec.type == 'E' || spec.type == 'F' || spec.type == 'G';
        buf_put_c(out, isnan(x) ? (upper ? "NAN" : "nan")
                       : x > 0  ? (upper ? "INF" : "inf")
                                : (upper ? "-INF" : "-inf"));
        return;
    }
    switch (spec.type) {
    case 'e': buf_put_format(out, spec.alternate ? "%#.*e" : "%.*e", spec.precision, x); break;
    case 'E': buf_put_format(out, spec.alternate ? "%#.*E" : "%.*E", spec.precision, x); break;
    case 'f':
    case 'F': buf_put_format(out, spec.alternate ? "%#.*f" : "%.*f", spec.precision, x); break;
    case 'g': buf_put_format(out, spec.alternate ? "%#.*g" : "%.*g", spec.precision, x); break;
    case 'G': buf_put_format(out, spec.alternate ? "%#.*G" : "%.*G", spec.precision, x); break;
    default: put_general_with_point(out, x, spec); break;
    }
}
