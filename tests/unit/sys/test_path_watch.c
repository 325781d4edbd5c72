#include "sys/path_watch.h"

#include "net/world.h"
#include "sys/directory.h"

typedef struct Fixture {
    World world;
    Scratch *scratch;
    PathWatch *watch;
    char wanted[32];
} Fixture;

static int set_up(void **state)
{
    scratch_set_up(state);
    Fixture *f = calloc(1, sizeof *f);
    f->scratch = *state;
    *state = f;
    world_open(&f->world);
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    *state = f->scratch;
    path_watch_free(f->watch);
    world_close(&f->world);
    free(f);
    return scratch_tear_down(state);
}

static void changed(void *context, const char *name)
{
    Fixture *f = context;
    if (name != NULL && strcmp(name, f->wanted) == 0) {
        loop_stop(f->world.loop);
    }
}

static void created_changed_and_removed_files_are_reported(void **state)
{
    Fixture *f = *state;
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    Error err;
    assert_true(directory_open(f->scratch->path, &directory, &err));
    assert_true(path_watch_new(f->world.loop, f->scratch->path, changed, f, &f->watch, &err));
    strcpy(f->wanted, "one");
    assert_true(directory_write(&directory, "one", STR("1"), false, &err));
    world_run(&f->world);
    assert_true(directory_write(&directory, "two", STR("1"), false, &err));
    assert_true(directory_write(&directory, "one", STR("2"), false, &err));
    world_run(&f->world);
    assert_true(directory_remove(&directory, "one", &err));
    world_run(&f->world);
}

static void a_missing_directory_cannot_be_watched(void **state)
{
    Fixture *f = *state;
    Error err;
    assert_false(path_watch_new(f->world.loop, scratch_place(f->scratch, "nothing"), changed, f,
                                &f->watch, &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(created_changed_and_removed_files_are_reported, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_missing_directory_cannot_be_watched, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
