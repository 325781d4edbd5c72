/* Undefined values, in every mode. */
#include "lang/template/rows.h"

static const Row by_default[] = {
    { "missing", "" },
    { "missing.x", "!UndefinedError: 'missing' is undefined" },
    { "missing['x']", "!UndefinedError: 'missing' is undefined" },
    { "missing+1", "!UndefinedError: 'missing' is undefined" },
    { "1+missing", "!UndefinedError: 'missing' is undefined" },
    { "missing*2", "!UndefinedError: 'missing' is undefined" },
    { "missing/2", "!UndefinedError: 'missing' is undefined" },
    { "missing//2", "!UndefinedError: 'missing' is undefined" },
    { "missing%2", "!UndefinedError: 'missing' is undefined" },
    { "missing**2", "!UndefinedError: 'missing' is undefined" },
    { "2**missing", "!UndefinedError: 'missing' is undefined" },
    { "-missing", "!UndefinedError: 'missing' is undefined" },
    { "missing<1", "!UndefinedError: 'missing' is undefined" },
    { "1<missing", "!UndefinedError: 'missing' is undefined" },
    { "missing==1", "False" },
    { "missing==missing2", "True" },
    { "missing!=1", "True" },
    { "1 in missing", "False" },
    { "missing in [1]", "False" },
    { "missing in 'abc'",
      "!TypeError: 'in <string>' requires string as left operand, not Undefined" },
    { "missing in d", "False" },
    { "missing|length", "0" },
    { "missing~'a'", "a" },
    { "[missing]", "[Undefined]" },
    { "missing()", "!UndefinedError: 'missing' is undefined" },
    { "missing.foo()", "!UndefinedError: 'missing' is undefined" },
    { "d.missing()", "!UndefinedError: 'dict object' has no attribute 'missing'" },
    { "d.a()", "!TypeError: 'int' object is not callable" },
    { "n()", "!TypeError: 'int' object is not callable" },
    { "'a'()", "!TypeError: 'str' object is not callable" },
    { "none()", "!TypeError: 'NoneType' object is not callable" },
    { "missing is defined", "False" },
    { "missing|list", "[]" },
    { "missing|join(',')", "" },
    { "d[missing]", "" },
    { "l[missing]", "" },
    { "l[missing].x", "!UndefinedError: list object has no element Undefined" },
    { "'abc'[missing].x", "!UndefinedError: str object has no element Undefined" },
    { "not missing", "True" },
    { "'%s' % missing", "" },
    { "(1 if false) ~ 'x'", "x" },
    { "missing[1:]", "!UndefinedError: 'missing' is undefined" },
    { "[missing]|first", "" },
    { "d.zzz ~ ''", "" },
    { "d.zzz.yyy", "!UndefinedError: 'dict object' has no attribute 'zzz'" },
    { "'%d' % missing", "!UndefinedError: 'missing' is undefined" },
    { "missing.__foo.x", "!UndefinedError: 'missing' is undefined" },
};

ROWS_TEST(default_is_quiet_until_it_is_used, by_default)

static const Row strict[] = {
    { "missing", "!UndefinedError: 'missing' is undefined" },
    { "missing.x", "!UndefinedError: 'missing' is undefined" },
    { "missing.x.y", "!UndefinedError: 'missing' is undefined" },
    { "missing['x']", "!UndefinedError: 'missing' is undefined" },
    { "missing[1:]", "!UndefinedError: 'missing' is undefined" },
    { "missing()", "!UndefinedError: 'missing' is undefined" },
    { "missing.x()", "!UndefinedError: 'missing' is undefined" },
    { "d.zz", "!UndefinedError: 'dict object' has no attribute 'zz'" },
    { "d['zz']", "!UndefinedError: 'dict object' has no attribute 'zz'" },
    { "d[5]", "!UndefinedError: dict object has no element 5" },
    { "d.zz.y", "!UndefinedError: 'dict object' has no attribute 'zz'" },
    { "l[9]", "!UndefinedError: list object has no element 9" },
    { "s.zork", "!UndefinedError: 'str object' has no attribute 'zork'" },
    { "none.zork", "!UndefinedError: 'None' has no attribute 'zork'" },
    { "namespace().zork",
      "!UndefinedError: 'jinja2.utils.Namespace object' has no attribute 'zork'" },
    { "[missing]", "[Undefined]" },
    { "missing ~ 'a'", "!UndefinedError: 'missing' is undefined" },
    { "not missing", "!UndefinedError: 'missing' is undefined" },
    { "missing|length", "!UndefinedError: 'missing' is undefined" },
    { "missing|list", "!UndefinedError: 'missing' is undefined" },
    { "missing == 1", "!UndefinedError: 'missing' is undefined" },
    { "1 in missing", "!UndefinedError: 'missing' is undefined" },
    { "missing is defined", "False" },
    { "missing is undefined", "True" },
    { "missing|default('x')", "x" },
    { "d.zz|default('x')", "x" },
    { "missing.x.y|default('x')", "!UndefinedError: 'missing' is undefined" },
    { "missing + 1", "!UndefinedError: 'missing' is undefined" },
    { "(1 if false) ~ 'x'", "x" },
    { "(1 if false).x", "!UndefinedError: the inline if-expression on line 1 evaluated to false "
                        "and no else section was defined." },
    { "{% for x in missing %}{% endfor %}", "!UndefinedError: 'missing' is undefined" },
    { "{% macro m(x) %}[{{ x }}]{% endmacro %}{{ m() }}",
      "!UndefinedError: parameter 'x' was not provided" },
    { "d[missing] ~ ''", "!UndefinedError: 'missing' is undefined" },
    { "(html|safe).zork ~ ''",
      "!UndefinedError: 'markupsafe.Markup object' has no attribute 'zork'" },
    { "d[(1,2)] ~ ''", "!UndefinedError: dict object has no element (1, 2)" },
    { "range(3)[7] ~ ''", "!UndefinedError: range object has no element 7" },
    { "missing.__class__.__name__", "StrictUndefined" },
    { "missing._undefined_name", "missing" },
    { "missing._undefined_hint", "None" },
    { "missing._undefined_message", "'missing' is undefined" },
    { "d.foo._undefined_name", "foo" },
    { "d[5]._undefined_name", "5" },
    { "d.foo._undefined_message", "'dict object' has no attribute 'foo'" },
    { "missing.x._undefined_name", "!UndefinedError: 'missing' is undefined" },
    { "(1 if false)._undefined_name", "None" },
};

static void strict_fails_on_every_use(void **state)
{
    TemplateSettings settings = template_settings_default();
    settings.undefined = UNDEFINED_STRICT;
    CHECK_ROWS(&settings, strict);
}

static const Row chainable[] = {
    { "missing", "" },
    { "missing.x", "" },
    { "missing.x.y", "" },
    { "missing['x']", "" },
    { "missing[1:]", "" },
    { "missing()", "!UndefinedError: 'missing' is undefined" },
    { "missing.x()", "!UndefinedError: 'missing' is undefined" },
    { "d.zz", "" },
    { "d['zz']", "" },
    { "d[5]", "" },
    { "d.zz.y", "" },
    { "l[9]", "" },
    { "s.zork", "" },
    { "none.zork", "" },
    { "namespace().zork", "" },
    { "[missing]", "[Undefined]" },
    { "missing ~ 'a'", "a" },
    { "not missing", "True" },
    { "missing|length", "0" },
    { "missing|list", "[]" },
    { "missing == 1", "False" },
    { "1 in missing", "False" },
    { "missing is defined", "False" },
    { "missing is undefined", "True" },
    { "missing|default('x')", "x" },
    { "d.zz|default('x')", "x" },
    { "missing.x.y|default('x')", "x" },
    { "missing + 1", "!UndefinedError: 'missing' is undefined" },
    { "(1 if false) ~ 'x'", "x" },
    { "(1 if false).x", "!UndefinedError: the inline if-expression on line 1 evaluated to false "
                        "and no else section was defined." },
    { "{% for x in missing %}{% endfor %}", "" },
    { "{% macro m(x) %}[{{ x }}]{% endmacro %}{{ m() }}", "[]" },
    { "d[missing] ~ ''", "" },
    { "(html|safe).zork ~ ''", "" },
    { "d[(1,2)] ~ ''", "" },
    { "range(3)[7] ~ ''", "" },
    { "missing.__class__.__name__", "ChainableUndefined" },
    { "missing._undefined_name", "missing" },
    { "missing._undefined_hint", "None" },
    { "missing._undefined_message", "'missing' is undefined" },
    { "d.foo._undefined_name", "foo" },
    { "d[5]._undefined_name", "5" },
    { "d.foo._undefined_message", "'dict object' has no attribute 'foo'" },
    { "missing.x._undefined_name", "missing" },
    { "(1 if false)._undefined_name", "None" },
};

static void chainable_undefined_can_be_chained(void **state)
{
    TemplateSettings settings = template_settings_default();
    settings.undefined = UNDEFINED_CHAINABLE;
    CHECK_ROWS(&settings, chainable);
}

static const Row debug[] = {
    { "missing", "{{ missing }}" },
    { "missing.x", "!UndefinedError: 'missing' is undefined" },
    { "missing.x.y", "!UndefinedError: 'missing' is undefined" },
    { "missing['x']", "!UndefinedError: 'missing' is undefined" },
    { "missing[1:]", "!UndefinedError: 'missing' is undefined" },
    { "missing()", "!UndefinedError: 'missing' is undefined" },
    { "missing.x()", "!UndefinedError: 'missing' is undefined" },
    { "d.zz", "{{ no such element: dict object['zz'] }}" },
    { "d['zz']", "{{ no such element: dict object['zz'] }}" },
    { "d[5]", "{{ no such element: dict object[5] }}" },
    { "d.zz.y", "!UndefinedError: 'dict object' has no attribute 'zz'" },
    { "l[9]", "{{ no such element: list object[9] }}" },
    { "s.zork", "{{ no such element: str object['zork'] }}" },
    { "none.zork", "{{ no such element: None['zork'] }}" },
    { "namespace().zork", "{{ no such element: jinja2.utils.Namespace object['zork'] }}" },
    { "[missing]", "[Undefined]" },
    { "missing ~ 'a'", "{{ missing }}a" },
    { "not missing", "True" },
    { "missing|length", "0" },
    { "missing|list", "[]" },
    { "missing == 1", "False" },
    { "1 in missing", "False" },
    { "missing is defined", "False" },
    { "missing is undefined", "True" },
    { "missing|default('x')", "x" },
    { "d.zz|default('x')", "x" },
    { "missing.x.y|default('x')", "!UndefinedError: 'missing' is undefined" },
    { "missing + 1", "!UndefinedError: 'missing' is undefined" },
    { "(1 if false) ~ 'x'", "x" },
    { "(1 if false).x", "!UndefinedError: the inline if-expression on line 1 evaluated to false "
                        "and no else section was defined." },
    { "{% for x in missing %}{% endfor %}", "" },
    { "{% macro m(x) %}[{{ x }}]{% endmacro %}{{ m() }}",
      "[{{ undefined value printed: parameter 'x' was not provided }}]" },
    { "d[missing] ~ ''", "{{ no such element: dict object[Undefined] }}" },
    { "(html|safe).zork ~ ''", "{{ no such element: markupsafe.Markup object['zork'] }}" },
    { "d[(1,2)] ~ ''", "{{ no such element: dict object[(1, 2)] }}" },
    { "range(3)[7] ~ ''", "{{ no such element: range object[7] }}" },
    { "missing.__class__.__name__", "DebugUndefined" },
    { "missing._undefined_name", "missing" },
    { "missing._undefined_hint", "None" },
    { "missing._undefined_message", "'missing' is undefined" },
    { "d.foo._undefined_name", "foo" },
    { "d[5]._undefined_name", "5" },
    { "d.foo._undefined_message", "'dict object' has no attribute 'foo'" },
    { "missing.x._undefined_name", "!UndefinedError: 'missing' is undefined" },
    { "(1 if false)._undefined_name", "None" },
};

static void debug_undefined_shows_the_name(void **state)
{
    TemplateSettings settings = template_settings_default();
    settings.undefined = UNDEFINED_DEBUG;
    CHECK_ROWS(&settings, debug);
}

static void a_similar_key_is_suggested(void **state)
{
    TemplateSettings settings = template_settings_default();
    settings.undefined = UNDEFINED_STRICT;
    AUTO(Templates) *templates = templates_new(&settings);
    AUTO_CLEAR(Rendered) rendered = rendered_make(&settings.limits);
    Fault fault = { 0 };
    Row row = { "{'hostname': 1}.hostnam", "" };
    assert_false(row_renders(templates, &row, value_null(), &rendered, &fault));
    assert_str(fault.message, "'dict object' has no attribute 'hostnam'");
    assert_str(fault.hint, "did you mean 'hostname'?");
}

/* A bare name may be one level down. */
static void a_name_within_a_map_is_suggested(void **state)
{
    static const Row rows[] = {
        { "sub", "did you mean 'd.sub'?" },
        { "{% for e in [{'port': 1}] %}{{ port }}{% endfor %}", "did you mean 'e.port'?" },
        { "{% set m = {'sub': 1} %}{{ sub }}", "did you mean 'm.sub'?" },
        { "htlm", "did you mean 'html'?" },
        { "nowhere", "" },
    };
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Value context;
    Error err = { 0 };
    assert_true(json_parse_text(&arena, STR(ROWS_CONTEXT), NULL, &context, &err));
    TemplateSettings settings = template_settings_default();
    settings.undefined = UNDEFINED_STRICT;
    AUTO(Templates) *templates = templates_new(&settings);
    AUTO_CLEAR(Rendered) rendered = rendered_make(&settings.limits);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        Fault fault = { 0 };
        assert_false(row_renders(templates, &rows[i], context, &rendered, &fault));
        assert_str(fault.hint, rows[i].output);
    }
}

static void an_undefined_result_names_the_undefined_part(void **state)
{
    static const struct {
        const char *text;
        uint32_t offset, span;
    } rows[] = {
        { "d.nope", 2, 4 },
        { "d['nope']", 2, 6 },
        { "d if d.a > 1 else d.nope", 20, 4 },
        { "[nope]", 0, 6 },
    };
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Value context, value;
    Error err = { 0 };
    assert_true(json_parse_text(&arena, STR(ROWS_CONTEXT), NULL, &context, &err));
    TemplateSettings settings = template_settings_default();
    settings.undefined = UNDEFINED_STRICT;
    AUTO(Templates) *templates = templates_new(&settings);
    AUTO_CLEAR(Rendered) rendered = rendered_make(&settings.limits);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        Fault fault = { 0 };
        const Template *template;
        assert_true(templates_compile_expression(templates, STR_EMPTY, str_from_c(rows[i].text),
                                                 &template, &fault));
        assert_false(template_evaluate(template, context, &rendered, &value, &fault));
        assert_int_equal(fault.offset, rows[i].offset);
        assert_int_equal(fault.span, rows[i].span);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(default_is_quiet_until_it_is_used),
        cmocka_unit_test(strict_fails_on_every_use),
        cmocka_unit_test(chainable_undefined_can_be_chained),
        cmocka_unit_test(debug_undefined_shows_the_name),
        cmocka_unit_test(a_similar_key_is_suggested),
        cmocka_unit_test(a_name_within_a_map_is_suggested),
        cmocka_unit_test(an_undefined_result_names_the_undefined_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
