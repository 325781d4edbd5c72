#include "sys/host.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/fs.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "sys/host_inner.h"
#include "unit.h"

/* A root for the test; next to it, "outside" must never be reached. */
typedef struct Fixture {
    Arena arena;
    char directory[64];
    char root[80];
    Host *host;
    Error err;
} Fixture;

static void put(Fixture *fixture, const char *path, const char *text)
{
    char name[256];
    snprintf(name, sizeof name, "%s/%s", fixture->directory, path);
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int set_up(void **state)
{
    Fixture *fixture = calloc(1, sizeof *fixture);
    arena_init(&fixture->arena, ARENA_UNLIMITED);
    strcpy(fixture->directory, "/tmp/test_host.XXXXXX");
    *state = fixture;
    if (mkdtemp(fixture->directory) == NULL) {
        return -1;
    }
    snprintf(fixture->root, sizeof fixture->root, "%s/root", fixture->directory);
    put(fixture, "outside", "precious");
    return mkdir(fixture->root, 0755) != 0 ||
           !host_open(fixture->root, &fixture->host, &fixture->err);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
    return remove(path);
}

static int tear_down(void **state)
{
    Fixture *fixture = *state;
    host_close(fixture->host);
    int failed = nftw(fixture->directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    arena_clear(&fixture->arena);
    free(fixture);
    return failed;
}

static void link_in_root(Fixture *fixture, const char *target, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", fixture->root, name);
    assert_int_equal(symlink(target, path), 0);
}

static bool write_text(Fixture *fixture, const char *path, const char *text, mode_t mode)
{
    FileWrite write = {
        .content = str_from_c(text), .mode = mode, .uid = HOST_KEEP_ID, .gid = HOST_KEEP_ID
    };
    return host_write(fixture->host, str_from_c(path), &write, &fixture->err);
}

static const char *text_of(Fixture *fixture, const char *path)
{
    Str text;
    return host_read(fixture->host, &fixture->arena, str_from_c(path), 1 << 20, &text,
                     &fixture->err)
               ? arena_copy_c(&fixture->arena, text)
               : "(none)";
}

static FileInfo info_of(Fixture *fixture, const char *path)
{
    FileInfo info = { 0 };
    assert_true(host_stat(fixture->host, str_from_c(path), &info, &fixture->err));
    return info;
}

static uint32_t count_in(Fixture *fixture, const char *path)
{
    Str *names;
    uint32_t count = 1000;
    assert_true(host_list(fixture->host, &fixture->arena, str_from_c(path), 100, &names, &count,
                          &fixture->err));
    return count;
}

static void another_root_is_not_live(void **state)
{
    Fixture *fixture = *state;
    assert_false(host_is_live(fixture->host));
    assert_string_equal(host_root(fixture->host), fixture->root);
    AUTO(Host) *live = NULL;
    assert_true(host_open("/", &live, &fixture->err));
    assert_true(host_is_live(live));
    Host *none;
    assert_false(host_open("/nowhere/at/all", &none, &fixture->err));
    assert_int_equal(fixture->err.kind, ERROR_NOT_FOUND);
}

static void absence_is_not_a_failure(void **state)
{
    Fixture *fixture = *state;
    Str content;
    FileInfo info;
    assert_int_equal(info_of(fixture, "/a").kind, FILE_ABSENT);
    assert_int_equal(info_of(fixture, "/a/b/c").kind, FILE_ABSENT);
    assert_true(host_inspect(fixture->host, &fixture->arena, STR("/a/b"), 10, &info, &content,
                             &fixture->err));
    assert_int_equal(info.kind, FILE_ABSENT);
    assert_false(host_stat(fixture->host, STR("a"), &info, &fixture->err));
    assert_int_equal(fixture->err.kind, ERROR_INVALID);
    assert_false(host_stat(fixture->host, STR("/a\0b"), &info, &fixture->err));
}

static void writes_and_reads_metadata(void **state)
{
    Fixture *fixture = *state;
    FileInfo info;
    Str content;
    assert_true(write_text(fixture, "/a", "first", 0640));
    assert_true(write_text(fixture, "/a", "second one", 04755));
    assert_true(host_inspect(fixture->host, &fixture->arena, STR("/a"), 100, &info, &content,
                             &fixture->err));
    assert_int_equal(info.kind, FILE_REGULAR);
    assert_int_equal(info.mode, 04755);
    assert_int_equal(info.size, 10);
    assert_str(content, "second one");
    assert_true(
        host_inspect(fixture->host, &fixture->arena, STR("/a"), 9, &info, &content, &fixture->err));
    assert_str(content, "");
    assert_false(host_read(fixture->host, &fixture->arena, STR("/a"), 9, &content, &fixture->err));
    assert_int_equal(fixture->err.kind, ERROR_LIMIT);
    assert_true(write_text(fixture, "/empty", "", 0600));
    assert_string_equal(text_of(fixture, "/empty"), "");
    assert_int_equal(count_in(fixture, "/"), 2);
}

static void both_sync_modes_write_the_same(void **state)
{
    Fixture *fixture = *state;
    host_set_sync(fixture->host, SYNC_LATER);
    assert_true(write_text(fixture, "/a", "later", 0644));
    assert_true(host_make_directory(fixture->host, STR("/d"), 0700, false, &fixture->err));
    assert_true(write_text(fixture, "/d/a", "later", 0644));
    assert_true(host_sync(fixture->host, &fixture->err));
    assert_true(host_sync(fixture->host, &fixture->err));
    host_set_sync(fixture->host, SYNC_EACH);
    assert_true(write_text(fixture, "/a", "now", 0644));
    assert_string_equal(text_of(fixture, "/a"), "now");
    assert_string_equal(text_of(fixture, "/d/a"), "later");
}

static void only_ordered_journaling_avoids_the_flush(void **state)
{
    (void)state;
    assert_true(host_ext4_is_ordered(STR("rw\ndelalloc\ndata=ordered\ncommit=5\n")));
    assert_true(host_ext4_is_ordered(STR("rw\ndata=journal\n")));
    assert_false(host_ext4_is_ordered(STR("rw\ndelalloc\ndata=writeback\n")));
    assert_false(host_ext4_is_ordered(STR("rw\nnojournal_checksum\ncommit=5\n")));
    assert_false(host_ext4_is_ordered(STR("metadata=ordered\n")));
    assert_false(host_ext4_is_ordered(STR_EMPTY));
}

static void an_owner_is_set_and_preserved(void **state)
{
    Fixture *fixture = *state;
    if (geteuid() != 0) {
        fail_msg("this test needs the rights of root, to become somebody else");
    }
    FileWrite write = { .content = STR("x"), .mode = 0600, .uid = 1234, .gid = 4321 };
    assert_true(host_write(fixture->host, STR("/a"), &write, &fixture->err));
    assert_true(write_text(fixture, "/a", "y", 0600));
    FileInfo info = info_of(fixture, "/a");
    assert_int_equal(info.uid, 1234);
    assert_int_equal(info.gid, 4321);
    assert_true(host_set_owner(fixture->host, STR("/a"), 77, HOST_KEEP_ID, &fixture->err));
    assert_true(host_set_mode(fixture->host, STR("/a"), 0444, &fixture->err));
    info = info_of(fixture, "/a");
    assert_int_equal(info.uid, 77);
    assert_int_equal(info.gid, 4321);
    assert_int_equal(info.mode, 0444);
}

static void no_link_leads_out(void **state)
{
    Fixture *fixture = *state;
    Str text;
    link_in_root(fixture, "../outside", "up");
    link_in_root(fixture, fixture->directory, "folder");
    link_in_root(fixture, "..", "parent");
    assert_false(host_read(fixture->host, &fixture->arena, STR("/up"), 100, &text, &fixture->err));
    assert_false(host_read(fixture->host, &fixture->arena, STR("/folder/outside"), 100, &text,
                           &fixture->err));
    assert_false(
        host_read(fixture->host, &fixture->arena, STR("/../outside"), 100, &text, &fixture->err));
    /* ".." of the root is the root, so this stays inside. */
    assert_true(write_text(fixture, "/parent/outside", "inside", 0644));
    assert_true(write_text(fixture, "/../outside", "inside again", 0644));
    assert_string_equal(text_of(fixture, "/outside"), "inside again");
    /* A link as the last component is replaced, wherever it leads. */
    assert_true(write_text(fixture, "/up", "a file now", 0644));
    assert_int_equal(info_of(fixture, "/up").kind, FILE_REGULAR);
    assert_true(host_remove(fixture->host, STR("/folder"), &fixture->err));
    char path[256];
    snprintf(path, sizeof path, "%s/outside", fixture->directory);
    Host *live;
    assert_true(host_open("/", &live, &fixture->err));
    assert_true(host_read(live, &fixture->arena, str_from_c(path), 100, &text, &fixture->err));
    assert_str(text, "precious");
    host_close(live);
}

static void absolute_links_stay_inside_the_root(void **state)
{
    Fixture *fixture = *state;
    assert_true(host_make_directory(fixture->host, STR("/usr/lib"), 0755, true, &fixture->err));
    link_in_root(fixture, "/usr/lib", "lib");
    assert_true(write_text(fixture, "/lib/a", "text", 0644));
    assert_string_equal(text_of(fixture, "/usr/lib/a"), "text");
    assert_true(host_make_directory(fixture->host, STR("/lib/x/y"), 0755, true, &fixture->err));
    assert_int_equal(info_of(fixture, "/usr/lib/x/y").kind, FILE_DIRECTORY);
}

static void a_link_itself_is_seen_and_not_changed(void **state)
{
    Fixture *fixture = *state;
    FileInfo info;
    Str text;
    assert_true(write_text(fixture, "/a", "text", 0644));
    assert_true(host_make_link(fixture->host, STR("/l"), STR("a"), &fixture->err));
    assert_true(
        host_inspect(fixture->host, &fixture->arena, STR("/l"), 10, &info, &text, &fixture->err));
    assert_int_equal(info.kind, FILE_LINK);
    assert_false(host_set_mode(fixture->host, STR("/l"), 0777, &fixture->err));
    assert_int_equal(info_of(fixture, "/a").mode, 0644);
    assert_string_equal(text_of(fixture, "/l"), "text");
    assert_true(host_make_link(fixture->host, STR("/l"), STR("b"), &fixture->err));
    assert_true(host_read_link(fixture->host, &fixture->arena, STR("/l"), &text, &fixture->err));
    assert_str(text, "b");
    assert_false(host_read_link(fixture->host, &fixture->arena, STR("/a"), &text, &fixture->err));
    assert_false(host_make_link(fixture->host, STR("/a"), STR("b"), &fixture->err));
    assert_int_equal(fixture->err.kind, ERROR_CONFLICT);
    assert_int_equal(count_in(fixture, "/"), 2);
}

static void directories_are_created_once(void **state)
{
    Fixture *fixture = *state;
    mode_t mask = umask(077);
    assert_false(host_make_directory(fixture->host, STR("/a/b"), 0775, false, &fixture->err));
    assert_int_equal(fixture->err.kind, ERROR_NOT_FOUND);
    assert_true(host_make_directory(fixture->host, STR("/a/b/c/"), 0775, true, &fixture->err));
    /* A caller that needs a new one does not accept an existing one. */
    assert_false(host_create_directory(fixture->host, STR("/a/b/c"), 0700, HOST_KEEP_ID,
                                       HOST_KEEP_ID, &fixture->err));
    assert_non_null(strstr(fixture->err.text, "File exists"));
    assert_true(host_create_directory(fixture->host, STR("/a/b/own"), 0700, HOST_KEEP_ID,
                                      HOST_KEEP_ID, &fixture->err));
    umask(mask);
    assert_int_equal(info_of(fixture, "/a/b/c").mode, 0775);
    assert_int_equal(info_of(fixture, "/a").mode, 0755);
    assert_true(host_make_directory(fixture->host, STR("/a/b/c"), 0700, true, &fixture->err));
    assert_int_equal(info_of(fixture, "/a/b/c").mode, 0775);
    assert_true(write_text(fixture, "/f", "", 0644));
    assert_false(host_make_directory(fixture->host, STR("/f"), 0755, true, &fixture->err));
    assert_false(host_make_directory(fixture->host, STR("/f/g"), 0755, true, &fixture->err));
    assert_true(host_make_directory(fixture->host, STR("/"), 0755, true, &fixture->err));
}

static void removes_trees(void **state)
{
    Fixture *fixture = *state;
    assert_true(host_make_directory(fixture->host, STR("/a/b/c"), 0755, true, &fixture->err));
    assert_true(write_text(fixture, "/a/b/f", "", 0644));
    link_in_root(fixture, fixture->directory, "a/out");
    assert_true(host_remove(fixture->host, STR("/a"), &fixture->err));
    assert_int_equal(count_in(fixture, "/"), 0);
    assert_true(host_remove(fixture->host, STR("/a"), &fixture->err));
    assert_true(host_remove(fixture->host, STR("/a/b"), &fixture->err));
    assert_false(host_remove(fixture->host, STR("/"), &fixture->err));
    assert_int_equal(access(fixture->directory, F_OK), 0);
}

static void removes_trees_deeper_than_descriptors_reach(void **state)
{
    Fixture *fixture = *state;
    assert_true(host_make_directory(fixture->host, STR("/deep"), 0755, true, &fixture->err));
    char root[PATH_MAX];
    snprintf(root, sizeof root, "%s/deep", fixture->root);
    int at = open(root, O_RDONLY | O_DIRECTORY);
    for (int i = 0; i < 3000; i++) {
        assert_int_equal(mkdirat(at, "d", 0755), 0);
        int next = openat(at, "d", O_RDONLY | O_DIRECTORY);
        assert_true(next >= 0);
        close(at);
        at = next;
    }
    close(at);
    assert_true(host_remove(fixture->host, STR("/deep"), &fixture->err));
    assert_int_equal(count_in(fixture, "/"), 0);
}

/* Runs `function` in a separate process, which succeeds if that returns true. */
static void in_child(Fixture *fixture, bool (*function)(Fixture *fixture))
{
    pid_t child = fork();
    if (child == 0) {
        _exit(function(fixture) ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* A place to mount file systems that no other process sees. */
static bool enter_own_mounts(void)
{
    int flags = geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER;
    if (unshare(flags) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0) {
        return true;
    }
    fprintf(stderr, "this test needs a mount namespace: %s\n", strerror(errno));
    return false;
}

static bool remove_around_a_mount(Fixture *fixture)
{
    char directory[128], point[128];
    snprintf(directory, sizeof directory, "%s/kept", fixture->root);
    snprintf(point, sizeof point, "%s/a/b/point", fixture->root);
    Host *host;
    if (!enter_own_mounts() || mount(directory, point, NULL, MS_BIND, NULL) != 0 ||
        !host_open(fixture->root, &host, &fixture->err)) {
        return false;
    }
    return !host_remove(host, STR("/a"), &fixture->err) &&
           str_eq(str_from_c(fixture->err.text),
                  STR("cannot remove '/a': a: b: point is a mount point")) &&
           !host_remove(host, STR("/a/b/point"), &fixture->err);
}

/* One of the same file system, which looks like any other directory. */
static void mount_points_are_not_removed(void **state)
{
    Fixture *fixture = *state;
    assert_true(host_make_directory(fixture->host, STR("/a/b/point"), 0755, true, &fixture->err));
    assert_true(host_make_directory(fixture->host, STR("/kept"), 0755, true, &fixture->err));
    assert_true(write_text(fixture, "/kept/f", "precious", 0644));
    in_child(fixture, remove_around_a_mount);
    assert_string_equal(text_of(fixture, "/kept/f"), "precious");
}

static bool set_immutable(int descriptor, bool on)
{
    int flags = 0;
    if (ioctl(descriptor, FS_IOC_GETFLAGS, &flags) != 0) {
        return false;
    }
    flags = on ? flags | FS_IMMUTABLE_FL : flags & ~FS_IMMUTABLE_FL;
    return ioctl(descriptor, FS_IOC_SETFLAGS, &flags) == 0;
}

static void immutable_files_are_noticed(void **state)
{
    Fixture *fixture = *state;
    char name[128];
    assert_true(write_text(fixture, "/f", "x", 0644));
    snprintf(name, sizeof name, "%s/f", fixture->root);
    int descriptor = open(name, O_RDONLY | O_CLOEXEC);
    assert_true(descriptor >= 0);
    assert_true(host_check_changeable(fixture->host, STR("/f"), &fixture->err));
    if (!set_immutable(descriptor, true)) {
        fail_msg(
            "cannot make %s immutable: %s; the test needs root and a file system that supports it",
            name, strerror(errno));
    }
    bool free = host_check_changeable(fixture->host, STR("/f"), &fixture->err);
    bool beside = host_check_changeable(fixture->host, STR("/g"), &fixture->err);
    assert_true(set_immutable(descriptor, false));
    close(descriptor);
    assert_false(free);
    assert_true(beside);
}

static bool look_at_fixed_places(Fixture *fixture)
{
    char point[128];
    Error *err = &fixture->err;
    Host *host;
    snprintf(point, sizeof point, "%s/fixed", fixture->root);
    return enter_own_mounts() && mount("fixed", point, "tmpfs", MS_RDONLY, NULL) == 0 &&
           host_open(fixture->root, &host, err) &&
           !host_check_changeable(host, STR("/fixed/f"), err) &&
           str_eq(str_from_c(err->text), STR("/fixed: the file system is read-only")) &&
           host_check_changeable(host, STR("/fixed/none/f"), err) &&
           host_check_changeable(host, STR("/f"), err) && host_open("/", &host, err) &&
           !host_check_changeable(host, STR("/proc/none"), err) &&
           strstr(err->text, "kernel files") != NULL;
}

static void places_that_nobody_can_change_are_noticed(void **state)
{
    Fixture *fixture = *state;
    assert_true(host_make_directory(fixture->host, STR("/fixed"), 0755, true, &fixture->err));
    in_child(fixture, look_at_fixed_places);
}

static bool write_past_the_limit(Fixture *fixture)
{
    static char text[5001];
    memset(text, 'x', sizeof text - 1);
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit = { 1000, 1000 };
    return setrlimit(RLIMIT_FSIZE, &limit) == 0 && !write_text(fixture, "/a", text, 0644) &&
           strstr(fixture->err.text, "/a: cannot write: File too large") != NULL;
}

static void a_failed_write_changes_nothing(void **state)
{
    Fixture *fixture = *state;
    assert_true(write_text(fixture, "/a", "old", 0644));
    in_child(fixture, write_past_the_limit);
    assert_string_equal(text_of(fixture, "/a"), "old");
    assert_int_equal(count_in(fixture, "/"), 1);
    assert_false(write_text(fixture, "/none/a", "x", 0644));
    assert_string_equal(fixture->err.text, "/none: No such file or directory");
    assert_true(host_make_directory(fixture->host, STR("/d"), 0755, false, &fixture->err));
    assert_false(write_text(fixture, "/d", "x", 0644));
    assert_int_equal(count_in(fixture, "/"), 2);
}

static bool fill_a_small_disk(Fixture *fixture)
{
    static char text[200001];
    memset(text, 'x', sizeof text - 1);
    if (!enter_own_mounts() || mount("small", fixture->root, "tmpfs", 0, "size=64k") != 0) {
        return false;
    }
    Host *host;
    if (!host_open(fixture->root, &host, &fixture->err)) {
        return false;
    }
    FileWrite write = {
        .content = STR("old"), .mode = 0644, .uid = HOST_KEEP_ID, .gid = HOST_KEEP_ID
    };
    bool ok = host_write(host, STR("/a"), &write, &fixture->err);
    for (int i = 0; ok && i < 3; i++) {
        write.content = str_from(text, sizeof text - 1);
        ok = !host_write(host, STR("/a"), &write, &fixture->err) &&
             strstr(fixture->err.text, "No space left") != NULL;
    }
    Str content, *names;
    uint32_t count;
    ok = ok && host_read(host, &fixture->arena, STR("/a"), 100, &content, &fixture->err) &&
         str_eq(content, STR("old")) &&
         host_list(host, &fixture->arena, STR("/"), 10, &names, &count, &fixture->err) &&
         count == 1;
    write.content = STR("there is still room for a little");
    return ok && host_write(host, STR("/a"), &write, &fixture->err);
}

static void a_full_disk_leaves_the_old_file_alone(void **state)
{
    in_child(*state, fill_a_small_disk);
}

static bool refuse(void *context, Str path, Error *err)
{
    *(char **)context = strndup(path.data, path.len);
    return error_set(err, ERROR_INVALID, "not good enough");
}

static void a_check_sees_the_content_first(void **state)
{
    Fixture *fixture = *state;
    char *seen = NULL;
    assert_true(write_text(fixture, "/a", "old", 0644));
    FileWrite write = { .content = STR("new"),
                        .mode = 0644,
                        .uid = HOST_KEEP_ID,
                        .gid = HOST_KEEP_ID,
                        .check = refuse,
                        .check_context = &seen };
    assert_false(host_write(fixture->host, STR("/a"), &write, &fixture->err));
    assert_string_equal(fixture->err.text, "not good enough");
    assert_int_equal(strncmp(seen, "/.eden-", 7), 0);
    free(seen);
    assert_string_equal(text_of(fixture, "/a"), "old");
    assert_int_equal(count_in(fixture, "/"), 1);
}

/* Leftovers of a killed process are removed by the next one that writes the file. */
static void leftovers_are_removed_by_the_next_write(void **state)
{
    Fixture *fixture = *state;
    char *seen = NULL;
    FileWrite write = { .content = STR("new"),
                        .mode = 0644,
                        .uid = HOST_KEEP_ID,
                        .gid = HOST_KEEP_ID,
                        .check = refuse,
                        .check_context = &seen };
    assert_false(host_write(fixture->host, STR("/a"), &write, &fixture->err));
    char *left = seen;
    assert_true(write_text(fixture, "/a", "old", 0644));
    assert_true(write_text(fixture, left, "half writ", 0600));
    assert_int_equal(count_in(fixture, "/"), 2);
    assert_true(write_text(fixture, "/a", "new", 0644));
    assert_int_equal(count_in(fixture, "/"), 1);
    assert_true(write_text(fixture, left, "half writ", 0600));
    assert_false(host_write(fixture->host, STR("/a"), &write, &fixture->err));
    free(seen);
    free(left);
    assert_int_equal(count_in(fixture, "/"), 1);
    assert_string_equal(text_of(fixture, "/a"), "new");
}

static bool set_as_other_user(Fixture *fixture)
{
    FileInfo info;
    Str content;
    if (geteuid() == 0 && setuid(65534) != 0) {
        return false;
    }
    bool written = write_text(fixture, "/mine/a", "first", 0644) &&
                   write_text(fixture, "/mine/a", "second", 0600) &&
                   host_inspect(fixture->host, &fixture->arena, STR("/mine/a"), 10, &info, &content,
                                &fixture->err) &&
                   str_eq(content, STR("second")) && info.mode == 0600;
    return written && !write_text(fixture, "/a", "x", 0644) && fixture->err.kind == ERROR_DENIED;
}

static void other_users_write_only_where_permitted(void **state)
{
    Fixture *fixture = *state;
    assert_int_equal(chmod(fixture->directory, 0755), 0);
    assert_true(host_make_directory(fixture->host, STR("/mine"), 01777, false, &fixture->err));
    in_child(fixture, set_as_other_user);
    assert_int_equal(count_in(fixture, "/mine"), 1);
}

static void accounts_are_read_from_the_files_of_the_root(void **state)
{
    Fixture *fixture = *state;
    uid_t uid;
    gid_t gid;
    Account account;
    assert_false(host_find_user(fixture->host, STR("web"), &uid, &gid, &fixture->err));
    assert_int_equal(fixture->err.kind, ERROR_NOT_FOUND);
    assert_string_equal(fixture->err.text, "user 'web' not found");
    assert_true(host_make_directory(fixture->host, STR("/etc"), 0755, false, &fixture->err));
    assert_true(write_text(fixture, "/etc/passwd",
                           "root:x:0:0:root:/root:/bin/bash\n"
                           "+nis::::::\nbroken\n"
                           "web:x:801:802:Web:/srv/web:/bin/sh\n"
                           "99:x:1099:1099::/:\n",
                           0644));
    assert_true(write_text(fixture, "/etc/group",
                           "root:x:0:\nwww:x:802:\nlogs:x:803:admin,web\nmore:x:804:web\n", 0644));
    assert_true(host_find_user(fixture->host, STR("web"), &uid, &gid, &fixture->err));
    assert_int_equal(uid, 801);
    assert_int_equal(gid, 802);
    assert_true(host_find_group(fixture->host, STR("logs"), &gid, &fixture->err));
    assert_int_equal(gid, 803);
    assert_true(host_find_user(fixture->host, STR("12345"), &uid, NULL, &fixture->err));
    assert_int_equal(uid, 12345);
    assert_true(host_find_user(fixture->host, STR("99"), &uid, NULL, &fixture->err));
    assert_int_equal(uid, 1099);
    assert_true(host_find_group(fixture->host, STR("7"), &gid, &fixture->err));
    assert_int_equal(gid, 7);
    assert_false(host_find_group(fixture->host, STR("4294967295"), &gid, &fixture->err));
    assert_false(host_find_group(fixture->host, STR("-1"), &gid, &fixture->err));
    assert_str(host_user_name(fixture->host, &fixture->arena, 801), "web");
    assert_str(host_user_name(fixture->host, &fixture->arena, 5), "5");
    assert_str(host_group_name(fixture->host, &fixture->arena, 803), "logs");
    assert_true(
        host_find_account(fixture->host, &fixture->arena, STR("web"), &account, &fixture->err));
    assert_str(account.home, "/srv/web");
    assert_str(account.shell, "/bin/sh");
    assert_int_equal(account.group_count, 3);
    assert_int_equal(account.groups[0], 802);
    assert_int_equal(account.groups[2], 804);
    /* By number it is the same account. */
    assert_true(
        host_find_account(fixture->host, &fixture->arena, STR("801"), &account, &fixture->err));
    assert_str(account.name, "web");
}

static void a_new_user_is_found_and_a_changed_one_after_forgetting(void **state)
{
    Fixture *fixture = *state;
    uid_t uid;
    assert_true(host_make_directory(fixture->host, STR("/etc"), 0755, false, &fixture->err));
    assert_true(write_text(fixture, "/etc/passwd", "a:x:1:1::/:\n", 0644));
    assert_true(host_find_user(fixture->host, STR("a"), &uid, NULL, &fixture->err));
    assert_true(write_text(fixture, "/etc/passwd", "a:x:5:1::/:\nb:x:2:1::/:\n", 0644));
    assert_true(host_find_user(fixture->host, STR("b"), &uid, NULL, &fixture->err));
    assert_int_equal(uid, 2);
    assert_true(write_text(fixture, "/etc/passwd", "a:x:6:1::/:\n", 0644));
    host_forget_accounts(fixture->host);
    assert_true(host_find_user(fixture->host, STR("a"), &uid, NULL, &fixture->err));
    assert_int_equal(uid, 6);
}

static void a_live_host_uses_the_name_service_too(void **state)
{
    Fixture *fixture = *state;
    AUTO(Host) *live = NULL;
    uid_t uid = 1;
    gid_t gid;
    assert_true(host_open("/", &live, &fixture->err));
    assert_true(host_find_user(live, STR("root"), &uid, NULL, &fixture->err));
    assert_int_equal(uid, 0);
    assert_false(host_find_user(live, STR("no-such-user-here"), &uid, NULL, &fixture->err));
    assert_int_equal(fixture->err.kind, ERROR_NOT_FOUND);
    assert_false(host_find_group(live, STR("--help"), &gid, &fixture->err));
}

static void lists_names_in_order_and_within_bounds(void **state)
{
    Fixture *fixture = *state;
    Str *names;
    uint32_t count;
    assert_true(write_text(fixture, "/b", "", 0644));
    assert_true(write_text(fixture, "/a", "", 0644));
    assert_true(write_text(fixture, "/.c", "", 0644));
    assert_true(
        host_list(fixture->host, &fixture->arena, STR("/"), 3, &names, &count, &fixture->err));
    assert_int_equal(count, 3);
    assert_str(names[0], ".c");
    assert_str(names[2], "b");
    assert_false(
        host_list(fixture->host, &fixture->arena, STR("/"), 2, &names, &count, &fixture->err));
    assert_int_equal(fixture->err.kind, ERROR_LIMIT);
    assert_false(
        host_list(fixture->host, &fixture->arena, STR("/a"), 2, &names, &count, &fixture->err));
    assert_string_equal(file_kind_name(FILE_DIRECTORY), "directory");
}

static void a_pipe_does_not_block(void **state)
{
    Fixture *fixture = *state;
    FileInfo info;
    Str text;
    char path[256];
    snprintf(path, sizeof path, "%s/pipe", fixture->root);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_true(host_inspect(fixture->host, &fixture->arena, STR("/pipe"), 10, &info, &text,
                             &fixture->err));
    assert_int_equal(info.kind, FILE_OTHER);
    assert_false(host_read(fixture->host, &fixture->arena, STR("/pipe"), 10, &text, &fixture->err));
}

#define IN_ROOT(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_ROOT(another_root_is_not_live),
        IN_ROOT(absence_is_not_a_failure),
        IN_ROOT(writes_and_reads_metadata),
        IN_ROOT(both_sync_modes_write_the_same),
        cmocka_unit_test(only_ordered_journaling_avoids_the_flush),
        IN_ROOT(an_owner_is_set_and_preserved),
        IN_ROOT(no_link_leads_out),
        IN_ROOT(absolute_links_stay_inside_the_root),
        IN_ROOT(a_link_itself_is_seen_and_not_changed),
        IN_ROOT(directories_are_created_once),
        IN_ROOT(removes_trees),
        IN_ROOT(removes_trees_deeper_than_descriptors_reach),
        IN_ROOT(mount_points_are_not_removed),
        IN_ROOT(immutable_files_are_noticed),
        IN_ROOT(places_that_nobody_can_change_are_noticed),
        IN_ROOT(a_failed_write_changes_nothing),
        IN_ROOT(a_full_disk_leaves_the_old_file_alone),
        IN_ROOT(a_check_sees_the_content_first),
        IN_ROOT(leftovers_are_removed_by_the_next_write),
        IN_ROOT(other_users_write_only_where_permitted),
        IN_ROOT(accounts_are_read_from_the_files_of_the_root),
        IN_ROOT(a_new_user_is_found_and_a_changed_one_after_forgetting),
        IN_ROOT(a_live_host_uses_the_name_service_too),
        IN_ROOT(lists_names_in_order_and_within_bounds),
        IN_ROOT(a_pipe_does_not_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
