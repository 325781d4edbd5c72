#include "sys/append_file.h"

#include <sys/resource.h>

#include "scratch.h"

static void added_records_exist_and_truncated_ones_do_not(void **state)
{
    Scratch *scratch = *state;
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    AUTO_CLEAR(AppendFile) file = { .descriptor = -1 };
    Error err;
    Str text;
    assert_true(directory_open(scratch->path, &directory, &err));
    assert_true(append_file_open(&directory, "log", &file, &err));
    append_file_reserve(&file, 100000);
    assert_true(append_file_add(&file, STR("one\n"), &err));
    assert_true(append_file_add(&file, STR("two\n"), &err));
    assert_true(append_file_sync(&file, &err));
    append_file_close(&file);
    assert_true(append_file_open(&directory, "log", &file, &err));
    assert_int_equal(file.size, 8);
    assert_true(append_file_truncate(&file, 4, &err));
    assert_true(append_file_add(&file, STR("three\n"), &err));
    assert_true(append_file_read(&file, &scratch->arena, 100, &text, &err));
    assert_str(text, "one\nthree\n");
    assert_false(append_file_read(&file, &scratch->arena, 9, &text, &err));
    assert_int_equal(err.kind, ERROR_LIMIT);
}

static void a_partial_record_is_rolled_back(void **state)
{
    Scratch *scratch = *state;
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    AUTO_CLEAR(AppendFile) file = { .descriptor = -1 };
    Error err;
    Str text;
    assert_true(directory_open(scratch->path, &directory, &err));
    assert_true(append_file_open(&directory, "log", &file, &err));
    assert_true(append_file_add(&file, STR("one\n"), &err));
    /* The kernel accepts the first bytes of what does not fit, like a full disk does. */
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit before, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 10;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    bool added = append_file_add(&file, STR("a longer record\n"), &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_false(added);
    assert_true(append_file_read(&file, &scratch->arena, 100, &text, &err));
    assert_str(text, "one\n");
    assert_true(append_file_add(&file, STR("two\n"), &err));
    assert_true(append_file_read(&file, &scratch->arena, 100, &text, &err));
    assert_str(text, "one\ntwo\n");
}

static void special_files_are_rejected(void **state)
{
    Scratch *scratch = *state;
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    AppendFile file;
    Error err;
    assert_true(directory_open(scratch->path, &directory, &err));
    scratch_link(scratch, "link", "elsewhere");
    assert_false(append_file_open(&directory, "link", &file, &err));
    assert_int_equal(mkdir(scratch_place(scratch, "folder"), 0755), 0);
    assert_false(append_file_open(&directory, "folder", &file, &err));
}

#define SCRATCH_TEST(f) cmocka_unit_test_setup_teardown(f, scratch_set_up, scratch_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(added_records_exist_and_truncated_ones_do_not),
        SCRATCH_TEST(a_partial_record_is_rolled_back),
        SCRATCH_TEST(special_files_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
