#include "base/decimal.h"

#include <inttypes.h>
#include <stdio.h>

#include "unit.h"

static void check(uint64_t number)
{
    char expected[24], room[24];
    snprintf(expected, sizeof expected, "%" PRIu64, number);
    char *end = room + sizeof room;
    char *start = decimal_write_before(end, number);
    assert_int_equal(end - start, strlen(expected));
    assert_memory_equal(start, expected, (size_t)(end - start));
}

static void writes_all_digits(void **state)
{
    for (uint64_t number = 0; number < 20000; number++) {
        check(number);
    }
    uint64_t power = 1;
    for (int i = 0; i < 20; i++, power *= 10) {
        check(power - 1);
        check(power);
        check(power + 1);
    }
    check(UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_all_digits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
