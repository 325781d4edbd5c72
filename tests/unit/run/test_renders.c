#include "run/renders.h"

#include "unit.h"

static const TemplateLimits limits = { .output = 1000, .memory = 1000 };

static void nesting_is_limited_and_buffers_are_reused(void **state)
{
    AUTO_CLEAR(Renders) renders;
    renders_init(&renders, &limits);
    const Rendered *first = renders_push(&renders);
    assert_ptr_not_equal(renders_push(&renders), first);
    renders_pop(&renders);
    renders_pop(&renders);
    assert_ptr_equal(renders_push(&renders), first);
    for (int i = 1; i < RENDERS_MAX; i++) {
        assert_non_null(renders_push(&renders));
    }
    assert_null(renders_push(&renders));
}

/* Also those that are still in use, even if that is every one. */
static void all_buffers_are_freed(void **state)
{
    Renders renders;
    renders_init(&renders, &limits);
    while (renders_push(&renders) != NULL) {
    }
    renders_clear(&renders);
    for (int i = 0; i < RENDERS_MAX; i++) {
        assert_null(renders.items[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nesting_is_limited_and_buffers_are_reused),
        cmocka_unit_test(all_buffers_are_freed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
