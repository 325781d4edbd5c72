#include "base/rate.h"

#include <stdlib.h>

#include "unit.h"

static void a_burst_is_accepted_and_must_be_repaid(void **state)
{
    RateBucket rate = { 0 };
    RateLimit limit = { .per_second = 10, .burst = 5 };
    for (int i = 0; i < 5; i++) {
        assert_true(rate_take(&rate, limit, 1000, 1));
    }
    assert_false(rate_take(&rate, limit, 1000, 1));
    assert_int_equal(rate_wait_ms(&rate, limit, 1000, 1), 100);
    assert_false(rate_take(&rate, limit, 1099, 1));
    assert_true(rate_take(&rate, limit, 1100, 1));
    /* Idle time does not accumulate more than a burst. */
    for (int i = 0; i < 5; i++) {
        assert_true(rate_take(&rate, limit, 1000000, 1));
    }
    assert_false(rate_take(&rate, limit, 1000000, 1));
    /* A clock that goes back gives nothing. */
    assert_false(rate_take(&rate, limit, 0, 1));
}

static void a_full_bucket_accepts_more_than_a_burst(void **state)
{
    RateBucket rate = { 0 };
    RateLimit limit = { .per_second = 10, .burst = 5 };
    assert_true(rate_take(&rate, limit, 0, 20));
    assert_false(rate_take(&rate, limit, 1499, 1));
    assert_int_equal(rate_wait_ms(&rate, limit, 0, 1), 1600);
    assert_true(rate_take(&rate, limit, 1600, 1));
    assert_false(rate_take(&rate, limit, 1600, 20));
}

static void without_a_limit_everything_is_accepted(void **state)
{
    RateBucket rate = { 0 };
    assert_true(rate_take(&rate, (RateLimit){ 0 }, 0, INT64_MAX / 2000));
    assert_true(rate_take(&rate, (RateLimit){ 0 }, 0, INT64_MAX / 2000));
    assert_int_equal(rate_wait_ms(&rate, (RateLimit){ 0 }, 0, 1), 0);
}

static void each_source_has_its_own(void **state)
{
    RateTable *table = calloc(1, sizeof *table);
    RateLimit limit = { .per_second = 1, .burst = 2 };
    for (uint64_t source = 0; source < 100; source++) {
        assert_true(rate_table_take(table, source, limit, 5, 1));
        assert_true(rate_table_take(table, source, limit, 5, 1));
        assert_false(rate_table_take(table, source, limit, 5, 1));
    }
    /* More of them than fit: each still gets at least its burst. */
    for (uint64_t source = 1; source < 100000; source++) {
        assert_true(rate_table_take(table, source << 32 | 1, limit, 10 + (int64_t)source, 1));
    }
    free(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_burst_is_accepted_and_must_be_repaid),
        cmocka_unit_test(a_full_bucket_accepts_more_than_a_burst),
        cmocka_unit_test(without_a_limit_everything_is_accepted),
        cmocka_unit_test(each_source_has_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
