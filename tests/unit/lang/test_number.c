#include "lang/number.h"

#include <math.h>
#include <stdlib.h>

#include "lang/number_powers.h"
#include "unit.h"

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static double from_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static bool same_bits(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

static void floats_print_as_in_python(void **state)
{
    const struct {
        double x;
        const char *text;
    } rows[] = {
        { 0.0, "0.0" },
        { -0.0, "-0.0" },
        { 1.0, "1.0" },
        { -1.5, "-1.5" },
        { 0.1, "0.1" },
        { 0.1 + 0.2, "0.30000000000000004" },
        { 100.0, "100.0" },
        { 123456789.125, "123456789.125" },
        { 1e15, "1000000000000000.0" },
        { 9999999999999998.0, "9999999999999998.0" },
        { 1e16, "1e+16" },
        { 1.2345e16, "1.2345e+16" },
        { 12345678901234567.0, "1.2345678901234568e+16" },
        { 0.0001, "0.0001" },
        { 0.00012345, "0.00012345" },
        { 0.00001, "1e-05" },
        { 0.000012345, "1.2345e-05" },
        { 1e22, "1e+22" },
        { 1e23, "1e+23" },
        { 1e100, "1e+100" },
        { 1.7976931348623157e308, "1.7976931348623157e+308" },
        { 2.2250738585072014e-308, "2.2250738585072014e-308" },
        { 2.225073858507201e-308, "2.225073858507201e-308" },
        { 5e-324, "5e-324" },
        { 0x1p-44, "5.684341886080802e-14" }, /* the nearest 16 digits read as a neighbor */
        { 0x1p63, "9.223372036854776e+18" },
        { 2251799813685247.75, "2251799813685247.8" },
        { INFINITY, "inf" },
        { -INFINITY, "-inf" },
        { NAN, "nan" },
        { -NAN, "nan" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_CLEAR(Buf) out = buf_make(64);
        number_put_repr(&out, rows[i].x);
        assert_str(buf_str(&out), rows[i].text);
        char text[NUMBER_TEXT_MAX];
        assert_int_equal(number_format_repr(rows[i].x, text), strlen(rows[i].text));
        assert_string_equal(text, rows[i].text);
    }
}

/* The digits of a number, without point, sign, exponent and outer zeros. */
static size_t significant_digits(const char *text, char out[64])
{
    size_t len = 0;
    for (; *text != '\0' && *text != 'e'; text++) {
        if (ascii_is_digit(*text) && (len > 0 || *text != '0')) {
            out[len++] = *text;
        }
    }
    while (len > 0 && out[len - 1] == '0') {
        len--;
    }
    out[len] = '\0';
    return len;
}

/* The C library's output with the least precision that reads back: the shortest text and the
 * nearest of its length, except next to a power of two. */
static void shortest_by_library(double x, char out[64])
{
    for (int precision = 0; precision < 18; precision++) {
        snprintf(out, 64, "%.*e", precision, x);
        if (strtod(out, NULL) == x) {
            return;
        }
    }
}

static void floats_print_shortest_and_read_back(void **state)
{
    uint64_t seed = 20240229;
    for (uint64_t i = 0; i < 6000; i++) {
        uint64_t bits = next_random(&seed);
        if (i % 3 == 1) { /* every exponent */
            bits = (bits & 0x800fffffffffffffu) | i % 2047 << 52;
        } else if (i % 3 == 2) { /* short decimals */
            double x = (double)(bits % 1000000) / (double)(1 + bits % 4 * 333);
            memcpy(&bits, &x, sizeof bits);
        }
        double x = from_bits(bits);
        if (!isfinite(x)) {
            continue;
        }
        char text[NUMBER_TEXT_MAX];
        size_t len = number_format_repr(x, text);
        double back = 0;
        if (!number_parse_float(str_from(text, len), &back) || !same_bits(back, x) ||
            !same_bits(strtod(text, NULL), x)) {
            fail_msg("%s does not read back as %a", text, x);
        }
        char shortest[64], expected[64], actual[64];
        shortest_by_library(x, shortest);
        significant_digits(shortest, expected);
        significant_digits(text, actual);
        if ((bits & 0xfffffffffffffu) != 0 && strcmp(actual, expected) != 0) {
            fail_msg("%s is not the shortest text of %a (%s)", text, x, shortest);
        }
    }
}

static void floats_read_as_the_nearest_double(void **state)
{
    uint64_t seed = 99;
    /* Every row of the table of powers, with short, 19-digit and longer mantissas. */
    for (int exponent = NUMBER_POWER_MIN - 30; exponent <= NUMBER_POWER_MAX; exponent++) {
        for (int i = 0; i < 12; i++) {
            char text[160];
            unsigned long long a = next_random(&seed) >> (next_random(&seed) % 60);
            unsigned long long b = next_random(&seed), c = next_random(&seed);
            if (i % 3 == 0) {
                snprintf(text, sizeof text, "%llue%d", a, exponent);
            } else if (i % 3 == 1) {
                snprintf(text, sizeof text, "-%llu.%llue%d", a, b, exponent);
            } else {
                snprintf(text, sizeof text, "0.000%llu%llu%llu1E%+d", a, b, c, exponent);
            }
            double x = 0;
            assert_true(number_parse_float(str_from_c(text), &x));
            if (!same_bits(x, strtod(text, NULL))) {
                fail_msg("%s read as %a", text, x);
            }
        }
    }
}

static void halfway_values_round_to_even(void **state)
{
    const struct {
        const char *text;
        double x;
    } rows[] = {
        { "9007199254740993", 9007199254740992.0 },
        { "9007199254740995", 9007199254740996.0 },
        { "9007199254740993.0000000000000000000000000000000000000000000001", 9007199254740994.0 },
        { "9007199254740992.9999999999999999999999999999999999999999999999", 9007199254740992.0 },
        { "1.00000000000000011102230246251565404236316680908203125", 1.0 },
        { "1.00000000000000011102230246251565404236316680908203124", 1.0 },
        { "1.00000000000000011102230246251565404236316680908203126", 1.0000000000000002 },
        { "2.4703282292062327e-324", 0.0 },
        { "2.4703282292062328e-324", 5e-324 },
        { "2.2250738585072011e-308", 2.225073858507201e-308 },
        { "1.7976931348623158e308", 1.7976931348623157e308 },
        { "1.797693134862315808e308", INFINITY },
        { "1e400", INFINITY },
        { "1e999999999999999999999", INFINITY },
        { "-1e-999999999999999999999", -0.0 },
        { "0e999999999999999999999", 0.0 },
        { "0.0000000000000000000000000000001e31", 1.0 },
        { "10000000000000000000000000000000e-31", 1.0 },
        { ".5", 0.5 },
        { "5.", 5.0 },
        { "+5e-1", 0.5 },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        double x = 7;
        if (!number_parse_float(str_from_c(rows[i].text), &x) || !same_bits(x, rows[i].x)) {
            fail_msg("%s read as %a", rows[i].text, x);
        }
    }
}

static void distant_digits_still_decide(void **state)
{
    /* Halfway above 1 exactly, then a thousand zeros, then a one: must round up. */
    char text[1200];
    int len = snprintf(text, sizeof text, "%s",
                       "1.00000000000000011102230246251565404236316680908203125");
    memset(text + len, '0', 1000);
    double x = 0;
    assert_true(number_parse_float(str_from(text, (size_t)len + 1000), &x));
    assert_true(same_bits(x, 1.0));
    text[len + 1000] = '1';
    assert_true(number_parse_float(str_from(text, (size_t)len + 1001), &x));
    assert_true(same_bits(x, 1.0000000000000002));
    /* The same before the point, scaled back by an exponent. */
    len =
        snprintf(text, sizeof text, "%s", "100000000000000011102230246251565404236316680908203125");
    memset(text + len, '0', 1000);
    snprintf(text + len + 1000, 100, "1e-1054");
    assert_true(number_parse_float(str_from_c(text), &x));
    assert_true(same_bits(x, 1.0000000000000002));
}

static void invalid_floats_are_rejected(void **state)
{
    const char *bad[] = { "",    "+",  "-",  ".",    "e5",  ".e5", "1e",  "1e+",   "1e-", "1.2.3",
                          "--1", "1 ", " 1", "0x10", "inf", "nan", "1_0", "1e5.0", "1,5", "one" };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        double x = 7;
        if (number_parse_float(str_from_c(bad[i]), &x) || x != 7) {
            fail_msg("'%s' was taken as %a", bad[i], x);
        }
    }
}

static void python_float_strings(void **state)
{
    double x = 0;
    assert_true(number_parse_python_float(STR(" 1_000.5 \n"), &x) && x == 1000.5);
    assert_true(number_parse_python_float(STR("1e1_0"), &x) && x == 1e10);
    assert_true(number_parse_python_float(STR("-Infinity"), &x) && x == -INFINITY);
    assert_true(number_parse_python_float(STR("+inf"), &x) && x == INFINITY);
    assert_true(number_parse_python_float(STR("NaN"), &x) && isnan(x));
    assert_true(number_parse_python_float(STR("\u3000１２.５"), &x) && x == 12.5);
    const char *bad[] = { "",     "_1",      "1_",   "1__0", "1_.5", "1._5",
                          "1_e5", "infinit", "nano", "1 0",  "½" };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        if (number_parse_python_float(str_from_c(bad[i]), &x)) {
            fail_msg("'%s' was taken as %a", bad[i], x);
        }
    }
}

static void integers_print_and_read(void **state)
{
    const struct {
        int64_t value;
        const char *text;
    } rows[] = {
        { 0, "0" },
        { 7, "7" },
        { 10, "10" },
        { 99, "99" },
        { 100, "100" },
        { -1, "-1" },
        { -12345, "-12345" },
        { 1234567890123, "1234567890123" },
        { INT64_MAX, "9223372036854775807" },
        { INT64_MIN, "-9223372036854775808" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_CLEAR(Buf) out = buf_make(64);
        number_put_int(&out, rows[i].value);
        assert_str(buf_str(&out), rows[i].text);
        int64_t back = 0;
        assert_true(number_parse_int(buf_str(&out), 10, &back, NULL));
        assert_true(back == rows[i].value);
    }
}

static void integers_have_limits(void **state)
{
    int64_t value = 5;
    bool overflow = false;
    assert_false(number_parse_int(STR("9223372036854775808"), 10, &value, &overflow));
    assert_true(overflow);
    assert_false(number_parse_int(STR("-9223372036854775809"), 10, &value, &overflow));
    assert_true(overflow);
    assert_false(number_parse_int(STR("99999999999999999999999999"), 10, &value, &overflow));
    assert_true(overflow);
    /* Text that is not an integer is not "too large", however large its start. */
    assert_false(number_parse_int(STR("99999999999999999999999999x"), 10, &value, &overflow));
    assert_false(overflow);
    assert_int_equal(value, 5);
    const char *bad[] = { "", "-", "+", "1.0", "1_0", " 1", "12a", "--1" };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_false(number_parse_int(str_from_c(bad[i]), 10, &value, &overflow));
        assert_false(overflow);
    }
    assert_true(number_parse_int(STR("7fffffffffffffff"), 16, &value, NULL));
    assert_true(value == INT64_MAX);
    assert_true(number_parse_int(STR("-1000"), 2, &value, NULL));
    assert_int_equal(value, -8);
    assert_true(number_parse_int(STR("Zz"), 36, &value, NULL));
    assert_int_equal(value, 35 * 36 + 35);
}

static void python_integer_strings(void **state)
{
    const struct {
        const char *text;
        int base;
        int64_t value;
    } good[] = {
        { " 1_000\n", 10, 1000 }, { "0x1F", 16, 31 }, { "0x_1f", 0, 31 },  { "-0b101", 0, -5 },
        { "0o17", 8, 15 },        { "00_0", 0, 0 },   { "017", 10, 17 },   { "b1", 16, 0xb1 },
        { "0b1", 16, 0xb1 },      { " ١٢", 10, 12 },  { "１_２", 10, 12 },
    };
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        int64_t value = 0;
        if (!number_parse_python_int(str_from_c(good[i].text), good[i].base, &value, NULL) ||
            value != good[i].value) {
            fail_msg("'%s' in base %d", good[i].text, good[i].base);
        }
    }
    const struct {
        const char *text;
        int base;
    } bad[] = {
        { "", 10 },     { "_1", 10 },   { "1_", 10 },  { "1__0", 10 },
        { "0x", 16 },   { "0x1f", 10 }, { "017", 0 },  { "0_99999999999999999999", 0 },
        { "0x__1", 0 }, { "- 1", 10 },  { "1.0", 10 }, { "²", 10 },
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        int64_t value = 0;
        bool overflow = true;
        if (number_parse_python_int(str_from_c(bad[i].text), bad[i].base, &value, &overflow) ||
            overflow) {
            fail_msg("'%s' in base %d was taken", bad[i].text, bad[i].base);
        }
    }
}

static void formats_follow_their_spec(void **state)
{
    const struct {
        double x;
        FloatSpec spec;
        const char *text;
    } rows[] = {
        { 3.14159, { 'f', false, 2 }, "3.14" },
        { 2.5, { 'f', false, 0 }, "2" },
        { 3.5, { 'f', false, 0 }, "4" },
        { 2.5, { 'F', true, 0 }, "2." },
        { 12345.678, { 'e', false, 3 }, "1.235e+04" },
        { 12345.678, { 'E', false, 0 }, "1E+04" },
        { 0.0001, { 'g', false, 6 }, "0.0001" },
        { 0.00001, { 'g', false, 6 }, "1e-05" },
        { 1e6, { 'G', false, 6 }, "1E+06" },
        { 1.5, { 'g', true, 4 }, "1.500" },
        { 123.0, { 0, false, 3 }, "1.23e+02" },
        { 123.0, { 0, false, 4 }, "123.0" },
        { 1.0, { 0, false, 1 }, "1e+00" },
        { 0.5, { 0, false, 3 }, "0.5" },
        { 100.0, { 0, true, 5 }, "100.00" },
        { 0.0, { 0, false, 2 }, "0.0" },
        { -NAN, { 'f', false, 2 }, "nan" },
        { -INFINITY, { 'F', false, 2 }, "-INF" },
        { INFINITY, { 0, false, 2 }, "inf" },
        { NAN, { 'G', false, 2 }, "NAN" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_CLEAR(Buf) out = buf_make(1000);
        number_put_float_spec(&out, rows[i].x, rows[i].spec);
        assert_str(buf_str(&out), rows[i].text);
    }
}

static void rounding_follows_python(void **state)
{
    const struct {
        double x;
        int64_t digits;
        RoundMethod method;
        double result;
    } rows[] = {
        { 0.5, 0, ROUND_COMMON, 0.0 },           { 1.5, 0, ROUND_COMMON, 2.0 },
        { 2.5, 0, ROUND_COMMON, 2.0 },           { -0.5, 0, ROUND_COMMON, -0.0 },
        { 2.675, 2, ROUND_COMMON, 2.67 },        { 42.55, 1, ROUND_COMMON, 42.5 },
        { 1234.5, -2, ROUND_COMMON, 1200.0 },    { 1250.0, -2, ROUND_COMMON, 1200.0 },
        { 1350.0, -2, ROUND_COMMON, 1400.0 },    { 1250.5, -2, ROUND_COMMON, 1300.0 },
        { 999.0, -3, ROUND_COMMON, 1000.0 },     { -51.0, -2, ROUND_COMMON, -100.0 },
        { 50.0, -2, ROUND_COMMON, 0.0 },         { 4.0, -5, ROUND_COMMON, 0.0 },
        { 1e22, 3, ROUND_COMMON, 1e22 },         { 5e-324, 323, ROUND_COMMON, 0.0 },
        { 5e-324, 324, ROUND_COMMON, 5e-324 },   { 1e300, -309, ROUND_COMMON, 0.0 },
        { INFINITY, 2, ROUND_COMMON, INFINITY }, { 42.55, 1, ROUND_FLOOR, 42.5 },
        { 42.51, 1, ROUND_CEIL, 42.6 },          { -0.5, 0, ROUND_CEIL, 0.0 },
        { -0.5, 0, ROUND_FLOOR, -1.0 },          { 1234.0, -2, ROUND_CEIL, 1300.0 },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        double result = 7;
        if (!number_round(rows[i].x, rows[i].digits, rows[i].method, &result) ||
            !same_bits(result, rows[i].result)) {
            fail_msg("round(%.17g, %d) gave %.17g", rows[i].x, (int)rows[i].digits, result);
        }
    }
    double unchanged = 7;
    assert_false(number_round(1.5e308, -308, ROUND_COMMON, &unchanged));
    assert_false(number_round(INFINITY, 0, ROUND_CEIL, &unchanged));
    assert_false(number_round(NAN, 0, ROUND_FLOOR, &unchanged));
    assert_false(number_round(1.0, 400, ROUND_FLOOR, &unchanged));
    assert_true(unchanged == 7);
}

static void integer_rounding_follows_python(void **state)
{
    const struct {
        int64_t value, digits, result;
    } rows[] = {
        { 1234, 2, 1234 },
        { 1234, 0, 1234 },
        { 1234, -2, 1200 },
        { 1250, -2, 1200 },
        { 1350, -2, 1400 },
        { -1250, -2, -1200 },
        { -1350, -2, -1400 },
        { -95, -2, -100 },
        { 50, -2, 0 },
        { 51, -2, 100 },
        { 5, -40, 0 },
        { INT64_MIN, -25, 0 },
        { INT64_MAX, -18, 9000000000000000000 },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t result = 7;
        if (!number_round_int(rows[i].value, rows[i].digits, &result) || result != rows[i].result) {
            fail_msg("round(%lld, %d) gave %lld", (long long)rows[i].value, (int)rows[i].digits,
                     (long long)result);
        }
    }
    int64_t result;
    assert_false(number_round_int(INT64_MAX, -1, &result));
    assert_false(number_round_int(INT64_MIN, -1, &result));
    assert_false(number_round_int(INT64_MAX, -19, &result));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_print_as_in_python),
        cmocka_unit_test(floats_print_shortest_and_read_back),
        cmocka_unit_test(floats_read_as_the_nearest_double),
        cmocka_unit_test(halfway_values_round_to_even),
        cmocka_unit_test(distant_digits_still_decide),
        cmocka_unit_test(invalid_floats_are_rejected),
        cmocka_unit_test(python_float_strings),
        cmocka_unit_test(integers_print_and_read),
        cmocka_unit_test(integers_have_limits),
        cmocka_unit_test(python_integer_strings),
        cmocka_unit_test(formats_follow_their_spec),
        cmocka_unit_test(rounding_follows_python),
        cmocka_unit_test(integer_rounding_follows_python),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
