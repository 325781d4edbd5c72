/* Methods of dict. */
#include "lang/template/rows.h"

static const Row methods[] = {
    { "{'a':1,'b':2}.get([1])", "!TypeError: unhashable type: 'list'" },
    { "{'a':1,'b':2}.pop('x')", "!KeyError: 'x'" },
    { "{'a':1,'b':2}.pop('x',5)", "5" },
    { "{}.popitem()", "!KeyError: 'popitem(): dictionary is empty'" },
    { "{'a':1,'b':2}.popitem()", "('b', 2)" },
    { "{'a':1,'b':2}.update(5)", "!TypeError: 'int' object is not iterable" },
    { "{'a':1,'b':2}.update([5])",
      "!TypeError: cannot convert dictionary update sequence element #0 to a sequence" },
    { "{'a':1,'b':2}.update([(1,)])",
      "!ValueError: dictionary update sequence element #0 has length 1; 2 is required" },
    { "{'a':1,'b':2}.update(['ab','cd'])", "None" },
    { "{'a':1,'b':2}.update(['abc'])",
      "!ValueError: dictionary update sequence element #0 has length 3; 2 is required" },
    { "{'a':1,'b':2}.update([[[1],2]])", "!TypeError: unhashable type: 'list'" },
    { "{'a':1,'b':2}.setdefault([1])", "!TypeError: unhashable type: 'list'" },
    { "dict.fromkeys('ab')", "{'a': None, 'b': None}" },
    { "dict.fromkeys([1,2],5)", "{1: 5, 2: 5}" },
    { "dict.fromkeys(5)", "!TypeError: 'int' object is not iterable" },
    { "{% set x={'a':1} %}{% do x.update(b=x) %}{{ x }}", "{'a': 1, 'b': {...}}" },
    { "{% set x={'a':1,'b':2} %}{{ x.pop('a') }}{{ x }}{% do x.update({'c':3}) %}{% do "
      "x.update([('d',4)]) %}{{ x }}{{ x.popitem() }}{{ x }}{% do x.clear() %}{{ x }}",
      "1{'b': 2}{'b': 2, 'c': 3, 'd': 4}('d', 4){'b': 2, 'c': 3}{}" },
    { "d.get('a')", "1" },
    { "d.get('zz')", "None" },
    { "d.get('zz',5)", "5" },
    { "dict(a=1).pop('a')", "1" },
    { "dict(a=1).pop('b')", "!KeyError: 'b'" },
    { "dict(a=1).pop('b',none)", "None" },
    { "dict(a=1).popitem()", "('a', 1)" },
    { "dict().popitem()", "!KeyError: 'popitem(): dictionary is empty'" },
    { "dict(a=1).setdefault('b',5)", "5" },
    { "dict(a=1).setdefault('a',5)", "1" },
    { "dict.fromkeys([1,2])", "{1: None, 2: None}" },
    { "dict.fromkeys([[1]])", "!TypeError: unhashable type: 'list'" },
    { "d.copy()", "{'a': 1, 'items': 2, 'sub': {'x': 'y'}}" },
    { "{% set x={'a':1} %}{% do x.update(x) %}{% do x.update(x.items()) %}{{ x }}", "{'a': 1}" },
    { "{% set x={'a':1} %}{% do x.update({'a':2}, a=3) %}{{ x }}", "{'a': 3}" },
    { "{% set x=dict.fromkeys(range(20), 0) %}{{ x.pop(7) }}{% do x.update({3:1}) %}{{ x }}",
      "0{0: 0, 1: 0, 2: 0, 3: 1, 4: 0, 5: 0, 6: 0, 8: 0, 9: 0, 10: 0, 11: 0, 12: 0, 13: 0, 14: 0, "
      "15: 0, 16: 0, 17: 0, 18: 0, 19: 0}" },
    { "{% set x=dict.fromkeys(range(20), 0) %}{% do x.clear() %}{% do x.update(a=1) %}{{ x }}{{ 5 "
      "in x }}",
      "{'a': 1}False" },
};

ROWS_TEST(dict_methods_match_python, methods)

static void context_values_are_immutable(void **state)
{
    static const char *const expressions[] = {
        "d.pop('a')",        "d.popitem()", "d.update(a=1)",
        "d.setdefault('q')", "d.clear()",   "d.sub.clear()"
    };
    TemplateSettings settings = template_settings_default();
    Arena arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Value context;
    Error err = { 0 };
    assert_true(json_parse_text(&arena, STR(ROWS_CONTEXT), NULL, &context, &err));
    value_freeze(context);
    for (size_t i = 0; i < COUNT_OF(expressions); i++) {
        Row row = { expressions[i], "!TypeError: this dict belongs to the context, which is "
                                    "shared; copy it with dict(x) and change the copy" };
        check_row(&settings, &row, context);
    }
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dict_methods_match_python),
        cmocka_unit_test(context_values_are_immutable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
