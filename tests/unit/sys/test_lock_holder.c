#include "sys/lock_holder.h"

#include <stdlib.h>

#include "unit.h"

typedef struct Fixture {
    Arena arena;
    char root[64];
    char path[80];
    Host *host;
    Error err;
} Fixture;

static int set_up(void **state)
{
    Fixture *fixture = calloc(1, sizeof *fixture);
    arena_init(&fixture->arena, ARENA_UNLIMITED);
    strcpy(fixture->root, "/tmp/test_lock_holder.XXXXXX");
    *state = fixture;
    if (mkdtemp(fixture->root) == NULL ||
        !host_open(fixture->root, &fixture->host, &fixture->err)) {
        return -1;
    }
    snprintf(fixture->path, sizeof fixture->path, "%s/lock", fixture->root);
    return 0;
}

static int tear_down(void **state)
{
    Fixture *fixture = *state;
    host_close(fixture->host);
    unlink(fixture->path);
    rmdir(fixture->root);
    arena_clear(&fixture->arena);
    free(fixture);
    return 0;
}

/* A process that has the file open, and locked if `locks`; it exits when `*go` is closed. */
static pid_t hold(const char *path, bool locks, int *go)
{
    int ready[2], wait[2];
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(wait), 0);
    pid_t child = fork();
    if (child == 0) {
        close(wait[1]);
        int descriptor = open(path, O_RDWR | O_CREAT, 0600);
        struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
        char end =
            descriptor >= 0 && (!locks || fcntl(descriptor, F_SETLK, &lock) == 0) ? 'y' : 'n';
        bool reported = write(ready[1], &end, 1) == 1;
        _exit(reported && read(wait[0], &end, 1) == 0 ? 0 : 1);
    }
    close(wait[0]);
    char answer;
    assert_int_equal(read(ready[0], &answer, 1), 1);
    assert_int_equal(answer, 'y');
    close(ready[0]);
    close(ready[1]);
    *go = wait[1];
    return child;
}

static void let_go(pid_t child, int go)
{
    close(go);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void the_holder_of_a_lock_is_found(void **state)
{
    Fixture *fixture = *state;
    LockHolder holder;
    int go;
    assert_false(lock_holder_find(fixture->host, &fixture->arena, STR("/lock"), &holder));
    pid_t child = hold(fixture->path, true, &go);
    assert_true(lock_holder_find(fixture->host, &fixture->arena, STR("/lock"), &holder));
    assert_int_equal(holder.pid, child);
    assert_true(str_find(holder.command, STR("test_lock_holder"), 0) != STR_NOT_FOUND);
    let_go(child, go);
    assert_false(lock_holder_find(fixture->host, &fixture->arena, STR("/lock"), &holder));
}

static void the_process_with_an_open_file_is_found(void **state)
{
    Fixture *fixture = *state;
    LockHolder holder;
    int go;
    assert_false(lock_holder_find_user(fixture->host, &fixture->arena, STR("/lock"), &holder));
    pid_t child = hold(fixture->path, false, &go);
    assert_false(lock_holder_find(fixture->host, &fixture->arena, STR("/lock"), &holder));
    assert_true(lock_holder_find_user(fixture->host, &fixture->arena, STR("/lock"), &holder));
    assert_int_equal(holder.pid, child);
    let_go(child, go);
    assert_false(lock_holder_find_user(fixture->host, &fixture->arena, STR("/lock"), &holder));
}

static bool read_number(Fixture *fixture, const char *text)
{
    LockHolder holder;
    FileWrite write = {
        .content = str_from_c(text), .mode = 0600, .uid = HOST_KEEP_ID, .gid = HOST_KEEP_ID
    };
    assert_true(host_write(fixture->host, STR("/lock"), &write, &fixture->err));
    return lock_holder_read(fixture->host, &fixture->arena, STR("/lock"), &holder);
}

static void a_pid_in_a_file_counts_while_the_process_exists(void **state)
{
    Fixture *fixture = *state;
    LockHolder holder;
    char own[32];
    snprintf(own, sizeof own, " %d\n", getpid());
    assert_false(lock_holder_read(fixture->host, &fixture->arena, STR("/lock"), &holder));
    assert_true(read_number(fixture, own));
    pid_t child = fork();
    if (child == 0) {
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    snprintf(own, sizeof own, "%d", child);
    assert_false(read_number(fixture, own));
    static const char *const odd[] = { "", "0", "-1", "x", "99999999999999999999", "1 2" };
    for (size_t i = 0; i < COUNT_OF(odd); i++) {
        assert_false(read_number(fixture, odd[i]));
    }
}

#define IN_ROOT(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_ROOT(the_holder_of_a_lock_is_found),
        IN_ROOT(the_process_with_an_open_file_is_found),
        IN_ROOT(a_pid_in_a_file_counts_while_the_process_exists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
