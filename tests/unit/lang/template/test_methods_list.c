/* Methods of list and tuple. */
#include "lang/template/rows.h"

static const Row methods[] = {
    { "[3,1,2].pop(5)", "!IndexError: pop index out of range" },
    { "[].pop()", "!IndexError: pop from empty list" },
    { "[3,1,2].pop('a')", "!TypeError: 'str' object cannot be interpreted as an integer" },
    { "[3,1,2].remove(9)", "!ValueError: list.remove(x): x not in list" },
    { "[3,1,2].index(9)", "!ValueError: 9 is not in list" },
    { "[3,1,2].index('9')", "!ValueError: '9' is not in list" },
    { "[3,1,2].index(3,'a')",
      "!TypeError: slice indices must be integers or have an __index__ method" },
    { "[3,1,2].insert('a',1)", "!TypeError: 'str' object cannot be interpreted as an integer" },
    { "[3,1,2].extend(5)", "!TypeError: 'int' object is not iterable" },
    { "(1,2).index(5)", "!ValueError: tuple.index(x): x not in tuple" },
    { "(1,2).count(1)", "1" },
    { "[1,'a'].sort()", "!TypeError: '<' not supported between instances of 'str' and 'int'" },
    { "[3,1,2].index(1,-1)", "!ValueError: 1 is not in list" },
    { "[3,1,2].index(1,0,1)", "!ValueError: 1 is not in list" },
    { "[3,1,2].pop(-4)", "!IndexError: pop index out of range" },
    { "[3,1,2].pop(True)", "1" },
    { "[3,1,2].insert(-1,9)", "None" },
    { "{% set x=[3,1,2] %}{% do x.sort() %}{{ x }}", "[1, 2, 3]" },
    { "{% set x=[3,1,2] %}{% do x.sort(reverse=true) %}{{ x }}", "[3, 2, 1]" },
    { "{% set x=[3,1,2] %}{% do x.append(x) %}{{ x }}", "[3, 1, 2, [...]]" },
    { "{% set x=[1] %}{% do x.append(x) %}{{ x == x }}", "True" },
    { "{% set x=[1] %}{% do x.extend(x) %}{{ x }}", "[1, 1]" },
    { "{% set x=[1,2,3] %}{{ x.pop() }}{{ x.pop(0) }}{{ x }}", "31[2]" },
    { "{% set x=[1,2,3] %}{% do x.insert(1,'a') %}{% do x.insert(-1,'b') %}{% do x.insert(100,'c') "
      "%}{% do x.insert(-100,'d') %}{{ x }}",
      "['d', 1, 'a', 2, 'b', 3, 'c']" },
    { "{% set x=[1,2,3] %}{% do x.reverse() %}{{ x }}{% do x.remove(2) %}{{ x }}{% do x.clear() "
      "%}{{ x }}",
      "[3, 2, 1][3, 1][]" },
    { "l.index(2)", "1" },
    { "l.index(9)", "!ValueError: 9 is not in list" },
    { "l.count(1)", "1" },
    { "[1,2].copy()", "[1, 2]" },
    { "[].sort()", "None" },
    { "(1,2).index(1)", "0" },
    { "(1,).count(1.0)", "1" },
    { "{% set x=[3,1,2] %}{% set y=x.copy() %}{% do y.append(4) %}{{ x }}{{ y }}",
      "[3, 1, 2][3, 1, 2, 4]" },
    { "{% set x=['bb','a'] %}{% do x.sort(key='x{}'.format) %}{{ x }}", "['a', 'bb']" },
};

ROWS_TEST(list_methods_match_python, methods)

static void context_values_are_immutable(void **state)
{
    static const char *const expressions[] = { "l.append(1)", "l.extend([])", "l.insert(0, 1)",
                                               "l.pop()",     "l.remove(1)",  "l.reverse()",
                                               "l.sort()",    "l.clear()" };
    TemplateSettings settings = template_settings_default();
    Arena arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Value context;
    Error err = { 0 };
    assert_true(json_parse_text(&arena, STR(ROWS_CONTEXT), NULL, &context, &err));
    value_freeze(context);
    for (size_t i = 0; i < COUNT_OF(expressions); i++) {
        Row row = { expressions[i], "!TypeError: this list belongs to the context, which is "
                                    "shared; copy it with x|list and change the copy" };
        check_row(&settings, &row, context);
    }
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(list_methods_match_python),
        cmocka_unit_test(context_values_are_immutable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
