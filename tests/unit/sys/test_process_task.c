#include "sys/process_task.h"

#include "net/world.h"

typedef struct Fixture {
    World world;
    bool reported, started;
    ProcessEnding ending;
    int exit_code;
    char out[64];
    Error err;
} Fixture;

static int set_up(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    world_open(&f->world);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    world_close(&f->world);
    free(f);
    return 0;
}

static void done(void *context, const ProcessResult *result, const Error *err)
{
    Fixture *f = context;
    assert_false(f->reported);
    f->reported = true;
    f->started = result != NULL;
    if (result != NULL) {
        f->ending = result->ending;
        f->exit_code = result->exit_code;
        snprintf(f->out, sizeof f->out, "%" STR_FMT, STR_ARG(result->out));
    } else {
        f->err = *err;
    }
    loop_stop(f->world.loop);
}

static ProcessTask *start(Fixture *f, const char *program, const char *script, int64_t limit_ms)
{
    /* Static: it must stay valid while the program runs. */
    static const char *argv[4];
    argv[0] = program;
    argv[1] = "-c";
    argv[2] = script;
    return process_task_start(f->world.loop,
                              &(ProcessSpec){ .argv = argv,
                                              .input = STR("given"),
                                              .timeout_ms = limit_ms,
                                              .output_max = 32,
                                              .kill_at_max = true },
                              done, f);
}

static void loop_learns_how_it_ended(void **state)
{
    Fixture *f = *state;
    start(f, "/bin/sh", "cat; exit 7", 20000);
    assert_false(f->reported);
    world_run(&f->world);
    assert_true(f->started);
    assert_int_equal(f->ending, PROCESS_EXITED);
    assert_int_equal(f->exit_code, 7);
    assert_string_equal(f->out, "given");
}

static void failure_to_start_is_reported(void **state)
{
    Fixture *f = *state;
    start(f, "/nonexistent/program", "", 20000);
    world_run(&f->world);
    assert_true(f->reported);
    assert_false(f->started);
    assert_int_equal(f->err.kind, ERROR_NOT_FOUND);
}

static void loop_continues_until_the_timeout(void **state)
{
    Fixture *f = *state;
    LoopTimer timer;
    loop_timer_init(&timer, f->world.loop, world_stop, f->world.loop);
    start(f, "/bin/sh", "exec sleep 1000", 300);
    loop_timer_start(&timer, 1);
    world_run(&f->world); /* which the timer stops */
    assert_false(f->reported);
    world_run(&f->world);
    assert_int_equal(f->ending, PROCESS_TIMED_OUT);
}

static void a_process_that_writes_too_much_is_killed(void **state)
{
    Fixture *f = *state;
    start(f, "/bin/sh", "while :; do echo 0123456789; done", 20000);
    world_run(&f->world);
    assert_int_equal(f->ending, PROCESS_OUTPUT_LIMIT);
    assert_int_equal(strlen(f->out), 32);
}

static void canceled_task_has_no_callback(void **state)
{
    Fixture *f = *state;
    process_task_end(start(f, "/bin/sh", "exec sleep 1000", 0));
    process_task_end(NULL);
    world_pass(&f->world, 1);
    assert_false(f->reported);
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(loop_learns_how_it_ended),         ROW(failure_to_start_is_reported),
        ROW(loop_continues_until_the_timeout), ROW(a_process_that_writes_too_much_is_killed),
        ROW(canceled_task_has_no_callback),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
