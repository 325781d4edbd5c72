#include "lang/template/sort.h"

#include "unit.h"

/* A render context for sorting: memory and steps. */
typedef struct Stage {
    TemplateSettings settings;
    Arena arena;
    Render r;
} Stage;

static void stage_init(Stage *stage)
{
    *stage = (Stage){ .settings = template_settings_default() };
    arena_init(&stage->arena, ARENA_UNLIMITED);
    stage->r =
        (Render){ .arena = &stage->arena, .settings = &stage->settings, .steps_left = 10000000 };
}

/* Unsorted keys with few distinct values; the item is its original position. */
static SortItem *make_items(Stage *stage, uint32_t count, uint32_t different)
{
    SortItem *items = ARENA_ARRAY(&stage->arena, SortItem, count);
    uint32_t state = 12345;
    for (uint32_t i = 0; i < count; i++) {
        state = state * 1664525 + 1013904223;
        items[i] = (SortItem){ value_int(state >> 8 & (different - 1)), value_int(i) };
    }
    return items;
}

static void check_order(const SortItem *items, uint32_t count, bool reverse)
{
    for (uint32_t i = 1; i < count; i++) {
        int64_t before = items[i - 1].key.integer, after = items[i].key.integer;
        assert_true(reverse ? before >= after : before <= after);
        if (before == after) {
            assert_true(items[i - 1].item.integer < items[i].item.integer); /* stable */
        }
    }
}

static void any_length_is_sorted_and_stable(void **state)
{
    static const uint32_t lengths[] = { 0, 1, 2, 3, 31, 32, 33, 63, 64, 65, 96, 97, 1000, 4097 };
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        for (uint32_t different = 1; different <= 1024; different *= 8) {
            for (int reverse = 0; reverse < 2; reverse++) {
                Stage stage;
                stage_init(&stage);
                SortItem *items = make_items(&stage, lengths[i], different);
                assert_true(sort_items(&stage.r, items, lengths[i], SORT_PLAIN, reverse));
                check_order(items, lengths[i], reverse);
                arena_clear(&stage.arena);
            }
        }
    }
}

/* Runs are detected: sorted input costs about one comparison per item, and is unchanged. */
static void sorted_and_descending_input(void **state)
{
    Stage stage;
    stage_init(&stage);
    SortItem *items = ARENA_ARRAY(&stage.arena, SortItem, 500);
    for (uint32_t i = 0; i < 500; i++) {
        items[i] = (SortItem){ value_int(500 - i), value_int(i) };
    }
    assert_true(sort_items(&stage.r, items, 500, SORT_LISTED, false));
    check_order(items, 500, false);
    assert_true(sort_items(&stage.r, items, 500, SORT_LISTED, false));
    check_order(items, 500, false);
    arena_clear(&stage.arena);
}

static void a_failing_comparison_stops_the_sort(void **state)
{
    for (uint32_t count = 2; count < 200; count += 37) {
        Stage stage;
        stage_init(&stage);
        SortItem *items = make_items(&stage, count, 64);
        items[count / 2].key = value_string(STR("x"));
        assert_false(sort_items(&stage.r, items, count, SORT_PLAIN, false));
        assert_int_equal(stage.r.fault.class, FAULT_TYPE);
        arena_clear(&stage.arena);
    }
}

static void work_is_charged(void **state)
{
    Stage stage;
    stage_init(&stage);
    SortItem *items = make_items(&stage, 1000, 64);
    stage.r.steps_left = 100;
    assert_false(sort_items(&stage.r, items, 1000, SORT_PLAIN, false));
    assert_int_equal(stage.r.fault.class, FAULT_LIMIT);
    arena_clear(&stage.arena);
}

/* Two equal maps have no order, but in lists they are not compared. */
static void keys_in_lists_compare_equal_first(void **state)
{
    Stage stage;
    stage_init(&stage);
    SortItem items[] = { { value_map(map_new(&stage.arena, 0)), value_int(0) },
                         { value_map(map_new(&stage.arena, 0)), value_int(1) } };
    assert_true(sort_items(&stage.r, items, 2, SORT_LISTED, false));
    assert_false(sort_items(&stage.r, items, 2, SORT_PLAIN, false));
    arena_clear(&stage.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_length_is_sorted_and_stable),
        cmocka_unit_test(sorted_and_descending_input),
        cmocka_unit_test(a_failing_comparison_stops_the_sort),
        cmocka_unit_test(work_is_charged),
        cmocka_unit_test(keys_in_lists_compare_equal_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
