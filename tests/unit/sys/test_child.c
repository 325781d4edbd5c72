#include "sys/child.h"

#include <signal.h>

#include "net/world.h"

typedef struct Fixture {
    World world;
    Scratch *scratch;
    Child *child;
    bool ended;
    ChildExit end;
} Fixture;

static int set_up(void **state)
{
    scratch_set_up(state);
    Fixture *f = calloc(1, sizeof *f);
    f->scratch = *state;
    *state = f;
    world_open(&f->world);
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    *state = f->scratch;
    child_free(f->child);
    world_close(&f->world);
    free(f);
    return scratch_tear_down(state);
}

static void ended(void *context, ChildExit end)
{
    Fixture *f = context;
    f->ended = true;
    f->end = end;
    loop_stop(f->world.loop);
}

static bool start(Fixture *f, const char *program, const char *script, Error *err)
{
    const char *const argv[] = { "sh", "-c", script, NULL };
    return child_start(
        &(ChildOptions){
            .loop = f->world.loop, .program = program, .argv = argv, .ended = ended, .context = f },
        &f->child, err);
}

static void start_script(Fixture *f, const char *script)
{
    Error err;
    if (!start(f, "/bin/sh", script, &err)) {
        fail_msg("%s", err.text);
    }
}

static void its_exit_code_is_reported(void **state)
{
    Fixture *f = *state;
    start_script(f, "exit 7");
    world_run(&f->world);
    assert_true(f->ended);
    assert_false(f->end.by_signal);
    assert_int_equal(f->end.status, 7);
}

/* Some programs start daemons with SIGCHLD ignored; the kernel then keeps no exit status. */
static void its_exit_is_reported_even_if_sigchld_was_ignored(void **state)
{
    Fixture *f = *state;
    signal(SIGCHLD, SIG_IGN);
    start_script(f, "exit 7");
    world_run(&f->world);
    assert_int_equal(f->end.status, 7);
}

static void its_signal_is_reported(void **state)
{
    Fixture *f = *state;
    start_script(f, "exec sleep 100");
    assert_true(child_pid(f->child) > 1);
    child_terminate(f->child);
    world_run(&f->world);
    assert_true(f->end.by_signal);
    assert_int_equal(f->end.status, SIGTERM);
    child_terminate(f->child); /* it has exited, and its pid is not reused */
}

static void a_child_that_ignores_signals_is_killed(void **state)
{
    Fixture *f = *state;
    start_script(f, "trap '' TERM; while true; do sleep 10 >/dev/null 2>&1; done");
    child_kill(f->child);
    world_run(&f->world);
    assert_int_equal(f->end.status, SIGKILL);
}

static void systemd_variables_are_not_inherited(void **state)
{
    Fixture *f = *state;
    setenv("NOTIFY_SOCKET", "/nowhere", 1);
    setenv("EDEN_TEST_KEPT", "yes", 1);
    start_script(f, "test -z \"$NOTIFY_SOCKET\" && test \"$EDEN_TEST_KEPT\" = yes && ! test -t 0");
    unsetenv("NOTIFY_SOCKET");
    unsetenv("EDEN_TEST_KEPT");
    world_run(&f->world);
    assert_int_equal(f->end.status, 0);
}

static void a_missing_program_cannot_be_started(void **state)
{
    Fixture *f = *state;
    Error err;
    assert_false(start(f, scratch_place(f->scratch, "nothing"), "", &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
}

static void a_child_exits_with_its_owner(void **state)
{
    Fixture *f = *state;
    start_script(f, "exec sleep 100");
    pid_t pid = child_pid(f->child);
    child_free(TAKE(f->child));
    assert_int_equal(kill(pid, 0), -1);
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(its_exit_code_is_reported),
        ROW(its_exit_is_reported_even_if_sigchld_was_ignored),
        ROW(its_signal_is_reported),
        ROW(a_child_that_ignores_signals_is_killed),
        ROW(systemd_variables_are_not_inherited),
        ROW(a_missing_program_cannot_be_started),
        ROW(a_child_exits_with_its_owner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
