/* Truth, equality, order and membership. */
#include "lang/template/rows.h"

static const Row comparisons[] = {
    { "1 < 2 < 3", "True" },
    { "1 < 'a'", "!TypeError: '<' not supported between instances of 'int' and 'str'" },
    { "'a' < 'b'", "True" },
    { "'a' < 'B'", "False" },
    { "[1,2] < [1,3]", "True" },
    { "[1,2] < [1,2,3]", "True" },
    { "[1,'a'] < [1,2]", "!TypeError: '<' not supported between instances of 'str' and 'int'" },
    { "(1,2) < (1,3)", "True" },
    { "(1,) < [1]", "!TypeError: '<' not supported between instances of 'tuple' and 'list'" },
    { "none < none",
      "!TypeError: '<' not supported between instances of 'NoneType' and 'NoneType'" },
    { "d < d", "!TypeError: '<' not supported between instances of 'dict' and 'dict'" },
    { "1 == 1.0", "True" },
    { "1 == true", "True" },
    { "'1' == 1", "False" },
    { "[1,2] == [1.0,2]", "True" },
    { "(1,2) == [1,2]", "False" },
    { "{'a':1} == {'a':1.0}", "True" },
    { "{'a':1,'b':2} == {'b':2,'a':1}", "True" },
    { "{1:2} == {1.0:2}", "True" },
    { "none == none", "True" },
    { "none == false", "False" },
    { "9007199254740993 == 9007199254740992.0", "False" },
    { "9007199254740993 > 9007199254740992.0", "True" },
    { "9223372036854775807 < 9223372036854775808.0", "True" },
    { "1 != 2", "True" },
    { "'a' in 'abc'", "True" },
    { "'' in 'abc'", "True" },
    { "'x' not in 'abc'", "True" },
    { "1 in [1,2]", "True" },
    { "1.0 in [1,2]", "True" },
    { "'a' in d", "True" },
    { "1 in d", "False" },
    { "[1] in d", "!TypeError: unhashable type: 'list'" },
    { "(1,[2]) in d", "!TypeError: unhashable type: 'list'" },
    { "1 in 5", "!TypeError: argument of type 'int' is not iterable" },
    { "1 in none", "!TypeError: argument of type 'NoneType' is not iterable" },
    { "1 in 'abc'", "!TypeError: 'in <string>' requires string as left operand, not int" },
    { "'a' in none", "!TypeError: argument of type 'NoneType' is not iterable" },
    { "2 in range(5)", "True" },
    { "2.0 in range(5)", "True" },
    { "7 in range(0,10,2)", "False" },
    { "8 in range(0,10,2)", "True" },
    { "'a' in range(3)", "False" },
    { "'a' in d.keys()", "True" },
    { "1 in d.values()", "True" },
    { "('a',1) in d.items()", "True" },
    { "('a',2) in d.items()", "False" },
    { "[1] in d.keys()", "!TypeError: unhashable type: 'list'" },
    { "range(3)==range(3)", "True" },
    { "range(0)==range(2,2)", "True" },
    { "range(0,3,2)==range(0,4,2)", "True" },
    { "d.keys()==d.keys()", "True" },
    { "d.items()==d.items()", "True" },
    { "d.values()==d.values()", "False" },
    { "not 1", "False" },
    { "not []", "True" },
    { "not ''", "True" },
    { "not {}", "True" },
    { "not 0.0", "True" },
    { "not none", "True" },
    { "not range(0)", "True" },
    { "not range(1)", "False" },
    { "not d.keys()", "False" },
    { "not namespace()", "False" },
    { "[1,[2,'a']] == [1,[2,'a']]", "True" },
    { "[1,[2,'a']] == [1,[2,'b']]", "False" },
    { "{'a':[1]} == {'a':[1]}", "True" },
    { "{'a':1} == {'b':1}", "False" },
    { "{'a':1} == [('a',1)]", "False" },
    { "range(3) == [0,1,2]", "False" },
    { "('nan'|float) == ('nan'|float)", "False" },
    { "'a' == 'a'|safe", "True" },
    { "'é' > 'z'", "True" },
    { "'' < 'a'", "True" },
    { "[] < [1]", "True" },
    { "[2] > [1,5]", "True" },
    { "(1,2) >= (1,2)", "True" },
    { "[1] < 1", "!TypeError: '<' not supported between instances of 'list' and 'int'" },
    { "true < 2", "True" },
    { "1.5 >= 1", "True" },
    { "1 <= none", "!TypeError: '<=' not supported between instances of 'int' and 'NoneType'" },
    { "'a' >= 1", "!TypeError: '>=' not supported between instances of 'str' and 'int'" },
    { "l > d", "!TypeError: '>' not supported between instances of 'list' and 'dict'" },
    { "range(2) < range(3)",
      "!TypeError: '<' not supported between instances of 'range' and 'range'" },
    { "3 in l", "True" },
    { "[1] in [[1]]", "True" },
    { "none in [none]", "True" },
    { "'l' in u", "True" },
    { "'ö' in u", "True" },
    { "'' in ''", "True" },
};

ROWS_TEST(comparisons_match_python, comparisons)

static const Row strict[] = {
    { "missing == 1", "!UndefinedError: 'missing' is undefined" },
    { "1 == missing", "!UndefinedError: 'missing' is undefined" },
    { "missing != missing", "!UndefinedError: 'missing' is undefined" },
    { "missing < 1", "!UndefinedError: 'missing' is undefined" },
    { "missing in [1]", "!UndefinedError: 'missing' is undefined" },
    { "1 in missing", "!UndefinedError: 'missing' is undefined" },
    { "missing in 'abc'",
      "!TypeError: 'in <string>' requires string as left operand, not StrictUndefined" },
    { "not missing", "!UndefinedError: 'missing' is undefined" },
    { "missing in d", "!UndefinedError: 'missing' is undefined" },
    { "[missing] == [1]", "!UndefinedError: 'missing' is undefined" },
    { "l == [missing]", "False" },
    { "'x' if missing else 'y'", "!UndefinedError: 'missing' is undefined" },
};

static void comparing_strict_undefined_fails(void **state)
{
    TemplateSettings settings = template_settings_default();
    settings.undefined = UNDEFINED_STRICT;
    CHECK_ROWS(&settings, strict);
}

static void self_referencing_lists_do_not_crash(void **state)
{
    static const Row rows[] = {
        { "{% set a = [1] %}{% set b = [1] %}{% do a.append(b) %}{% do b.append(a) %}{{ a == b }}",
          "!RecursionError: maximum recursion depth exceeded" },
        { "{% set a = [1] %}{% do a.append(a) %}{{ a == a }}", "True" },
    };
    TemplateSettings settings = template_settings_default();
    CHECK_ROWS(&settings, rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comparisons_match_python),
        cmocka_unit_test(comparing_strict_undefined_fails),
        cmocka_unit_test(self_referencing_lists_do_not_crash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
