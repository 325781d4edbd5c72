/* Dropped privileges are gone, suspended ones are restored. Each case is a separate process, since
 * none of it can be undone. */
#include "sys/privilege.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scratch.h"

enum {
    OTHER_USER = 65534
};

/* Exit codes of the children: 0, or the line that failed. */
#define CHECK(condition)            \
    do {                            \
        if (!(condition)) {         \
            _exit(__LINE__ & 0xff); \
        }                           \
    } while (0)

static void run_in_child(void (*act)(const char *place), Scratch *scratch)
{
    if (!running_as_root()) {
        fail_msg("only root has rights to give up");
    }
    const char *place = scratch_place(scratch, "file");
    assert_int_equal(chmod(scratch_place(scratch, ""), 0777), 0);
    pid_t child = fork();
    if (child == 0) {
        act(place);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void drop(const char *place)
{
    Error err;
    gid_t groups[8];
    CHECK(privileges_drop(OTHER_USER, OTHER_USER, &err));
    CHECK(getuid() == OTHER_USER && geteuid() == OTHER_USER && getegid() == OTHER_USER);
    CHECK(getgroups(8, groups) == 1 && groups[0] == OTHER_USER);
    CHECK(setuid(0) != 0 && seteuid(0) != 0 && setgid(0) != 0);
    CHECK(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
    CHECK(prctl(PR_CAPBSET_READ, 0, 0, 0, 0) == 0);
    CHECK(privileges_drop(OTHER_USER, OTHER_USER, &err));
    CHECK(!privileges_drop(OTHER_USER - 1, OTHER_USER, &err) && err.kind == ERROR_DENIED);
}

static void dropped_privileges_are_gone(void **state)
{
    run_in_child(drop, *state);
}

static void lend(const char *place)
{
    Error err;
    struct stat status;
    CHECK(privileges_lend(OTHER_USER, OTHER_USER, &err));
    int descriptor = open(place, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    CHECK(descriptor >= 0);
    privileges_return();
    CHECK(geteuid() == 0 && getegid() == 0);
    CHECK(fstat(descriptor, &status) == 0 && status.st_uid == OTHER_USER &&
          status.st_gid == OTHER_USER);
}

static void borrowed_privileges_are_restored(void **state)
{
    run_in_child(lend, *state);
}

static void end_with_parent(const char *place)
{
    CHECK(privileges_end_with_parent(getppid()));
    CHECK(!privileges_end_with_parent(1) || getppid() == 1);
}

static void only_its_own_parent_counts(void **state)
{
    run_in_child(end_with_parent, *state);
}

static void forbid_dumps(const char *place)
{
    struct rlimit limit;
    CHECK(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0);
    privileges_forbid_dumps();
    CHECK(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0);
    CHECK(getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_cur == 0);
}

static void core_dumps_are_disabled(void **state)
{
    run_in_child(forbid_dumps, *state);
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, scratch_set_up, scratch_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(dropped_privileges_are_gone),
        ROW(borrowed_privileges_are_restored),
        ROW(only_its_own_parent_counts),
        ROW(core_dumps_are_disabled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
