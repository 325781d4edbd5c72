#include "sys/file_stream.h"

#include <sys/stat.h>

#include "scratch.h"
#include "syncs.h"
#include "sys/directory.h"
#include "sys/file.h"

static Str read_back(Scratch *scratch, const char *name)
{
    Str text;
    Error err;
    assert_true(file_read(&scratch->arena, scratch_place(scratch, name), 1000, &text, &err));
    return text;
}

static uint32_t count_files(Scratch *scratch)
{
    AUTO_CLEAR(Directory) directory;
    DirectoryEntry *entries;
    uint32_t count;
    Error err;
    assert_true(directory_open(scratch_place(scratch, "."), &directory, &err));
    assert_true(directory_list(&directory, &scratch->arena, 100, &entries, &count, &err));
    return count;
}

static void it_appears_complete(void **state)
{
    const char *path = scratch_place(*state, "file");
    FileDraft *draft;
    struct stat status;
    Error err;
    assert_true(file_draft_open(path, 0600, true, &draft, &err));
    assert_true(file_draft_put(draft, STR("one "), &err));
    assert_false(file_exists(path));
    assert_true(file_draft_put(draft, STR("two"), &err));
    syncs_forget();
    assert_true(file_draft_keep(draft, &err));
    file_draft_close(draft);
    assert_true(is_synced(path));
    assert_true(is_synced(((Scratch *)*state)->path));
    assert_str(read_back(*state, "file"), "one two");
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_int_equal(count_files(*state), 1);
}

static void its_beginning_can_be_written_last(void **state)
{
    FileDraft *draft;
    Error err;
    assert_true(file_draft_open(scratch_place(*state, "file"), 0600, true, &draft, &err));
    assert_true(file_draft_put(draft, STR("--- two"), &err));
    assert_true(file_draft_put_first(draft, STR("one"), &err));
    assert_true(file_draft_put(draft, STR(" three"), &err));
    assert_true(file_draft_keep(draft, &err));
    file_draft_close(draft);
    assert_str(read_back(*state, "file"), "one two three");
}

static void a_discarded_draft_is_removed(void **state)
{
    FileDraft *draft;
    Error err;
    assert_true(file_draft_open(scratch_place(*state, "file"), 0600, false, &draft, &err));
    assert_true(file_draft_put(draft, STR("half"), &err));
    assert_int_equal(count_files(*state), 1);
    file_draft_close(draft);
    assert_int_equal(count_files(*state), 0);
}

static void a_new_draft_replaces_nothing(void **state)
{
    const char *path = scratch_place(*state, "file");
    FileDraft *draft;
    Error err;
    assert_true(file_write_atomic(path, STR("mine"), &err));
    assert_true(file_draft_open(path, 0600, true, &draft, &err));
    assert_false(file_draft_keep(draft, &err));
    assert_int_equal(err.kind, ERROR_CONFLICT);
    file_draft_close(draft);
    assert_str(read_back(*state, "file"), "mine");
    assert_int_equal(count_files(*state), 1);
}

static void a_missing_directory_is_reported(void **state)
{
    FileDraft *draft;
    Error err;
    assert_false(file_draft_open(scratch_place(*state, "none/file"), 0600, true, &draft, &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
}

/* --- Reading --------------------------------------------------------------------------------- */

static void chunks_are_read_until_the_end(void **state)
{
    const char *path = scratch_place(*state, "file");
    FileReader *reader;
    char chunk[4];
    size_t got;
    Error err;
    assert_true(file_write_atomic(path, STR("abcdef"), &err));
    assert_true(file_reader_open(path, &reader, &err));
    assert_true(file_reader_next(reader, chunk, sizeof chunk, &got, &err));
    assert_int_equal(got, 4);
    assert_memory_equal(chunk, "abcd", 4);
    assert_true(file_reader_next(reader, chunk, sizeof chunk, &got, &err));
    assert_int_equal(got, 2);
    assert_true(file_reader_next(reader, chunk, sizeof chunk, &got, &err));
    assert_int_equal(got, 0);
    file_reader_close(reader);
}

static void special_files_are_rejected(void **state)
{
    FileReader *reader;
    Error err;
    const char *pipe = scratch_place(*state, "pipe");
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_false(file_reader_open(pipe, &reader, &err));
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_false(file_reader_open(scratch_place(*state, "."), &reader, &err));
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_false(file_reader_open(scratch_place(*state, "none"), &reader, &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, scratch_set_up, scratch_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(it_appears_complete),
        ROW(its_beginning_can_be_written_last),
        ROW(a_discarded_draft_is_removed),
        ROW(a_new_draft_replaces_nothing),
        ROW(a_missing_directory_is_reported),
        ROW(chunks_are_read_until_the_end),
        ROW(special_files_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
