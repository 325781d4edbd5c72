/* Starting and following the process of a run, with a shell script in its place. */
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
    DetachedProcessExit end;
} Fixture;

static void wrote(void *context)
{
    Fixture *f = context;
    f->wrote++;
    loop_stop(f->world.loop);
}

static void ended(void *context, DetachedProcessExit end)
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
    assert_true(f->end.has_status);
    assert_false(f->end.by_signal);
    assert_int_equal(f->end.status, 3);
    assert_str(runner_explain(&f->node, f->run, f->end, false, &f->scratch->arena),
               "the runner exited with status 3: cannot continue");
}

/* --- Command line ----------------------------------------------------------------------------- */

static void put_run(Fixture *f, const char *kind, const char *more)
{
    Arena *arena = &f->scratch->arena;
    Error err;
    Str order = arena_format(arena,
                             "{\"format\":\"eden.order/1\",\"run\":\"r2\",\"kind\":\"%s\","
                             "\"created_ms\":5,\"by\":\"user:ann\"%s}",
                             kind, more);
    local_run_free(TAKE(f->run));
    if (!local_run_create(&f->agent, STR("r2"), order, 7, &f->run, &err)) {
        fail_msg("%s", err.text);
    }
}

/* The words that it is started with; "~" stands for the directory of the agent. */
static void expect_words(Fixture *f, const char *site, const char *servers, const char *expected)
{
    AUTO_CLEAR(Buf) shown = buf_make(BUF_UNLIMITED);
    RunnerOptions options = { .loop = f->world.loop,
                              .node = &f->node,
                              .run = f->run,
                              .site = site,
                              .servers = servers,
                              .ended = ended,
                              .wrote = wrote,
                              .context = f };
    Str text, home = str_from_c(f->scratch->path);
    Error err;
    f->ends = 0;
    assert_true(runner_start(&options, &f->runner, &err));
    while (f->ends == 0) {
        world_run(&f->world);
    }
    runner_release(TAKE(f->runner));
    assert_true(directory_read(&f->agent, &f->scratch->arena, "words", 10000, &text, &err));
    for (size_t at = 0, found; at < text.len; at = found + home.len) {
        found = str_find(text, home, at);
        buf_put(&shown, str_slice(text, at, found));
        if (found == STR_NOT_FOUND) {
            break;
        }
        buf_put_char(&shown, '~');
    }
    assert_str(buf_str(&shown), expected);
}

#define WORDS_SCRIPT                                                              \
    "#!/bin/sh\necho \"$@\" >\"${0%/*}/words\"\nread message\necho \"$message\" " \
    ">\"${0%/*}/message\"\n"
#define SITE                            \
    ",\"version\":\"v1\",\"manifest\":" \
    "\"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\""

static void a_site_gets_what_the_order_says(void **state)
{
    Fixture *f = *state;
    scratch_put(f->scratch, "program", WORDS_SCRIPT);
    f->node.state_dir = "/var/state";
    f->node.config_dir = "/etc/eden";
    put_run(f, "apply", SITE);
    expect_words(
        f, "/site", NULL,
        "apply --run-id r2 --events ~/runs/r2/events.ndjson --attempt 1 --node web1 --progress "
        "none "
        "--control --config-dir /etc/eden --state-dir /var/state --site-version v1 -- "
        "/site\n");
    put_run(f, "plan", SITE ",\"jobs\":[\"web\",\"-x\"],\"order\":\"genius\",\"event\":{}");
    f->node.root = "/mnt";
    expect_words(
        f, "/site", "/list",
        "plan --run-id r2 --events ~/runs/r2/events.ndjson --attempt 1 --node web1 --progress "
        "none "
        "--control --config-dir /etc/eden --state-dir /var/state --job web --job -x "
        "--order genius --site-version v1 --servers /list --event "
        "~/runs/r2/event.json --root /mnt -- /site\n");
}

/* It does not wait for the lock of a site, and needs nothing of one. */
static void a_command_has_a_state_of_its_own(void **state)
{
    Fixture *f = *state;
    scratch_put(f->scratch, "program", WORDS_SCRIPT);
    f->node.state_dir = "/var/state";
    f->node.config_dir = "/etc/eden";
    f->node.root = "/mnt";
    put_run(f, "exec", ",\"command\":[\"true\"]");
    expect_words(
        f, NULL, NULL,
        "apply --run-id r2 --events ~/runs/r2/events.ndjson --attempt 1 --node web1 --progress "
        "none "
        "--control --config-dir /etc/eden --state-dir ~/runs/r2/state -- "
        "~/runs/r2/exec.yaml\n");
}

/* Variables may be secret, so they are not words. */
static void variables_are_sent_to_the_runner(void **state)
{
    Fixture *f = *state;
    Str text;
    Error err;
    scratch_put(f->scratch, "program", WORDS_SCRIPT);
    f->node.state_dir = "/var/state";
    f->node.config_dir = "/etc/eden";
    put_run(f, "apply", SITE ",\"defines\":[\"password=pssst\"]");
    expect_words(
        f, "/site", NULL,
        "apply --run-id r2 --events ~/runs/r2/events.ndjson --attempt 1 --node web1 --progress "
        "none "
        "--control --config-dir /etc/eden --state-dir /var/state --site-version v1 -- "
        "/site\n");
    assert_true(directory_read(&f->agent, &f->scratch->arena, "message", 10000, &text, &err));
    assert_str(text, "{\"control\":\"start\",\"defines\":[\"password=pssst\"]}\n");
}

/* --- Failures --------------------------------------------------------------------------------- */

static void a_runner_that_cannot_start_is_an_error(void **state)
{
    Fixture *f = *state;
    RunnerOptions options = { .loop = f->world.loop,
                              .node = &f->node,
                              .run = f->run,
                              .ended = ended,
                              .wrote = wrote,
                              .context = f };
    Error err;
    f->node.program = scratch_place(f->scratch, "nothing");
    assert_false(runner_start(&options, &f->runner, &err));
    assert_non_null(strstr(err.text, "cannot start the runner"));
    assert_false(runner_find(&options, &f->runner));
    (void)remove(scratch_place(f->scratch, "runs/r1/" LOCAL_CONTROL));
    scratch_put(f->scratch, "runs/r1/" LOCAL_CONTROL "/file", ""); /* in the place of the pipe */
    f->node.program = scratch_place(f->scratch, "program");
    assert_false(runner_start(&options, &f->runner, &err));
    world_pass(&f->world, 10);
    assert_int_equal(f->ends, 0);
}

static void ends_are_explained(void **state)
{
    Fixture *f = *state;
    Arena *arena = &f->scratch->arena;
    DetachedProcessExit unknown = { 0 },
                        killed = { .has_status = true, .by_signal = true, .status = SIGTERM };
    assert_str(runner_explain(&f->node, f->run, unknown, false, arena),
               "the runner ended without a result");
    assert_str(runner_explain(&f->node, f->run, killed, false, arena),
               "the runner was killed by SIGTERM");
    scratch_put(f->scratch, "runs/r1/" LOCAL_EVENTS,
                "{\"n\":1,\"at_ms\":1,\"event\":\"begin\"}\n"
                "{\"n\":2,\"at_ms\":1,\"event\":\"start\",\"step\":\"web#a\"}\n");
    scratch_put(f->scratch, "runs/r1/" LOCAL_OUTPUT, "Segmentation fault\n");
    assert_str(runner_explain(&f->node, f->run, killed, true, arena),
               "the runner was killed by SIGTERM while step 'web#a' was running");
    /* The events are those of an earlier attempt. */
    assert_str(runner_explain(&f->node, f->run, killed, false, arena),
               "the runner was killed by SIGTERM: Segmentation fault");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(events_and_the_end_are_reported),        TEST(a_site_gets_what_the_order_says),
        TEST(a_command_has_a_state_of_its_own),       TEST(variables_are_sent_to_the_runner),
        TEST(a_runner_that_cannot_start_is_an_error), TEST(ends_are_explained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
