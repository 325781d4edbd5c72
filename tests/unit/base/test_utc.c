#include "base/utc.h"

#include "unit.h"

static void moments_are_shown_as_in_rfc_3339(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    assert_str(utc_text(&arena, 0), "1970-01-01T00:00:00Z");
    assert_str(utc_text(&arena, 1769847330999), "2026-01-31T08:15:30Z");
    assert_str(utc_text(&arena, -1), "1969-12-31T23:59:59Z");
    assert_str(utc_text(&arena, INT64_MAX), "9223372036854775807");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moments_are_shown_as_in_rfc_3339),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
