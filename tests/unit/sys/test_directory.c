#include "sys/directory.h"

#include <sys/inotify.h>
#include <unistd.h>

#include "scratch.h"
#include "syncs.h"

static void directories_are_created_privately_with_their_parents(void **state)
{
    Scratch *scratch = *state;
    AUTO_CLEAR(Directory) made = { .descriptor = -1 }, child = { .descriptor = -1 };
    Error err;
    const char *path = scratch_place(scratch, "var/lib/eden");
    assert_false(directory_open(path, &made, &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    assert_true(directory_make(path, &made, &err));
    assert_true(directory_make_child(&made, "keep", &child, &err));
    directory_close(&child);
    assert_true(directory_make_child(&made, "keep", &child, &err));
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0700);
    scratch_put(scratch, "file", "");
    Directory none;
    assert_false(directory_make(scratch_place(scratch, "file/below"), &none, &err));
}

static void files_are_replaced_atomically_and_are_private(void **state)
{
    Scratch *scratch = *state;
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    Error err;
    Str text;
    assert_true(directory_open(scratch->path, &directory, &err));
    assert_true(directory_write(&directory, "a", STR("one"), true, &err));
    assert_true(directory_write(&directory, "a", STR("two"), false, &err));
    assert_true(directory_read(&directory, &scratch->arena, "a", 3, &text, &err));
    assert_str(text, "two");
    assert_false(directory_read(&directory, &scratch->arena, "a", 2, &text, &err));
    assert_int_equal(err.kind, ERROR_LIMIT);
    assert_false(directory_read(&directory, &scratch->arena, "b", 2, &text, &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    struct stat status;
    assert_int_equal(stat(scratch_place(scratch, "a"), &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    scratch_link(scratch, "link", "a");
    assert_false(directory_read(&directory, &scratch->arena, "link", 100, &text, &err));
    /* A directory in its place cannot be replaced, and nothing is left next to it. */
    assert_int_equal(mkdir(scratch_place(scratch, "folder"), 0755), 0);
    assert_false(directory_write(&directory, "folder", STR("x"), false, &err));
    DirectoryEntry *entries;
    uint32_t count;
    assert_true(directory_list(&directory, &scratch->arena, 10, &entries, &count, &err));
    assert_int_equal(count, 1);
    assert_str(entries[0].name, "a");
    assert_int_equal(entries[0].size, 3);
    assert_true(directory_write(&directory, "b", STR_EMPTY, false, &err));
    assert_false(directory_list(&directory, &scratch->arena, 1, &entries, &count, &err));
    assert_int_equal(err.kind, ERROR_LIMIT);
}

/* The name of the next file created in the directory. */
static void next_made(int watch, char *out, size_t size)
{
    char buffer[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
    ssize_t got = read(watch, buffer, sizeof buffer);
    assert_true(got > 0);
    snprintf(out, size, "%.99s", ((const struct inotify_event *)buffer)->name);
}

/* An attacker who may write there cannot wait under the name of a file that does not exist yet. */
static void names_of_drafts_cannot_be_guessed(void **state)
{
    Scratch *scratch = *state;
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    Error err;
    char names[3][100];
    int watch = inotify_init1(IN_CLOEXEC);
    assert_true(directory_open(scratch->path, &directory, &err));
    assert_true(inotify_add_watch(watch, scratch->path, IN_CREATE) >= 0);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        assert_true(directory_write(&directory, "a", STR("x"), false, &err));
        next_made(watch, names[i], sizeof names[i]);
        /* 64 random bits between the name and ".new" */
        assert_int_equal(strlen(names[i]), 2 + 16 + 4);
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(names[i], names[j]);
        }
    }
    close(watch);
}

static void secrets_are_read_only_from_private_files(void **state)
{
    Scratch *scratch = *state;
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    Error err;
    char text[8] = "";
    size_t len;
    assert_true(directory_open(scratch->path, &directory, &err));
    assert_true(directory_write(&directory, "key", STR("secret"), false, &err));
    assert_true(directory_read_private(&directory, "key", text, 6, &len, &err));
    assert_int_equal(len, 6);
    assert_string_equal(text, "secret");
    assert_false(directory_read_private(&directory, "key", text, 5, &len, &err));
    assert_int_equal(err.kind, ERROR_LIMIT);
    assert_false(directory_read_private(&directory, "none", text, 6, &len, &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    assert_int_equal(chmod(scratch_place(scratch, "key"), 0640), 0);
    assert_false(directory_read_private(&directory, "key", text, 6, &len, &err));
    assert_int_equal(err.kind, ERROR_DENIED);
    assert_int_equal(mkdir(scratch_place(scratch, "folder"), 0700), 0);
    assert_false(directory_read_private(&directory, "folder", text, 6, &len, &err));
    scratch_link(scratch, "link", "key");
    assert_false(directory_read_private(&directory, "link", text, 6, &len, &err));
    assert_int_equal(err.kind, ERROR_OS);
}

static void a_second_name_stays_with_the_old_content(void **state)
{
    Scratch *scratch = *state;
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    Error err;
    Str text;
    assert_true(directory_open(scratch->path, &directory, &err));
    assert_false(directory_link(&directory, "a", "a.1"));
    assert_true(directory_write(&directory, "a", STR("one"), false, &err));
    assert_true(directory_link(&directory, "a", "a.1"));
    assert_true(directory_link(&directory, "a", "a.1"));
    assert_true(directory_write(&directory, "a", STR("two"), false, &err));
    assert_true(directory_read(&directory, &scratch->arena, "a.1", 10, &text, &err));
    assert_str(text, "one");
    assert_true(directory_touch(&directory, "a"));
    assert_true(directory_remove(&directory, "a", &err));
    assert_false(directory_has(&directory, "a"));
    assert_false(directory_touch(&directory, "a"));
    assert_false(directory_remove(&directory, "a", &err));
    DirectoryEntry *entries;
    uint32_t count;
    assert_true(directory_list(&directory, &scratch->arena, 10, &entries, &count, &err));
    assert_int_equal(count, 1);
}

static void a_directory_is_removed_with_its_content_only(void **state)
{
    Scratch *scratch = *state;
    AUTO_CLEAR(Directory) top = { .descriptor = -1 };
    AUTO_CLEAR(Directory) a = { .descriptor = -1 };
    AUTO_CLEAR(Directory) b = { .descriptor = -1 };
    Error err;
    assert_true(directory_open(scratch->path, &top, &err));
    assert_true(directory_make_child(&top, "a", &a, &err));
    assert_true(directory_make_child(&a, "b", &b, &err));
    assert_true(directory_write(&b, "file", STR("x"), false, &err));
    assert_true(directory_write(&top, "kept", STR("x"), false, &err));
    assert_int_equal(symlinkat("../kept", a.descriptor, "link"), 0);
    assert_int_equal(symlinkat("..", a.descriptor, "up"), 0);
    directory_remove_child(&top, "a");
    assert_false(directory_has(&top, "a"));
    assert_true(directory_has(&top, "kept"));
    directory_remove_child(&top, "a");
    directory_remove_child(&top, "kept");
    assert_true(directory_has(&top, "kept"));
}

static void a_moved_file_exists_once(void **state)
{
    Scratch *scratch = *state;
    AUTO_CLEAR(Directory) top = { .descriptor = -1 };
    AUTO_CLEAR(Directory) a = { .descriptor = -1 };
    AUTO_CLEAR(Directory) b = { .descriptor = -1 };
    Error err;
    assert_true(directory_open(scratch->path, &top, &err));
    assert_true(directory_make_child(&top, "a", &a, &err));
    assert_true(directory_make_child(&a, "b", &b, &err));
    assert_true(directory_move(&a, "b", &top, "c", &err));
    assert_true(directory_has(&top, "c"));
    assert_false(directory_has(&a, "b"));
    assert_false(directory_move(&a, "b", &top, "d", &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
}

static void content_and_name_are_synced_on_request(void **state)
{
    Scratch *scratch = *state;
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    Error err;
    assert_true(directory_open(scratch->path, &directory, &err));
    syncs_forget();
    assert_true(directory_write(&directory, "a", STR("one"), false, &err));
    assert_int_equal(syncs, 0);
    assert_true(directory_write(&directory, "a", STR("two"), true, &err));
    assert_true(is_synced(scratch_place(scratch, "a")));
    assert_true(is_synced(scratch->path));
    syncs_fail = true;
    assert_false(directory_write(&directory, "a", STR("three"), true, &err));
    syncs_fail = false;
    Str text;
    assert_true(directory_read(&directory, &scratch->arena, "a", 10, &text, &err));
    assert_str(text, "two");
}

static void both_directories_of_a_move_are_synced(void **state)
{
    Scratch *scratch = *state;
    AUTO_CLEAR(Directory) from = { .descriptor = -1 };
    AUTO_CLEAR(Directory) to = { .descriptor = -1 };
    Error err;
    scratch_put(scratch, "from/a", "");
    scratch_put(scratch, "to/b", "");
    assert_true(directory_open(scratch_place(scratch, "from"), &from, &err));
    assert_true(directory_open(scratch_place(scratch, "to"), &to, &err));
    syncs_forget();
    assert_true(directory_move(&from, "a", &to, "a", &err));
    assert_true(is_synced(scratch_place(scratch, "from")));
    assert_true(is_synced(scratch_place(scratch, "to")));
}

/* Data synced in a new directory would otherwise be lost with its name. */
static void the_names_of_new_directories_are_synced(void **state)
{
    Scratch *scratch = *state;
    AUTO_CLEAR(Directory) made = { .descriptor = -1 };
    Error err;
    syncs_forget();
    assert_true(directory_make(scratch_place(scratch, "var/lib/eden"), &made, &err));
    assert_true(is_synced(scratch->path));
    assert_true(is_synced(scratch_place(scratch, "var")));
    assert_true(is_synced(scratch_place(scratch, "var/lib")));
}

#define SCRATCH_TEST(f) cmocka_unit_test_setup_teardown(f, scratch_set_up, scratch_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(a_directory_is_removed_with_its_content_only),
        SCRATCH_TEST(a_moved_file_exists_once),
        SCRATCH_TEST(content_and_name_are_synced_on_request),
        SCRATCH_TEST(both_directories_of_a_move_are_synced),
        SCRATCH_TEST(the_names_of_new_directories_are_synced),
        SCRATCH_TEST(directories_are_created_privately_with_their_parents),
        SCRATCH_TEST(files_are_replaced_atomically_and_are_private),
        SCRATCH_TEST(names_of_drafts_cannot_be_guessed),
        SCRATCH_TEST(secrets_are_read_only_from_private_files),
        SCRATCH_TEST(a_second_name_stays_with_the_old_content),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
