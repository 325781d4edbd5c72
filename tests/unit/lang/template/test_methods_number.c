/* Methods of int and float. */
#include "lang/template/rows.h"

static const Row methods[] = {
    { "n.bit_length()", "3" },
    { "(0).bit_length()", "0" },
    { "(-5).bit_length()", "3" },
    { "(255).bit_count()", "8" },
    { "(5).conjugate()", "5" },
    { "f.is_integer()", "False" },
    { "(2.0).is_integer()", "True" },
    { "(5.5).as_integer_ratio()", "(11, 2)" },
    { "(0.1).as_integer_ratio()", "(3602879701896397, 36028797018963968)" },
    { "(0.0).as_integer_ratio()", "(0, 1)" },
    { "(-2.5).as_integer_ratio()", "(-5, 2)" },
    { "(1e18).as_integer_ratio()", "(1000000000000000000, 1)" },
    { "(5).as_integer_ratio()", "(5, 1)" },
    { "(1.5).conjugate()", "1.5" },
    { "true.bit_length()", "1" },
    { "n.zork.x", "!UndefinedError: 'int object' has no attribute 'zork'" },
};

ROWS_TEST(number_methods_match_python, methods)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(number_methods_match_python),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
