#include "base/utc.h"

#include "unit.h"

static void timestamps_are_printed_as_in_rfc_3339(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    assert_str(utc_text(&arena, 0), "1970-01-01T00:00:00Z");
    assert_str(utc_text(&arena, 1769847330999), "2026-01-31T08:15:30Z");
    assert_str(utc_text(&arena, -1), "1969-12-31T23:59:59Z");
    assert_str(utc_text(&arena, INT64_MAX), "9223372036854775807");
}

static void timestamps_survive_a_round_trip(void **state)
{
    static const char *const none[] = { "",
                                        "2026-01-31",
                                        "2026-01-31T08:15:30",
                                        "2026-01-31 08:15:30Z",
                                        "2026-02-30T08:15:30Z",
                                        "2026-01-31T24:15:30Z",
                                        "2026-13-01T08:15:30Z",
                                        "2026-01-31T08:15:3xZ",
                                        "2026-01-31T08:15:30ZZ" };
    int64_t ms = 7;
    for (size_t i = 0; i < COUNT_OF(none); i++) {
        assert_false(utc_parse(str_from_c(none[i]), &ms));
    }
    assert_int_equal(ms, 7);
    assert_true(utc_parse(STR("2026-01-31T08:15:30Z"), &ms));
    assert_int_equal(ms, 1769847330000);
    assert_true(utc_parse(STR("1969-12-31T23:59:59Z"), &ms));
    assert_int_equal(ms, -1000);
    assert_true(utc_parse(STR("2028-02-29T00:00:00Z"), &ms));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timestamps_are_printed_as_in_rfc_3339),
        cmocka_unit_test(timestamps_survive_a_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
