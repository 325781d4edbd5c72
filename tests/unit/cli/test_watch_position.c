#include "cli/watch_position.h"

#include "unit.h"

static void it_starts_where_the_server_specifies(void **state)
{
    WatchPosition position = { 0 };
    watch_position_start(&position, 41);
    assert_int_equal(position.next_revision, 42);
    assert_true(watch_position_add(&position, 45));
    assert_int_equal(position.next_revision, 45);
}

static void the_requested_start_is_kept(void **state)
{
    WatchPosition position = { .next_revision = 7 };
    watch_position_start(&position, 6);
    assert_int_equal(position.next_revision, 7);
    assert_true(watch_position_add(&position, 7));
    assert_true(watch_position_add(&position, 7));
}

/* The server disappeared in the middle of a revision: its changes are sent again. */
static void a_revision_continues_in_the_middle(void **state)
{
    WatchPosition position = { .next_revision = 1 };
    watch_position_start(&position, 0);
    assert_true(watch_position_add(&position, 5));
    assert_true(watch_position_add(&position, 9));
    assert_true(watch_position_add(&position, 9));
    assert_int_equal(position.next_revision, 9);
    watch_position_start(&position, 8);
    assert_false(watch_position_add(&position, 9));
    assert_false(watch_position_add(&position, 9));
    assert_true(watch_position_add(&position, 9));
    assert_true(watch_position_add(&position, 10));
    /* And again, at another position. */
    watch_position_start(&position, 9);
    assert_false(watch_position_add(&position, 10));
    assert_true(watch_position_add(&position, 11));
}

/* Disconnected twice before anything new arrived. */
static void a_second_outage_changes_nothing(void **state)
{
    WatchPosition position = { .next_revision = 1 };
    watch_position_start(&position, 0);
    assert_true(watch_position_add(&position, 5));
    assert_true(watch_position_add(&position, 5));
    watch_position_start(&position, 4);
    assert_false(watch_position_add(&position, 5));
    watch_position_start(&position, 4);
    assert_false(watch_position_add(&position, 5));
    assert_false(watch_position_add(&position, 5));
    assert_true(watch_position_add(&position, 5));
}

static void progress_events_advance_the_position(void **state)
{
    WatchPosition position = { .next_revision = 1 };
    watch_position_start(&position, 0);
    assert_true(watch_position_add(&position, 5));
    watch_position_progress(&position, 20);
    assert_int_equal(position.next_revision, 21);
    watch_position_start(&position, 20);
    assert_true(watch_position_add(&position, 21));
    watch_position_progress(&position, 21);
    watch_position_start(&position, 21);
    assert_true(watch_position_add(&position, 22));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_starts_where_the_server_specifies),
        cmocka_unit_test(the_requested_start_is_kept),
        cmocka_unit_test(a_revision_continues_in_the_middle),
        cmocka_unit_test(a_second_outage_changes_nothing),
        cmocka_unit_test(progress_events_advance_the_position),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
