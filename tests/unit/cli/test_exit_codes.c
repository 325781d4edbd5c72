#include "cli/exit_codes.h"

#include "unit.h"

static void failure_outranks_silence(void **state)
{
    assert_int_equal(exit_code_worse(EXIT_OK, EXIT_OK), EXIT_OK);
    assert_int_equal(exit_code_worse(EXIT_OK, EXIT_NOT_MATCHED), EXIT_NOT_MATCHED);
    assert_int_equal(exit_code_worse(EXIT_FAILED, EXIT_NOT_MATCHED), EXIT_FAILED);
    assert_int_equal(exit_code_worse(EXIT_NOT_MATCHED, EXIT_FAILED), EXIT_FAILED);
    assert_int_equal(exit_code_worse(EXIT_DENIED, EXIT_CONFLICT), EXIT_DENIED);
    assert_int_equal(exit_code_worse(EXIT_TIMED_OUT, EXIT_NOT_MATCHED), EXIT_TIMED_OUT);
    assert_int_equal(exit_code_worse(EXIT_FAILED, EXIT_INTERRUPTED), EXIT_INTERRUPTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failure_outranks_silence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
