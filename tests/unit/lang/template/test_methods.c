/* Every method's row: it is found and described, its example is correct; no argument is harmful. */
#include "lang/template/methods.h"

#include "lang/template/rows.h"

static ValueKind kind_of(const char *type)
{
    static const struct {
        const char *type;
        ValueKind kind;
    } kinds[] = {
        { "str", VALUE_STRING },  { "Markup", VALUE_STRING }, { "list", VALUE_LIST },
        { "tuple", VALUE_TUPLE }, { "dict", VALUE_MAP },      { "int", VALUE_INT },
        { "float", VALUE_FLOAT },
    };
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        if (strcmp(kinds[i].type, type) == 0) {
            return kinds[i].kind;
        }
    }
    fail_msg("%s", type);
    return VALUE_NULL;
}

static void every_method_is_found_by_its_name(void **state)
{
    for (const MethodTable *table = method_tables; table->type != NULL; table++) {
        bool markup = strcmp(table->type, "Markup") == 0;
        Value owner = { .kind = (uint8_t)kind_of(table->type),
                        .flags = markup ? VALUE_MARKUP : 0,
                        .text = "" };
        for (const Native *row = table->rows; row->name != NULL; row++) {
            assert_ptr_equal(op_find_method(owner, str_from_c(row->name)), row);
            assert_string_equal(row->params[0].name, "self");
            assert_non_null(row->help);
            assert_int_equal(row->help[strlen(row->help) - 1], '.');
        }
    }
    Value text = value_string(STR("x"));
    assert_null(op_find_method(text, STR("striptags")));
    assert_null(op_find_method(text, STR("")));
    assert_null(op_find_method(text, STR("uppe")));
    assert_null(op_find_method(text, STR("upper\0")));
    assert_null(op_find_method(value_null(), STR("upper")));
}

static void every_example_shows_its_documented_result(void **state)
{
    TemplateSettings settings = template_settings_default();
    for (const MethodTable *table = method_tables; table->type != NULL; table++) {
        for (const Native *row = table->rows; row->name != NULL; row++) {
            check_row(&settings, &(Row){ row->example, row->output }, value_null());
        }
    }
}

/* op_get_attr quickly rejects names that are not methods of dict. */
static void methods_of_dict_take_precedence_over_keys(void **state)
{
    TemplateSettings settings = template_settings_default();
    for (const Native *row = map_methods; row->name != NULL; row++) {
        char text[64];
        snprintf(text, sizeof text, "{'%s': 1}.%s is callable", row->name, row->name);
        check_row(&settings, &(Row){ text, "True" }, value_null());
        snprintf(text, sizeof text, "{'%s': 1}['%s']", row->name, row->name);
        check_row(&settings, &(Row){ text, "1" }, value_null());
    }
}

static const char *const values[] = {
    "none",
    "true",
    "-1",
    "9223372036854775807",
    "1.5",
    "'a b'",
    "[1, [2], 'x']",
    "('a', 1)",
    "{'a': 1, 2: [3]}",
    "range(3)",
    "missing",
    "('<b>' | safe)",
    "([1, 2] | map('string'))",
    "namespace(a=1)",
    "'é{}%s'",
};

static void check_call(const char *owner, const char *name, const char *arguments)
{
    TemplateSettings settings = template_settings_default();
    settings.limits.memory = 4 << 20;
    settings.limits.steps = 200000;
    char text[256];
    snprintf(text, sizeof text, "{{ (%s).%s(%s) | string | length }}", owner, name, arguments);
    AUTO(Templates) *templates = templates_new(&settings);
    AUTO_CLEAR(Rendered) rendered = rendered_make(&settings.limits);
    const Template *template;
    Fault fault = { 0 };
    bool compiled = templates_compile(templates, STR_EMPTY, str_from_c(text), &template, &fault);
    if (!compiled) {
        print_error("%s: %" STR_FMT "\n", text, STR_ARG(fault.message));
    }
    assert_true(compiled);
    if (!template_render(template, value_null(), &rendered, &fault)) {
        assert_int_not_equal(fault.class, FAULT_NONE);
        assert_int_not_equal(fault.message.len, 0);
    }
}

static void every_method_accepts_any_arguments(void **state)
{
    static const char *const owners[] = {
        "'a b'", "('<é>' | safe)", "[1, [2], 'x']", "('a', 1)", "5", "{'a': 1, 2: [3]}", "1.5"
    };
    for (size_t o = 0; o < COUNT_OF(owners); o++) {
        for (const MethodTable *table = method_tables; table->type != NULL; table++) {
            for (const Native *row = table->rows; row->name != NULL; row++) {
                for (size_t i = 0; i < COUNT_OF(values); i++) {
                    char arguments[64];
                    check_call(owners[o], row->name, values[i]);
                    snprintf(arguments, sizeof arguments, "%s, %s", values[i],
                             values[(i + o) % COUNT_OF(values)]);
                    check_call(owners[o], row->name, arguments);
                }
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_method_is_found_by_its_name),
        cmocka_unit_test(every_example_shows_its_documented_result),
        cmocka_unit_test(methods_of_dict_take_precedence_over_keys),
        cmocka_unit_test(every_method_accepts_any_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
