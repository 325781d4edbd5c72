#include "run/keep.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "scratch.h"
#include "syncs.h"

/* Replaces libc's: the disk cannot read the symlink of this name. */
static const char *unreadable;

ssize_t readlinkat(int fd, const char *path, char *buf, size_t len)
{
    if (unreadable != NULL && strcmp(path, unreadable) == 0) {
        errno = EIO;
        return -1;
    }
    return syscall(SYS_readlinkat, fd, path, buf, len);
}

typedef struct World {
    Scratch *scratch;
    Directory state;
    Keep keep;
    Host *host;
    Buf recorded;
} World;

static World open_world(void **state)
{
    World world = { .scratch = *state };
    Error err;
    assert_true(directory_make(scratch_place(world.scratch, "state"), &world.state, &err));
    assert_true(keep_open(&world.state, true, &world.keep, &err));
    mkdir(scratch_place(world.scratch, "root"), 0755);
    assert_true(host_open(scratch_place(world.scratch, "root"), &world.host, &err));
    world.recorded = buf_make_in(&world.scratch->arena, BUF_UNLIMITED);
    return world;
}

static void close_world(World *world)
{
    host_close(world->host);
    keep_close(&world->keep);
    directory_close(&world->state);
}

static bool note(void *context, const KeptState *state, Error *err)
{
    World *world = context;
    buf_put_format(&world->recorded, "%" STR_FMT " %" STR_FMT " %o %" STR_FMT " %.4s\n",
                   STR_ARG(state->kind), STR_ARG(state->path), state->mode, STR_ARG(state->target),
                   state->content.len > 0 ? state->content.data : "-");
    return true;
}

static uint32_t count_kept(World *world)
{
    DirectoryEntry *entries;
    uint32_t count;
    Error err;
    assert_true(directory_list(&world->keep.directory, &world->scratch->arena, 1000, &entries,
                               &count, &err));
    return count;
}

static void equal_contents_are_kept_once_and_read_back(void **state)
{
    World world = open_world(state);
    Arena *arena = &world.scratch->arena;
    Error err;
    Str one, two, three, back;
    syncs_forget();
    assert_true(keep_content(&world.keep, STR("hello\n"), arena, &one, &err));
    assert_int_equal(syncs, 2); /* the content and its name */
    assert_true(keep_content(&world.keep, STR("hello\n"), arena, &two, &err));
    assert_true(keep_content(&world.keep, STR_EMPTY, arena, &three, &err));
    assert_str(one, "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03");
    assert_true(str_eq(one, two));
    assert_int_equal(count_kept(&world), 2);
    assert_true(directory_read(&world.keep.directory, arena, one.data, KEEP_FILE_MAX, &back, &err));
    assert_str(back, "hello\n");
    assert_true(
        directory_read(&world.keep.directory, arena, three.data, KEEP_FILE_MAX, &back, &err));
    assert_str(back, "");
    close_world(&world);
}

static void paths_are_recorded_with_all_their_contents(void **state)
{
    World world = open_world(state);
    Error err;
    scratch_put(world.scratch, "root/etc/motd", "hello\n");
    scratch_put(world.scratch, "root/etc/sub/a", "");
    scratch_link(world.scratch, "root/etc/zone", "/usr/there");
    chmod(scratch_place(world.scratch, "root/etc/motd"), 0640);
    assert_true(keep_path(&world.keep, world.host, STR("/etc/none"), note, &world, &err));
    assert_true(keep_path(&world.keep, world.host, STR("/etc"), note, &world, &err));
    assert_str(buf_str(&world.recorded), "absent /etc/none 0  -\n"
                                         "directory /etc 755  -\n"
                                         "file /etc/motd 640  5891\n"
                                         "directory /etc/sub 755  -\n"
                                         "file /etc/sub/a 644  e3b0\n"
                                         "link /etc/zone 777 /usr/there -\n");
    close_world(&world);
}

static void a_link_that_cannot_be_read_is_an_error(void **state)
{
    World world = open_world(state);
    Error err = { 0 };
    scratch_link(world.scratch, "root/etc/zone", "/usr/there");
    unreadable = "zone";
    assert_false(keep_path(&world.keep, world.host, STR("/etc"), note, &world, &err));
    unreadable = NULL;
    assert_non_null(strstr(err.text, "zone"));
    assert_str(buf_str(&world.recorded), "directory /etc 755  -\n");
    close_world(&world);
}

static void the_oldest_are_removed_when_there_are_too_many(void **state)
{
    World world = open_world(state);
    Arena *arena = &world.scratch->arena;
    Error err;
    Str names[4];
    for (int i = 0; i < 4; i++) {
        Str content = arena_format(arena, "content %d", i);
        assert_true(keep_content(&world.keep, content, arena, &names[i], &err));
        struct timespec times[2] = { { .tv_sec = 1000 + i }, { .tv_sec = 1000 + i } };
        assert_int_equal(utimensat(world.keep.directory.descriptor, names[i].data, times, 0), 0);
    }
    assert_true(
        directory_write(&world.keep.directory, "half.new", STR("interrupted"), false, &err));
    /* When it is requested again, the oldest becomes the newest. */
    assert_true(keep_content(&world.keep, STR("content 0"), arena, &names[0], &err));
    assert_true(keep_prune(&world.keep, 2, 1000, &err));
    assert_int_equal(count_kept(&world), 2);
    assert_true(directory_has(&world.keep.directory, names[0].data));
    assert_true(directory_has(&world.keep.directory, names[3].data));
    assert_true(keep_prune(&world.keep, 2, 9, &err));
    assert_int_equal(count_kept(&world), 1);
    close_world(&world);
}

static void a_run_keeps_no_more_than_fits(void **state)
{
    World world = open_world(state);
    Error err;
    scratch_put(world.scratch, "root/d/a", "first\n");
    scratch_put(world.scratch, "root/d/b", "second\n");
    scratch_put(world.scratch, "root/d/c", "3rd\n");
    atomic_store(&world.keep.room, 12);
    assert_true(keep_path(&world.keep, world.host, STR("/d"), note, &world, &err));
    assert_str(buf_str(&world.recorded), "directory /d 755  -\n"
                                         "file /d/a 644  b640\n"
                                         "file /d/b 644  -\n"
                                         "file /d/c 644  11c5\n");
    assert_int_equal(count_kept(&world), 2);
    close_world(&world);
}

static bool note_fails(void *context, const KeptState *state, Error *err)
{
    uint32_t *left = context;
    return (*left)-- > 0 || error_set(err, ERROR_OS, "no space left on device");
}

/* The run must not change what it could not keep. */
static void what_cannot_be_kept_is_an_error(void **state)
{
    World world = open_world(state);
    scratch_put(world.scratch, "root/d/a", "first\n");
    scratch_put(world.scratch, "root/d/b", "second\n");
    for (uint32_t good = 0; good < 3; good++) {
        uint32_t left = good;
        Error err = { 0 };
        assert_false(keep_path(&world.keep, world.host, STR("/d"), note_fails, &left, &err));
        assert_int_equal(err.kind, ERROR_OS);
    }
    uint32_t left = 3;
    Error err = { 0 };
    assert_true(keep_path(&world.keep, world.host, STR("/d"), note_fails, &left, &err));
    directory_close(&world.keep.directory);
    left = 3;
    assert_false(keep_path(&world.keep, world.host, STR("/d"), note_fails, &left, &err));
    close_world(&world);
}

#define SCRATCH_TEST(f) cmocka_unit_test_setup_teardown(f, scratch_set_up, scratch_tear_down)

int main(void)
{
    umask(022);
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(equal_contents_are_kept_once_and_read_back),
        SCRATCH_TEST(paths_are_recorded_with_all_their_contents),
        SCRATCH_TEST(a_link_that_cannot_be_read_is_an_error),
        SCRATCH_TEST(the_oldest_are_removed_when_there_are_too_many),
        SCRATCH_TEST(a_run_keeps_no_more_than_fits),
        SCRATCH_TEST(what_cannot_be_kept_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
