#include "base/word_replace.h"

#include "unit.h"

static void a_word_is_replaced_where_it_stands_alone(void **state)
{
    static const struct {
        const char *text, *word, *expected;
    } cases[] = {
        { "hello web1", "web1", "hello {node}" },
        { "web1.example.com, web10, xweb1, web1-data", "web1",
          "{node}.example.com, web10, xweb1, {node}-data" },
        { "web1web1 web1", "web1", "web1web1 {node}" },
        { "_web1 web1_", "web1", "_web1 web1_" },
        { "\303\274web1", "web1", "\303\274web1" },
        { "web1", "web1", "{node}" },
        { "db-1/db-1", "db-1", "{node}/{node}" },
        { "nothing", "web1", "nothing" },
        { "", "web1", "" },
        { "text", "", "text" },
    };
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_str(word_replace(&arena, str_from_c(cases[i].text), str_from_c(cases[i].word),
                                STR("{node}")),
                   cases[i].expected);
    }
}

static void a_text_without_the_word_is_not_copied(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str text = STR("hello web10");
    assert_ptr_equal(word_replace(&arena, text, STR("web1"), STR("x")).data, text.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_word_is_replaced_where_it_stands_alone),
        cmocka_unit_test(a_text_without_the_word_is_not_copied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
