#include "base/search.h"

#include "unit.h"

static void a_search_counts_smaller_items(void **state)
{
    static const int numbers[] = { 1, 3, 3, 5 };
    static const struct {
        int wanted;
        uint32_t before, up_to;
    } cases[] = { { 0, 0, 0 }, { 1, 0, 1 }, { 2, 1, 1 }, { 3, 1, 3 }, { 5, 3, 4 }, { 6, 4, 4 } };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_int_equal(SEARCH(COUNT_OF(numbers), at, numbers[at] < cases[i].wanted),
                         cases[i].before);
        assert_int_equal(SEARCH(COUNT_OF(numbers), at, numbers[at] <= cases[i].wanted),
                         cases[i].up_to);
    }
}

static void every_length_is_searched_completely(void **state)
{
    for (uint32_t count = 0; count < 70; count++) {
        for (uint32_t first = 0; first <= count; first++) {
            assert_int_equal(SEARCH(count, at, at < first), first);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_search_counts_smaller_items),
        cmocka_unit_test(every_length_is_searched_completely),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
