/* Filters applied to secrets: the marks of value.h, as seen in the rendered ranges. */
#include "lang/template/template.h"
#include "unit.h"

/* Renders with `s` (secret "hunter2"), `l` (a list of "open" and the secret), `d` (a map with the
 * secret under "key") and `sl` (a list that is secret itself); prints secret bytes as '*'. */
static void check_shown(const char *text, const char *expected, const char *file, int line)
{
    TemplateSettings settings = template_settings_default();
    AUTO(Templates) *templates = templates_new(&settings);
    AUTO_CLEAR(Rendered) rendered = rendered_make(&settings.limits);
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Value secret = value_with_secret(value_string(STR("hunter2")));
    List *list = list_new(&arena, 2);
    list_push(&arena, list, value_string(STR("open")));
    list_push(&arena, list, secret);
    List *hidden = list_new(&arena, 2);
    list_push(&arena, hidden, value_string(STR("b")));
    list_push(&arena, hidden, value_string(STR("a")));
    Map *map = map_new(&arena, 2);
    map_set_str(&arena, map, STR("name"), value_string(STR("ann")));
    map_set_str(&arena, map, STR("key"), secret);
    Map *context = map_new(&arena, 4);
    map_set_str(&arena, context, STR("s"), secret);
    map_set_str(&arena, context, STR("l"), value_list(list));
    map_set_str(&arena, context, STR("d"), value_map(map));
    map_set_str(&arena, context, STR("sl"), value_with_secret(value_list(hidden)));

    const Template *template;
    Fault fault = { 0 };
    if (!templates_compile(templates, STR("t"), str_from_c(text), &template, &fault) ||
        !template_render(template, value_map(context), &rendered, &fault)) {
        print_error("%s: %" STR_FMT "\n", text, STR_ARG(fault.message));
        _fail(file, line);
    }
    for (uint32_t i = 0; i < rendered.secret_count; i++) {
        SecretRange range = rendered.secrets[i];
        memset(rendered.text.data + range.start, '*', range.end - range.start);
    }
    check_str(buf_str(&rendered.text), expected, file, line);
}

#define assert_shown(text, expected) check_shown((text), (expected), __FILE__, __LINE__)

static void a_filtered_secret_is_wholly_secret(void **state)
{
    assert_shown("{{ s | upper }}.", "*******.");
    assert_shown("{{ 'x' | replace('x', s) }}.", "*******.");
    assert_shown("{{ s | hash('md5') | length }}", "32");
    assert_shown("{{ s | b64encode }}.", "************.");
    assert_shown("{{ l | join(',') }}.", "************.");
    assert_shown("{{ '%s' | format(s) }}.", "*******.");
    assert_shown("{{ d | to_json | length > 5 }}", "True");
    assert_shown("{{ {'a': s} | to_json }}.", "****************.");
    assert_shown("{{ s | regex_replace('h', 'H') }}.", "*******.");
    assert_shown("{{ '{{' }}{{ l | map('upper') | join('') }}.", "{{***********.");
}

static void elements_keep_their_own_marks(void **state)
{
    assert_shown("{{ l | first }} {{ l | last }}.", "open *******.");
    assert_shown("{{ l | sort | join(',') | length }}", "12");
    assert_shown("{% for x in l | sort(reverse=true) %}{{ x }} {% endfor %}", "open ******* ");
    assert_shown("{% for x in l | map('upper') %}{{ x }} {% endfor %}", "OPEN ******* ");
    assert_shown("{% for x in l | map('upper') | list | reverse %}{{ x }} {% endfor %}",
                 "******* OPEN ");
    assert_shown("{% for k, v in d | dictsort %}{{ k }}={{ v }} {% endfor %}",
                 "key=******* name=ann ");
    assert_shown("{{ (d | combine({'x': 1})).x }} {{ (d | combine({'x': 1})).key }}.",
                 "1 *******.");
    assert_shown("{{ (d | dict2items)[0].value }} {{ (d | dict2items)[1].value }}.",
                 "ann *******.");
    assert_shown("{{ [d] | map(attribute='key') | first }} {{ [d] | map(attribute='name') | first "
                 "}}.",
                 "******* ann.");
    assert_shown("{{ ([d] | groupby('name'))[0].list[0].key }}.", "*******.");
    assert_shown("{{ missing | default(s) }} {{ s | default('x') }} {{ 'y' | default(s) }}.",
                 "******* ******* y.");
    assert_shown("{{ true | ternary(s, 'n') }} {{ false | ternary(s, 'n') }}.", "******* n.");
    assert_shown("{{ l | union(['z']) | last }}.", "z.");
    assert_shown("{{ {'a': {'b': s}} | traverse('a:b') }}.", "*******.");
}

static void elements_of_a_secret_container_are_secret(void **state)
{
    assert_shown("{{ sl | first }}{{ sl | last }}{{ sl | min }}.", "***.");
    assert_shown("{{ (sl | sort)[0] }}{{ sl | list | first }}{{ sl | reverse | first }}.", "***.");
    assert_shown("{% for x in sl | map('upper') %}{{ x }}{% endfor %}.", "**.");
    assert_shown("{% for x in sl | select('string') %}{{ x }}{% endfor %}.", "**.");
    assert_shown("{% for row in sl | batch(1) %}{{ row[0] }}{% endfor %}.", "**.");
    assert_shown("{{ (sl | zip([1, 2]) | first)[0] }}.", "*.");
    assert_shown("{{ sl | sum(start='') if false else sl | join }}.", "**.");
}

static void tests_and_lengths_are_plain(void **state)
{
    assert_shown("{{ s | length }} {{ s is string }} {{ s is eq 'hunter2' }}", "7 True True");
    assert_shown("{{ l | length }} {{ s | wordcount }} {{ s is match('h') }}", "2 1 True");
    assert_shown("{{ '1.2' | version_compare(s, '>') }} {{ s | type_debug }}", "True str");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_filtered_secret_is_wholly_secret),
        cmocka_unit_test(elements_keep_their_own_marks),
        cmocka_unit_test(elements_of_a_secret_container_are_secret),
        cmocka_unit_test(tests_and_lengths_are_plain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
