/* What is shown of a run that waits or is stopped. */
#include "agent/run_reasons.h"

#include "run/lock.h"
#include "scratch.h"

#define ORDER                                                                               \
    "{\"format\":\"eden.order/1\",\"run\":\"r1\",\"kind\":\"exec\",\"command\":[\"true\"]," \
    "\"created_ms\":5,\"by\":\"user:ann\"}"

typedef struct Fixture {
    Scratch *scratch;
    Directory agent;
    LocalRun *run;
} Fixture;

static int set_up(void **state)
{
    scratch_set_up(state);
    Fixture *f = calloc(1, sizeof *f);
    Error err;
    f->scratch = *state;
    *state = f;
    assert_true(directory_open(f->scratch->path, &f->agent, &err));
    assert_true(local_run_create(&f->agent, STR("r1"), STR(ORDER), 7, &f->run, &err));
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    *state = f->scratch;
    local_run_free(f->run);
    directory_close(&f->agent);
    free(f);
    return scratch_tear_down(state);
}

static void expect_step(Fixture *f, const char *events, const char *expected)
{
    char step[100];
    scratch_put(f->scratch, "runs/r1/" LOCAL_EVENTS, events);
    describe_running_step(&f->agent, f->run, step, sizeof step);
    assert_string_equal(step, expected);
}

#define BEGIN "{\"n\":1,\"at_ms\":1,\"event\":\"begin\"}\n"
#define START "{\"n\":2,\"at_ms\":1,\"event\":\"start\",\"step\":\"web#a\"}\n"
#define STEP  "{\"n\":3,\"at_ms\":1,\"event\":\"step\",\"step\":\"web#a\"}\n"

static void the_step_that_is_stopped_is_the_running_one(void **state)
{
    Fixture *f = *state;
    char step[100];
    describe_running_step(&f->agent, f->run, step, sizeof step); /* there are no events yet */
    assert_string_equal(step, "a running step");
    expect_step(f, BEGIN, "a running step");
    expect_step(f, BEGIN START, "step 'web#a'");
    expect_step(f, BEGIN START STEP, "a running step");
    describe_running_step(&f->agent, f->run, step, 8);
    assert_string_equal(step, "a runni");
}

static void the_reason_for_waiting_names_its_cause(void **state)
{
    Fixture *f = *state;
    Arena *arena = &f->scratch->arena;
    FileLock lock;
    Problems problems;
    Error err;
    WaitReason why = { .blocking_run = "r0", .state = &f->agent, .version = "v1" };
    why.wait = WAIT_RUN;
    assert_str(wait_reason(&why, arena), "waiting for run r0");
    why.wait = WAIT_SITE;
    assert_str(wait_reason(&why, arena), "fetching version v1");
    why.fetch_error = "no server";
    assert_str(wait_reason(&why, arena), "cannot fetch version v1: no server");
    why.wait = WAIT_NONE;
    assert_str(wait_reason(&why, arena), "starting");
    why.wait = WAIT_LOCK;
    assert_str(wait_reason(&why, arena), "waiting for another run on this node");
    problems_init(&problems, arena);
    assert_true(run_lock_take(&f->agent, STR("eden apply"), &lock, &problems, &err));
    Str expected = arena_format(arena, "waiting for 'eden apply' (pid %d)", (int)getpid());
    assert_true(str_eq(wait_reason(&why, arena), expected));
    file_lock_release(&lock);
}

static void a_stop_says_what_follows_and_when(void **state)
{
    Fixture *f = *state;
    Arena *arena = &f->scratch->arena;
    f->run->state.signals = 1;
    f->run->state.signaled_ms = 1800000000000;
    f->run->order.is_canceled = true;
    assert_str(stop_reason(f->run, "step 'web#a'", arena),
               "canceling: step 'web#a' has until 2027-01-15T08:00:30Z to finish; then it gets "
               "SIGTERM and is killed 2s later");
    f->run->state.signals = 2;
    f->run->order.is_canceled = false;
    assert_str(stop_reason(f->run, "", arena),
               "over its time limit: a running step was sent SIGTERM and will be killed after 2s; "
               "any remaining processes will be killed at 2027-01-15T08:00:10Z");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_step_that_is_stopped_is_the_running_one),
        TEST(the_reason_for_waiting_names_its_cause),
        TEST(a_stop_says_what_follows_and_when),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
