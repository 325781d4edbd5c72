#include "sys/detached_process.h"

#include <signal.h>
#include <sys/resource.h>

#include "net/world.h"
#include "sys/directory.h"

typedef struct Fixture {
    World world;
    Scratch *scratch;
    DetachedProcess *process;
    bool has_ended;
    DetachedProcessExit end;
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
    detached_process_release(f->process);
    world_close(&f->world);
    free(f);
    return scratch_tear_down(state);
}

static void ended(void *context, DetachedProcessExit end)
{
    Fixture *f = context;
    f->has_ended = true;
    f->end = end;
    loop_stop(f->world.loop);
}

static DetachedProcessOptions options(Fixture *f)
{
    return (DetachedProcessOptions){
        .loop = f->world.loop, .program = "/bin/sh", .name = "test", .ended = ended, .context = f
    };
}

static void start(Fixture *f, const char *script)
{
    const char *const argv[] = { "sh", "-c", script, NULL };
    DetachedProcessOptions how = options(f);
    Error err;
    if (!detached_process_start(&how, argv, scratch_place(f->scratch, "output"), &f->process,
                                &err)) {
        fail_msg("%s", err.text);
    }
}

static Str output(Fixture *f)
{
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    Str text;
    Error err;
    assert_true(directory_open(f->scratch->path, &directory, &err));
    assert_true(directory_read(&directory, &f->scratch->arena, "output", 4096, &text, &err));
    return text;
}

static void its_output_is_a_file_and_its_exit_code_is_known(void **state)
{
    Fixture *f = *state;
    start(f, "echo out; echo error >&2; exit 7");
    world_run(&f->world);
    assert_true(f->end.has_status && !f->end.by_signal);
    assert_int_equal(f->end.status, 7);
    assert_str(output(f), "out\nerror\n");
}

static void it_has_its_own_session_and_inherits_nothing(void **state)
{
    Fixture *f = *state;
    setenv("NOTIFY_SOCKET", "/nowhere", 1);
    start(f, "test \"$(ps -o sid= -p $$ | tr -d ' ')\" = $$ && test -z \"$NOTIFY_SOCKET\" && "
             "! read x");
    unsetenv("NOTIFY_SOCKET");
    world_run(&f->world);
    assert_int_equal(f->end.status, 0);
}

static void it_leaves_no_core_files(void **state)
{
    Fixture *f = *state;
    struct rlimit before, all;
    assert_int_equal(getrlimit(RLIMIT_CORE, &before), 0);
    all = before;
    all.rlim_cur = all.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_CORE, &all), 0);
    start(f, "ulimit -c");
    assert_int_equal(setrlimit(RLIMIT_CORE, &before), 0);
    world_run(&f->world);
    assert_str(output(f), "0\n");
}

static void its_environment_can_be_fixed_and_its_output_appended(void **state)
{
    Fixture *f = *state;
    const char *const argv[] = { "sh", "-c", "echo \"$ONLY:$HOME\"", NULL };
    const char *const env[] = { "ONLY=this", NULL };
    DetachedProcessOptions how = options(f);
    Error err;
    how.env = env;
    how.appends = true;
    for (int i = 0; i < 2; i++) {
        assert_true(detached_process_start(&how, argv, scratch_place(f->scratch, "output"),
                                           &f->process, &err));
        world_run(&f->world);
        detached_process_release(TAKE(f->process));
    }
    assert_str(output(f), "this:\nthis:\n");
}

/* A daemon that is replaced releases the lock, but the process still holds it. */
static void it_holds_a_lock_until_it_ends(void **state)
{
    Fixture *f = *state;
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    FileLock lock;
    const char *const argv[] = { "sh", "-c", "kill -STOP $$", NULL };
    DetachedProcessOptions how = options(f);
    Str found, holder;
    Error err;
    assert_true(directory_open(f->scratch->path, &directory, &err));
    assert_true(
        file_lock_take(&directory, "lock", STR("daemon"), &f->scratch->arena, &lock, &found, &err));
    how.lock = &lock;
    assert_true(
        detached_process_start(&how, argv, scratch_place(f->scratch, "output"), &f->process, &err));
    close(lock.descriptor);
    assert_true(file_lock_is_held(&directory, "lock"));
    assert_true(directory_read(&directory, &f->scratch->arena, "lock", 100, &holder, &err));
    char number[24];
    snprintf(number, sizeof number, "%d", (int)detached_process_pid(f->process));
    assert_str(holder, number);
    detached_process_kill(f->process);
    world_run(&f->world);
    assert_false(file_lock_is_held(&directory, "lock"));
}

static void it_runs_as_another_user_without_privileges(void **state)
{
    Fixture *f = *state;
    const char *const argv[] = { "sh", "-c",
                                 "id -u; id -G; grep -E 'CapEff|NoNewPrivs' /proc/self/status",
                                 NULL };
    bool is_root = geteuid() == 0;
    DetachedProcessOptions how = options(f);
    Error err;
    how.as_user = true;
    how.uid = is_root ? 65534 : geteuid();
    how.gid = is_root ? 65533 : getegid();
    assert_true(
        detached_process_start(&how, argv, scratch_place(f->scratch, "output"), &f->process, &err));
    world_run(&f->world);
    Str all = output(f);
    assert_true(str_find(all, STR("NoNewPrivs:\t1"), 0) < all.len);
    assert_true(str_find(all, STR("CapEff:\t0000000000000000"), 0) < all.len);
    assert_true(!is_root || str_starts(all, STR("65534\n65533\n")));
}

static void an_interrupt_reaches_only_the_process(void **state)
{
    Fixture *f = *state;
    start(f, "trap 'exit 3' INT; kill -STOP $$; while :; do read x < /dev/zero; done");
    /* It stops itself once it is prepared. */
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)detached_process_pid(f->process), &info, WSTOPPED), 0);
    detached_process_interrupt(f->process, false);
    kill(detached_process_pid(f->process), SIGCONT);
    world_run(&f->world);
    assert_int_equal(f->end.status, 3);
}

static void a_kill_reaches_the_whole_group(void **state)
{
    Fixture *f = *state;
    int ends[2];
    assert_int_equal(pipe(ends), 0); /* inherited: readable when the last of them has exited */
    start(f, "sleep 1000 & kill -STOP $$");
    close(ends[1]);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)detached_process_pid(f->process), &info, WSTOPPED), 0);
    detached_process_kill(f->process);
    world_run(&f->world);
    assert_true(f->end.has_status && f->end.by_signal);
    assert_int_equal(f->end.status, SIGKILL);
    char byte;
    assert_int_equal(read(ends[0], &byte, 1), 0);
    close(ends[0]);
}

static void another_daemon_finds_it_and_is_notified_of_its_exit(void **state)
{
    Fixture *f = *state;
    start(f, "kill -STOP $$; exit 7");
    pid_t number = detached_process_pid(f->process);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)number, &info, WSTOPPED), 0);
    detached_process_release(f->process); /* it continues */
    f->process = NULL;
    DetachedProcessOptions how = options(f);
    Error err;
    assert_true(detached_process_find(&how, number, &f->process, &err));
    assert_int_equal(detached_process_pid(f->process), number);
    kill(number, SIGCONT);
    world_run(&f->world);
    assert_false(f->end.has_status);
    detached_process_kill(f->process); /* does nothing */
    assert_int_equal(waitpid(number, NULL, 0), number);
}

static void an_exited_process_is_not_found(void **state)
{
    Fixture *f = *state;
    Error err;
    pid_t child = fork();
    if (child == 0) {
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    DetachedProcessOptions how = options(f);
    assert_false(detached_process_find(&how, child, &f->process, &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    how.program = "/no/such/program";
    assert_false(detached_process_start(&how, (const char *const[]){ "x", NULL },
                                        scratch_place(f->scratch, "output"), &f->process, &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(its_output_is_a_file_and_its_exit_code_is_known),
        TEST(it_has_its_own_session_and_inherits_nothing),
        TEST(it_leaves_no_core_files),
        TEST(its_environment_can_be_fixed_and_its_output_appended),
        TEST(it_holds_a_lock_until_it_ends),
        TEST(it_runs_as_another_user_without_privileges),
        TEST(an_interrupt_reaches_only_the_process),
        TEST(a_kill_reaches_the_whole_group),
        TEST(another_daemon_finds_it_and_is_notified_of_its_exit),
        TEST(an_exited_process_is_not_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
