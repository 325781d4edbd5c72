#include "run/lock.h"

#include <sys/stat.h>

#include "scratch.h"

static void the_second_process_learns_the_holder(void **state)
{
    Scratch *scratch = *state;
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    Error err = { 0 };
    Problems problems;
    problems_init(&problems, &scratch->arena);
    assert_true(directory_open(scratch->path, &directory, &err));
    FileLock first, second;
    assert_false(run_lock_is_held(&directory));
    assert_true(run_lock_take(&directory, STR("eden apply 'my site'"), &first, &problems, &err));
    assert_true(run_lock_is_held(&directory));
    assert_int_equal(problems.count, 0);
    Str holder;
    assert_true(run_lock_holder(&directory, &scratch->arena, &holder));
    assert_str(
        holder,
        arena_format(&scratch->arena, "'eden apply 'my site'' (pid %d)", (int)getpid()).data);
    assert_false(run_lock_take(&directory, STR("eden apply"), &second, &problems, &err));
    assert_int_equal(err.kind, ERROR_CONFLICT);
    assert_int_equal(error_kind_exit_code(err.kind), 5);
    assert_str(problems.items[0].code, "E0701");
    char expected[128];
    snprintf(expected, sizeof expected,
             "another run is in progress: pid %d ('eden apply 'my site'') since 20", (int)getpid());
    assert_true(str_starts(problems.items[0].message, str_from_c(expected)));
    file_lock_release(&second);
    file_lock_release(&first);
    assert_false(run_lock_is_held(&directory));
    assert_false(
        run_lock_holder(&directory, &scratch->arena, &holder)); /* although it is recorded */
    assert_true(run_lock_take(&directory, STR("eden apply"), &second, &problems, &err));
    file_lock_release(&second);
}

static void the_lock_ends_with_a_killed_process(void **state)
{
    Scratch *scratch = *state;
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    Error err;
    Problems problems;
    problems_init(&problems, &scratch->arena);
    assert_true(directory_open(scratch->path, &directory, &err));
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        FileLock lock;
        bool taken = run_lock_take(&directory, STR("doomed"), &lock, &problems, &err);
        (void)!write(ready[1], taken ? "y" : "n", 1);
        pause();
        _exit(0);
    }
    char answer;
    assert_int_equal(read(ready[0], &answer, 1), 1);
    assert_int_equal(answer, 'y');
    assert_true(run_lock_is_held(&directory));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(ready[0]);
    close(ready[1]);
    assert_false(run_lock_is_held(&directory));
    /* Its content is still there, which does not matter. */
    FileLock lock;
    assert_true(run_lock_take(&directory, STR("next"), &lock, &problems, &err));
    file_lock_release(&lock);
}

static void an_unknown_holder_is_reported_without_details(void **state)
{
    Scratch *scratch = *state;
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    Error err;
    Problems problems;
    problems_init(&problems, &scratch->arena);
    assert_true(directory_open(scratch->path, &directory, &err));
    FileLock first, second;
    Str found;
    assert_true(file_lock_take(&directory, "lock", STR("garbage {"), &scratch->arena, &first,
                               &found, &err));
    assert_false(run_lock_take(&directory, STR("x"), &second, &problems, &err));
    assert_str(problems.items[0].message, "another run is in progress; it has just started");
    assert_false(run_lock_holder(&directory, &scratch->arena, &found));
    file_lock_release(&first);
}

/* The daemon of a node asks on its only thread. */
static void a_pipe_in_place_of_the_lock_does_not_block(void **state)
{
    Scratch *scratch = *state;
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    Error err;
    assert_true(directory_open(scratch->path, &directory, &err));
    assert_int_equal(mkfifo(scratch_place(scratch, "lock"), 0600), 0);
    assert_false(run_lock_is_held(&directory));
}

#define SCRATCH_TEST(f) cmocka_unit_test_setup_teardown(f, scratch_set_up, scratch_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(the_second_process_learns_the_holder),
        SCRATCH_TEST(the_lock_ends_with_a_killed_process),
        SCRATCH_TEST(an_unknown_holder_is_reported_without_details),
        SCRATCH_TEST(a_pipe_in_place_of_the_lock_does_not_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
