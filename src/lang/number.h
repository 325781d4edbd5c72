/* Numbers as text and back, exactly as Python does it, and Python's rounding.
 *
 * Floats: printing gives the shortest digits that read back as the same double; reading gives
 * the double nearest to the decimal text (ties to even), however long the text is. Nothing here
 * depends on the locale but number_put_float_spec() and number_round(), which call snprintf:
 * the program never calls setlocale(), so the C locale holds. */
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

/* Python's format(x, '.<precision><type>'), where type is one of e E f F g G, or 0 for a format
 * without type letter: digits as for g, but never without a fractional part ("1.0", "1e+02").
 * `alternate` is the '#' of the format. A leading minus is the only sign. The caller bounds
 * `precision`. */
typedef struct FloatSpec {
    char type;
    bool alternate;
    int precision;
} FloatSpec;

void number_put_float_spec(Buf *out, double x, FloatSpec spec);

/* --- Reading ----------------------------------------------------------------------------- */

/* Optional sign and digits of the base (2 to 36), the whole string, nothing else. False when it
 * is not that; `*overflow` (may be NULL) then says whether it was a well-formed integer that
 * does not fit in 64 bits. */
bool number_parse_int(Str s, int base, int64_t *out, bool *overflow);
/* What Python's int(text, base) takes: digits and white space (around) of all scripts, single
 * underscores between digits, and a 0x, 0o or 0b prefix that agrees with the base; base 0 follows the prefix. */
bool number_parse_python_int(Str s, int base, int64_t *out, bool *overflow);

/* Optional sign, digits with an optional point ("1.", ".5" are fine), optional exponent; the
 * whole string. Overflow gives an infinity, underflow a zero. */
bool number_parse_float(Str s, double *out);
/* What Python's float(text) takes: also white space around, underscores between digits, inf,
 * infinity and nan in any case. */
bool number_parse_python_float(Str s, double *out);

/* The double nearest to mantissa * 10^exponent; an infinity when that is too large. */
double number_from_decimal(uint64_t mantissa, int64_t exponent);

/* --- Rounding ---------------------------------------------------------------------------- */

typedef enum RoundMethod {
    ROUND_COMMON, /* Python's round(): nearest, ties of the exact binary value to even */
    ROUND_CEIL,   /* ceil(x * 10**digits) / 10**digits, computed in doubles */
    ROUND_FLOOR,
} RoundMethod;

/* Rounds to `digits` decimal places; negative digits round to tens, hundreds ... False when the
 * result is no finite double (Python raises OverflowError or ValueError there); ROUND_COMMON
 * passes infinities and nan through. */
bool number_round(double x, int64_t digits, RoundMethod method, double *out);
/* Python's round(int, digits): half to even. False when the result does not fit. */
bool number_round_int(int64_t value, int64_t digits, int64_t *out);
