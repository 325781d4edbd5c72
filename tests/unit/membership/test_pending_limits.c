/* Which machines may wait for approval: rows and requests of each source, and of all. */
#include "membership/pending_limits.h"

#include "unit.h"

enum {
    NOW_MS = 1000000,
    SOURCES = WAITING_MAX / WAITING_SOURCE_MAX, /* that fill the room */
};

static int set_up(void **state)
{
    *state = pending_limits_new();
    return 0;
}

static int tear_down(void **state)
{
    pending_limits_free(*state);
    return 0;
}

static WaitingRow row_of(uint64_t origin, int number, int64_t requested_ms)
{
    WaitingRow row = { .origin = origin, .requested_ms = requested_ms };
    snprintf(row.name, sizeof row.name, "m%d-%d", (int)origin, number);
    row.key.bytes[0] = (unsigned char)origin;
    row.key.bytes[1] = (unsigned char)number;
    return row;
}

/* Machines of one source, from the oldest to the newest. */
static void fill(PendingLimits *room, uint64_t origin, int count, int64_t requested_ms)
{
    for (int i = 0; i < count; i++) {
        WaitingRow row = row_of(origin, i, requested_ms + i);
        pending_limits_record(room, &row);
    }
}

static void expect_evicted(PendingLimits *room, uint64_t origin, const char *name)
{
    WaitingRow evicted = { 0 }, row = row_of(origin, 99, NOW_MS);
    assert_int_equal(pending_limits_check(room, &row, NOW_MS, &evicted), WAITING_REPLACES);
    assert_string_equal(evicted.name, name);
}

static void rows_are_known_by_name_and_key(void **state)
{
    PendingLimits *room = *state;
    WaitingRow evicted, row = row_of(1, 1, NOW_MS), same_name = row, same_key = row;
    pending_limits_record(room, &row);
    same_name.key.bytes[5] = 1;
    snprintf(same_key.name, sizeof same_key.name, "other");
    assert_int_equal(pending_limits_check(room, &row, NOW_MS, &evicted), WAITING_EXISTING);
    assert_int_equal(pending_limits_check(room, &same_name, NOW_MS, &evicted), WAITING_FREE);
    assert_int_equal(pending_limits_check(room, &same_key, NOW_MS, &evicted), WAITING_FREE);
    pending_limits_forget(room, row.name, &same_name.key);
    assert_int_equal(pending_limits_count(room), 1);
    pending_limits_forget(room, row.name, &row.key);
    assert_int_equal(pending_limits_count(room), 0);
    assert_int_equal(pending_limits_check(room, &row, NOW_MS, &evicted), WAITING_FREE);
}

static void a_source_replaces_its_own_oldest_row(void **state)
{
    PendingLimits *room = *state;
    WaitingRow evicted, row = row_of(1, 99, NOW_MS);
    fill(room, 2, WAITING_SOURCE_MAX, 1); /* older */
    fill(room, 1, WAITING_SOURCE_MAX - 1, 1000);
    assert_int_equal(pending_limits_check(room, &row, NOW_MS, &evicted), WAITING_FREE);
    fill(room, 1, WAITING_SOURCE_MAX, 1000);
    expect_evicted(room, 1, "m1-0");
}

/* Of the source with the most rows, not simply the oldest. */
static void a_full_room_replaces_a_row_of_the_most_frequent_source(void **state)
{
    PendingLimits *room = *state;
    for (uint64_t origin = 1; origin < SOURCES; origin++) {
        fill(room, origin, WAITING_SOURCE_MAX - 1, 1000 * (int64_t)origin);
    }
    fill(room, 100, WAITING_SOURCE_MAX, 900000);
    uint32_t left = WAITING_MAX - pending_limits_count(room);
    fill(room, 200, (int)left, 500);
    assert_int_equal(pending_limits_count(room), WAITING_MAX);
    expect_evicted(room, 300, "m100-0");
}

static void among_equal_sources_the_oldest_row_is_replaced(void **state)
{
    PendingLimits *room = *state;
    for (uint64_t origin = 1; origin <= SOURCES; origin++) {
        int64_t age = origin == 7 ? 0 : (int64_t)(100 + origin); /* not the first, not the last */
        fill(room, origin, WAITING_SOURCE_MAX, 1000 * age);
    }
    assert_int_equal(pending_limits_count(room), WAITING_MAX);
    expect_evicted(room, 300, "m7-0");
}

static void requests_are_limited_by_source_and_in_total(void **state)
{
    PendingLimits *room = *state;
    int allowed = 0;
    while (pending_limits_allows(room, 1, NOW_MS)) {
        allowed++;
    }
    assert_int_equal(allowed, JOIN_SOURCE_LIMIT.burst);
    assert_true(pending_limits_allows(room, 2, NOW_MS));
    assert_true(pending_limits_allows(room, 1, NOW_MS + 1000)); /* some time later */
    for (allowed = 0; pending_limits_allows(room, 10 + (uint64_t)allowed % 100, NOW_MS + 1000);) {
        allowed++;
    }
    assert_in_range(allowed, JOIN_TOTAL_LIMIT.burst - 110, JOIN_TOTAL_LIMIT.burst);
}

static void a_listing_replaces_what_is_not_in_it(void **state)
{
    PendingLimits *room = *state;
    WaitingRow kept = row_of(1, 0, 5), dropped = row_of(1, 1, 6), during = row_of(1, 2, 7), evicted;
    pending_limits_record(room, &kept);
    pending_limits_record(room, &dropped);
    pending_limits_begin(room);
    pending_limits_record(room, &kept);
    pending_limits_record(room, &during);
    pending_limits_end(room);
    assert_int_equal(pending_limits_count(room), 2);
    assert_int_equal(pending_limits_check(room, &kept, 10, &evicted), WAITING_EXISTING);
    assert_int_equal(pending_limits_check(room, &during, 10, &evicted), WAITING_EXISTING);
    assert_int_equal(pending_limits_check(room, &dropped, 10, &evicted), WAITING_FREE);
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(rows_are_known_by_name_and_key),
        ROW(a_source_replaces_its_own_oldest_row),
        ROW(a_full_room_replaces_a_row_of_the_most_frequent_source),
        ROW(among_equal_sources_the_oldest_row_is_replaced),
        ROW(requests_are_limited_by_source_and_in_total),
        ROW(a_listing_replaces_what_is_not_in_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
