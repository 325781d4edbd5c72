/* The virtual loop: time jumps, random numbers follow from the seed, everything is reproducible. */
#include <stdlib.h>

#include "sys/loop.h"
#include "unit.h"

enum {
    MANY = 1000
};

typedef struct Actor Actor;

typedef struct World {
    Loop *loop;
    uint32_t ran;
    Actor *order[4 * MANY];
    int64_t moments[4 * MANY];
} World;

struct Actor {
    World *world;
    LoopTimer timer;
    LoopTask task;
    int64_t again_ms; /* after its run once more; negative: no */
};

static void actor_run(void *context)
{
    Actor *actor = context;
    World *world = actor->world;
    assert_true(world->ran < COUNT_OF(world->order));
    world->order[world->ran] = actor;
    world->moments[world->ran++] = loop_now_ms(world->loop);
    if (actor->again_ms >= 0) {
        loop_timer_start(&actor->timer, actor->again_ms);
    }
}

static void actor_init(Actor *actor, World *world)
{
    *actor = (Actor){ .world = world, .again_ms = -1 };
    loop_timer_init(&actor->timer, world->loop, actor_run, actor);
    loop_task_init(&actor->task, actor_run, actor);
}

static int set_up(void **state)
{
    World *world = calloc(1, sizeof *world);
    world->loop = loop_new_virtual(7);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    World *world = *state;
    loop_free(world->loop);
    free(world);
    return 0;
}

static void time_jumps_to_the_next_timer(void **state)
{
    World *world = *state;
    Actor hour, day;
    actor_init(&hour, world);
    actor_init(&day, world);
    loop_timer_start(&day.timer, INT64_C(86400000));
    loop_timer_start(&hour.timer, 3600000);
    loop_run(world->loop);
    assert_int_equal(world->ran, 2);
    assert_ptr_equal(world->order[0], &hour);
    assert_int_equal(world->moments[0], 3600000);
    assert_int_equal(world->moments[1], 86400000);
    assert_int_equal(loop_now_ms(world->loop), 86400000);
}

static void a_run_until_a_time_ends_there(void **state)
{
    World *world = *state;
    Actor a;
    actor_init(&a, world);
    a.again_ms = 10;
    loop_timer_start(&a.timer, 10);
    loop_run_virtual_until(world->loop, 35);
    assert_int_equal(world->ran, 3);
    assert_int_equal(loop_now_ms(world->loop), 35);
    loop_run_virtual_until(world->loop, 40);
    assert_int_equal(world->ran, 4);
    loop_run_virtual_until(world->loop, 20);
    assert_int_equal(loop_now_ms(world->loop), 40);
    loop_timer_stop(&a.timer);
}

/* A thousand timers, some stopped, some restarted: they run by time, and at the same time in the
 * order in which they were started. */
static void timers_run_by_time_and_start(void **state)
{
    World *world = *state;
    Actor *actors = calloc(MANY, sizeof *actors);
    for (unsigned i = 0; i < MANY; i++) {
        actor_init(&actors[i], world);
        loop_timer_start(&actors[i].timer, (int64_t)(loop_random(world->loop) % 200));
    }
    unsigned expected = MANY;
    for (unsigned i = 0; i < MANY; i++) {
        uint64_t what = loop_random(world->loop) % 4;
        if (what == 0) {
            loop_timer_stop(&actors[i].timer);
            loop_timer_stop(&actors[i].timer);
            expected--;
        } else if (what == 1) {
            loop_timer_start(&actors[i].timer, (int64_t)(loop_random(world->loop) % 200));
        }
    }
    loop_run(world->loop);
    assert_int_equal(world->ran, expected);
    for (unsigned i = 0; i < expected; i++) {
        assert_int_equal(world->moments[i], world->order[i]->timer.due_ms);
        if (i > 0) {
            const LoopTimer *before = &world->order[i - 1]->timer, *timer = &world->order[i]->timer;
            assert_true(before->due_ms < timer->due_ms ||
                        (before->due_ms == timer->due_ms && before->order < timer->order));
        }
    }
    free(actors);
}

static void tasks_run_before_time_advances(void **state)
{
    World *world = *state;
    Actor timer, deferred, posted, now;
    actor_init(&timer, world);
    actor_init(&deferred, world);
    actor_init(&posted, world);
    actor_init(&now, world);
    loop_timer_start(&timer.timer, 1);
    loop_defer(world->loop, &deferred.task);
    loop_post(world->loop, &posted.task);
    loop_timer_start(&now.timer, -5);
    loop_run(world->loop);
    assert_int_equal(world->ran, 4);
    assert_ptr_equal(world->order[0], &now);
    assert_ptr_equal(world->order[1], &posted);
    assert_ptr_equal(world->order[2], &deferred);
    assert_int_equal(world->moments[2], 0);
    assert_ptr_equal(world->order[3], &timer);
}

static void stop_it(void *context)
{
    loop_stop(context);
}

static void a_stopped_run_can_continue(void **state)
{
    World *world = *state;
    Actor early, late;
    LoopTimer stopper;
    actor_init(&early, world);
    actor_init(&late, world);
    loop_timer_init(&stopper, world->loop, stop_it, world->loop);
    loop_timer_start(&early.timer, 1);
    loop_timer_start(&stopper, 2);
    loop_timer_start(&late.timer, 3);
    loop_run(world->loop);
    assert_int_equal(world->ran, 1);
    assert_int_equal(loop_now_ms(world->loop), 2);
    loop_run(world->loop);
    assert_int_equal(world->ran, 2);
}

static void an_infinite_delay_is_never_due(void **state)
{
    World *world = *state;
    Actor a;
    actor_init(&a, world);
    loop_run_virtual_until(world->loop, 1000);
    loop_timer_start(&a.timer, INT64_MAX);
    loop_run_virtual_until(world->loop, INT64_C(1) << 60);
    assert_int_equal(world->ran, 0);
    loop_timer_stop(&a.timer);
}

static void a_seed_reproduces_random_numbers(void **state)
{
    World *world = *state;
    AUTO(Loop) *same = loop_new_virtual(7);
    AUTO(Loop) *other = loop_new_virtual(8);
    bool differs = false;
    for (unsigned i = 0; i < 100; i++) {
        uint64_t number = loop_random(world->loop);
        assert_true(number == loop_random(same));
        differs |= number != loop_random(other);
    }
    assert_true(differs);
    assert_true(loop_is_virtual(same));
    assert_null(loop_uv(same));
}

static void the_date_jumps_and_time_does_not(void **state)
{
    World *world = *state;
    loop_virtual_set_wall(world->loop, 1000);
    loop_run_virtual_until(world->loop, 50);
    assert_int_equal(loop_wall_ms(world->loop), 1050);
    loop_virtual_set_wall(world->loop, 10);
    assert_int_equal(loop_wall_ms(world->loop), 10);
    assert_int_equal(loop_now_ms(world->loop), 50);
}

static void a_leaked_timer_is_a_bug(void **state)
{
    World *world = *state;
    Actor a;
    actor_init(&a, world);
    loop_timer_start(&a.timer, 1);
    assert_bug(loop_free(world->loop));
    loop_timer_stop(&a.timer);
}

static void start_again(void *context)
{
    loop_timer_start(context, 0);
}

static void a_loop_without_progress_is_a_bug(void **state)
{
    World *world = *state;
    LoopTimer timer;
    loop_timer_init(&timer, world->loop, start_again, &timer);
    loop_timer_start(&timer, 0);
    assert_bug(loop_run(world->loop));
    loop_timer_stop(&timer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(time_jumps_to_the_next_timer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_run_until_a_time_ends_there, set_up, tear_down),
        cmocka_unit_test_setup_teardown(timers_run_by_time_and_start, set_up, tear_down),
        cmocka_unit_test_setup_teardown(tasks_run_before_time_advances, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_stopped_run_can_continue, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_infinite_delay_is_never_due, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_seed_reproduces_random_numbers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_date_jumps_and_time_does_not, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_leaked_timer_is_a_bug, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_loop_without_progress_is_a_bug, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
