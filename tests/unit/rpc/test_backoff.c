#include "unit.h"

#include "rpc/backoff.h"

static void test_doubles_up_to_the_maximum(void **state)
{
    int64_t most = BACKOFF_FIRST_MS;
    for (uint32_t failures = 1; failures < 20; failures++) {
        assert_int_equal(backoff_ms(failures, (uint64_t)most), most);
        assert_int_equal(backoff_ms(failures, (uint64_t)most + 1), 0);
        most = most * 2 > BACKOFF_MAX_MS ? BACKOFF_MAX_MS : most * 2;
    }
    assert_int_equal(backoff_ms(UINT32_MAX, BACKOFF_MAX_MS), BACKOFF_MAX_MS);
}

static void test_any_random_value_stays_in_range(void **state)
{
    for (uint32_t failures = 0; failures < 12; failures++) {
        for (uint64_t i = 0; i < 100; i++) {
            int64_t ms = backoff_ms(failures, i * UINT64_C(0x9e3779b97f4a7c15));
            assert_true(ms >= 0 && ms <= BACKOFF_MAX_MS);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_doubles_up_to_the_maximum),
        cmocka_unit_test(test_any_random_value_stays_in_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
