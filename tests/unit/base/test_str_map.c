#include "base/str_map.h"

#include "unit.h"

static void insertion_order_is_preserved(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    StrMap map;
    str_map_init(&map, &arena);
    enum {
        KEYS = 3000
    };
    static int values[KEYS];
    for (int i = 0; i < KEYS; i++) {
        assert_true(str_map_put(&map, arena_format(&arena, "key %d", i), &values[i]));
    }
    assert_int_equal(map.count, KEYS);
    assert_false(str_map_put(&map, STR("key 5"), &values[0])); /* keeps its position */
    uint32_t at = 0;
    for (int i = 0; i < KEYS; i++) {
        const StrMapEntry *entry = str_map_next(&map, &at);
        assert_ptr_equal(entry->value, &values[i == 5 ? 0 : i]);
        char name[32];
        snprintf(name, sizeof name, "key %d", i);
        assert_str(entry->key, name);
        assert_ptr_equal(str_map_find(&map, str_from_c(name)), entry->value);
    }
    assert_null(str_map_next(&map, &at));
    assert_null(str_map_find(&map, STR("key 3000")));
}

static void empty_and_null_are_ordinary(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    StrMap map;
    str_map_init(&map, &arena);
    assert_false(str_map_has(&map, STR("a")));
    assert_false(str_map_remove(&map, STR("a")));
    uint32_t at = 0;
    assert_null(str_map_next(&map, &at));
    assert_true(str_map_put(&map, (Str){ NULL, 0 }, NULL));
    assert_true(str_map_has(&map, STR_EMPTY));
    assert_null(str_map_find(&map, STR_EMPTY));
    assert_false(str_map_put(&map, STR_EMPTY, &map));
    assert_ptr_equal(str_map_find(&map, STR_EMPTY), &map);
    assert_int_equal(map.count, 1);
}

static void removing_keys_preserves_the_order(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    StrMap map;
    str_map_init(&map, &arena);
    Str keys[100];
    for (int i = 0; i < 100; i++) {
        keys[i] = arena_format(&arena, "%d", i);
        str_map_put(&map, keys[i], &keys[i]);
    }
    for (int i = 0; i < 100; i += 2) {
        assert_true(str_map_remove(&map, keys[i]));
        assert_false(str_map_remove(&map, keys[i]));
    }
    assert_int_equal(map.count, 50);
    str_map_put(&map, keys[0], &keys[0]); /* comes back at the end */
    uint32_t at = 0;
    for (int i = 1; i < 100; i += 2) {
        assert_ptr_equal(str_map_next(&map, &at)->value, &keys[i]);
    }
    assert_ptr_equal(str_map_next(&map, &at)->value, &keys[0]);
    assert_null(str_map_next(&map, &at));
}

/* A queue that never holds more than three keys must not grow with their total number. */
static void repeated_insertion_and_removal_uses_constant_memory(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    StrMap map;
    str_map_init(&map, &arena);
    static char names[64][8];
    for (int i = 0; i < 100000; i++) {
        char *name = names[i % 64];
        snprintf(name, sizeof names[0], "%d", i % 64);
        assert_true(str_map_put(&map, str_from_c(name), name));
        if (i >= 3) {
            assert_true(str_map_remove(&map, str_from_c(names[(i - 3) % 64])));
        }
        assert_true(map.count <= 3 || i < 3);
    }
    assert_true(arena_used(&arena) < 4096);
}

static void the_current_entry_can_be_removed(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    StrMap map;
    str_map_init(&map, &arena);
    const Str keys[] = { STR("a"), STR("b"), STR("c") };
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        str_map_put(&map, keys[i], NULL);
    }
    size_t seen = 0;
    uint32_t at = 0;
    for (StrMapEntry *entry; (entry = str_map_next(&map, &at)) != NULL; seen++) {
        assert_true(str_map_remove(&map, entry->key));
    }
    assert_int_equal(seen, 3);
    assert_int_equal(map.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(insertion_order_is_preserved),
        cmocka_unit_test(empty_and_null_are_ordinary),
        cmocka_unit_test(removing_keys_preserves_the_order),
        cmocka_unit_test(repeated_insertion_and_removal_uses_constant_memory),
        cmocka_unit_test(the_current_entry_can_be_removed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
