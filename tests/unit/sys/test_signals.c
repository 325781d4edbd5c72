#include "sys/signals.h"

#include <signal.h>

#include "unit.h"

static void signals_are_counted_instead_of_handled(void **state)
{
    Error err;
    int descriptor, number = 0;
    assert_true(signals_open(&descriptor, &err));
    assert_int_equal(signals_take(descriptor, &number), 0);
    raise(SIGINT);
    raise(SIGTERM);
    assert_int_equal(signals_take(descriptor, &number), 2);
    assert_true(number == SIGINT || number == SIGTERM);
    assert_int_equal(signals_take(descriptor, &number), 0);
    signals_close(descriptor);
}

int main(void)
{
    /* They may be ignored if the tests were started in the background. */
    signal(SIGINT, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signals_are_counted_instead_of_handled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
