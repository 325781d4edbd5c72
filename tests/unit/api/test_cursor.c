#include "api/cursor.h"

#include "scratch.h"

static const SealKey key = { { 1, 2, 3 } };

static const CursorList nodes = { { "s", 1 }, { "Node", 4 }, { "role=web", 8 }, { NULL, 0 } };

static void a_position_survives_a_round_trip(void **state)
{
    Scratch *scratch = *state;
    Arena *arena = &scratch->arena;
    Cursor place;
    Error err;
    Str text =
        cursor_write(arena, &key, &nodes, &(Cursor){ .revision = 12, .after = STR("nodes/web1") });
    assert_true(cursor_read(arena, &key, &nodes, text, &place, &err));
    assert_int_equal(place.revision, 12);
    assert_str(place.after, "nodes/web1");
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        assert_true(ascii_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                    c == '-' || c == '_');
    }
}

static void neither_a_name_nor_its_length_is_visible(void **state)
{
    Scratch *scratch = *state;
    Arena *arena = &scratch->arena;
    Str names[] = { STR("a"), STR("a-name-that-is-as-long-as-the-names-of-machines-can-be-or-so") };
    Str first = cursor_write(arena, &key, &nodes, &(Cursor){ .after = names[0] });
    Str second = cursor_write(arena, &key, &nodes, &(Cursor){ .after = names[1] });
    assert_int_equal(first.len, second.len);
    assert_false(str_eq(first, second));
}

static void it_is_not_valid_for_another_list(void **state)
{
    Scratch *scratch = *state;
    Arena *arena = &scratch->arena;
    const CursorList others[] = {
        { STR("t"), STR("Node"), STR("role=web"), STR_EMPTY },
        { STR("s"), STR("Facts"), STR("role=web"), STR_EMPTY },
        { STR("s"), STR("Node"), STR("role=db"), STR_EMPTY },
        { STR("s"), STR("Node"), STR_EMPTY, STR("role=web") },
        { STR("s"), STR("Node"), STR("role=web"), STR("8:team=web") },
        { STR("sNode"), STR_EMPTY, STR("role=web"), STR_EMPTY },
    };
    Str text = cursor_write(arena, &key, &nodes, &(Cursor){ .revision = 1, .after = STR("web1") });
    SealKey outsider = { { 1, 2, 4 } };
    Cursor place;
    Error err;
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        assert_false(cursor_read(arena, &key, &others[i], text, &place, &err));
        assert_int_equal(err.kind, ERROR_INVALID);
    }
    assert_false(cursor_read(arena, &outsider, &nodes, text, &place, &err));
    assert_non_null(strstr(err.text, "from the first page"));
}

static void a_changed_cursor_is_rejected(void **state)
{
    Scratch *scratch = *state;
    Arena *arena = &scratch->arena;
    static const char *const texts[] = { "", "web1", "nodes/web1", "====", "\x80", "AAAA" };
    Cursor place;
    Error err;
    Str text = cursor_write(arena, &key, &nodes, &(Cursor){ .revision = 1, .after = STR("web1") });
    for (size_t i = 0; i < text.len; i++) {
        char *changed = arena_copy_c(arena, text);
        changed[i] = changed[i] == 'A' ? 'B' : 'A';
        assert_false(cursor_read(arena, &key, &nodes, str_from(changed, text.len), &place, &err));
    }
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        assert_false(cursor_read(arena, &key, &nodes, str_from_c(texts[i]), &place, &err));
        assert_int_equal(place.after.len, 0);
    }
    char *huge = arena_alloc(arena, CURSOR_TEXT_MAX + 1);
    memset(huge, 'A', CURSOR_TEXT_MAX + 1);
    assert_false(
        cursor_read(arena, &key, &nodes, str_from(huge, CURSOR_TEXT_MAX + 1), &place, &err));
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, scratch_set_up, scratch_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(a_position_survives_a_round_trip),
        ROW(neither_a_name_nor_its_length_is_visible),
        ROW(it_is_not_valid_for_another_list),
        ROW(a_changed_cursor_is_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
