#include "cluster/refusal_log.h"

#include "unit.h"

static RefusalLog log_of_test;

static int start_empty(void **state)
{
    log_of_test = (RefusalLog){ .omitted = 0 };
    *state = &log_of_test;
    return 0;
}

static int64_t lines(RefusalLog *log, uint64_t source, int64_t now_ms, int64_t count)
{
    int64_t written = 0, suppressed;
    for (int64_t i = 0; i < count; i++) {
        written += refusal_log_allows(log, source, now_ms, &suppressed);
    }
    return written;
}

static void a_flood_from_one_source_hides_no_other(void **state)
{
    RefusalLog *log = *state;
    int64_t suppressed = -1;
    assert_int_equal(lines(log, 1, 1000, 100000), 5);
    assert_true(refusal_log_allows(log, 2, 1000, &suppressed));
    assert_int_equal(suppressed, 100000 - 5);
    assert_true(refusal_log_allows(log, 3, 1000, &suppressed));
    assert_int_equal(suppressed, 0);
    /* A minute later there are five again, and ten seconds later one more. */
    assert_int_equal(lines(log, 1, 61000, 100000), 5);
    assert_int_equal(lines(log, 1, 71000, 100000), 1);
}

static void all_sources_together_have_a_limit(void **state)
{
    RefusalLog *log = *state;
    int64_t written = 0;
    for (uint64_t source = 1; source <= 100000; source++) {
        written += lines(log, source, 1000, 1);
    }
    assert_int_equal(written, 20);
    for (uint64_t source = 200001; source <= 300000; source++) {
        written += lines(log, source, 11000, 1);
    }
    assert_int_equal(written, 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_flood_from_one_source_hides_no_other, start_empty),
        cmocka_unit_test_setup(all_sources_together_have_a_limit, start_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
