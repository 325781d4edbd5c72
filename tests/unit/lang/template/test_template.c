/* What a template may take: hostile ones end in LimitError or cheaply, and leave nothing behind. */
#include "lang/template/template.h"

#include "lang/template/program.h"
#include "unit.h"

typedef struct Loader {
    unsigned asked;
} Loader;

/* Finds templates named in digits; takes memory for every name, as one that reads files does. */
static bool load(void *context, Str name, Arena *arena, Str *text)
{
    Loader *loader = context;
    loader->asked++;
    *text = arena_copy(arena, name);
    return name.len > 0 && ascii_is_digit(name.data[0]);
}

static bool render(Templates *templates, const char *text, Rendered *rendered, Fault *fault)
{
    const Template *template;
    return templates_compile(templates, STR("t"), str_from_c(text), &template, fault) &&
           template_render(template, value_null(), rendered, fault);
}

static void a_missing_template_leaves_nothing_behind(void **state)
{
    Loader loader = { 0 };
    TemplateSettings settings = template_settings_default();
    settings.load = load;
    settings.load_context = &loader;
    AUTO(Templates) *templates = templates_new(&settings);
    AUTO_CLEAR(Rendered) rendered = rendered_make(&settings.limits);
    Fault fault;
    assert_true(render(templates,
                       "{% for i in range(50000) %}{% include 'some-name-of-forty-characters-or-so'"
                       " ignore missing %}{% endfor %}",
                       &rendered, &fault));
    assert_int_equal(loader.asked, 50000);
    assert_true(templates->arena.held < 1 << 16);
}

static void looking_for_a_missing_template_is_paid_for(void **state)
{
    Loader loader = { 0 };
    TemplateSettings settings = template_settings_default();
    settings.load = load;
    settings.load_context = &loader;
    settings.limits.steps = 100000;
    AUTO(Templates) *templates = templates_new(&settings);
    AUTO_CLEAR(Rendered) rendered = rendered_make(&settings.limits);
    Fault fault;
    assert_false(render(templates,
                        "{% for i in range(50000) %}{% include 'x' ignore missing %}{% endfor %}",
                        &rendered, &fault));
    assert_int_equal(fault.class, FAULT_LIMIT);
    assert_in_range(loader.asked, 1, 5000);
}

static void a_loaded_template_is_compiled_once(void **state)
{
    Loader loader = { 0 };
    TemplateSettings settings = template_settings_default();
    settings.load = load;
    settings.load_context = &loader;
    AUTO(Templates) *templates = templates_new(&settings);
    AUTO_CLEAR(Rendered) rendered = rendered_make(&settings.limits);
    Fault fault;
    assert_true(render(templates,
                       "{% for i in range(9) %}{% include '1' %}{% include 2 %}{% endfor %}",
                       &rendered, &fault));
    assert_str(buf_str(&rendered.text), "121212121212121212");
    assert_int_equal(loader.asked, 2);
}

static void templates_are_counted(void **state)
{
    Loader loader = { 0 };
    TemplateSettings settings = template_settings_default();
    settings.load = load;
    settings.load_context = &loader;
    settings.limits.templates = 3;
    AUTO(Templates) *templates = templates_new(&settings);
    AUTO_CLEAR(Rendered) rendered = rendered_make(&settings.limits);
    Fault fault;
    assert_false(
        render(templates, "{% for i in range(9) %}{% include i %}{% endfor %}", &rendered, &fault));
    assert_int_equal(fault.class, FAULT_LIMIT);
    assert_str(buf_str(&rendered.text), "012");
}

/* Each would take minutes, or gigabytes, if it took the square of what it is given. */
static void long_texts_are_worked_on_in_proportion(void **state)
{
    static const char *const texts[] = {
        "{{ ('x' * 1000000) | wordwrap(1) | length }}",
        "{{ ('-' * 1000000) | wordwrap(1) | length }}",
        "{{ ('\xc2\xa0' * 500000) | wordwrap(1) | length }}",
        "{{ ('x' * 1000000) | trim('y' * 1000000 ~ 'x') | length }}",
        "{{ ('x' * 1000000).strip('y' * 1000000 ~ 'x') | length }}",
    };
    TemplateSettings settings = template_settings_default();
    AUTO(Templates) *templates = templates_new(&settings);
    AUTO_CLEAR(Rendered) rendered = rendered_make(&settings.limits);
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        Fault fault;
        if (!render(templates, texts[i], &rendered, &fault)) {
            assert_int_equal(fault.class, FAULT_LIMIT);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_template_leaves_nothing_behind),
        cmocka_unit_test(looking_for_a_missing_template_is_paid_for),
        cmocka_unit_test(a_loaded_template_is_compiled_once),
        cmocka_unit_test(templates_are_counted),
        cmocka_unit_test(long_texts_are_worked_on_in_proportion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
