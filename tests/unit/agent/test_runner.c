/* Following the process of a run, with a shell script in its place. */
#include "agent/runner.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "net/world.h"

#define ORDER                                                                               \
    "{\"format\":\"eden.order/1\",\"run\":\"r1\",\"kind\":\"exec\",\"command\":[\"true\"]," \
    "\"created_ms\":5,\"by\":\"user:ann\"}"

/* Waits for the pipe, then writes the events, and fails. */
#define SCRIPT                                       \
    "#!/bin/sh\n"                                    \
    "while [ \"$1\" != --events ]; do shift; done\n" \
    "read go <\"${0%/*}/pipe\"\n"                    \
    "echo written >\"$2\"\n"                         \
    "read go <\"${0%/*}/pipe\"\n"                    \
    "echo 'cannot continue' >&2\n"                   \
    "exit 3\n"

typedef struct Fixture {
    World world;
    Scratch *scratch;
    Directory agent;
    LocalRun *run;
    RunnerNode node;
    Runner *runner;
    uint32_t wrote, ends;
    DetachedProcessEnd end;
} Fixture;

static void wrote(void *context)
{
    Fixture *f = context;
    f->wrote++;
    loop_stop(f->world.loop);
}

static void ended(void *context, DetachedProcessEnd end)
{
    Fixture *f = context;
    f->ends++;
    f->end = end;
    loop_stop(f->world.loop);
}

static int set_up(void **state)
{
    scratch_set_up(state);
    Fixture *f = calloc(1, sizeof *f);
    Error err;
    f->scratch = *state;
    *state = f;
    world_open(&f->world);
    assert_true(directory_open(f->scratch->path, &f->agent, &err));
    assert_true(local_run_create(&f->agent, STR("r1"), STR(ORDER), 7, &f->run, &err));
    scratch_put(f->scratch, "program", SCRIPT);
    assert_int_equal(chmod(scratch_place(f->scratch, "program"), 0700), 0);
    assert_int_equal(mkfifo(scratch_place(f->scratch, "pipe"), 0600), 0);
    f->node = (RunnerNode){ .directory = &f->agent,
                            .path = f->scratch->path,
                            .state_dir = f->scratch->path,
                            .config_dir = f->scratch->path,
                            .root = "/",
                            .program = scratch_place(f->scratch, "program"),
                            .name = STR("web1") };
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    *state = f->scratch;
    runner_release(f->runner);
    local_run_free(f->run);
    directory_close(&f->agent);
    world_pass(&f->world, 0);
    world_close(&f->world);
    free(f);
    return scratch_tear_down(state);
}

/* Lets the script continue. */
static void proceed(Fixture *f)
{
    int pipe = open(scratch_place(f->scratch, "pipe"), O_WRONLY | O_CLOEXEC);
    assert_int_equal(write(pipe, "\n", 1), 1);
    close(pipe);
}

static void events_and_the_end_are_reported(void **state)
{
    Fixture *f = *state;
    RunnerOptions options = { .loop = f->world.loop,
                              .node = &f->node,
                              .run = f->run,
                              .ended = ended,
                              .wrote = wrote,
                              .context = f };
    Error err;
    assert_true(runner_start(&options, &f->runner, &err));
    assert_int_equal(f->wrote, 1); /* what an earlier runner may have written */
    proceed(f);
    while (f->wrote < 2) {
        world_run(&f->world);
    }
    assert_int_equal(f->ends, 0);
    proceed(f);
    while (f->ends == 0) {
        world_run(&f->world);
    }
    assert_int_equal(f->ends, 1);
    assert_true(f->end.is_known);
    assert_false(f->end.by_signal);
    assert_int_equal(f->end.number, 3);
    assert_str(runner_explain(&f->node, f->run, f->end, false, &f->scratch->arena),
               "the runner exited with status 3: cannot continue");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(events_and_the_end_are_reported, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
