#include "agent/watched.h"

#include "scratch.h"
#include "syncs.h"

typedef struct Fixture {
    Scratch *scratch;
    Loop *loop;
    Directory directory;
    Watched *watched;
    uint64_t stored; /* the last ticket */
} Fixture;

static void stored(void *context, uint64_t ticket)
{
    Fixture *f = context;
    f->stored = ticket;
}

static void open_watched(Fixture *f)
{
    f->watched = watched_open(&(WatchedOptions){ .loop = f->loop,
                                                 .directory = &f->directory,
                                                 .name = "node",
                                                 .stored = stored,
                                                 .context = f });
}

static void open_again(Fixture *f)
{
    watched_free(f->watched);
    open_watched(f);
}

static int set_up(void **state)
{
    scratch_set_up(state);
    Fixture *f = calloc(1, sizeof *f);
    Error err;
    f->scratch = *state;
    *state = f;
    f->loop = loop_new_virtual(1);
    assert_true(directory_make(scratch_place(f->scratch, "agent"), &f->directory, &err));
    open_again(f); /* closed before NULL */
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    *state = f->scratch;
    watched_free(f->watched);
    directory_close(&f->directory);
    loop_free(f->loop);
    free(f);
    return scratch_tear_down(state);
}

enum {
    RESET = 1,
    COMPLETE = 2
};

/* A change of `key`, which a NULL `value` deletes. */
static void take(Fixture *f, const char *key, const char *value, int64_t revision, int how,
                 uint64_t ticket)
{
    Change change = { .deleted = value == NULL,
                      .key = str_from_c(key),
                      .value = str_from_c(value),
                      .revision = revision };
    watched_add(f->watched,
                &(Changes){ .changes = &change,
                            .change_count = 1,
                            .revision = revision,
                            .reset = (how & RESET) != 0,
                            .complete = (how & COMPLETE) != 0 },
                STR("store-a"), ticket);
}

static void assert_value(Fixture *f, const char *key, const char *value)
{
    const Str *found = watched_value(f->watched, str_from_c(key));
    if (value == NULL) {
        assert_null(found);
    } else {
        assert_non_null(found);
        assert_true(str_eq_c(*found, value));
    }
}

static void it_is_empty_at_first(void **state)
{
    Fixture *f = *state;
    assert_int_equal(watched_position(f->watched).store.len, 0);
    assert_value(f, "", NULL);
}

/* What is acknowledged to the server is not sent again. */
static void a_unit_is_on_disk_before_it_is_acknowledged(void **state)
{
    Fixture *f = *state;
    syncs_forget();
    take(f, "a", "1", 5, RESET | COMPLETE, 1);
    assert_int_equal(f->stored, 1);
    assert_int_equal(syncs, 2); /* the file and its name */
    syncs_fail = true;
    take(f, "a", "2", 6, COMPLETE, 2);
    syncs_fail = false;
    assert_int_equal(f->stored, 1);
}

static void a_unit_survives_a_restart(void **state)
{
    Fixture *f = *state;
    take(f, "a", "1", 5, RESET, 1);
    assert_int_equal(f->stored, 1);
    assert_value(f, "a", NULL); /* the unit is incomplete */
    take(f, "b", "\xff\x01 not text", 5, COMPLETE, 2);
    assert_int_equal(f->stored, 2);
    open_again(f);
    assert_value(f, "a", "1");
    assert_value(f, "b", "\xff\x01 not text");
    WatchPosition position = watched_position(f->watched);
    assert_int_equal(position.revision, 5);
    assert_true(str_eq(position.store, STR("store-a")));
    take(f, "a", NULL, 6, COMPLETE, 3);
    take(f, "c", "3", 7, COMPLETE, 4);
    open_again(f);
    assert_value(f, "a", NULL);
    assert_value(f, "b", "\xff\x01 not text");
    assert_value(f, "c", "3");
    take(f, "d", "4", 8, RESET | COMPLETE, 5);
    assert_value(f, "b", NULL);
    assert_value(f, "", "4");
}

static void an_incomplete_unit_is_discarded_with_its_connection(void **state)
{
    Fixture *f = *state;
    take(f, "a", "1", 5, RESET | COMPLETE, 1);
    take(f, "a", "2", 6, 0, 2);
    assert_int_equal(watched_position(f->watched).revision, 5);
    take(f, "b", "2", 6, COMPLETE, 3);
    assert_value(f, "a", "1");
    assert_value(f, "b", "2");
    /* A reset in the middle of a unit discards it. */
    take(f, "c", "x", 7, 0, 4);
    take(f, "d", "4", 8, RESET | COMPLETE, 5);
    assert_value(f, "c", NULL);
    assert_value(f, "d", "4");
}

static void failed_writes_are_not_reported_as_stored(void **state)
{
    Fixture *f = *state;
    take(f, "a", "1", 5, RESET | COMPLETE, 1);
    Directory whole = f->directory;
    f->directory.descriptor = -1; /* like a disk that accepts no writes */
    take(f, "a", "2", 6, COMPLETE, 2);
    assert_int_equal(f->stored, 1);
    assert_value(f, "a", "1");
    f->directory = whole;
    loop_run_virtual_until(f->loop, loop_now_ms(f->loop) + WATCHED_RETRY_MS);
    assert_int_equal(f->stored, 2);
    open_again(f);
    assert_value(f, "a", "2");
}

static void a_damaged_file_counts_as_empty(void **state)
{
    Fixture *f = *state;
    static const char *const damages[] = {
        "",
        "{",
        "{\"format\":\"eden.watched/2\"}",
        "{\"format\":\"eden.watched/1\",\"store\":\"a\",\"revision\":1,\"keys\":[1]}",
        ("{\"format\":\"eden.watched/1\",\"store\":\"a\",\"revision\":1,"
         "\"keys\":[{\"key\":\"YQ==\",\"value\":\"?\"}]}"),
    };
    Error err;
    for (size_t i = 0; i < COUNT_OF(damages); i++) {
        assert_true(directory_write(&f->directory, "watched-node.json", str_from_c(damages[i]),
                                    false, &err));
        open_again(f);
        assert_int_equal(watched_position(f->watched).store.len, 0);
        assert_value(f, "", NULL);
    }
}

static void fields_of_a_newer_agent_are_preserved(void **state)
{
    Fixture *f = *state;
    AUTO_CLEAR(Arena) arena;
    Str text;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    assert_true(directory_write(&f->directory, "watched-node.json",
                                STR("{\"format\":\"eden.watched/1\",\"store\":\"store-a\","
                                    "\"revision\":1,\"keys\":[],\"later\":{\"deep\":[1]}}"),
                                false, &err));
    open_again(f);
    take(f, "a", "1", 5, COMPLETE, 1);
    assert_true(directory_read(&f->directory, &arena, "watched-node.json", 4096, &text, &err));
    assert_true(str_find(text, STR("\"revision\":5"), 0) != STR_NOT_FOUND);
    assert_true(str_ends(text, STR(",\"later\":{\"deep\":[1]}}\n")));
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(it_is_empty_at_first),
        ROW(a_unit_is_on_disk_before_it_is_acknowledged),
        ROW(a_unit_survives_a_restart),
        ROW(an_incomplete_unit_is_discarded_with_its_connection),
        ROW(failed_writes_are_not_reported_as_stored),
        ROW(a_damaged_file_counts_as_empty),
        ROW(fields_of_a_newer_agent_are_preserved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
