/* Every row's example is correct, and the worst arguments are harmless. */
#include "lang/template/native.h"
#include "lang/template/template.h"
#include "unit.h"

static bool render(const char *text, Rendered *rendered, Fault *fault)
{
    TemplateSettings settings = template_settings_default();
    AUTO(Templates) *templates = templates_new(&settings);
    const Template *template;
    return templates_compile(templates, STR("example"), str_from_c(text), &template, fault) &&
           template_render(template, value_null(), rendered, fault);
}

static void check_example(const char *kind, const Native *row)
{
    TemplateSettings settings = template_settings_default();
    AUTO_CLEAR(Rendered) rendered = rendered_make(&settings.limits);
    Fault fault = { 0 };
    if (!render(row->example, &rendered, &fault)) {
        print_error("%s %s: %s: %" STR_FMT "\n", kind, row->name, fault_class_name(fault.class),
                    STR_ARG(fault.message));
        fail();
    }
    if (!str_eq_c(buf_str(&rendered.text), row->output)) {
        print_error("%s %s output \"%" STR_FMT "\", not \"%s\"\n", kind, row->name,
                    STR_ARG(buf_str(&rendered.text)), row->output);
        fail();
    }
}

static void check_examples(const char *kind, const Native *const *tables)
{
    for (; *tables != NULL; tables++) {
        for (const Native *row = *tables; row->name != NULL; row++) {
            check_example(kind, row);
        }
    }
}

static void every_example_shows_its_documented_result(void **state)
{
    check_examples("filter", filter_tables);
    check_examples("test", test_tables);
    check_examples("global", global_tables);
}

/* Values of every kind, and arguments that could make a careless filter allocate without bounds. */
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
};

static void check_with(const char *name, const char *value, const char *arguments)
{
    TemplateSettings settings = template_settings_default();
    settings.limits.memory = 4 << 20;
    settings.limits.steps = 200000;
    char text[256];
    snprintf(text, sizeof text, "{{ (%s | %s%s) | string | length }}", value, name, arguments);
    AUTO(Templates) *templates = templates_new(&settings);
    AUTO_CLEAR(Rendered) rendered = rendered_make(&settings.limits);
    const Template *template;
    Fault fault = { 0 };
    if (!templates_compile(templates, STR("any"), str_from_c(text), &template, &fault)) {
        print_error("%s: %" STR_FMT "\n", text, STR_ARG(fault.message));
        fail();
    }
    /* A value or an error with a message, for any arguments; never both, never neither. */
    if (!template_render(template, value_null(), &rendered, &fault)) {
        assert_int_not_equal(fault.class, FAULT_NONE);
        if (fault.message.len == 0) {
            print_error("%s: no message\n", text);
            fail();
        }
    } else {
        assert_int_equal(fault.class, FAULT_NONE);
    }
}

static void every_filter_accepts_any_value(void **state)
{
    for (const Native *const *table = filter_tables; *table != NULL; table++) {
        for (const Native *row = *table; row->name != NULL; row++) {
            for (size_t i = 0; i < COUNT_OF(values); i++) {
                check_with(row->name, values[i], "");
                for (size_t k = 0; k < COUNT_OF(values); k++) {
                    char arguments[64];
                    snprintf(arguments, sizeof arguments, "(%s)", values[k]);
                    check_with(row->name, values[i], arguments);
                    snprintf(arguments, sizeof arguments, "(%s, %s)", values[k],
                             values[(i + k) % COUNT_OF(values)]);
                    check_with(row->name, values[i], arguments);
                }
            }
        }
    }
}

static void unbounded_growth_is_rejected(void **state)
{
    static const char *const hostile[] = {
        "{{ 'x' | center(10 ** 12) }}",
        "{{ 'a\nb' | indent(10 ** 12) }}",
        "{{ ('a\n' * 1000) | indent('x' * 100000) }}",
        "{{ ('a' * 10000) | replace('', 'x' * 100000) }}",
        "{{ ('a' * 10000) | replace('a', 'x' * 100000) }}",
        "{{ [1] | batch(10 ** 12, 0) | list }}",
        "{{ [1] | slice(10 ** 12) | list }}",
        "{{ range(10 ** 12) | list }}",
        "{{ range(10 ** 12) | sort }}",
        "{{ range(10 ** 12) | sum }}",
        "{{ range(10 ** 12) | map('string') | join }}",
        "{{ range(10 ** 12) | unique | list }}",
        "{{ range(10 ** 12) | select('string') | list }}",
        "{{ range(10 ** 12) | map(attribute='x') | list }}",
        "{{ range(10 ** 12) | join(attribute='x') }}",
        "{{ range(10 ** 12) | subelements('x', true) }}",
        "{{ range(10 ** 12) | batch(none) | list }}",
        "{{ range(10 ** 12) | union([]) }}",
        "{{ range(10 ** 12) | max }}",
        "{{ range(10 ** 12) is all }}{{ range(1, 10 ** 12) is all }}",
        "{{ [1] | sort(attribute=',' * 2000000) }}",
        "{{ ('a/' * 4000000) | normpath }}",
        "{{ 'a' | regex_replace('b', '\\\\a' * 4000000) }}",
        "{{ ('a ' * 2000000) | wordwrap }}",
        "{{ range(100) | permutations | length }}",
        "{{ range(1000) | combinations(500) | length }}",
        "{{ range(1000) | product(range(1000), range(1000), range(1000)) | length }}",
        "{{ ('a b ' * 10000) | wordwrap(1, wrapstring='x' * 100000) }}",
        "{{ ('a' * 50 ~ 'b') | regex_search('(a|aa)+$') }}",
        "{% for i in range(10**6) %}{{ ('a' * 24 ~ 'b') | regex_search('(a|aa)+$') }}{% endfor %}",
        "{{ ('a' * 10000) | regex_replace('a', 'x' * 100000) }}",
        "{{ [1] | tojson(10 ** 12) }}",
        "{{ lipsum(10 ** 12) }}",
        ("{% set ns = namespace(l=[1]) %}{% for i in range(64) %}{% set ns.l = [ns.l, ns.l] %}"
         "{% endfor %}{{ ns.l | to_json }}"),
        ("{% set ns = namespace(l=[1]) %}{% for i in range(64) %}{% set ns.l = [ns.l, ns.l] %}"
         "{% endfor %}{{ ns.l | to_yaml }}"),
        ("{% set ns = namespace(l=[1]) %}{% for i in range(64) %}{% set ns.l = [ns.l, ns.l] %}"
         "{% endfor %}{{ ns.l | pprint }}"),
        ("{% set ns = namespace(l=[1]) %}{% for i in range(64) %}{% set ns.l = [ns.l, ns.l] %}"
         "{% endfor %}{{ ns.l | flatten }}"),
    };
    for (size_t i = 0; i < COUNT_OF(hostile); i++) {
        TemplateSettings settings = template_settings_default();
        settings.limits.memory = 32 << 20;
        settings.limits.steps = 2000000;
        AUTO(Templates) *templates = templates_new(&settings);
        AUTO_CLEAR(Rendered) rendered = rendered_make(&settings.limits);
        const Template *template;
        Fault fault = { 0 };
        bool done = templates_compile(templates, STR("hostile"), str_from_c(hostile[i]), &template,
                                      &fault) &&
                    template_render(template, value_null(), &rendered, &fault);
        if (done || fault.class != FAULT_LIMIT) {
            print_error("%s: %s: %" STR_FMT "\n", hostile[i], fault_class_name(fault.class),
                        STR_ARG(fault.message));
            fail();
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_example_shows_its_documented_result),
        cmocka_unit_test(every_filter_accepts_any_value),
        cmocka_unit_test(unbounded_growth_is_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
