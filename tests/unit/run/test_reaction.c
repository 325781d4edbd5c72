#include "run/reaction.h"

#include "model/steps_text.h"

typedef struct Told {
    int64_t change_ms;
    bool ran_after_change;
} Told;

static Told tell(const World *world, const ChangeTime *times, WorkPhase phase)
{
    Call call = { 0 };
    Work work = { .step = world_step(world, "x"), .phase = phase };
    change_time_fill_call(world->graph, times, work, &call);
    return (Told){ call.change_ms, call.ran_after_change };
}

/* The last change counts, among those that cause this kind of reaction. */
static void a_reaction_is_told_about_its_own_cause(void **state)
{
    World world;
    world_make(&world, "a; b; c; d; x watch=a,b listen=c require=d");
    ChangeTime times[5] = { 0 };
    uint32_t x = world_step(&world, "x");
    times[world_step(&world, "a")] = (ChangeTime){ .changed_us = 20, .changed_ms = 1 };
    times[world_step(&world, "b")] = (ChangeTime){ .changed_us = 10, .changed_ms = 2 };
    times[world_step(&world, "c")] = (ChangeTime){ .changed_us = 30, .changed_ms = 3 };
    times[world_step(&world, "d")] = (ChangeTime){ .changed_us = 40, .changed_ms = 4 };
    assert_int_equal(tell(&world, times, PHASE_RUN).change_ms, 1);
    assert_int_equal(tell(&world, times, PHASE_REACT).change_ms, 3);
    assert_false(tell(&world, times, PHASE_RUN).ran_after_change);
    times[x].applied_us = 20; /* not before the watched change, but before the other */
    assert_true(tell(&world, times, PHASE_RUN).ran_after_change);
    assert_false(tell(&world, times, PHASE_REACT).ran_after_change);
    times[x].applied_us = 19;
    assert_false(tell(&world, times, PHASE_RUN).ran_after_change);
    world_clear(&world);
}

static void without_a_change_there_is_no_time(void **state)
{
    World world;
    world_make(&world, "a; x watch=a");
    ChangeTime times[2] = { 0 };
    assert_int_equal(tell(&world, times, PHASE_RUN).change_ms, 0);
    assert_false(tell(&world, times, PHASE_RUN).ran_after_change);
    times[world_step(&world, "x")].applied_us = 1;
    assert_true(tell(&world, times, PHASE_RUN).ran_after_change);
    world_clear(&world);
}

/* What a plan says names the step that changes, not any other. */
static void a_forecast_names_the_cause(void **state)
{
    World world;
    world_make(&world, "a; b; c; x watch=a,b listen=c");
    uint32_t x = world_step(&world, "x");
    StepStatus statuses[4] = { 0 };
    statuses[world_step(&world, "b")].changed = true;
    assert_str(reaction_forecast(&world.arena, world.graph, statuses, x, REQUISITE_WATCH, NULL),
               "would react because 'main#b' changes");
    assert_str(reaction_forecast(&world.arena, world.graph, statuses, x, REQUISITE_LISTEN, NULL),
               "would react, owed from an earlier run");
    statuses[world_step(&world, "c")].changed = true;
    assert_str(reaction_forecast(&world.arena, world.graph, statuses, x, REQUISITE_LISTEN, NULL),
               "would react because 'main#c' changes");
    world_clear(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reaction_is_told_about_its_own_cause),
        cmocka_unit_test(without_a_change_there_is_no_time),
        cmocka_unit_test(a_forecast_names_the_cause),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
