#include "lang/number.h"

#include <math.h>
#include <stdio.h>

/* Beyond DIGITS_MAX, rounding does not change a double; below DIGITS_MIN, no digit remains. */
enum {
    DIGITS_MAX = 323,
    DIGITS_MIN = -308
};

/* Rounds the decimal integer in `digits` half to even, replacing its last `dropped` digits with
 * zeros; `has_fraction` is set if a non-zero fraction followed them. Rounding may carry into one
 * more digit, so digits[0] is a spare '0'. */
static void round_digits(char *digits, size_t len, size_t dropped, bool has_fraction)
{
    size_t kept = len - dropped;
    bool has_tail = has_fraction;
    for (size_t i = kept + 1; i < len; i++) {
        has_tail |= digits[i] != '0';
    }
    char next = digits[kept];
    bool odd = (digits[kept - 1] - '0') % 2 != 0;
    bool up = next > '5' || (next == '5' && (has_tail || odd));
    memset(digits + kept, '0', dropped);
    for (size_t i = kept; up && i-- > 0;) {
        up = digits[i] == '9';
        digits[i] = up ? '0' : (char)(digits[i] + 1);
    }
}

/* Rounds a finite x to a multiple of 10^places. */
static double round_to_tens(double x, size_t places)
{
    char digits[DIGITS_MAX];
    double magnitude = fabs(x);
    double integral = trunc(magnitude);
    digits[0] = '0';
    size_t len = 1 + (size_t)snprintf(digits + 1, sizeof digits - 1, "%.0f", integral);
    double rounded = 0.0;
    if (places < len) {
        round_digits(digits, len, places, integral != magnitude);
        (void)number_parse_float(str_from(digits, len), &rounded);
    }
    return copysign(rounded, x);
}

/* Fast path for most calls: few places of a moderate number. The product is off by at most half a
 * unit in the last place, so unless it is that close to a tie, the nearest integer is the one that
 * the exact value rounds to. Integer and power of ten are exact, so their quotient is the double
 * nearest to the decimal number. */
static bool round_fast(double x, size_t places, double *out)
{
    static const double powers[] = { 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6 };
    if (places >= sizeof powers / sizeof powers[0]) {
        return false;
    }
    double scaled = x * powers[places];
    if (!(fabs(scaled) < 1e9)) {
        return false;
    }
    int64_t below = (int64_t)scaled; /* floor() without a call */
    below -= (double)below > scaled;
    double distance = scaled - (double)below - 0.5; /* exact: they are close to each other */
    if (fabs(distance) <= 1e-6) {
        return false;
    }
    below += distance > 0; /* unpredictable, so no branch */
    *out = copysign((double)below / powers[places], x);
    return true;
}

static double round_to_places(double x, size_t places)
{
    double quick;
    if (round_fast(x, places, &quick)) {
        return quick;
    }
    /* Prints the exact value of a double with the C library and rounds half to even. */
    char text[DIGITS_MAX + 320];
    double rounded = x;
    int len = snprintf(text, sizeof text, "%.*f", (int)places, x);
    (void)number_parse_float(str_from(text, (size_t)len), &rounded);
    return rounded;
}

bool number_round(double x, int64_t digits, RoundMethod method, double *out)
{
    double result;
    if (method == ROUND_COMMON) {
        if (!isfinite(x) || digits > DIGITS_MAX) {
            *out = x;
            return true;
        }
        if (digits < DIGITS_MIN) {
            *out = copysign(0.0, x);
            return true;
        }
        result =
            digits >= 0 ? round_to_places(x, (size_t)digits) : round_to_tens(x, (size_t)-digits);
    } else {
        if (digits > 308 || digits < -400) {
            return false;
        }
        /* In Python 10**digits is an exact integer, but a float if digits is negative. */
        double scale = digits >= 0 ? number_from_decimal(1, digits) : pow(10.0, (double)digits);
        double scaled = x * scale;
        double integral = method == ROUND_CEIL ? ceil(scaled) : floor(scaled);
        result = (integral + 0.0) / scale; /* Python's integers have no negative zero */
    }
    if (!isfinite(result)) {
        return false;
    }
    *out = result;
    return true;
}

bool number_round_int(int64_t value, int64_t digits, int64_t *out)
{
    if (digits >= 0) {
        *out = value;
        return true;
    }
    if (digits < -19) {
        *out = 0;
        return true;
    }
    __int128 unit = 1;
    for (int64_t i = digits; i < 0; i++) {
        unit *= 10;
    }
    __int128 quotient = value / unit;
    __int128 remainder = value - quotient * unit;
    if (remainder < 0) {
        quotient--;
        remainder += unit;
    }
    if (2 * remainder > unit || (2 * remainder == unit && quotient % 2 != 0)) {
        quotient++;
    }
    __int128 rounded = quotient * unit;
    if (rounded < INT64_MIN || rounded > INT64_MAX) {
        return false;
    }
    *out = (int64_t)rounded;
    return true;
}
