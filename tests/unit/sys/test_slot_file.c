#include "sys/slot_file.h"

#include "scratch.h"
#include "syncs.h"

typedef struct World {
    Scratch *scratch;
    Directory directory;
    SlotFile file;
    Error err;
} World;

static int set_up(void **state)
{
    static World world;
    void *scratch = NULL;
    int failed = scratch_set_up(&scratch);
    world.scratch = scratch;
    world.file.descriptor = -1;
    *state = &world;
    return failed != 0 || !directory_open(world.scratch->path, &world.directory, &world.err) ||
           !slot_file_open(&world.directory, "mark", &world.file, &world.err);
}

static int tear_down(void **state)
{
    World *world = *state;
    void *scratch = world->scratch;
    slot_file_close(&world->file);
    directory_close(&world->directory);
    return scratch_tear_down(&scratch);
}

static Str read_again(World *world)
{
    Str text;
    slot_file_close(&world->file);
    assert_true(slot_file_open(&world->directory, "mark", &world->file, &world->err));
    assert_true(slot_file_read(&world->file, &world->scratch->arena, &text, &world->err));
    return text;
}

static void write_one(World *world, const char *text)
{
    assert_true(slot_file_write(&world->file, str_from_c(text), &world->err));
}

static void corrupt(World *world, off_t at)
{
    assert_int_equal(pwrite(world->file.descriptor, "!", 1, at), 1);
}

static void the_newest_intact_record_counts(void **state)
{
    World *world = *state;
    assert_str(read_again(world), "");
    write_one(world, "one");
    assert_str(read_again(world), "one");
    write_one(world, "two");
    assert_str(read_again(world), "two");
    write_one(world, "three");
    assert_str(read_again(world), "three");
    corrupt(world, 4096 + 16); /* of the third, where the first was */
    assert_str(read_again(world), "two");
    write_one(world, "four"); /* not in place of the complete one */
    assert_str(read_again(world), "four");
    corrupt(world, 4096 + 16);
    assert_str(read_again(world), "two");
    corrupt(world, 16);
    assert_str(read_again(world), "");
}

static void a_failed_sync_is_retried(void **state)
{
    World *world = *state;
    write_one(world, "one");
    syncs_forget();
    syncs_fail = true;
    assert_false(slot_file_sync(&world->file, &world->err));
    assert_int_equal(world->err.kind, ERROR_OS);
    syncs_fail = false;
    assert_true(slot_file_sync(&world->file, &world->err));
    assert_int_equal(syncs, 2);
    assert_true(slot_file_sync(&world->file, &world->err)); /* nothing was written since */
    assert_int_equal(syncs, 2);
    write_one(world, "two");
    assert_true(slot_file_sync(&world->file, &world->err));
    assert_int_equal(syncs, 3);
}

static void records_of_the_maximum_size_survive_a_round_trip(void **state)
{
    World *world = *state;
    char text[SLOT_RECORD_MAX + 1];
    memset(text, 'x', SLOT_RECORD_MAX);
    text[SLOT_RECORD_MAX] = '\0';
    write_one(world, text);
    write_one(world, text);
    assert_str(read_again(world), text);
    assert_int_equal(world->file.sequence, 2);
}

static void special_files_are_rejected(void **state)
{
    World *world = *state;
    SlotFile other;
    scratch_link(world->scratch, "link", "mark");
    assert_false(slot_file_open(&world->directory, "link", &other, &world->err));
    assert_int_equal(mkfifo(scratch_place(world->scratch, "pipe"), 0600), 0);
    assert_false(slot_file_open_reading(&world->directory, "pipe", &other, &world->err));
    assert_int_equal(world->err.kind, ERROR_INVALID);
    assert_false(slot_file_open_reading(&world->directory, "none", &other, &world->err));
    assert_int_equal(world->err.kind, ERROR_NOT_FOUND);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(the_newest_intact_record_counts),
        TEST(a_failed_sync_is_retried),
        TEST(records_of_the_maximum_size_survive_a_round_trip),
        TEST(special_files_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
