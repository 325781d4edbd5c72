/* No message shows a secret: every row is called with secrets in every argument, and so are the
 * operators. */
#include "lang/template/methods.h"
#include "lang/template/native.h"
#include "lang/template/template.h"
#include "unit.h"

#define SECRET        "s3cr3t-hunter2"
#define SECRET_NUMBER "77788899"

typedef struct Fixture {
    Arena arena;
    Value context;
    Rendered rendered;
    TemplateSettings settings;
    unsigned faults;
} Fixture;

static Value secret_text(void)
{
    return value_with_secret(value_string(STR(SECRET)));
}

/* p: a text, n: a number, l: a secret list, mixed: a list with a secret, m: a map with one. */
static void set_up(Fixture *fixture)
{
    *fixture = (Fixture){ .settings = template_settings_default() };
    fixture->settings.undefined = UNDEFINED_STRICT;
    fixture->settings.limits.steps = 100000;
    fixture->settings.limits.memory = 1 << 20;
    fixture->rendered = rendered_make(&fixture->settings.limits);
    Arena *arena = &fixture->arena;
    arena_init(arena, ARENA_UNLIMITED);
    List *list = list_new(arena, 2);
    list_push(arena, list, secret_text());
    List *mixed = list_new(arena, 2);
    list_push(arena, mixed, value_string(STR("plain")));
    list_push(arena, mixed, secret_text());
    Map *map = map_new(arena, 2);
    map_set_str(arena, map, STR("k"), secret_text());
    Map *context = map_new(arena, 8);
    map_set_str(arena, context, STR("p"), secret_text());
    map_set_str(arena, context, STR("n"), value_with_secret(value_int(77788899)));
    map_set_str(arena, context, STR("l"), value_with_secret(value_list(list)));
    map_set_str(arena, context, STR("mixed"), value_list(mixed));
    map_set_str(arena, context, STR("m"), value_map(map));
    fixture->context = value_map(context);
    value_freeze(fixture->context); /* used for many renders */
}

static void tear_down(Fixture *fixture)
{
    rendered_clear(&fixture->rendered);
    arena_clear(&fixture->arena);
}

static bool output(Str text)
{
    return str_find(text, STR(SECRET), 0) != STR_NOT_FOUND ||
           str_find(text, STR("S3CR3T-HUNTER2"), 0) != STR_NOT_FOUND ||
           str_find(text, STR(SECRET_NUMBER), 0) != STR_NOT_FOUND;
}

PRINTF_LIKE(2, 3) static void check(Fixture *fixture, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    AUTO(Templates) *templates = templates_new(&fixture->settings);
    const Template *template;
    Fault fault;
    if (templates_compile(templates, STR("t"), str_from_c(text), &template, &fault) &&
        template_render(template, fixture->context, &fixture->rendered, &fault)) {
        return;
    }
    fixture->faults++;
    if (output(fault.message) || output(fault.hint)) {
        print_error("%s: %" STR_FMT " (%" STR_FMT ")\n", text, STR_ARG(fault.message),
                    STR_ARG(fault.hint));
        fail();
    }
}

static const char *const values[] = { "p", "p | upper", "n", "l", "mixed", "m", "'x'", "5", "[1]" };
static const char *const arguments[] = {
    "(p)",           "(p | upper)", "(1, p)", "(p, p)", "(p, 1, p)",
    "(attribute=p)", "(l)",         "(m)",    "(n, n)", "(mixed)",
};

static void check_rows(Fixture *fixture, const char *between, const Native *const *tables)
{
    for (; *tables != NULL; tables++) {
        for (const Native *row = *tables; row->name != NULL; row++) {
            for (size_t i = 0; i < COUNT_OF(values); i++) {
                check(fixture, "{{ (%s) %s %s }}", values[i], between, row->name);
                for (size_t k = 0; k < COUNT_OF(arguments); k++) {
                    check(fixture, "{{ (%s) %s %s%s }}", values[i], between, row->name,
                          arguments[k]);
                }
            }
        }
    }
}

static void rows_do_not_show_secrets_in_messages(void **state)
{
    Fixture fixture;
    set_up(&fixture);
    check_rows(&fixture, "|", filter_tables);
    check_rows(&fixture, "is", test_tables);
    for (const Native *const *table = global_tables; *table != NULL; table++) {
        for (const Native *row = *table; row->name != NULL; row++) {
            for (size_t k = 0; k < COUNT_OF(arguments); k++) {
                check(&fixture, "{{ %s%s }}", row->name, arguments[k]);
            }
        }
    }
    for (const MethodTable *table = method_tables; table->type != NULL; table++) {
        for (const Native *row = table->rows; row->name != NULL; row++) {
            for (size_t i = 0; i < COUNT_OF(values); i++) {
                for (size_t k = 0; k < COUNT_OF(arguments); k++) {
                    check(&fixture, "{{ (%s).%s%s }}", values[i], row->name, arguments[k]);
                }
            }
        }
    }
    assert_true(fixture.faults > 1000); /* else nothing was tested */
    tear_down(&fixture);
}

static void operators_do_not_show_secrets_in_messages(void **state)
{
    static const char *const operators[] = { "+",  "-", "*",  "/",     "//", "%",
                                             "**", "<", "in", "is in", "~",  "==" };
    static const char *const uses[] = {
        "{{ -(%s) }}",
        "{{ (%s)() }}",
        "{{ (%s).absent.x }}",
        "{{ {}[%s].x }}",
        "{{ [][%s].x }}",
        "{{ 'abc'[%s].x }}",
        "{{ [1][1:%s] }}",
        "{{ dict(**(%s)) }}",
        "{{ '%%d' %% (%s) }}",
        "{{ '{0.a}'.format(%s) }}",
        "{%% include (%s) %%}",
        "{%% include [%s, 'x'] %%}",
        "{%% extends (%s) %%}",
        "{%% import (%s) as x %%}",
        "{%% for a, b, c in (%s) %%}{%% endfor %%}",
        "{%% set a, b = (%s) %%}",
        "{{ range(%s) }}",
        "{{ {%s: 1}.x.y }}",
    };
    Fixture fixture;
    set_up(&fixture);
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        for (size_t k = 0; k < COUNT_OF(values); k++) {
            for (size_t op = 0; op < COUNT_OF(operators); op++) {
                check(&fixture, "{{ (%s) %s (%s) }}", values[i], operators[op], values[k]);
            }
        }
        for (size_t k = 0; k < COUNT_OF(uses); k++) {
            char text[128];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
            snprintf(text, sizeof text, uses[k], values[i]);
#pragma GCC diagnostic pop
            check(&fixture, "%s", text);
        }
    }
    assert_true(fixture.faults > 100);
    tear_down(&fixture);
}

static void the_rest_of_the_message_is_kept(void **state)
{
    Fixture fixture;
    set_up(&fixture);
    AUTO(Templates) *templates = templates_new(&fixture.settings);
    const Template *template;
    Fault fault;
    assert_true(templates_compile(templates, STR("t"), STR("{{ [1] | map(p) | list }}"), &template,
                                  &fault));
    assert_false(template_render(template, fixture.context, &fixture.rendered, &fault));
    assert_str(fault.message, "unknown filter '(secret)'");
    tear_down(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_do_not_show_secrets_in_messages),
        cmocka_unit_test(operators_do_not_show_secrets_in_messages),
        cmocka_unit_test(the_rest_of_the_message_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
