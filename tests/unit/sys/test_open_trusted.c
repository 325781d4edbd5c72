/* Directories on paths that another user controls in part. Requires root: other users are stopped
 * by the kernel. */
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scratch.h"
#include "sys/directory.h"

enum {
    OTHER_USER = 12345
};

static void need_root(void)
{
    if (geteuid() != 0) {
        fail_msg("this test needs root: run it below 'unshare --user --map-auto --map-root-user'");
    }
}

static const char *make(Scratch *scratch, const char *name, uid_t owner)
{
    const char *path = scratch_place(scratch, name);
    assert_int_equal(mkdir(path, 0755), 0);
    assert_int_equal(chown(path, owner, owner), 0);
    return path;
}

static bool opens(const char *path)
{
    Directory directory = { .descriptor = -1 };
    Error err;
    bool ok = directory_open(path, &directory, &err);
    if (ok) {
        directory_close(&directory);
        assert_true(directory_make(path, &directory, &err));
        directory_close(&directory);
    } else {
        assert_int_equal(err.kind, ERROR_DENIED);
        assert_non_null(strstr(err.text, "is a symbolic link that user 12345 controls"));
        assert_false(directory_make(path, &directory, &err));
        assert_int_equal(err.kind, ERROR_DENIED);
    }
    return ok;
}

static uid_t owner_of(const char *path)
{
    struct stat status;
    assert_int_equal(lstat(path, &status), 0);
    return status.st_uid;
}

static void links_in_a_directory_of_another_user_are_not_followed(void **state)
{
    Scratch *scratch = *state;
    need_root();
    const char *target = make(scratch, "target", 0);
    make(scratch, "theirs", OTHER_USER);
    const char *link = scratch_place(scratch, "theirs/link");
    assert_int_equal(symlink(target, link), 0); /* it belongs to root, and they can replace it */
    assert_false(opens(link));
    assert_false(opens(scratch_place(scratch, "theirs/link/below")));
    assert_false(opens(scratch_place(scratch, "theirs/link/../target")));
    assert_int_equal(lchown(link, OTHER_USER, OTHER_USER), 0);
    assert_false(opens(link));
    /* Anything but a link is opened, also there. */
    make(scratch, "theirs/real", OTHER_USER);
    assert_true(opens(scratch_place(scratch, "theirs/real")));
    assert_true(opens(scratch_place(scratch, "theirs/../theirs/./real/")));
}

/* As in /tmp. */
static void links_of_another_user_are_not_followed(void **state)
{
    Scratch *scratch = *state;
    need_root();
    const char *target = make(scratch, "target", 0);
    const char *link = scratch_place(scratch, "link");
    assert_int_equal(symlink(target, link), 0);
    assert_true(opens(link));
    assert_int_equal(lchown(link, OTHER_USER, OTHER_USER), 0);
    assert_false(opens(link));
}

static void links_of_root_are_followed(void **state)
{
    Scratch *scratch = *state;
    need_root();
    make(scratch, "target", 0);
    make(scratch, "target/below", 0);
    scratch_link(scratch, "one", "target");
    scratch_link(scratch, "two", "./one/below");
    assert_true(opens(scratch_place(scratch, "two")));
    assert_true(opens(scratch_place(scratch, "one/below")));
    /* Also one that leads to a directory of theirs, as long as no link on the path is theirs. */
    make(scratch, "theirs", OTHER_USER);
    scratch_link(scratch, "three", "theirs");
    assert_true(opens(scratch_place(scratch, "three")));
    scratch_link(scratch, "circle", "circle");
    Directory directory;
    Error err;
    assert_false(directory_open(scratch_place(scratch, "circle"), &directory, &err));
}

/* For a server: the user who owns the state directory cannot make root give them something else. */
static void no_owner_is_changed_through_a_link(void **state)
{
    Scratch *scratch = *state;
    need_root();
    Directory theirs, child;
    Error err;
    const char *target = make(scratch, "target", 0);
    assert_true(directory_open(make(scratch, "theirs", OTHER_USER), &theirs, &err));
    assert_int_equal(symlink(target, scratch_place(scratch, "theirs/server")), 0);
    assert_false(directory_make_child(&theirs, "server", &child, &err));
    assert_int_equal(err.kind, ERROR_DENIED);
    assert_false(directory_open_child(&theirs, "server", &child, &err));
    assert_int_equal(owner_of(target), 0);
    assert_true(directory_make_child(&theirs, "agent", &child, &err));
    assert_true(directory_give(&child, OTHER_USER, OTHER_USER, &err));
    assert_int_equal(owner_of(scratch_place(scratch, "theirs/agent")), OTHER_USER);
    directory_close(&child);
    directory_close(&theirs);
}

static void parents_are_created_as_usual(void **state)
{
    Scratch *scratch = *state;
    Directory directory;
    struct stat status;
    Error err;
    umask(022);
    assert_true(directory_make(scratch_place(scratch, "a//b/./c/"), &directory, &err));
    directory_close(&directory);
    assert_int_equal(stat(scratch_place(scratch, "a/b"), &status), 0);
    assert_int_equal(status.st_mode & 0777, 0755);
    assert_int_equal(stat(scratch_place(scratch, "a/b/c"), &status), 0);
    assert_int_equal(status.st_mode & 0777, 0700);
    scratch_put(scratch, "file", "");
    assert_false(directory_make(scratch_place(scratch, "file/below"), &directory, &err));
    assert_false(directory_open(scratch_place(scratch, "file"), &directory, &err));
    assert_false(directory_open(scratch_place(scratch, "nothing"), &directory, &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    assert_false(directory_open("", &directory, &err));
}

int main(void)
{
#define ROW(name) cmocka_unit_test_setup_teardown(name, scratch_set_up, scratch_tear_down)
    const struct CMUnitTest tests[] = {
        ROW(links_in_a_directory_of_another_user_are_not_followed),
        ROW(links_of_another_user_are_not_followed),
        ROW(links_of_root_are_followed),
        ROW(no_owner_is_changed_through_a_link),
        ROW(parents_are_created_as_usual),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
