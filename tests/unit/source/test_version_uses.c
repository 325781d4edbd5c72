/* Which versions are kept, and which are deleted. */
#include "source/version_uses.h"

#include "scratch.h"

enum {
    COUNT = 8
};

typedef struct Fixture {
    Arena arena;
    VersionEntry entries[COUNT]; /* v0 is the newest; created at 800, 700 ... 100 */
    StrMap uses;
} Fixture;

static int set_up(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    arena_init(&f->arena, ARENA_UNLIMITED);
    str_map_init(&f->uses, &f->arena);
    for (int i = 0; i < COUNT; i++) {
        f->entries[i].name = arena_format(&f->arena, "v%d", i);
        f->entries[i].version.created_ms = 100 * (COUNT - i);
    }
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    arena_clear(&f->arena);
    free(f);
    return 0;
}

static void assert_plan(Fixture *f, uint32_t retained, int64_t before_ms, const char *expected)
{
    uint32_t which[COUNT];
    char text[100] = "";
    uint32_t count = version_uses_plan(f->entries, COUNT, &f->uses,
                                       &(VersionRetention){ retained, before_ms }, which);
    for (uint32_t i = 0; i < count; i++) {
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s ",
                 f->entries[which[i]].name.data);
    }
    assert_string_equal(text, expected);
}

static void the_newest_stay(void **state)
{
    Fixture *f = *state;
    assert_plan(f, 5, 1000, "v5 v6 v7 ");
    assert_plan(f, COUNT, 1000, "");
    assert_plan(f, 0, 1000, "v0 v1 v2 v3 v4 v5 v6 v7 ");
}

static void recent_ones_stay(void **state)
{
    assert_plan(*state, 2, 301, "v5 v6 v7 ");
}

static void used_ones_stay(void **state)
{
    Fixture *f = *state;
    str_map_put(&f->uses, STR("v6"), NULL);
    str_map_put(&f->uses, STR("v1"), NULL);
    assert_plan(f, 5, 1000, "v5 v7 ");
}

/* Invalid commits do not displace versions that may be used for a rollback. */
static void rejected_ones_are_counted_apart(void **state)
{
    Fixture *f = *state;
    for (int i = 0; i < 5; i++) {
        f->entries[i].version.state = VERSION_REJECTED;
    }
    assert_plan(f, 3, 1000, "v3 v4 ");
}

static void unreadable_ones_stay(void **state)
{
    Fixture *f = *state;
    f->entries[6].error = STR("not JSON");
    assert_plan(f, 5, 1000, "v5 v7 ");
}

static void assert_oldest(Fixture *f, const char *expected)
{
    const VersionEntry *entry = version_uses_oldest(f->entries, COUNT, &f->uses);
    assert_string_equal(entry == NULL ? "" : entry->name.data, expected);
}

static void room_is_made_by_the_oldest_unused_one(void **state)
{
    Fixture *f = *state;
    assert_oldest(f, "v7");
    str_map_put(&f->uses, STR("v7"), NULL);
    f->entries[6].error = STR("not JSON");
    assert_oldest(f, "v5");
    f->entries[2].version.state = VERSION_REJECTED;
    assert_oldest(f, "v2");
    str_map_put(&f->uses, STR("v2"), NULL);
    assert_oldest(f, "v5");
    for (int i = 0; i < COUNT; i++) {
        str_map_put(&f->uses, f->entries[i].name, NULL);
    }
    assert_oldest(f, "");
}

static void what_was_created_is_used_for_a_while(void **state)
{
    Fixture *f = *state;
    VersionNotes *notes = version_notes_new();
    version_notes_add(notes, 0, &f->uses);
    assert_int_equal(f->uses.count, 0);
    version_notes_created(notes, "aaaaaaaaaaaa", 100);
    version_notes_created(notes, "bbbbbbbbbbbb", 200);
    version_notes_add(notes, 150, &f->uses);
    assert_int_equal(f->uses.count, 1);
    assert_true(str_map_has(&f->uses, STR("bbbbbbbbbbbb")));
    for (int i = 0; i < VERSION_NOTES_MAX; i++) {
        version_notes_created(notes, "cccccccccccc", 300);
    }
    version_notes_add(notes, 0, &f->uses);
    assert_int_equal(f->uses.count, 2);
    version_notes_freed(notes, &(VersionsFreed){ .versions = 1, .blobs = 2, .bytes = 3 });
    version_notes_freed(version_notes_ref(notes), &(VersionsFreed){ .blobs = 2 });
    assert_int_equal(notes->freed.blobs, 4);
    version_notes_unref(notes);
    version_notes_unref(notes);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_newest_stay),
        TEST(recent_ones_stay),
        TEST(used_ones_stay),
        TEST(rejected_ones_are_counted_apart),
        TEST(unreadable_ones_stay),
        TEST(room_is_made_by_the_oldest_unused_one),
        TEST(what_was_created_is_used_for_a_while),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
