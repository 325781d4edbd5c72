/* Python's arithmetic. */
#include "lang/template/rows.h"

static const Row arithmetic[] = {
    { "1/0", "!ZeroDivisionError: division by zero" },
    { "0 / 92233720368575807", "0.0" },
    { "0 / -92233720368575807", "-0.0" },
    { "1//0", "!ZeroDivisionError: integer division or modulo by zero" },
    { "1%0", "!ZeroDivisionError: integer modulo by zero" },
    { "7//2", "3" },
    { "-7//2", "-4" },
    { "7//-2", "-4" },
    { "-7%3", "2" },
    { "7%-3", "-2" },
    { "-7%-3", "-1" },
    { "7.5//2", "3.0" },
    { "-7.5//2", "-4.0" },
    { "7.5%2", "1.5" },
    { "-7.5%2", "0.5" },
    { "7.5%-2", "-0.5" },
    { "-0.0%3", "0.0" },
    { "0.0//-3", "-0.0" },
    { "1e300*1e10", "inf" },
    { "5%3.5", "1.5" },
    { "2**62", "4611686018427387904" },
    { "2**0.5", "1.4142135623730951" },
    { "4**-1", "0.25" },
    { "2**-2", "0.25" },
    { "(-2)**3", "-8" },
    { "(-2)**-3", "-0.125" },
    { "0**0", "1" },
    { "0.0**0", "1.0" },
    { "1/3", "0.3333333333333333" },
    { "2/3", "0.6666666666666666" },
    { "10/5", "2.0" },
    { "9007199254740993/3", "3002399751580331.0" },
    { "9223372036854775807/3", "3.0744573456182584e+18" },
    { "9223372036854775807/9223372036854775806", "1.0" },
    { "-9223372036854775807/7", "-1.3176245766935393e+18" },
    { "1/9223372036854775807", "1.0842021724855044e-19" },
    { "9007199254740993/1", "9007199254740992.0" },
    { "1+1.5", "2.5" },
    { "true+1", "2" },
    { "true*3", "3" },
    { "true/2", "0.5" },
    { "-true", "-1" },
    { "+true", "1" },
    { "'a'*3", "aaa" },
    { "3*'a'", "aaa" },
    { "'a'*-1", "" },
    { "[1]*2", "[1, 1]" },
    { "(1,)*2", "(1, 1)" },
    { "2*[1,2]", "[1, 2, 1, 2]" },
    { "'a'+'b'", "ab" },
    { "[1]+[2]", "[1, 2]" },
    { "(1,)+(2,)", "(1, 2)" },
    { "[1]+(2,)", "!TypeError: can only concatenate list (not \"tuple\") to list" },
    { "'a'+1", "!TypeError: can only concatenate str (not \"int\") to str" },
    { "1+'a'", "!TypeError: unsupported operand type(s) for +: 'int' and 'str'" },
    { "none+1", "!TypeError: unsupported operand type(s) for +: 'NoneType' and 'int'" },
    { "d+d", "!TypeError: unsupported operand type(s) for +: 'dict' and 'dict'" },
    { "-'a'", "!TypeError: bad operand type for unary -: 'str'" },
    { "-none", "!TypeError: bad operand type for unary -: 'NoneType'" },
    { "-l", "!TypeError: bad operand type for unary -: 'list'" },
    { "10**18", "1000000000000000000" },
    { "n + f", "6.5" },
    { "neg // 2", "-4" },
    { "neg % 2", "1" },
    { "neg % 3.5", "0.0" },
    { "f // 0", "!ZeroDivisionError: float floor division by zero" },
    { "f % 0", "!ZeroDivisionError: float modulo" },
    { "f / 0", "!ZeroDivisionError: float division by zero" },
    { "n // 0", "!ZeroDivisionError: integer division or modulo by zero" },
    { "n % 0", "!ZeroDivisionError: integer modulo by zero" },
    { "1e308 * 10", "inf" },
    { "-1e308 * 10", "-inf" },
    { "0.1 + 0.2", "0.30000000000000004" },
    { "1 - 0.9", "0.09999999999999998" },
    { "3 * 1.1", "3.3000000000000003" },
    { "10 // 0.3", "33.0" },
    { "-10 // 0.3", "-34.0" },
    { "1e20 // 7", "1.4285714285714287e+19" },
    { "2.0 ** 10", "1024.0" },
    { "(-2.0) ** 3", "-8.0" },
    { "2.0 ** 5000", "!OverflowError: (34, 'Numerical result out of range')" },
    { "0 ** -1", "!ZeroDivisionError: 0.0 cannot be raised to a negative power" },
    { "0.0 ** -1", "!ZeroDivisionError: 0.0 cannot be raised to a negative power" },
    { "1 ** 1000000000000", "1" },
    { "(-1) ** 1000000000001", "-1" },
    { "0 ** 5", "0" },
    { "4 ** 0.5", "2.0" },
    { "'ab' * 0", "" },
    { "[] * 5", "[]" },
    { "'é' * 3", "ééé" },
    { "true + true", "2" },
    { "true ** 2", "1" },
    { "t / 4", "0.25" },
    { "1 + none", "!TypeError: unsupported operand type(s) for +: 'int' and 'NoneType'" },
    { "[1] * 'a'", "!TypeError: can't multiply sequence by non-int of type 'str'" },
    { "{} * 2", "!TypeError: unsupported operand type(s) for *: 'dict' and 'int'" },
    { "'a' - 'b'", "!TypeError: unsupported operand type(s) for -: 'str' and 'str'" },
    { "'a' / 2", "!TypeError: unsupported operand type(s) for /: 'str' and 'int'" },
    { "2 ** 'a'", "!TypeError: unsupported operand type(s) for ** or pow(): 'int' and 'str'" },
    { "none ** 2",
      "!TypeError: unsupported operand type(s) for ** or pow(): 'NoneType' and 'int'" },
    { "range(3) + [1]", "!TypeError: unsupported operand type(s) for +: 'range' and 'list'" },
};

ROWS_TEST(arithmetic_matches_python, arithmetic)

static void results_beyond_64_bits_are_errors(void **state)
{
    static const char *const expressions[] = {
        "9223372036854775807 + 1",
        "-9223372036854775807 - 2",
        "9223372036854775807 * 2",
        "3037000500 * 3037000500",
        "2 ** 63",
        "2 ** 64",
        "10 ** 400",
        "2 ** 10 ** 9",
        "(-9223372036854775807 - 1) // -1",
        "-(-9223372036854775807 - 1)",
    };
    TemplateSettings settings = template_settings_default();
    for (size_t i = 0; i < COUNT_OF(expressions); i++) {
        Row row = { expressions[i], "!OverflowError: integer result does not fit in 64 bits" };
        check_rows(&settings, &row, 1);
    }
}

static void hostile_sizes_are_rejected(void **state)
{
    static const char *const expressions[] = {
        "'x' * 10 ** 12",
        "10 ** 12 * 'ab'",
        "[1] * 10 ** 12",
        "(1, 2) * 9223372036854775807",
        "'abc' * 9223372036854775807",
    };
    TemplateSettings settings = template_settings_default();
    settings.limits.memory = 1 << 20;
    for (size_t i = 0; i < COUNT_OF(expressions); i++) {
        Row row = { expressions[i],
                    "!LimitError: the template exceeded its memory limit of 1048576 bytes" };
        check_rows(&settings, &row, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arithmetic_matches_python),
        cmocka_unit_test(results_beyond_64_bits_are_errors),
        cmocka_unit_test(hostile_sizes_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
