/* A jump of the wall clock is detected; a gradual adjustment is not. */
#include "sys/clock_watch.h"

#include "scratch.h"

typedef struct Seen {
    int count;
    int64_t by_ms;
} Seen;

static void jumped(void *context, int64_t by_ms)
{
    Seen *seen = context;
    seen->count++;
    seen->by_ms = by_ms;
}

static void a_jump_is_reported_once(void **state)
{
    AUTO(Loop) *loop = loop_new_virtual(1);
    Seen seen = { 0 };
    ClockWatch watch;
    loop_virtual_set_wall(loop, 1800000000000);
    clock_watch_init(&watch, loop, jumped, &seen);
    loop_run_virtual_until(loop, 60 * 1000);
    assert_int_equal(seen.count, 0);
    loop_virtual_set_wall(loop, loop_wall_ms(loop) - 3600 * 1000);
    loop_run_virtual_until(loop, 120 * 1000);
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.by_ms, -3600 * 1000);
    loop_virtual_set_wall(loop, loop_wall_ms(loop) + CLOCK_JUMP_MS - 1);
    loop_run_virtual_until(loop, 180 * 1000);
    assert_int_equal(seen.count, 1);
    loop_virtual_set_wall(loop, loop_wall_ms(loop) + CLOCK_JUMP_MS);
    loop_run_virtual_until(loop, 240 * 1000);
    assert_int_equal(seen.count, 2);
    clock_watch_stop(&watch);
    loop_virtual_set_wall(loop, 0);
    loop_run_virtual_until(loop, 300 * 1000);
    assert_int_equal(seen.count, 2);
}

static void a_watch_never_started_can_be_stopped(void **state)
{
    ClockWatch watch = { 0 };
    clock_watch_stop(&watch);
    assert_null(watch.timer.loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_jump_is_reported_once),
        cmocka_unit_test(a_watch_never_started_can_be_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
