/* The decisions of a run without threads and clock: time is a number, and tasks end when the test
 * says so. tests/sim/cores.c has random runs of the same kind. */
#include "run/run_core.h"

#include <stdlib.h>

#include "model/steps_text.h"

#define SECOND INT64_C(1000000)

typedef struct Fixture {
    World world;
    Host *host;
    RunCoreSettings settings;
    bool is_open;     /* what the held step waits for has happened */
    int64_t limit_ms; /* of the hold */
    uint32_t asked;   /* how often the core asked whether the step is held */
    RunCore *core;
} Fixture;

/* --- The environment of the run -------------------------------------------------------------- */

static DynamicOutcome evaluate(void *context, uint32_t step, const Dynamic *dynamic, bool own,
                               Arena *arena, Value *out, Problems *problems)
{
    *out = value_bool(true);
    return DYNAMIC_OK;
}

static DynamicOutcome resolve(void *context, uint32_t step, Arena *arena, Value *out,
                              Problems *problems)
{
    for (uint32_t i = 0; world_params[i].name != NULL; i++) {
        out[i] = value_missing();
    }
    return DYNAMIC_OK;
}

static bool held(void *context, uint32_t step, Hold *out)
{
    Fixture *f = context;
    if (!str_eq(graph_step(f->world.graph, step)->name, STR("gated"))) {
        return false;
    }
    f->asked++;
    *out =
        (Hold){ .key = STR("gate"), .why = STR("waiting for the gate"), .limit_ms = f->limit_ms };
    return !f->is_open;
}

static bool check(Call *call, Outcome *outcome, Error *err)
{
    outcome->changed = true;
    return true;
}

static const Action action = { "act", "", world_params, check, check, NULL };

static int set_up(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    Error err;
    world_init(&f->world);
    world_read(&f->world, STR("gated; free; after require=gated"));
    for (uint32_t i = 0; i < f->world.steps.count; i++) {
        ((StepSpec *)f->world.steps.items[i].spec)->action = &action;
    }
    assert_true(world_build(&f->world));
    assert_true(host_open("/", &f->host, &err));
    f->settings = (RunCoreSettings){
        .graph = f->world.graph,
        .order = MODE_JUSTDOIT,
        .workers = 4,
        .max_wait_us = -1,
        .host = f->host,
        .environment = { .context = f, .evaluate = evaluate, .params = resolve, .held = held },
    };
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    run_core_free(f->core);
    host_close(f->host);
    world_clear(&f->world);
    free(f);
    return 0;
}

/* Executes what the core says until it waits or ends; tasks take no time. */
static CoreAction run(Fixture *f, int64_t now_us)
{
    for (;;) {
        CoreAction next = run_core_next(f->core, now_us);
        if (next.kind == CORE_WAIT || next.kind == CORE_END) {
            return next;
        }
        if (next.kind == CORE_START) {
            task_run(&next.start->task);
            run_core_ended(f->core, next.start, now_us);
        }
    }
}

static StepResult result_of(const Fixture *f, const char *name)
{
    return run_core_reports(f->core)[world_step(&f->world, name)].status.result;
}

/* --- Waking ---------------------------------------------------------------------------------- */

static void a_parked_step_is_woken_from_outside(void **state)
{
    Fixture *f = *state;
    uint32_t count;
    f->core = run_core_new(&f->world.arena, &f->settings, 0);
    CoreAction next = run(f, SECOND);
    assert_int_equal(next.kind, CORE_WAIT);
    assert_true(next.until_us < 0); /* time alone changes nothing */
    assert_int_equal(result_of(f, "free"), RESULT_CHANGED);
    assert_int_equal(result_of(f, "after"), RESULT_PENDING);
    const CoreHeld *parked = run_core_held(f->core, &count);
    assert_int_equal(count, 1);
    assert_true(str_eq_c(parked->key, "gate"));
    assert_true(str_eq_c(parked->why, "waiting for the gate"));
    f->is_open = true;
    assert_int_equal(run_core_wake(f->core, STR("gate"), 9 * SECOND), 1);
    assert_int_equal(run(f, 9 * SECOND).kind, CORE_END);
    assert_int_equal(result_of(f, "gated"), RESULT_CHANGED);
    assert_int_equal(result_of(f, "after"), RESULT_CHANGED);
}

static void wakes_that_are_early_repeated_or_for_others_do_no_harm(void **state)
{
    Fixture *f = *state;
    f->core = run_core_new(&f->world.arena, &f->settings, 0);
    assert_int_equal(run_core_wake(f->core, STR("gate"), 0), 0); /* nothing is parked yet */
    run(f, SECOND);
    uint32_t asked = f->asked;
    assert_int_equal(run_core_wake(f->core, STR("other"), SECOND), 0);
    assert_int_equal(run(f, SECOND).kind, CORE_WAIT);
    assert_int_equal(f->asked, asked);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(run_core_wake(f->core, STR("gate"), 2 * SECOND), 1);
        assert_int_equal(run(f, 2 * SECOND).kind, CORE_WAIT);
    }
    assert_int_equal(result_of(f, "gated"), RESULT_PENDING);
    f->is_open = true;
    run_core_wake(f->core, STR("gate"), 3 * SECOND);
    assert_int_equal(run(f, 3 * SECOND).kind, CORE_END);
    assert_int_equal(run_core_wake(f->core, STR("gate"), 4 * SECOND), 0);
}

static void a_parked_step_fails_after_its_limit(void **state)
{
    Fixture *f = *state;
    f->limit_ms = 5000;
    f->core = run_core_new(&f->world.arena, &f->settings, 0);
    CoreAction next = run(f, SECOND);
    assert_int_equal(next.kind, CORE_WAIT);
    assert_int_equal(next.until_us, 6 * SECOND);
    run_core_due(f->core, next.until_us);
    assert_int_equal(run(f, next.until_us).kind, CORE_END);
    assert_int_equal(result_of(f, "gated"), RESULT_FAILED);
    assert_int_equal(result_of(f, "after"), RESULT_BLOCKED);
}

static void a_parked_step_does_not_keep_an_interrupted_run_alive(void **state)
{
    Fixture *f = *state;
    f->core = run_core_new(&f->world.arena, &f->settings, 0);
    run(f, SECOND);
    run_core_interrupt(f->core);
    CoreAction next = run(f, SECOND);
    assert_int_equal(next.kind, CORE_WAIT);
    assert_in_range(next.until_us, 0, SECOND); /* it is due */
    run_core_due(f->core, SECOND);
    assert_int_equal(run(f, SECOND).kind, CORE_END);
    assert_true(run_core_was_interrupted(f->core));
    assert_int_equal(result_of(f, "free"), RESULT_CHANGED);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_parked_step_is_woken_from_outside),
        CASE(wakes_that_are_early_repeated_or_for_others_do_no_harm),
        CASE(a_parked_step_fails_after_its_limit),
        CASE(a_parked_step_does_not_keep_an_interrupted_run_alive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
