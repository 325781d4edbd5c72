#include "base/bug.h"

#include "unit.h"

static void a_bug_stops_the_program(void **state)
{
    assert_bug(BUG("impossible: %d", 7));
    assert_bug(BUG_IF(1 + 1 == 2));
    BUG_IF(1 + 1 == 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bug_stops_the_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
