/* The real loop. Times are compared, durations are not. */
#include "sys/loop.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "unit.h"

typedef struct World {
    Loop *loop;
    char log[64];
    uint32_t logged;
    uint32_t left; /* stops the loop at 0 */
} World;

static int set_up(void **state)
{
    World *world = calloc(1, sizeof *world);
    world->loop = loop_new();
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

typedef struct Actor {
    World *world;
    LoopTimer timer;
    LoopTask task;
    int64_t ran_ms;
    char name;
    bool again; /* once more when it runs, the same way */
    bool posted;
} Actor;

static void note(Actor *actor)
{
    World *world = actor->world;
    world->log[world->logged++] = actor->name;
    actor->ran_ms = loop_now_ms(world->loop);
    if (--world->left == 0) {
        loop_stop(world->loop);
    }
}

static void timer_run(void *context)
{
    Actor *actor = context;
    note(actor);
    if (actor->again) {
        actor->again = false;
        loop_timer_start(&actor->timer, 0);
    }
}

static void task_run(void *context)
{
    Actor *actor = context;
    note(actor);
    if (actor->again) {
        actor->again = false;
        if (actor->posted) {
            loop_post(actor->world->loop, &actor->task);
        } else {
            loop_defer(actor->world->loop, &actor->task);
        }
    }
}

static Actor actor_make(World *world, char name)
{
    return (Actor){ .world = world, .name = name };
}

static void actor_ready(Actor *actor)
{
    loop_timer_init(&actor->timer, actor->world->loop, timer_run, actor);
    loop_task_init(&actor->task, task_run, actor);
}

static void a_timer_runs_once_and_not_early(void **state)
{
    World *world = *state;
    Actor a = actor_make(world, 'a');
    actor_ready(&a);
    world->left = 1;
    loop_timer_start(&a.timer, 5);
    assert_true(loop_timer_started(&a.timer));
    int64_t due = a.timer.due_ms;
    loop_run(world->loop);
    assert_true(a.ran_ms >= due);
    assert_false(loop_timer_started(&a.timer));
    assert_string_equal(world->log, "a");
}

static void a_stopped_timer_does_not_run_and_a_later_start_replaces(void **state)
{
    World *world = *state;
    Actor a = actor_make(world, 'a'), b = actor_make(world, 'b'), c = actor_make(world, 'c');
    actor_ready(&a);
    actor_ready(&b);
    actor_ready(&c);
    loop_timer_stop(&a.timer);
    loop_timer_start(&a.timer, 0);
    loop_timer_start(&b.timer, 0);
    loop_timer_start(&c.timer, 1);
    loop_timer_start(&b.timer, 4);
    loop_timer_stop(&a.timer);
    world->left = 2;
    loop_run(world->loop);
    assert_string_equal(world->log, "cb");
}

static void a_timer_started_by_a_timer_runs_in_a_later_iteration(void **state)
{
    World *world = *state;
    Actor a = actor_make(world, 'a'), b = actor_make(world, 'b');
    actor_ready(&a);
    actor_ready(&b);
    a.again = true;
    loop_timer_start(&a.timer, 0);
    loop_timer_start(&b.timer, 0);
    world->left = 3;
    loop_run(world->loop);
    assert_string_equal(world->log, "aba");
}

static void deferred_tasks_run_in_order_and_once(void **state)
{
    World *world = *state;
    Actor a = actor_make(world, 'a'), b = actor_make(world, 'b'), c = actor_make(world, 'c');
    actor_ready(&a);
    actor_ready(&b);
    actor_ready(&c);
    a.again = true;
    loop_defer(world->loop, &a.task);
    loop_defer(world->loop, &b.task);
    loop_defer(world->loop, &a.task);
    loop_defer(world->loop, &c.task);
    loop_task_stop(world->loop, &c.task);
    loop_task_stop(world->loop, &c.task);
    world->left = 3;
    loop_run(world->loop);
    assert_string_equal(world->log, "aba");
}

static void stop_the_next(void *context)
{
    Actor *actor = context;
    loop_task_stop(actor->world->loop, &actor->task);
}

static void a_task_can_be_stopped_by_one_of_the_same_iteration(void **state)
{
    World *world = *state;
    for (int posted = 0; posted < 2; posted++) {
        Actor actors[3];
        LoopTask stopper;
        world->logged = 0;
        loop_task_init(&stopper, stop_the_next, &actors[1]);
        void (*put)(Loop *, LoopTask *) = posted ? loop_post : loop_defer;
        put(world->loop, &stopper);
        for (unsigned i = 0; i < COUNT_OF(actors); i++) {
            actors[i] = actor_make(world, (char)('a' + i));
            actor_ready(&actors[i]);
            put(world->loop, &actors[i].task);
        }
        world->left = 2;
        loop_run(world->loop);
        assert_memory_equal(world->log, "ac", 2);
    }
}

static void defer_again(void *context)
{
    Actor *actor = context;
    loop_defer(actor->world->loop, &actor->task);
}

static void timers_run_next_to_an_endless_task(void **state)
{
    World *world = *state;
    Actor timer = actor_make(world, 't'), busy = actor_make(world, 'x');
    actor_ready(&timer);
    loop_task_init(&busy.task, defer_again, &busy);
    loop_defer(world->loop, &busy.task);
    loop_timer_start(&timer.timer, 1);
    world->left = 1;
    loop_run(world->loop);
    assert_string_equal(world->log, "t");
    loop_task_stop(world->loop, &busy.task);
}

enum {
    POSTERS = 4,
    POSTS = 2000
};

typedef struct Poster {
    Loop *loop;
    atomic_uint *ran;
    pthread_t thread;
    LoopTask tasks[POSTS];
} Poster;

static void count_run(void *context)
{
    Poster *poster = context;
    if (atomic_fetch_add(poster->ran, 1) + 1 == POSTERS * POSTS) {
        loop_stop(poster->loop);
    }
}

static void *post_many(void *context)
{
    Poster *poster = context;
    for (unsigned i = 0; i < POSTS; i++) {
        loop_task_init(&poster->tasks[i], count_run, poster);
        loop_post(poster->loop, &poster->tasks[i]);
    }
    return NULL;
}

static void tasks_posted_by_threads_all_run(void **state)
{
    World *world = *state;
    static Poster posters[POSTERS];
    atomic_uint ran = 0;
    for (unsigned i = 0; i < POSTERS; i++) {
        posters[i] = (Poster){ .loop = world->loop, .ran = &ran };
        assert_int_equal(pthread_create(&posters[i].thread, NULL, post_many, &posters[i]), 0);
    }
    loop_run(world->loop);
    for (unsigned i = 0; i < POSTERS; i++) {
        pthread_join(posters[i].thread, NULL);
    }
    assert_int_equal(ran, POSTERS * POSTS);
}

static void a_posted_task_can_post_itself_again(void **state)
{
    World *world = *state;
    Actor a = actor_make(world, 'a');
    actor_ready(&a);
    a.again = a.posted = true;
    loop_post(world->loop, &a.task);
    world->left = 2;
    loop_run(world->loop);
    assert_string_equal(world->log, "aa");
}

static void a_stop_before_the_run_ends_it_at_once(void **state)
{
    World *world = *state;
    Actor a = actor_make(world, 'a');
    actor_ready(&a);
    loop_stop(world->loop);
    loop_run(world->loop);
    loop_defer(world->loop, &a.task);
    world->left = 1;
    loop_run(world->loop);
    assert_string_equal(world->log, "a");
}

static void random_numbers_differ_and_time_advances(void **state)
{
    World *world = *state;
    uint64_t first = loop_random(world->loop);
    bool differs = false;
    for (unsigned i = 0; i < 100; i++) {
        differs |= loop_random(world->loop) != first;
    }
    assert_true(differs);
    assert_true(loop_now_ms(world->loop) > 0);
    assert_true(loop_wall_ms(world->loop) > INT64_C(1700000000000));
    assert_non_null(loop_uv(world->loop));
    assert_false(loop_is_virtual(world->loop));
}

static void *start_a_timer(void *context)
{
    Actor *actor = context;
    loop_timer_start(&actor->timer, 0);
    return NULL;
}

static void other_threads_are_rejected(void **state)
{
    World *world = *state;
    Actor a = actor_make(world, 'a');
    actor_ready(&a);
    assert_bug({
        pthread_t thread;
        pthread_create(&thread, NULL, start_a_timer, &a);
        pthread_join(thread, NULL);
    });
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_timer_runs_once_and_not_early, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_stopped_timer_does_not_run_and_a_later_start_replaces,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_timer_started_by_a_timer_runs_in_a_later_iteration,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(deferred_tasks_run_in_order_and_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_task_can_be_stopped_by_one_of_the_same_iteration, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(timers_run_next_to_an_endless_task, set_up, tear_down),
        cmocka_unit_test_setup_teardown(tasks_posted_by_threads_all_run, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_posted_task_can_post_itself_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_stop_before_the_run_ends_it_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(random_numbers_differ_and_time_advances, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_threads_are_rejected, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
