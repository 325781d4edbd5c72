/* Input: a number. Invariants: a number reads back the same from its shortest text; printing it in
 * any format, and rounding it, terminates. */
#include <math.h>

#include "base/bug.h"
#include "lang/number.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool same_bits(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

static void check_float(double x, unsigned salt)
{
    char text[NUMBER_TEXT_MAX];
    size_t len = number_format_repr(x, text);
    double back;
    BUG_IF(len >= NUMBER_TEXT_MAX || text[len] != '\0');
    BUG_IF(!number_parse_python_float(str_from(text, len), &back));
    BUG_IF(isnan(x) ? !isnan(back) : !same_bits(x, back));

    static const char types[] = { 'e', 'E', 'f', 'F', 'g', 'G', '\0' };
    AUTO_CLEAR(Buf) out = buf_make(4096);
    FloatSpec spec = { types[salt % sizeof types], (salt & 64) != 0, (int)(salt % 31) };
    number_put_float_spec(&out, x, spec);
    BUG_IF(out.len == 0);

    for (int method = ROUND_COMMON; method <= ROUND_FLOOR; method++) {
        for (int digits = -330; digits <= 330; digits += (int)(1 + salt % 37)) {
            double rounded;
            bool done = number_round(x, digits, (RoundMethod)method, &rounded);
            BUG_IF(done && isfinite(x) && !isfinite(rounded));
        }
    }
}

static void check_int(int64_t value)
{
    char text[NUMBER_TEXT_MAX];
    int64_t back;
    BUG_IF(!number_parse_int(str_from(text, number_format_int(value, text)), 10, &back, NULL));
    BUG_IF(back != value);
    for (int64_t digits = -21; digits <= 1; digits++) {
        if (number_round_int(value, digits, &back)) {
            BUG_IF(digits >= 0 && back != value);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Str text = str_from((const char *)data, size);
    unsigned salt = size == 0 ? 0 : data[size / 2] + (unsigned)size;
    double x;
    int64_t value;
    if (number_parse_python_float(text, &x)) {
        check_float(x, salt);
    }
    if (size == sizeof x) { /* also every bit pattern */
        memcpy(&x, data, sizeof x);
        check_float(x, salt);
    }
    const int bases[] = { 0, 2, 8, 10, 16, 36 };
    for (size_t i = 0; i < COUNT_OF(bases); i++) {
        bool overflow;
        if (number_parse_python_int(text, bases[i], &value, &overflow)) {
            BUG_IF(overflow);
            check_int(value);
        }
    }
    return 0;
}
