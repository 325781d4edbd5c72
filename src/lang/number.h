/* Converts between numbers and text exactly as Python does, and implements Python's rounding.
 *
 * Floats: printing produces the shortest digits that parse to the same double; parsing returns the
 * double nearest to the decimal text (ties to even), regardless of its length. Only
 * number_put_float_spec() and number_round() depend on the locale, because they call snprintf: the
 * program never calls setlocale(), so the C locale applies. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

/* --- Printing ---------------------------------------------------------------------------- */

/* Enough for any double and any 64-bit integer; the text is NUL-terminated. */
enum {
    NUMBER_TEXT_MAX = 32
};

/* Python's repr(float): "1.0", "0.1", "1e+16", "1e-05", "inf", "-inf", "nan".
 * Returns the length. */
size_t number_format_repr(double x, char out[NUMBER_TEXT_MAX]);
size_t number_format_int(int64_t value, char out[NUMBER_TEXT_MAX]);

void number_put_repr(Buf *out, double x);
void number_put_int(Buf *out, int64_t value);

/* Python's format(x, '.<precision><type>'). The type is one of e E f F g G, or 0 for a format
 * without type letter: digits as for g, but always with a fractional part or exponent ("1.0",
 * "1e+02"). `alternate` is the '#' of the format. A leading minus is the only sign. The caller
 * limits `precision`. */
typedef struct FloatSpec {
    char type;
    bool alternate;
    int precision;
} FloatSpec;

void number_put_float_spec(Buf *out, double x, FloatSpec spec);

/* --- Parsing ----------------------------------------------------------------------------- */

/* Parses an optional sign and digits of the base (2 to 36); nothing else is allowed in the string.
 * On failure `*overflow` (may be NULL) is set if the string is a well-formed integer that exceeds
 * 64 bits. */
bool number_parse_int(Str s, int base, int64_t *out, bool *overflow);
/* Accepts what Python's int(text, base) accepts: digits and surrounding whitespace of all scripts,
 * single underscores between digits, and a prefix 0x, 0o or 0b that matches the base; base 0
 * follows the prefix. */
bool number_parse_python_int(Str s, int base, int64_t *out, bool *overflow);

/* Parses an optional sign, digits with an optional decimal point ("1.", ".5" are valid) and an
 * optional exponent; nothing else is allowed in the string. Overflow yields infinity, underflow
 * zero. */
bool number_parse_float(Str s, double *out);
/* Accepts what Python's float(text) accepts: also surrounding whitespace, underscores between
 * digits, and inf, infinity and nan in any case. */
bool number_parse_python_float(Str s, double *out);

/* The double nearest to mantissa * 10^exponent; infinity if that is too large. */
double number_from_decimal(uint64_t mantissa, int64_t exponent);

/* --- Rounding ---------------------------------------------------------------------------- */

typedef enum RoundMethod {
    ROUND_COMMON, /* Python's round(): nearest, ties of the exact binary value to even */
    ROUND_CEIL,   /* ceil(x * 10**digits) / 10**digits, computed in doubles */
    ROUND_FLOOR,
} RoundMethod;

/* Rounds to `digits` decimal places; negative `digits` round to tens, hundreds and so on. Returns
 * false if the result is not a finite double (where Python raises OverflowError or ValueError);
 * ROUND_COMMON passes infinities and nan through. */
bool number_round(double x, int64_t digits, RoundMethod method, double *out);
/* Python's round(int, digits): half to even. Returns false if the result does not fit. */
bool number_round_int(int64_t value, int64_t digits, int64_t *out);
