#include "net/origin_counts.h"

#include "unit.h"

/* Compared with an array, over many additions and removals, with colliding origins. */
static void counts_are_tracked(void **state)
{
    enum {
        ORIGINS = 300
    };
    AUTO_CLEAR(OriginCounts) counts = { 0 };
    uint32_t expected[ORIGINS] = { 0 };
    uint64_t random_state = 1;
    assert_int_equal(origin_counts_get(&counts, 7), 0);
    for (int i = 0; i < 20000; i++) {
        random_state = random_state * 6364136223846793005u + 1442695040888963407u;
        uint32_t origin = (uint32_t)(random_state >> 40) % ORIGINS;
        if ((random_state >> 33 & 3) != 0 && expected[origin] > 0) {
            origin_counts_remove(&counts, origin);
            expected[origin]--;
        } else {
            origin_counts_add(&counts, origin);
            expected[origin]++;
        }
        if (i % 97 == 0) {
            for (uint32_t one = 0; one < ORIGINS; one++) {
                assert_int_equal(origin_counts_get(&counts, one), expected[one]);
            }
        }
    }
}

static void removing_an_unknown_entry_is_a_bug(void **state)
{
    AUTO_CLEAR(OriginCounts) counts = { 0 };
    assert_bug(origin_counts_remove(&counts, 1));
    origin_counts_add(&counts, 1);
    assert_bug(origin_counts_remove(&counts, 2));
}

static void memory_is_counted_for_each_origin(void **state)
{
    AUTO_CLEAR(OriginCounts) counts = { 0 };
    assert_bug(origin_counts_hold(&counts, 1, 0, 1));
    for (uint64_t origin = 1; origin <= 40; origin++) {
        origin_counts_add(&counts, origin);
        assert_int_equal(origin_counts_hold(&counts, origin, 0, origin * 10), origin * 10);
    }
    origin_counts_add(&counts, 7);
    assert_int_equal(origin_counts_hold(&counts, 7, 0, 5), 75);
    assert_int_equal(origin_counts_hold(&counts, 7, 70, 20), 25);
    assert_bug(origin_counts_hold(&counts, 7, 26, 0));
    assert_bug(origin_counts_hold(&counts, 41, 0, 1));
    /* An origin that returns starts at zero. */
    origin_counts_remove(&counts, 8);
    origin_counts_add(&counts, 8);
    assert_int_equal(origin_counts_hold(&counts, 8, 0, 3), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_tracked),
        cmocka_unit_test(memory_is_counted_for_each_origin),
        cmocka_unit_test(removing_an_unknown_entry_is_a_bug),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
