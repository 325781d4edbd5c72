#include "base/vec.h"

#include "unit.h"

typedef struct Point {
    int x, y;
} Point;
typedef VEC(Point) Points;

static void push_preserves_the_order(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Points points = { 0 };
    for (int i = 0; i < 5000; i++) {
        VEC_PUSH(&arena, &points, (Point){ i, -i });
        arena_alloc(&arena, 1); /* so that growing has to move */
    }
    assert_int_equal(points.len, 5000);
    for (int i = 0; i < 5000; i++) {
        assert_int_equal(points.items[i].x, i);
        assert_int_equal(points.items[i].y, -i);
    }
    assert_int_equal(VEC_LAST(&points).x, 4999);
    VEC_LAST(&points).x = 7;
    assert_int_equal(VEC_POP(&points).x, 7);
    assert_int_equal(VEC_POP(&points).x, 4998);
    assert_int_equal(points.len, 4998);
}

static void reserve_allocates_once(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Points points = { 0 };
    VEC_RESERVE(&arena, &points, 0);
    assert_null(points.items);
    VEC_RESERVE(&arena, &points, 1000);
    const Point *items = points.items;
    assert_true(points.cap >= 1000);
    for (int i = 0; i < 1000; i++) {
        VEC_PUSH(&arena, &points, (Point){ i, i });
    }
    assert_ptr_equal(points.items, items);
}

static void an_empty_vector_has_no_last_item(void **state)
{
    Points points = { 0 };
    assert_bug((void)VEC_LAST(&points));
    assert_bug((void)VEC_POP(&points));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(push_preserves_the_order),
        cmocka_unit_test(reserve_allocates_once),
        cmocka_unit_test(an_empty_vector_has_no_last_item),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
