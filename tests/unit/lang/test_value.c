#include "lang/value.h"

#include <math.h>
#include <stdlib.h>

#include "unit.h"

static int set_up(void **state)
{
    Arena *arena = malloc(sizeof *arena);
    arena_init(arena, ARENA_UNLIMITED);
    *state = arena;
    return 0;
}

static int tear_down(void **state)
{
    arena_clear(*state);
    free(*state);
    return 0;
}

static Value text(const char *c)
{
    return value_string(str_from_c(c));
}

static Value list_of(Arena *arena, size_t count, const Value *items)
{
    List *list = list_new(arena, 0);
    for (size_t i = 0; i < count; i++) {
        list_push(arena, list, items[i]);
    }
    return value_list(list);
}
#define LIST(...) \
    list_of(arena, sizeof((Value[]){ __VA_ARGS__ }) / sizeof(Value), (Value[]){ __VA_ARGS__ })
#define TUPLE(...) value_tuple(LIST(__VA_ARGS__).list)

static void lists_grow(void **state)
{
    Arena *arena = *state;
    List *list = list_new(arena, 2);
    for (int i = 0; i < 10000; i++) {
        list_push(arena, list, value_int(i));
        if (i % 100 == 0) {
            arena_alloc(arena, 1); /* so that growing has to move */
        }
    }
    assert_int_equal(list->len, 10000);
    for (int i = 0; i < 10000; i++) {
        assert_int_equal(list->items[i].integer, i);
    }
}

static void equal_numbers_are_the_same_key(void **state)
{
    Arena *arena = *state;
    const Value ones[] = { value_int(1), value_float(1.0), value_bool(true) };
    for (size_t i = 0; i < COUNT_OF(ones); i++) {
        for (size_t j = 0; j < COUNT_OF(ones); j++) {
            assert_true(value_key_equal(ones[i], ones[j]));
            assert_true(value_hash(ones[i]) == value_hash(ones[j]));
            /* and so in tuples */
            Value a = TUPLE(ones[i], text("x"));
            Value b = TUPLE(ones[j], text("x"));
            assert_true(value_key_equal(a, b));
            assert_true(value_hash(a) == value_hash(b));
        }
    }
    assert_true(value_key_equal(value_float(-0.0), value_int(0)));
    assert_true(value_hash(value_float(-0.0)) == value_hash(value_bool(false)));
    Value large = value_int(INT64_MIN);
    assert_true(value_key_equal(large, value_float(-9223372036854775808.0)));
    assert_true(value_hash(large) == value_hash(value_float(-9223372036854775808.0)));
}

static void different_keys_are_not_equal(void **state)
{
    Arena *arena = *state;
    Value different[] = {
        value_null(),
        value_int(0),
        value_int(1),
        text("1"),
        text("1.0"),
        text("true"),
        text(""),
        value_float(0.5),
        value_float(INFINITY),
        value_float(-INFINITY),
        value_int(INT64_MAX),
        value_float(9223372036854775808.0), /* one more than that */
        value_int((1LL << 53) + 1),
        value_float((double)(1LL << 53)), /* the result of a careless cast */
        TUPLE(value_int(1)),
        TUPLE(value_int(1), value_int(2)),
        TUPLE(TUPLE(value_int(1))),
        value_tuple(list_new(arena, 0)),
    };
    for (size_t i = 0; i < COUNT_OF(different); i++) {
        for (size_t j = 0; j < COUNT_OF(different); j++) {
            assert_int_equal(value_key_equal(different[i], different[j]), i == j);
        }
        assert_true(value_is_key(different[i]));
    }
    assert_false(value_key_equal(value_float(NAN), value_float(NAN)));
}

static void strings_without_bytes_are_equal_whatever_they_point_to(void **state)
{
    Arena *arena = *state;
    Value null = value_string((Str){ NULL, 0 });
    assert_true(value_key_equal(null, text("")));
    assert_true(value_hash(null) == value_hash(text("")));
    Map *map = map_new(arena, 0);
    map_set(arena, map, null, value_int(1));
    assert_non_null(map_find_str(map, STR_EMPTY));
    assert_non_null(map_find_str(map, (Str){ NULL, 0 }));
}

static void keys_are_scalars_and_tuples_of_them(void **state)
{
    Arena *arena = *state;
    assert_true(value_is_key(TUPLE(value_int(1), TUPLE(text("a"), value_null()))));
    assert_false(value_is_key(value_list(list_new(arena, 0))));
    assert_false(value_is_key(value_map(map_new(arena, 0))));
    assert_false(value_is_key(value_missing()));
    assert_false(value_is_key(value_object(NULL)));
    assert_false(value_is_key(TUPLE(value_int(1), TUPLE(value_list(list_new(arena, 0))))));

    /* Forty tuples that contain the previous one twice: small in memory, endless to walk. */
    Value doubling = value_int(1);
    for (int i = 0; i < 40; i++) {
        doubling = TUPLE(doubling, doubling);
    }
    assert_false(value_is_key(doubling));
    Value deep = value_int(1);
    for (int i = 0; i < 100000; i++) {
        deep = TUPLE(deep);
    }
    assert_false(value_is_key(deep));
}

static void maps_preserve_order_and_replace_in_place(void **state)
{
    Arena *arena = *state;
    for (int size = 0; size < 40; size++) { /* on both sides of MAP_LINEAR */
        Map *map = map_new(arena, size % 3 == 0 ? (uint32_t)size : 0);
        for (int i = 0; i < size; i++) {
            map_set(arena, map, value_string(arena_format(arena, "k%d", i)), value_int(i));
        }
        map_set(arena, map, text("k0"), value_int(-1));
        assert_int_equal(map->len, size == 0 ? 1 : size);
        for (int i = 1; i < size; i++) {
            char name[16];
            snprintf(name, sizeof name, "k%d", i);
            assert_str(value_str(map->entries[i].key), name);
            assert_ptr_equal(map_find_str(map, str_from_c(name)), &map->entries[i]);
            assert_ptr_equal(map_find_str_hashed(map, str_from_c(name), hash_str(str_from_c(name))),
                             &map->entries[i]);
        }
        assert_int_equal(map_find_str(map, STR("k0"))->value.integer, -1);
        assert_null(map_find_str(map, STR("other")));
        assert_null(map_find(map, value_int(0)));
    }
}

static void add_reports_the_existing_key(void **state)
{
    Arena *arena = *state;
    Map *map = map_new(arena, 0);
    for (int i = 0; i < 30; i++) {
        assert_null(map_add(arena, map, value_int(i), value_int(i)));
        MapEntry *first = map_add(arena, map, value_float(i), value_int(-1));
        assert_ptr_equal(first, &map->entries[i]);
        assert_int_equal(first->value.integer, i);
    }
    assert_int_equal(map->len, 30);
}

static void keys_of_all_kinds_coexist(void **state)
{
    Arena *arena = *state;
    Map *map = map_new(arena, 0);
    for (int round = 0; round < 2; round++) {
        map_set(arena, map, value_int(1), text("one"));
        map_set(arena, map, text("1"), text("text"));
        map_set(arena, map, value_null(), text("null"));
        map_set(arena, map, TUPLE(value_int(1), value_int(2)), text("pair"));
        map_set(arena, map, value_float(1.5), text("float"));
        for (int i = 10; i < 20 && round == 0; i++) { /* then the same again with an index */
            map_set(arena, map, value_int(i), value_null());
        }
    }
    assert_int_equal(map->len, 15);
    assert_str(value_str(map_find(map, value_bool(true))->value), "one");
    assert_str(value_str(map_find(map, value_float(1.0))->value), "one");
    assert_str(value_str(map_find(map, text("1"))->value), "text");
    assert_str(value_str(map_find(map, value_null())->value), "null");
    assert_str(value_str(map_find(map, TUPLE(value_bool(true), value_float(2)))->value), "pair");
    assert_null(map_find(map, TUPLE(value_int(2), value_int(1))));
    /* Python keeps the key that was inserted first. */
    map_set(arena, map, value_float(1.0), text("again"));
    assert_int_equal(map->entries[0].key.kind, VALUE_INT);
    assert_str(value_str(map->entries[0].value), "again");
}

/* A map that shrinks below MAP_LINEAR keeps its index, and later keys must be found with it. */
static void keys_added_after_removals_are_found(void **state)
{
    Arena *arena = *state;
    Map *map = map_new(arena, 0);
    for (int i = 0; i < 12; i++) {
        map_set(arena, map, value_int(i), value_int(i));
    }
    for (int i = 0; i < 10; i++) {
        assert_true(map_remove(map, value_int(i)));
    }
    map_set(arena, map, text("new"), value_int(1));
    map_set(arena, map, text("new"), value_int(2));
    assert_int_equal(map->len, 3);
    assert_int_equal(map_find_str(map, STR("new"))->value.integer, 2);
    assert_non_null(map_find(map, value_int(11)));
}

static void foreign_values_are_read_by_kind(void **state)
{
    Arena *arena = *state;
    Map *inner = map_new(arena, 0), *map = map_new(arena, 0);
    List *list = list_new(arena, 0);
    list_push(arena, list, value_int(1));
    map_set_str(arena, map, STR("text"), value_string(STR("a")));
    map_set_str(arena, map, STR("int"), value_int(7));
    map_set_str(arena, map, STR("bool"), value_bool(true));
    map_set_str(arena, map, STR("list"), value_list(list));
    map_set_str(arena, map, STR("map"), value_map(inner));
    Value v = value_map(map);
    assert_str(value_get_text(v, "text"), "a");
    assert_int_equal(value_get_int(v, "int"), 7);
    assert_true(value_get_bool(v, "bool"));
    assert_ptr_equal(value_get_list(v, "list"), list);
    assert_ptr_equal(value_get_map(v, "map").map, inner);
    Value others[] = { v, value_map(inner), value_null(), value_int(7), value_list(list) };
    static const char *const other[] = { "list", "text", "int", "bool", "none" };
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        assert_str(value_get_text(others[i], other[i]), "");
        assert_int_equal(value_get_list(others[i], i == 0 ? "map" : other[i])->len, 0);
        assert_int_equal(value_get_map(others[i], other[i]).kind, VALUE_NULL);
        assert_int_equal(value_get_int(others[i], other[i]), 0);
        assert_false(value_get_bool(others[i], other[i]));
    }
}

/* Random insertions and removals, compared with a list searched linearly. */
static void maps_agree_with_a_linear_list(void **state)
{
    Arena *arena = *state;
    enum {
        KEYS = 60,
        STEPS = 20000
    };
    Map *map = map_new(arena, 0);
    int model[KEYS]; /* key numbers in order */
    int count = 0;
    uint32_t random = 12345;
    for (int step = 0; step < STEPS; step++) {
        random = random * 1664525 + 1013904223;
        int number = (int)(random >> 16) % KEYS;
        /* Waves: mostly adding, then mostly removing. */
        bool remove = (random >> 8) % 100 < (step / 500 % 2 == 0 ? 20 : 80);
        Value key = number % 2 == 0 ? value_int(number)
                                    : value_string(arena_format(arena, "key %d", number));
        int at = 0;
        while (at < count && model[at] != number) {
            at++;
        }
        if (remove) {
            assert_int_equal(map_remove(map, key), at < count);
            if (at < count) {
                memmove(&model[at], &model[at + 1], (size_t)(count - at - 1) * sizeof *model);
                count--;
            }
        } else {
            map_set(arena, map, key, value_int(number));
            if (at == count) {
                model[count++] = number;
            }
        }
        assert_int_equal(map->len, count);
        for (int i = 0; i < count; i++) {
            if (map->entries[i].value.integer != model[i] ||
                map_find(map, map->entries[i].key) != &map->entries[i]) {
                fail_msg("step %d, entry %d", step, i);
            }
        }
    }
}

static void large_maps_find_every_key(void **state)
{
    Arena *arena = *state;
    enum {
        KEYS = 50000
    };
    Map *map = map_new(arena, 0);
    for (int i = 0; i < KEYS; i++) {
        map_append(arena, map, value_int((int64_t)i * 1024), value_int(i));
    }
    for (int i = 0; i < KEYS; i++) {
        assert_int_equal(map_find(map, value_int((int64_t)i * 1024))->value.integer, i);
    }
    assert_null(map_find(map, value_int(1)));
    for (int i = KEYS - 1; i > 10; i--) { /* from the end, which moves nothing */
        assert_true(map_remove(map, value_int((int64_t)i * 1024)));
    }
    assert_int_equal(map->len, 11);
    assert_non_null(map_find(map, value_int(10 * 1024)));
}

static void get_works_for_string_keys_of_maps(void **state)
{
    Arena *arena = *state;
    Map *map = map_new(arena, 0);
    map_set_str(arena, map, STR("a"), value_int(1));
    assert_int_equal(value_get(value_map(map), STR("a"))->integer, 1);
    assert_null(value_get(value_map(map), STR("b")));
    assert_null(value_get(value_list(list_new(arena, 0)), STR("a")));
    assert_null(value_get(value_null(), STR("a")));
}

static void copies_are_deep_and_preserve_marks(void **state)
{
    Arena *arena = *state;
    Map *map = map_new(arena, 0);
    char bytes[] = "value";
    Value secret = value_with_secret(value_string(str_from(bytes, 5)));
    secret.source = 3;
    secret.start = 17;
    map_set(arena, map, TUPLE(value_int(1), text("k")), LIST(secret, value_int(2)));
    value_freeze(value_map(map));

    AUTO_CLEAR(Arena) other;
    arena_init(&other, ARENA_UNLIMITED);
    Value copy = value_copy(&other, value_map(map));
    bytes[0] = 'X';
    map->entries[0].value.list->items[1] = value_int(99);
    assert_false(copy.map->frozen);
    const MapEntry *entry = map_find(copy.map, TUPLE(value_int(1), text("k")));
    assert_false(entry->value.list->frozen);
    Value item = entry->value.list->items[0];
    assert_str(value_str(item), "value");
    assert_true(value_is_secret(item));
    assert_int_equal(item.source, 3);
    assert_int_equal(item.start, 17);
    assert_int_equal(entry->value.list->items[1].integer, 2);
}

static void copies_stop_at_the_budget(void **state)
{
    Arena *arena = *state;
    Value doubling = text("x");
    for (int i = 0; i < 60; i++) {
        doubling = LIST(doubling, doubling);
    }
    AUTO_CLEAR(Arena) small;
    arena_init(&small, 1 << 20);
    value_copy(&small, doubling);
    assert_true(arena_exceeded(&small));
    assert_true(small.chunk_bytes < 2 << 20);

    Value deep = text("x");
    for (int i = 0; i < 100000; i++) {
        deep = LIST(deep);
    }
    AUTO_CLEAR(Arena) large;
    arena_init(&large, ARENA_UNLIMITED);
    value_copy(&large, deep);
    assert_true(arena_exceeded(&large));
}

static void secrets_are_found_inside(void **state)
{
    Arena *arena = *state;
    Value secret = value_with_secret(text("hunter2"));
    Map *map = map_new(arena, 0);
    map_set_str(arena, map, STR("list"), LIST(value_int(1), TUPLE(value_int(2), secret)));
    Map *by_key = map_new(arena, 0);
    map_set(arena, by_key, secret, value_null());
    assert_true(value_holds_secret(secret));
    assert_true(value_holds_secret(value_map(map)));
    assert_true(value_holds_secret(value_map(by_key)));
    assert_true(value_holds_secret(value_with_secret(value_null())));
    assert_false(value_holds_secret(LIST(value_int(1), value_null())));
    assert_false(value_holds_secret(value_map(map_new(arena, 0))));
}

/* A container queried before it was frozen must not cache that result. */
static void frozen_containers_cache_only_stable_facts(void **state)
{
    Arena *arena = *state;
    Value inner = LIST(value_int(1));
    Value outer = LIST(inner);
    assert_false(value_holds_secret(outer));
    list_push(arena, inner.list, value_with_secret(text("hunter2")));
    assert_true(value_holds_secret(outer));
    value_freeze(outer);
    assert_true(inner.list->frozen);
    assert_true(value_holds_secret(outer));
    assert_true(value_holds_secret(inner));

    Value plain = LIST(value_int(1), LIST(value_int(2)));
    value_freeze(plain);
    assert_false(value_holds_secret(plain));
    Value mixed = LIST(plain, outer);
    assert_true(value_holds_secret(mixed));
    value_freeze(mixed);
    assert_true(value_holds_secret(mixed));
    assert_false(value_holds_secret(plain));
}

static void endless_values_count_as_secret(void **state)
{
    Arena *arena = *state;
    Value doubling = text("x");
    Value deep = text("x");
    for (int i = 0; i < 1000; i++) {
        doubling = i < 60 ? LIST(doubling, doubling) : doubling;
        deep = LIST(deep);
    }
    assert_true(value_holds_secret(doubling));
    assert_true(value_holds_secret(deep));
    value_freeze(doubling); /* each list once */
    assert_false(value_holds_secret(doubling));
    Value loop = LIST(value_int(1));
    list_push(arena, loop.list, loop);
    list_push(arena, loop.list, loop);
    assert_true(value_holds_secret(loop));
    value_freeze(loop);
    assert_true(value_holds_secret(loop));
}

static void every_kind_has_a_name(void **state)
{
    for (ValueKind kind = VALUE_NULL; kind <= VALUE_UNDEFINED; kind++) {
        assert_true(strlen(value_kind_name(kind)) > 0);
    }
    assert_string_equal(value_kind_name(VALUE_TUPLE), "tuple");
    assert_bug(value_kind_name((ValueKind)99));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(lists_grow),
        TEST(equal_numbers_are_the_same_key),
        TEST(different_keys_are_not_equal),
        TEST(strings_without_bytes_are_equal_whatever_they_point_to),
        TEST(keys_are_scalars_and_tuples_of_them),
        TEST(maps_preserve_order_and_replace_in_place),
        TEST(add_reports_the_existing_key),
        TEST(keys_of_all_kinds_coexist),
        TEST(keys_added_after_removals_are_found),
        TEST(foreign_values_are_read_by_kind),
        TEST(maps_agree_with_a_linear_list),
        TEST(large_maps_find_every_key),
        TEST(get_works_for_string_keys_of_maps),
        TEST(copies_are_deep_and_preserve_marks),
        TEST(copies_stop_at_the_budget),
        TEST(secrets_are_found_inside),
        TEST(frozen_containers_cache_only_stable_facts),
        TEST(endless_values_count_as_secret),
        TEST(every_kind_has_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
