/* The process of etcd, with a shell in its place. */
#include "datastore/etcd_process.h"

#include <signal.h>

#include "net/world.h"

typedef struct Fixture {
    World world;
    Scratch *scratch;
    Directory directory;
    EtcdProcess *process;
    bool has_ended;
    char why[400];
} Fixture;

static void ended(void *context, const char *why)
{
    Fixture *f = context;
    f->has_ended = true;
    snprintf(f->why, sizeof f->why, "%s", why);
    loop_stop(f->world.loop);
}

static EtcdProcess *follow(Fixture *f)
{
    return etcd_process_new(&(EtcdProcessOptions){ .loop = f->world.loop,
                                                   .directory = &f->directory,
                                                   .program = "/bin/sh",
                                                   .ended = ended,
                                                   .context = f });
}

static int set_up(void **state)
{
    scratch_set_up(state);
    Fixture *f = calloc(1, sizeof *f);
    Error err;
    f->scratch = *state;
    *state = f;
    world_open(&f->world);
    assert_true(directory_open(f->scratch->path, &f->directory, &err));
    f->process = follow(f);
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    *state = f->scratch;
    etcd_process_free(f->process);
    directory_close(&f->directory);
    world_close(&f->world);
    free(f);
    return scratch_tear_down(state);
}

static bool start(Fixture *f, const char *script, Error *err)
{
    const char *const arguments[] = { "etcd", "-c", script, NULL };
    const char *const environment[] = { "PATH=/usr/bin:/bin", NULL };
    return etcd_process_start(f->process, arguments, environment, err);
}

static void its_last_error_explains_its_end(void **state)
{
    Fixture *f = *state;
    Error err;
    assert_false(etcd_process_find(f->process));
    assert_true(start(f,
                      "echo starting; echo '{\"level\":\"fatal\",\"msg\":\"cannot start\","
                      "\"error\":\"disk full\"}' >&2; exit 3",
                      &err));
    assert_true(etcd_process_pid(f->process) > 0);
    world_run(&f->world);
    assert_string_equal(f->why, "exited with status 3: cannot start: disk full");
    assert_int_equal(etcd_process_pid(f->process), 0);
}

static void its_last_line_does_if_it_is_no_object(void **state)
{
    Fixture *f = *state;
    Error err;
    assert_true(start(f, "echo panic; echo; kill -9 $$", &err));
    world_run(&f->world);
    assert_string_equal(f->why, "killed by SIGKILL: panic");
}

static void the_next_program_finds_it(void **state)
{
    Fixture *f = *state;
    Error err;
    assert_true(start(f, "exec sleep 1000", &err));
    pid_t number = etcd_process_pid(f->process);
    etcd_process_free(f->process);
    f->process = follow(f);
    assert_true(etcd_process_find(f->process));
    assert_int_equal(etcd_process_pid(f->process), number);
    etcd_process_stop(f->process);
    world_run(&f->world);
    assert_true(f->has_ended);
    assert_false(etcd_process_find(f->process));
}

static void there_are_never_two_for_one_directory(void **state)
{
    Fixture *f = *state;
    Error err;
    assert_true(start(f, "exec sleep 1000", &err));
    EtcdProcess *first = f->process;
    f->process = follow(f);
    assert_false(start(f, "exit 0", &err));
    assert_int_equal(err.kind, ERROR_CONFLICT);
    etcd_process_free(f->process);
    f->process = first;
    kill(etcd_process_pid(f->process), SIGKILL);
    world_run(&f->world);
    assert_string_equal(f->why, "killed by SIGKILL");
}

/* A lock that was left by a process that has ended, and whose number another one has now. */
static void a_process_without_the_lock_is_not_followed(void **state)
{
    Fixture *f = *state;
    char number[24];
    Error err;
    snprintf(number, sizeof number, "%d", (int)getpid());
    assert_true(directory_write(&f->directory, "etcd.lock", str_from_c(number), false, &err));
    assert_false(etcd_process_find(f->process));
}

static void a_long_log_is_cut(void **state)
{
    Fixture *f = *state;
    struct stat status;
    Error err;
    char *text = calloc(1, ETCD_LOG_MAX + 1);
    memset(text, 'x', ETCD_LOG_MAX + 1);
    assert_true(
        directory_write(&f->directory, "etcd.log", str_from(text, ETCD_LOG_MAX + 1), false, &err));
    free(text);
    world_pass(&f->world, 1);
    assert_int_equal(stat(scratch_place(f->scratch, "etcd.log"), &status), 0);
    assert_int_equal(status.st_size, 0);
    assert_int_equal(stat(scratch_place(f->scratch, "etcd.log.1"), &status), 0);
    assert_int_equal(status.st_size, ETCD_LOG_KEEP);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(its_last_error_explains_its_end),
        TEST(its_last_line_does_if_it_is_no_object),
        TEST(the_next_program_finds_it),
        TEST(there_are_never_two_for_one_directory),
        TEST(a_process_without_the_lock_is_not_followed),
        TEST(a_long_log_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
