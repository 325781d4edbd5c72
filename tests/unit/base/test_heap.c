#include "base/heap.h"

#include "unit.h"

static void items_are_popped_in_key_order(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Heap heap = { 0 };
    enum {
        COUNT = 1000
    };
    /* 389 and 1000 have no common divisor, so every key appears once. */
    for (uint64_t i = 0; i < COUNT; i++) {
        heap_push(&arena, &heap, i * 389 % COUNT, i);
        assert_int_equal(heap.len, i + 1);
    }
    for (uint64_t i = 0; i < COUNT; i++) {
        assert_int_equal(heap.items[0].key, i);
        HeapItem item = heap_pop(&heap);
        assert_int_equal(item.key, i);
        assert_int_equal(item.value * 389 % COUNT, i);
    }
    assert_int_equal(heap.len, 0);
}

static void pushes_and_pops_can_alternate(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Heap heap = { 0 };
    heap_push(&arena, &heap, 5, 0);
    heap_push(&arena, &heap, UINT64_MAX, 1);
    assert_int_equal(heap_pop(&heap).key, 5);
    heap_push(&arena, &heap, 7, 2);
    heap_push(&arena, &heap, 7, 3);
    heap_push(&arena, &heap, 0, 4);
    assert_int_equal(heap_pop(&heap).value, 4);
    uint64_t both = heap_pop(&heap).value;
    both += heap_pop(&heap).value;
    assert_int_equal(both, 5);
    assert_int_equal(heap_pop(&heap).value, 1);
    assert_int_equal(heap.len, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_are_popped_in_key_order),
        cmocka_unit_test(pushes_and_pops_can_alternate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
