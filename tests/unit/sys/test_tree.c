#include "sys/tree.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "scratch.h"

enum {
    RENAMERS = 2,
    UPS = 400,
    READS = 50
};

typedef struct Renaming {
    const char *one, *other;
    _Atomic bool stop;
} Renaming;

static void *rename_on_and_on(void *context)
{
    Renaming *work = context;
    while (!work->stop) {
        renameat2(AT_FDCWD, work->one, AT_FDCWD, work->other, RENAME_EXCHANGE);
    }
    return NULL;
}

/* Links in /sys go up and down again; renames elsewhere do not affect them. */
static void renames_elsewhere_have_no_effect(void **state)
{
    Scratch *scratch = *state;
    Arena *arena = &scratch->arena;
    Error err;
    Str text;
    scratch_put(scratch, "one", "1");
    scratch_put(scratch, "other", "2");
    scratch_put(scratch, "file", "content");
    Renaming work = { scratch_place(scratch, "one"), scratch_place(scratch, "other"), false };
    pthread_t threads[RENAMERS];
    for (size_t i = 0; i < RENAMERS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, rename_on_and_on, &work), 0);
    }
    Buf path = buf_make_in(arena, BUF_UNLIMITED);
    for (size_t i = 0; i < UPS; i++) {
        buf_put_c(&path, "/proc/..");
    }
    buf_put_c(&path, scratch_place(scratch, "file"));
    AUTO_CLEAR(Tree) tree = { .descriptor = -1 };
    assert_true(tree_open("/", &tree, &err));
    int read = 0;
    for (int i = 0; i < READS; i++) {
        read += tree_read(&tree, arena, buf_c(&path), 100, &text, &err);
    }
    work.stop = true;
    for (size_t i = 0; i < RENAMERS; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(read, READS);
    assert_str(text, "content");
}

/* Neither ".." nor a link leads out of a tree that is not our own root. */
static void no_path_leads_out(void **state)
{
    Scratch *scratch = *state;
    Error err;
    Str text;
    scratch_put(scratch, "outside", "private");
    assert_int_equal(mkdir(scratch_place(scratch, "tree"), 0755), 0);
    scratch_put(scratch, "tree/inside", "content");
    scratch_link(scratch, "tree/out", "../outside");
    scratch_link(scratch, "tree/absolute", scratch_place(scratch, "outside"));
    scratch_link(scratch, "tree/in", "/inside");
    AUTO_CLEAR(Tree) tree = { .descriptor = -1 };
    assert_true(tree_open(scratch_place(scratch, "tree"), &tree, &err));
    assert_true(tree_read(&tree, &scratch->arena, "/in", 100, &text, &err));
    assert_str(text, "content");
    static const char *const places[] = { "/out", "/absolute", "/../outside" };
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        assert_false(tree_read(&tree, &scratch->arena, places[i], 100, &text, &err));
        assert_int_equal(err.kind, ERROR_NOT_FOUND);
    }
}

int main(void)
{
#define ROW(name) cmocka_unit_test_setup_teardown(name, scratch_set_up, scratch_tear_down)
    const struct CMUnitTest tests[] = {
        ROW(renames_elsewhere_have_no_effect),
        ROW(no_path_leads_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
