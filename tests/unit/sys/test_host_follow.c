/* Links that another user put on the way to what root changes or reads. As root only: whoever else asks
 * is held back by the kernel. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scratch.h"
#include "sys/host.h"

enum {
    SOMEBODY = 12345,
    ANOTHER = 12346,
    WRITES = 2000
};

static void need_root(void)
{
    if (geteuid() != 0) {
        fail_msg("this test needs root: run it below 'unshare --user --map-auto --map-root-user'");
    }
}

static void make(Scratch *scratch, const char *name, uid_t owner)
{
    const char *path = scratch_place(scratch, name);
    assert_int_equal(mkdir(path, 0755), 0);
    assert_int_equal(chown(path, owner, owner), 0);
}

static void put_link(Scratch *scratch, const char *name, const char *target, uid_t owner)
{
    scratch_link(scratch, name, target);
    assert_int_equal(lchown(scratch_place(scratch, name), owner, owner), 0);
}

/* Root's directory "etc" with a private file, and "home", which is somebody's. */
static void furnish(Scratch *scratch)
{
    need_root();
    make(scratch, "root", 0);
    make(scratch, "root/etc", 0);
    scratch_put(scratch, "root/etc/private", "precious");
    make(scratch, "root/home", SOMEBODY);
    make(scratch, "root/home/real", SOMEBODY);
}

/* All ways to read and to change something there; either all are open or all are refused. */
static bool is_open(Host *host, Arena *arena, const char *directory)
{
    Error err;
    FileInfo info;
    Str content;
    const FileWrite write = { .content = STR("x"), .mode = 0644, .uid = SOMEBODY, .gid = SOMEBODY };
    Str path = arena_format(arena, "%s/private", directory);
    Str made = arena_format(arena, "%s/made", directory);
    Str below = arena_format(arena, "%s/a/b", directory);
    bool open = host_look(host, arena, path, 100, &info, &content, &err);
    assert_true(open || err.kind == ERROR_DENIED);
    if (!open) {
        assert_non_null(strstr(err.text, "belongs to a user who does not own what it leads to"));
    }
    assert_int_equal(host_stat(host, path, &info, &err), open);
    assert_int_equal(host_write(host, made, &write, &err), open);
    assert_int_equal(host_make_directory(host, below, 0755, true, &err), open);
    assert_int_equal(host_set_owner(host, path, 0, 0, &err) || err.kind == ERROR_NOT_FOUND, open);
    assert_int_equal(host_remove(host, made, &err), open);
    return open;
}

static Host *open_root(Scratch *scratch, const char *name)
{
    Host *host;
    Error err;
    assert_true(host_open(scratch_place(scratch, name), &host, &err));
    return host;
}

static void links_of_others_to_what_is_not_theirs_are_not_followed(void **state)
{
    Scratch *scratch = *state;
    furnish(scratch);
    AUTO(Host) *host = open_root(scratch, "root");
    put_link(scratch, "root/home/absolute", "/etc", SOMEBODY);
    put_link(scratch, "root/home/relative", "../etc", SOMEBODY);
    put_link(scratch, "root/home/twice", "absolute", SOMEBODY);
    /* By way of what root made, and of what is theirs. */
    put_link(scratch, "root/by_root", "etc", 0);
    put_link(scratch, "root/home/by_root", "/by_root", SOMEBODY);
    put_link(scratch, "root/home/around", "real/../../etc/.", SOMEBODY);
    put_link(scratch, "root/home/another", "real", ANOTHER);
    put_link(scratch, "root/home/top", "/", SOMEBODY);
    put_link(scratch, "root/home/tops", "///", SOMEBODY);
    put_link(scratch, "root/home/above", "..", SOMEBODY);
    put_link(scratch, "root/home/dot", "/.", SOMEBODY);
    put_link(scratch, "root/home/to_top", "top", SOMEBODY);
    static const char *const refused[] = { "/home/absolute", "/home/relative", "/home/twice",
                                           "/home/by_root",  "/home/around",   "/home/another",
                                           "/home/top",      "/home/tops",     "/home/above",
                                           "/home/dot",      "/home/to_top" };
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        assert_false(is_open(host, &scratch->arena, refused[i]));
    }
    struct stat status;
    assert_int_not_equal(stat(scratch_place(scratch, "root/etc/made"), &status), 0);
    assert_int_not_equal(stat(scratch_place(scratch, "root/etc/a"), &status), 0);
    assert_int_equal(stat(scratch_place(scratch, "root/etc/private"), &status), 0);
}

static void other_links_are_followed(void **state)
{
    Scratch *scratch = *state;
    furnish(scratch);
    AUTO(Host) *host = open_root(scratch, "root");
    put_link(scratch, "root/by_root", "etc", 0);
    put_link(scratch, "root/home/of_root", "../by_root", 0); /* root put it there itself */
    put_link(scratch, "root/home/own", "real", SOMEBODY);
    put_link(scratch, "root/home/own_twice", "./own/../own/", SOMEBODY);
    put_link(scratch, "root/to_theirs", "home/own", 0);
    static const char *const followed[] = {
        "/by_root",        "/home/of_root", "/home/own",
        "/home/own_twice", "/to_theirs",    "/home/own/../real"
    };
    for (size_t i = 0; i < COUNT_OF(followed); i++) {
        assert_true(is_open(host, &scratch->arena, followed[i]));
    }
    Error err;
    FileInfo info;
    put_link(scratch, "root/circle", "circle", 0);
    assert_false(host_stat(host, STR("/circle/x"), &info, &err));
    put_link(scratch, "root/home/nowhere", "nothing", SOMEBODY);
    assert_true(host_stat(host, STR("/home/nowhere/x"), &info, &err));
    assert_int_equal(info.kind, FILE_ABSENT);
    assert_true(host_stat(host, STR("/home/nowhere"), &info, &err));
    assert_int_equal(info.kind, FILE_LINK);
}

/* The last part is followed when a file is read. */
static void files_are_not_read_through_links_of_others(void **state)
{
    Scratch *scratch = *state;
    furnish(scratch);
    AUTO(Host) *host = open_root(scratch, "root");
    Error err;
    Str content;
    put_link(scratch, "root/home/report", "/etc/private", SOMEBODY);
    assert_false(host_read(host, &scratch->arena, STR("/home/report"), 100, &content, &err));
    assert_int_equal(err.kind, ERROR_DENIED);
    put_link(scratch, "root/etc/link", "private", 0);
    assert_true(host_read(host, &scratch->arena, STR("/etc/link"), 100, &content, &err));
    assert_true(str_eq_c(content, "precious"));
}

/* An image that a user unpacked belongs to them as a whole, also where root has changed it since. */
static void who_owns_the_root_is_trusted(void **state)
{
    Scratch *scratch = *state;
    furnish(scratch);
    assert_int_equal(chown(scratch_place(scratch, "root"), SOMEBODY, SOMEBODY), 0);
    AUTO(Host) *host = open_root(scratch, "root");
    put_link(scratch, "root/home/absolute", "/etc", SOMEBODY);
    assert_true(is_open(host, &scratch->arena, "/home/absolute"));
}

typedef struct Exchange {
    const char *one, *other;
    _Atomic bool stop;
} Exchange;

static void *exchange(void *context)
{
    Exchange *work = context;
    while (!work->stop) {
        renameat2(AT_FDCWD, work->one, AT_FDCWD, work->other, RENAME_EXCHANGE);
    }
    return NULL;
}

/* A directory becomes a link and a directory again while root writes there. */
static void no_exchange_leads_elsewhere(void **state)
{
    Scratch *scratch = *state;
    furnish(scratch);
    AUTO(Host) *host = open_root(scratch, "root");
    put_link(scratch, "root/home/link", "../etc", SOMEBODY);
    Exchange work = { scratch_place(scratch, "root/home/real"),
                      scratch_place(scratch, "root/home/link"), false };
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, exchange, &work), 0);
    const FileWrite write = { .content = STR("x"), .mode = 0644, .uid = SOMEBODY, .gid = SOMEBODY };
    int written = 0;
    for (int i = 0; i < WRITES; i++) {
        Error err;
        written += host_write(host, STR("/home/real/made"), &write, &err);
    }
    work.stop = true;
    pthread_join(thread, NULL);
    struct stat status;
    assert_int_not_equal(stat(scratch_place(scratch, "root/etc/made"), &status), 0);
    assert_true(written > 0);
}

int main(void)
{
#define ROW(name) cmocka_unit_test_setup_teardown(name, scratch_set_up, scratch_tear_down)
    const struct CMUnitTest tests[] = {
        ROW(links_of_others_to_what_is_not_theirs_are_not_followed),
        ROW(other_links_are_followed),
        ROW(files_are_not_read_through_links_of_others),
        ROW(who_owns_the_root_is_trusted),
        ROW(no_exchange_leads_elsewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
