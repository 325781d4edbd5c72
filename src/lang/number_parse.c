/* Parses numbers. Decimal text is converted to a double by Lemire's method ("Number Parsing at a
 * Gigabyte per Second", 2021; Mushtak and Lemire, "Fast Number Parsing Without Fallback", 2022):
 * one or two 64x64 bit products suffice to round any 64-bit mantissa correctly. Only texts of more
 * than 19 significant digits whose tail decides the rounding reach strtod(). */
#include "lang/number.h"

#include <math.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "lang/number_powers.h"
#include "lang/unicode.h"

enum {
    MANTISSA_DIGITS = 19, /* any 19 digits fit in 64 bits */
    /* A double's exact value and every midpoint between two doubles have at most 767 significant
     * digits; of any further digits it only matters whether they are all zero. */
    SIGNIFICANT_DIGITS = 800,
    EXPONENT_CLAMP = 1 << 30,
};

static double double_from_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static double scale_by_table(uint64_t mantissa, int64_t exponent)
{
    if (mantissa == 0 || exponent < NUMBER_POWER_MIN) {
        return 0.0;
    }
    if (exponent > 308) {
        return INFINITY;
    }
    int q = (int)exponent;
    int zeros = __builtin_clzll(mantissa);
    uint64_t w = mantissa << zeros;
    const uint64_t *power = number_powers[q - NUMBER_POWER_MIN];
    __uint128_t product = (__uint128_t)w * power[0];
    uint64_t high = (uint64_t)(product >> 64);
    uint64_t low = (uint64_t)product;
    if ((high & 0x1ff) == 0x1ff) {
        /* The truncated half of the power could still carry into the significant bits. */
        uint64_t carry = (uint64_t)((__uint128_t)w * power[1] >> 64);
        low += carry;
        high += low < carry;
    }

    /* 54 bits: the 53 of a double and one for rounding. */
    int top = (int)(high >> 63);
    uint64_t m = high >> (top + 9);
    /* floor(q * log2(10)), biased for the exponent field. */
    int biased = ((217706 * q) >> 16) + 63 + 1023 + top - zeros;
    if (biased <= 0) {
        if (biased <= -63) {
            return 0.0;
        }
        m >>= 1 - biased;
        m = (m + (m & 1)) >> 1;
        /* Rounding up to 2^52 yields the smallest normal number: the bit carries into the
         * exponent. */
        return double_from_bits(m);
    }
    /* Exactly halfway, which is possible only for small powers: round to even, so down unless the
     * last bit of m before the rounding bit is set. */
    if (low <= 1 && q >= -4 && q <= 23 && (m & 3) == 1 && m << (top + 9) == high) {
        m &= ~(uint64_t)1;
    }
    m = (m + (m & 1)) >> 1;
    if (m >= (uint64_t)1 << 53) {
        m = (uint64_t)1 << 52;
        biased++;
    }
    if (biased >= 0x7ff) {
        return INFINITY;
    }
    return double_from_bits((m & (((uint64_t)1 << 52) - 1)) | (uint64_t)biased << 52);
}

double number_from_decimal(uint64_t mantissa, int64_t exponent)
{
    static const double exact_tens[] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                         1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                         1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };
    /* Both operands are exact, so the one operation rounds correctly (Clinger, 1990). */
    if (mantissa <= (uint64_t)1 << 53 && exponent >= -22 && exponent <= 22) {
        double x = (double)mantissa;
        return exponent < 0 ? x / exact_tens[-exponent] : x * exact_tens[exponent];
    }
    return scale_by_table(mantissa, exponent);
}

/* `digits` may contain one decimal point. The text passed to strtod has none, so the locale does
 * not matter. */
static double parse_with_strtod(Str digits, int64_t exponent)
{
    char text[SIGNIFICANT_DIGITS + 32];
    size_t len = 0;
    bool fraction = false, has_rest = false;
    for (size_t i = 0; i < digits.len; i++) {
        char c = digits.data[i];
        if (c == '.') {
            fraction = true;
            continue;
        }
        bool keep = len < SIGNIFICANT_DIGITS;
        if (keep && (len > 0 || c != '0')) {
            text[len++] = c;
        } else if (!keep) {
            has_rest |= c != '0';
        }
        exponent += (keep ? 0 : 1) - (fraction ? 1 : 0);
    }
    if (len == 0) {
        return 0.0;
    }
    if (has_rest) {
        text[len++] = '1';
        exponent--;
    }
    text[len++] = 'e';
    len += number_format_int(exponent, text + len);
    text[len] = '\0';
    return strtod(text, NULL);
}

static int64_t clamp_exponent(int64_t exponent)
{
    return exponent < -EXPONENT_CLAMP  ? -EXPONENT_CLAMP
           : exponent > EXPONENT_CLAMP ? EXPONENT_CLAMP
                                       : exponent;
}

bool number_parse_float(Str s, double *out)
{
    const char *p = s.data, *end = s.data + s.len;
    bool negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+')) {
        p++;
    }
    const char *start = p;
    uint64_t mantissa = 0;
    int64_t exponent = 0;
    size_t digit_count = 0, significant = 0;
    bool fraction = false, is_truncated = false;
    for (; p < end; p++) {
        if (*p == '.' && !fraction) {
            fraction = true;
            continue;
        }
        if (!ascii_is_digit(*p)) {
            break;
        }
        digit_count++;
        if (significant < MANTISSA_DIGITS) {
            mantissa = mantissa * 10 + (uint64_t)(*p - '0');
            significant += mantissa != 0;
            exponent -= fraction;
        } else {
            is_truncated |= *p != '0';
            exponent += !fraction;
        }
    }
    if (digit_count == 0) {
        return false;
    }
    Str digits = str_from(start, (size_t)(p - start));
    int64_t explicit_exponent = 0;
    if (p < end && (*p == 'e' || *p == 'E')) {
        p++;
        bool is_negative_exponent = p < end && *p == '-';
        if (p < end && (*p == '-' || *p == '+')) {
            p++;
        }
        if (p == end) {
            return false;
        }
        for (; p < end && ascii_is_digit(*p); p++) {
            /* Texts shorter than 4 GiB cannot bring such an exponent back into range. */
            if (explicit_exponent < (int64_t)1 << 40) {
                explicit_exponent = explicit_exponent * 10 + (*p - '0');
            }
        }
        explicit_exponent = is_negative_exponent ? -explicit_exponent : explicit_exponent;
    }
    if (p != end) {
        return false;
    }
    int64_t scale = clamp_exponent(exponent + explicit_exponent);
    double x = number_from_decimal(mantissa, scale);
    if (is_truncated && number_from_decimal(mantissa + 1, scale) != x) {
        x = parse_with_strtod(digits, clamp_exponent(explicit_exponent));
    }
    *out = negative ? -x : x;
    return true;
}

/* 0..35, or 36 for a character that is not a digit in any base. */
static int digit_value(char c)
{
    if (ascii_is_digit(c)) {
        return c - '0';
    }
    return ascii_is_alpha(c) ? ascii_lower(c) - 'a' + 10 : 36;
}

/* Parses digits; if `underscores`, single underscores between them are allowed. */
static bool parse_digits(Str s, int base, bool negative, bool underscores, int64_t *out,
                         bool *overflow)
{
    uint64_t number = 0;
    bool wide = false, after_digit = false;
    for (size_t i = 0; i < s.len; i++) {
        if (s.data[i] == '_' && underscores && after_digit) {
            after_digit = false;
            continue;
        }
        int digit = digit_value(s.data[i]);
        if (digit >= base) {
            return false;
        }
        after_digit = true;
        wide |= __builtin_mul_overflow(number, (uint64_t)base, &number);
        wide |= __builtin_add_overflow(number, (uint64_t)digit, &number);
    }
    if (!after_digit) {
        return false;
    }
    if (wide || number > (uint64_t)INT64_MAX + negative) {
        if (overflow != NULL) {
            *overflow = true;
        }
        return false;
    }
    *out = (int64_t)(negative ? 0 - number : number);
    return true;
}

static Str strip_sign(Str s, bool *negative)
{
    *negative = s.len > 0 && s.data[0] == '-';
    return str_from_offset(s, s.len > 0 && (s.data[0] == '-' || s.data[0] == '+') ? 1 : 0);
}

bool number_parse_int(Str s, int base, int64_t *out, bool *overflow)
{
    if (overflow != NULL) {
        *overflow = false;
    }
    bool negative;
    Str digits = strip_sign(s, &negative);
    return parse_digits(digits, base, negative, false, out, overflow);
}

/* Python accepts the decimal digits and the whitespace of all scripts. Conversion stops at the
 * first character that cannot be part of a number: that character suffices to reject the text. */
static Str to_ascii(Str s, Buf *plain)
{
    if (utf8_is_ascii(s)) {
        return s;
    }
    for (size_t pos = 0; pos < s.len;) {
        uint32_t code = utf8_next(s, &pos);
        unsigned flags = code < 0x80 ? 0 : unicode_flags(code);
        char c = code < 0x80                      ? (char)code
                 : (flags & UNICODE_DECIMAL) != 0 ? (char)('0' + unicode_decimal_value(code))
                 : (flags & UNICODE_SPACE) != 0   ? ' '
                                                  : '?';
        buf_put_char(plain, c);
        if (c == '?') {
            break;
        }
    }
    return buf_str(plain);
}

bool number_parse_python_int(Str s, int base, int64_t *out, bool *overflow)
{
    AUTO_CLEAR(Buf) ascii = buf_make(s.len);
    s = to_ascii(s, &ascii);
    if (overflow != NULL) {
        *overflow = false;
    }
    bool negative;
    Str digits = strip_sign(str_trim(s), &negative);
    bool zero_first = digits.len > 1 && digits.data[0] == '0';
    char letter = zero_first ? ascii_lower(digits.data[1]) : '\0';
    int prefix = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
    if (prefix != 0 && (base == 0 || base == prefix)) {
        base = prefix;
        digits = str_from_offset(digits, 2);
        if (digits.len > 0 && digits.data[0] == '_') {
            digits = str_from_offset(digits, 1);
        }
        return parse_digits(digits, base, negative, true, out, overflow);
    }
    if (base != 0) {
        return parse_digits(digits, base, negative, true, out, overflow);
    }
    /* Without a base, a leading zero is rejected because it used to mean octal; only zero itself
     * may have it. */
    for (size_t i = 0; zero_first && i < digits.len; i++) {
        if (digits.data[i] != '0' && digits.data[i] != '_') {
            return false;
        }
    }
    return parse_digits(digits, 10, negative, true, out, overflow);
}

static bool parse_named_float(Str s, double *out)
{
    bool negative;
    Str name = strip_sign(s, &negative);
    double x;
    if (str_eq_ignore_case(name, STR("inf")) || str_eq_ignore_case(name, STR("infinity"))) {
        x = INFINITY;
    } else if (str_eq_ignore_case(name, STR("nan"))) {
        x = NAN;
    } else {
        return false;
    }
    *out = negative ? -x : x;
    return true;
}

/* Copies without underscores; returns false if one is not between two digits. */
static bool drop_underscores(Str s, Buf *out)
{
    for (size_t i = 0; i < s.len; i++) {
        if (s.data[i] != '_') {
            buf_put_char(out, s.data[i]);
        } else if (i == 0 || i + 1 == s.len || !ascii_is_digit(s.data[i - 1]) ||
                   !ascii_is_digit(s.data[i + 1])) {
            return false;
        }
    }
    return true;
}

bool number_parse_python_float(Str s, double *out)
{
    AUTO_CLEAR(Buf) ascii = buf_make(s.len);
    s = str_trim(to_ascii(s, &ascii));
    if (number_parse_float(s, out) || parse_named_float(s, out)) {
        return true;
    }
    if (str_find(s, STR("_"), 0) == STR_NOT_FOUND) {
        return false;
    }
    AUTO_CLEAR(Buf) plain = buf_make(s.len);
    return drop_underscores(s, &plain) && number_parse_float(buf_str(&plain), out);
}
