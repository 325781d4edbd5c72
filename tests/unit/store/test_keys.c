#include "store/keys.h"

#include "unit.h"

static int set_up(void **state)
{
    static Arena arena;
    arena_init(&arena, ARENA_UNLIMITED);
    *state = &arena;
    return 0;
}

static int tear_down(void **state)
{
    arena_clear(*state);
    return 0;
}

static void keys_consist_of_prefix_words_and_parts(void **state)
{
    Arena *arena = *state;
    Str service[] = { STR("web"), STR("node1"), STR("8080") };
    assert_str(key_make(arena, KEYS_PREFIX, KEY_SERVICE, service, 3),
               "/eden/services/web/node1/8080");
    assert_str(key_make(arena, STR("/other"), KEY_CURRENT_VERSION, NULL, 0),
               "/other/current_version");
    assert_str(key_make_prefix(arena, KEYS_PREFIX, KEY_SERVICE, service, 1), "/eden/services/web/");
    assert_str(key_make_prefix(arena, KEYS_PREFIX, KEY_RUN_NODE, service, 1),
               "/eden/runs/web/nodes/");
    assert_str(key_make_prefix(arena, KEYS_PREFIX, KEY_NODE, NULL, 0), "/eden/nodes/");
    assert_bug(key_make(arena, KEYS_PREFIX, KEY_SERVICE, service, 2));
    assert_bug(key_make(arena, KEYS_PREFIX, KEY_NODE, service, 2));
    Str empty = STR_EMPTY;
    assert_bug(key_make(arena, KEYS_PREFIX, KEY_NODE, &empty, 1));
}

static void parts_never_reach_into_another_key(void **state)
{
    Arena *arena = *state;
    Str part = STR("../a%/\n\0b");
    assert_str(key_make(arena, KEYS_PREFIX, KEY_NODE, &part, 1), "/eden/nodes/..%2Fa%25%2F%0A%00b");
}

static void every_kind_survives_a_round_trip(void **state)
{
    Arena *arena = *state;
    Str parts[] = { STR("one/ %"), STR("\xc3\xa4\x7f"), STR("3") };
    for (KeyKind kind = 0; kind < KEY_KIND_COUNT; kind++) {
        uint32_t count = key_part_count(kind);
        assert_true(count <= KEYS_PARTS_MAX);
        Str key = key_make(arena, KEYS_PREFIX, kind, parts, count);
        KeyKind found;
        Str back[KEYS_PARTS_MAX];
        assert_true(key_parse(arena, KEYS_PREFIX, key, &found, back));
        assert_int_equal(found, kind);
        for (uint32_t i = 0; i < count; i++) {
            assert_true(str_eq(back[i], parts[i]));
        }
    }
}

static void other_texts_are_not_keys(void **state)
{
    Arena *arena = *state;
    static const char *const texts[] = {
        "",
        "/eden",
        "/eden/",
        "/eden/nodes",
        "/eden/nodes/",
        "/eden/nodes/a/b",
        "/eden/nodes/a/",
        "/edennodes/a",
        "/eden/current_version/a",
        "/eden/nodes/a b",
        "/eden/nodes/a%2",
        "/eden/nodes/a%2f",
        "/eden/nodes/a%zz",
        "/eden/nodes/%41",
        "/eden/runs/1/nothing/2",
        "/other/nodes/a",
    };
    for (unsigned i = 0; i < COUNT_OF(texts); i++) {
        KeyKind kind;
        Str parts[KEYS_PARTS_MAX];
        assert_false(key_parse(arena, KEYS_PREFIX, str_from_c(texts[i]), &kind, parts));
    }
}

static void the_node_part_is_identified(void **state)
{
    uint32_t part;
    assert_true(key_node_part(KEY_NODE_ALIVE, &part));
    assert_int_equal(part, 0);
    assert_true(key_node_part(KEY_STATUS, &part));
    assert_int_equal(part, 2);
    assert_false(key_node_part(KEY_CURRENT_VERSION, &part));
    assert_false(key_node_part(KEY_RUN, &part));
}

static void sequences_sort_as_numbers(void **state)
{
    Arena *arena = *state;
    assert_true(str_compare(key_sequence(arena, 9), key_sequence(arena, 10)) < 0);
    assert_str(key_sequence(arena, UINT64_MAX), "18446744073709551615");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(keys_consist_of_prefix_words_and_parts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(parts_never_reach_into_another_key, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_kind_survives_a_round_trip, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_texts_are_not_keys, set_up, tear_down),
        cmocka_unit_test(the_node_part_is_identified),
        cmocka_unit_test_setup_teardown(sequences_sort_as_numbers, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
