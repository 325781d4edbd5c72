/* Links that another user put on the path to what root changes or reads. Requires root: other users
 * are stopped by the kernel. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "scratch.h"
#include "sys/host_stream.h"

enum {
    OTHER_USER = 12345,
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

/* Root's directory "etc" with a private file, and "home", which belongs to a user. */
static void furnish(Scratch *scratch)
{
    need_root();
    make(scratch, "root", 0);
    make(scratch, "root/etc", 0);
    scratch_put(scratch, "root/etc/private", "precious");
    make(scratch, "root/home", OTHER_USER);
    make(scratch, "root/home/real", OTHER_USER);
}

/* All ways to read and to change something there; either all are permitted or all are rejected. */
static bool is_open(Host *host, Arena *arena, const char *directory)
{
    Error err;
    FileInfo info;
    Str content;
    const FileWrite write = {
        .content = STR("x"), .mode = 0644, .uid = OTHER_USER, .gid = OTHER_USER
    };
    Str path = arena_format(arena, "%s/private", directory);
    Str made = arena_format(arena, "%s/made", directory);
    Str below = arena_format(arena, "%s/a/b", directory);
    bool open = host_inspect(host, arena, path, 100, &info, &content, &err);
    assert_true(open || err.kind == ERROR_DENIED);
    if (!open) {
        assert_non_null(strstr(err.text, "to a file that this user does not own"));
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

static void links_of_others_to_foreign_files_are_not_followed(void **state)
{
    Scratch *scratch = *state;
    furnish(scratch);
    AUTO(Host) *host = open_root(scratch, "root");
    put_link(scratch, "root/home/absolute", "/etc", OTHER_USER);
    put_link(scratch, "root/home/relative", "../etc", OTHER_USER);
    put_link(scratch, "root/home/twice", "absolute", OTHER_USER);
    /* Through what root created, and through what is theirs. */
    put_link(scratch, "root/by_root", "etc", 0);
    put_link(scratch, "root/home/by_root", "/by_root", OTHER_USER);
    put_link(scratch, "root/home/around", "real/../../etc/.", OTHER_USER);
    put_link(scratch, "root/home/another", "real", ANOTHER);
    put_link(scratch, "root/home/top", "/", OTHER_USER);
    put_link(scratch, "root/home/tops", "///", OTHER_USER);
    put_link(scratch, "root/home/above", "..", OTHER_USER);
    put_link(scratch, "root/home/dot", "/.", OTHER_USER);
    put_link(scratch, "root/home/to_top", "top", OTHER_USER);
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
    put_link(scratch, "root/home/own", "real", OTHER_USER);
    put_link(scratch, "root/home/own_twice", "./own/../own/", OTHER_USER);
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
    put_link(scratch, "root/home/nowhere", "nothing", OTHER_USER);
    assert_true(host_stat(host, STR("/home/nowhere/x"), &info, &err));
    assert_int_equal(info.kind, FILE_ABSENT);
    assert_true(host_stat(host, STR("/home/nowhere"), &info, &err));
    assert_int_equal(info.kind, FILE_LINK);
}

/* The last component is followed when a file is read. */
static void files_are_not_read_through_links_of_others(void **state)
{
    Scratch *scratch = *state;
    furnish(scratch);
    AUTO(Host) *host = open_root(scratch, "root");
    Error err;
    Str content;
    put_link(scratch, "root/home/report", "/etc/private", OTHER_USER);
    assert_false(host_read(host, &scratch->arena, STR("/home/report"), 100, &content, &err));
    assert_int_equal(err.kind, ERROR_DENIED);
    put_link(scratch, "root/etc/link", "private", 0);
    assert_true(host_read(host, &scratch->arena, STR("/etc/link"), 100, &content, &err));
    assert_true(str_eq_c(content, "precious"));
}

/* The message names the link, also behind other links, and what to do about it. */
static void the_link_and_its_owner_are_named(void **state)
{
    Scratch *scratch = *state;
    furnish(scratch);
    AUTO(Host) *host = open_root(scratch, "root");
    Error err;
    FileInfo info;
    Str content;
    put_link(scratch, "root/homes", "home", 0);
    put_link(scratch, "root/home/report", "/etc/private", OTHER_USER);
    put_link(scratch, "root/home/first", "second", OTHER_USER);
    put_link(scratch, "root/home/second", "/etc", OTHER_USER);
    put_link(scratch, "root/home/another", "real", ANOTHER);
    const struct {
        const char *path, *link;
        unsigned owner;
    } cases[] = {
        { "/homes/second/private", "/home/second", OTHER_USER },
        { "/home/first/private", "/home/second", OTHER_USER },
        { "/homes/report", "/home/report", OTHER_USER },
        { "/home/another/x", "/home/another", ANOTHER },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Str path = str_from_c(cases[i].path);
        assert_true(!host_read(host, &scratch->arena, path, 100, &content, &err));
        Str expected = arena_format(&scratch->arena,
                                    "%s: '%s' is a symbolic link owned by user %u to a file that "
                                    "this user does not own, and root does not follow it; to "
                                    "allow it, run 'chown -h root %s%s'",
                                    cases[i].path, cases[i].link, cases[i].owner,
                                    scratch_place(scratch, "root"), cases[i].link);
        assert_true(str_starts(str_from_c(err.text), expected));
    }
    assert_int_equal(lchown(scratch_place(scratch, "root/home/second"), 0, 0), 0);
    assert_true(host_stat(host, STR("/homes/second/private"), &info, &err));
}

static void put_name(Scratch *scratch, const char *file, const char *name)
{
    assert_int_equal(link(scratch_place(scratch, file), scratch_place(scratch, name)), 0);
}

/* A file of root, through a name in a directory of another user, would be given to them. */
static void hard_linked_files_keep_their_owner(void **state)
{
    Scratch *scratch = *state;
    furnish(scratch);
    AUTO(Host) *host = open_root(scratch, "root");
    make(scratch, "root/tmp", 0);
    assert_int_equal(chmod(scratch_place(scratch, "root/tmp"), 01777), 0);
    scratch_put(scratch, "root/home/own", "x");
    scratch_put(scratch, "root/home/alone", "x");
    assert_int_equal(chown(scratch_place(scratch, "root/home/own"), OTHER_USER, OTHER_USER), 0);
    put_name(scratch, "root/etc/private", "root/home/planted");
    put_name(scratch, "root/etc/private", "root/tmp/planted");
    put_name(scratch, "root/etc/private", "root/etc/again");
    put_name(scratch, "root/home/own", "root/home/own_again");
    const struct {
        const char *path;
        bool is_open;
    } cases[] = {
        { "/home/planted", false }, { "/tmp/planted", false },
        { "/home/own", true },      { "/home/alone", true }, /* what root itself put there */
        { "/etc/again", true },
    };
    AUTO(Host) *below = NULL;
    Error err;
    assert_true(host_open_below(host, STR("/home"), &below, &err));
    assert_false(host_set_owner(below, STR("/planted"), OTHER_USER, OTHER_USER, &err));
    assert_true(host_set_owner(below, STR("/own_again"), OTHER_USER, OTHER_USER, &err));
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Str path = str_from_c(cases[i].path);
        bool is_open = cases[i].is_open;
        assert_int_equal(host_check_hard_links(host, path, &err), is_open);
        if (!is_open) {
            assert_int_equal(err.kind, ERROR_DENIED);
            assert_non_null(strstr(err.text, "has other hard links"));
        }
        assert_int_equal(host_set_mode(host, path, 0640, &err), is_open);
        assert_int_equal(host_set_owner(host, path, ANOTHER, ANOTHER, &err), is_open);
        struct stat status;
        if (i == 1) {
            assert_int_equal(stat(scratch_place(scratch, "root/etc/private"), &status), 0);
            assert_int_equal(status.st_uid, 0);
            assert_int_not_equal(status.st_mode & 0777, 0640);
        }
    }
}

/* "u:12345:rwx" for everything created in the directory: version 2, then tag, permissions and id of
 * each entry. */
static void set_default_acl(Scratch *scratch, const char *name)
{
    static const struct {
        uint16_t tag, rights;
        uint32_t id;
    } entries[] = {
        { 1, 7, UINT32_MAX },  { 2, 7, OTHER_USER },  { 4, 5, UINT32_MAX },
        { 16, 7, UINT32_MAX }, { 32, 5, UINT32_MAX },
    };
    unsigned char acl[4 + sizeof entries] = { 2 };
    memcpy(acl + 4, entries, sizeof entries);
    assert_int_equal(
        setxattr(scratch_place(scratch, name), "system.posix_acl_default", acl, sizeof acl, 0), 0);
}

static bool has_acl(Scratch *scratch, const char *name)
{
    const char *place = scratch_place(scratch, name);
    return getxattr(place, "system.posix_acl_access", NULL, 0) >= 0 ||
           getxattr(place, "system.posix_acl_default", NULL, 0) >= 0;
}

/* It would let them read what root puts there for another user. */
static void inherited_acls_of_foreign_directories_are_dropped(void **state)
{
    Scratch *scratch = *state;
    furnish(scratch);
    AUTO(Host) *host = open_root(scratch, "root");
    static const char *const homes[] = { "home", "etc" };
    for (size_t i = 0; i < COUNT_OF(homes); i++) {
        const char *dir = homes[i];
        FileWrite write = { .content = STR("x"), .mode = 0640, .gid = HOST_KEEP_ID };
        AUTO(HostWriter) *writer = NULL;
        Arena *arena = &scratch->arena;
        Error err;
        set_default_acl(scratch, arena_format(arena, "root/%s", dir).data);
        assert_true(host_write(host, arena_format(arena, "/%s/written", dir), &write, &err));
        assert_true(
            host_make_directory(host, arena_format(arena, "/%s/made", dir), 0750, false, &err));
        assert_true(host_create_directory(host, arena_format(arena, "/%s/created", dir), 0750,
                                          HOST_KEEP_ID, HOST_KEEP_ID, &err));
        assert_true(
            host_writer_open(host, arena_format(arena, "/%s/streamed", dir), &writer, &err));
        static const char *const names[] = { "written", "made", "created", "streamed" };
        for (size_t k = 0; k < COUNT_OF(names); k++) {
            Str name = arena_format(arena, "root/%s/%s", dir, names[k]);
            assert_int_equal(has_acl(scratch, name.data), i == 1); /* root's own is intended by
                                                                    * root */
        }
    }
}

/* A program is given names, which it may look up at any time. */
static void paths_for_programs_cannot_be_replaced_by_others(void **state)
{
    Scratch *scratch = *state;
    Arena *arena = &scratch->arena;
    furnish(scratch);
    AUTO(Host) *host = open_root(scratch, "root");
    make(scratch, "root/home/real/by_root", 0);
    make(scratch, "root/srv", 0);
    make(scratch, "root/srv/theirs", OTHER_USER);
    make(scratch, "root/srv/shared", 0);
    make(scratch, "root/tmp", 0);
    make(scratch, "root/tmp/by_root", 0);
    make(scratch, "root/tmp/theirs", OTHER_USER);
    make(scratch, "root/all", 0);
    assert_int_equal(chmod(scratch_place(scratch, "root/srv/shared"), 0775), 0);
    assert_int_equal(chmod(scratch_place(scratch, "root/tmp"), 01777), 0);
    assert_int_equal(chmod(scratch_place(scratch, "root/all"), 0777), 0);
    put_link(scratch, "root/home/to_srv", "/srv", 0);
    put_link(scratch, "root/srv/to_root", "/", 0);
    const struct {
        const char *path, *real, *reported;
    } cases[] = {
        { "/srv", "/srv", NULL },
        { "/", "/", NULL },
        { "/new", "/new", NULL },
        { "/srv/new/deep/", "/srv/new/deep", NULL },
        { "/srv/shared/new", "/srv/shared/new", NULL },
        { "/tmp/by_root/new", "/tmp/by_root/new", NULL },
        { "/home/to_srv/new", "/srv/new", NULL },
        { "/srv/to_root/new", "/new", NULL },
        { "/srv/to_root", "/", NULL },
        { "/home/new", NULL, "'/home' is owned by user '12345'" },
        { "/home/real/by_root", NULL, "'/home/real' is owned by user '12345'" },
        { "/home/real/by_root/new/deep", NULL, "'/home/real' is owned by user '12345'" },
        { "/srv/theirs", NULL, "'/srv/theirs' is owned by user '12345'" },
        { "/tmp/theirs/new", NULL, "'/tmp/theirs' is owned by user '12345'" },
        { "/all/new", NULL, "the directory '/all' is writable by everyone" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Error err;
        Str real;
        bool ok = host_protected_path(host, arena, str_from_c(cases[i].path), &real, &err);
        assert_int_equal(ok, cases[i].real != NULL);
        if (ok) {
            assert_str(real, cases[i].real);
        } else {
            assert_int_equal(err.kind, ERROR_DENIED);
            assert_non_null(strstr(err.text, cases[i].reported));
        }
    }
}

/* Also what an earlier step of a plan would create counts. */
static void planned_directories_count_for_programs(void **state)
{
    Scratch *scratch = *state;
    Error err;
    Str real;
    furnish(scratch);
    AUTO(Host) *host = open_root(scratch, "root");
    host_plan_begin(host);
    PlannedFile planned = { .info = { .kind = FILE_DIRECTORY, .mode = 0755 } };
    host_plan_put(host, STR("/srv"), &planned);
    assert_true(host_protected_path(host, &scratch->arena, STR("/srv/app"), &real, &err));
    assert_str(real, "/srv/app");
    planned.info.uid = OTHER_USER;
    host_plan_put(host, STR("/srv/theirs"), &planned);
    assert_false(host_protected_path(host, &scratch->arena, STR("/srv/theirs/app"), &real, &err));
    assert_non_null(strstr(err.text, "'/srv/theirs' is owned by user '12345'"));
}

/* An image unpacked by a user belongs to them as a whole, also where root has changed it since. */
static void the_owner_of_the_root_is_trusted(void **state)
{
    Scratch *scratch = *state;
    furnish(scratch);
    assert_int_equal(chown(scratch_place(scratch, "root"), OTHER_USER, OTHER_USER), 0);
    AUTO(Host) *host = open_root(scratch, "root");
    put_link(scratch, "root/home/absolute", "/etc", OTHER_USER);
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
static void replacing_directories_does_not_redirect(void **state)
{
    Scratch *scratch = *state;
    furnish(scratch);
    AUTO(Host) *host = open_root(scratch, "root");
    put_link(scratch, "root/home/link", "../etc", OTHER_USER);
    Exchange work = { scratch_place(scratch, "root/home/real"),
                      scratch_place(scratch, "root/home/link"), false };
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, exchange, &work), 0);
    const FileWrite write = {
        .content = STR("x"), .mode = 0644, .uid = OTHER_USER, .gid = OTHER_USER
    };
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

/* In a directory of their own, a user puts another directory of root where root has just created
 * one. */
static void only_a_new_directory_changes_its_owner(void **state)
{
    Scratch *scratch = *state;
    furnish(scratch);
    AUTO(Host) *host = open_root(scratch, "root");
    make(scratch, "root/home/kept", 0);
    scratch_put(scratch, "root/home/kept/private", "precious");
    Exchange work = { scratch_place(scratch, "root/home/kept"),
                      scratch_place(scratch, "root/home/draft"), false };
    int kept = open(work.one, O_PATH | O_DIRECTORY | O_CLOEXEC);
    pthread_t thread;
    assert_true(kept >= 0);
    assert_int_equal(pthread_create(&thread, NULL, exchange, &work), 0);
    int made = 0;
    for (int i = 0; i < WRITES; i++) {
        Error err;
        made += host_create_directory(host, STR("/home/draft"), 0700, OTHER_USER, OTHER_USER, &err);
        /* The empty one is removed, the other one gets its name back. */
        while (rmdir(work.one) != 0 && rmdir(work.other) != 0) {
        }
        rename(work.other, work.one);
    }
    work.stop = true;
    pthread_join(thread, NULL);
    struct stat status;
    assert_int_equal(fstat(kept, &status), 0);
    assert_int_equal(status.st_uid, 0);
    close(kept);
    assert_true(made > 0);
}

int main(void)
{
#define ROW(name) cmocka_unit_test_setup_teardown(name, scratch_set_up, scratch_tear_down)
    const struct CMUnitTest tests[] = {
        ROW(links_of_others_to_foreign_files_are_not_followed),
        ROW(other_links_are_followed),
        ROW(files_are_not_read_through_links_of_others),
        ROW(the_link_and_its_owner_are_named),
        ROW(hard_linked_files_keep_their_owner),
        ROW(inherited_acls_of_foreign_directories_are_dropped),
        ROW(paths_for_programs_cannot_be_replaced_by_others),
        ROW(planned_directories_count_for_programs),
        ROW(the_owner_of_the_root_is_trusted),
        ROW(replacing_directories_does_not_redirect),
        ROW(only_a_new_directory_changes_its_owner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
