#include "base/ordered.h"

#include <stdio.h>
#include <stdlib.h>

#include "unit.h"

enum {
    ITEMS = 3000, /* more than ten leaves */
};

typedef struct Item {
    Str key;
    char text[8];
} Item;

static Item items[ITEMS], others[ITEMS];

static int set_up(void **state)
{
    for (uint32_t i = 0; i < ITEMS; i++) {
        snprintf(items[i].text, sizeof items[i].text, "%06u", 2 * i);
        items[i].key = str_from_c(items[i].text);
        others[i] = items[i];
        others[i].key = str_from_c(others[i].text);
    }
    return 0;
}

static void assert_holds(const OrderedSet *ordered, const bool there[ITEMS])
{
    OrderedCursor at = ordered_lower_bound(ordered, STR_EMPTY);
    uint32_t count = 0;
    for (uint32_t i = 0; i < ITEMS; i++) {
        if (there[i]) {
            assert_ptr_equal(ordered_next(ordered, &at), &items[i]);
            count++;
        }
        assert_ptr_equal(ordered_find(ordered, items[i].key), there[i] ? &items[i] : NULL);
    }
    assert_null(ordered_next(ordered, &at));
    assert_null(ordered_next(ordered, &at));
    assert_int_equal(ordered->count, count);
}

static void sorted_insertion_fills_the_leaves(void **state)
{
    OrderedSet ordered = { 0 };
    bool there[ITEMS];
    for (uint32_t i = 0; i < ITEMS; i++) {
        assert_null(ordered_put(&ordered, &items[i].key));
        there[i] = true;
    }
    assert_int_equal(ordered.leaf_count, (ITEMS + ORDERED_LEAF_MAX - 1) / ORDERED_LEAF_MAX);
    assert_holds(&ordered, there);
    ordered_clear(&ordered);
    assert_null(ordered_find(&ordered, items[0].key));
}

static void items_can_be_added_and_removed_in_any_order(void **state)
{
    OrderedSet ordered = { 0 };
    bool there[ITEMS] = { false };
    uint32_t random_state = 1;
    for (uint32_t turn = 0; turn < 20 * ITEMS; turn++) {
        random_state = random_state * 1664525 + 1013904223;
        uint32_t i = (random_state >> 8) % ITEMS;
        /* First more insertions than removals, then vice versa. */
        bool mostly = turn < 10 * ITEMS, put = (random_state >> 4) % 4 == 0 ? !mostly : mostly;
        if (put) {
            assert_ptr_equal(ordered_put(&ordered, &items[i].key), there[i] ? &items[i] : NULL);
        } else {
            assert_ptr_equal(ordered_remove(&ordered, items[i].key), there[i] ? &items[i] : NULL);
        }
        there[i] = put;
        if (turn % 5000 == 0) {
            assert_holds(&ordered, there);
        }
    }
    assert_holds(&ordered, there);
    for (uint32_t i = 0; i < ITEMS; i++) {
        (void)ordered_remove(&ordered, items[i].key);
        there[i] = false;
    }
    assert_holds(&ordered, there);
    assert_int_equal(ordered.leaf_count, 0);
    ordered_clear(&ordered);
}

static void an_item_replaces_another_with_the_same_key(void **state)
{
    OrderedSet ordered = { 0 };
    assert_null(ordered_put(&ordered, &items[1].key));
    assert_ptr_equal(ordered_put(&ordered, &others[1].key), &items[1]);
    assert_ptr_equal(ordered_find(&ordered, items[1].key), &others[1]);
    assert_int_equal(ordered.count, 1);
    assert_null(ordered_remove(&ordered, items[2].key));
    ordered_clear(&ordered);
}

static void iteration_starts_at_or_after_a_key(void **state)
{
    OrderedSet ordered = { 0 };
    for (uint32_t i = ITEMS; i > 0; i--) {
        (void)ordered_put(&ordered, &items[i - 1].key);
    }
    for (uint32_t i = 0; i < ITEMS; i++) {
        char between[8];
        snprintf(between, sizeof between, "%06u", 2 * i + 1);
        OrderedCursor at = ordered_lower_bound(&ordered, items[i].key);
        OrderedCursor behind = ordered_lower_bound(&ordered, str_from_c(between));
        assert_ptr_equal(ordered_next(&ordered, &at), &items[i]);
        assert_ptr_equal(ordered_next(&ordered, &behind), i + 1 < ITEMS ? &items[i + 1] : NULL);
    }
    ordered_clear(&ordered);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorted_insertion_fills_the_leaves),
        cmocka_unit_test(items_can_be_added_and_removed_in_any_order),
        cmocka_unit_test(an_item_replaces_another_with_the_same_key),
        cmocka_unit_test(iteration_starts_at_or_after_a_key),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
