/* No output shows a secret outside the ranges recorded for it: every row is called with secrets in
 * every argument, results are printed whole and item by item, and secrets are passed along every
 * path that a value can take through a template. */
#include "base/utf8.h"
#include "lang/scrub.h"
#include "lang/template/methods.h"
#include "lang/template/native.h"
#include "lang/template/template.h"
#include "unit.h"

/* Not contained in any row's own output, and different when reversed. */
#define SECRET "hunter2"

typedef struct Fixture {
    Arena arena;
    Value context;
    Rendered rendered;
    TemplateSettings settings;
    unsigned shown; /* renders that had a secret range */
} Fixture;

static const struct Loaded {
    Str name;
    Str text;
} loaded[] = {
    { STR("output"), STR("{{ p }}") },
    { STR("passes"), STR("{% block b %}{{ v }}{% endblock %}") },
    { STR("exports"), STR("{% set x = p %}{% macro m(a) %}<{{ a }}>{% endmacro %}body {{ p }}") },
};

static bool load(void *context, Str name, Arena *arena, Str *text)
{
    for (size_t i = 0; i < COUNT_OF(loaded); i++) {
        if (str_eq(loaded[i].name, name)) {
            *text = loaded[i].text;
            return true;
        }
    }
    return false;
}

static Value secret_text(void)
{
    return value_with_secret(value_string(STR(SECRET)));
}

/* p: a text; l: a list containing one; m: a map with one as value and one as key; hl, hm: a list
 * and a map that are secret as a whole. */
static void set_up(Fixture *fixture)
{
    *fixture = (Fixture){ .settings = template_settings_default() };
    fixture->settings.load = load;
    fixture->settings.limits.steps = 100000;
    fixture->settings.limits.memory = 1 << 20;
    fixture->rendered = rendered_make(&fixture->settings.limits);
    Arena *arena = &fixture->arena;
    arena_init(arena, ARENA_UNLIMITED);
    List *list = list_new(arena, 2);
    list_push(arena, list, value_string(STR("plain")));
    list_push(arena, list, secret_text());
    List *hidden_list = list_new(arena, 2);
    list_push(arena, hidden_list, value_string(STR(SECRET)));
    list_push(arena, hidden_list, value_string(STR("x" SECRET)));
    Map *map = map_new(arena, 2);
    map_set_str(arena, map, STR("k"), secret_text());
    map_set(arena, map, secret_text(), value_int(1));
    Map *hidden_map = map_new(arena, 2);
    map_set_str(arena, hidden_map, STR("k"), value_string(STR(SECRET)));
    map_set_str(arena, hidden_map, STR("key"), value_string(STR(SECRET)));
    map_set_str(arena, hidden_map, STR("value"), value_string(STR(SECRET)));
    map_set_str(arena, hidden_map, STR(SECRET), value_string(STR("v")));
    Map *context = map_new(arena, 8);
    map_set_str(arena, context, STR("p"), secret_text());
    map_set_str(arena, context, STR("l"), value_list(list));
    map_set_str(arena, context, STR("m"), value_map(map));
    map_set_str(arena, context, STR("hl"), value_with_secret(value_list(hidden_list)));
    map_set_str(arena, context, STR("hm"), value_with_secret(value_map(hidden_map)));
    fixture->context = value_map(context);
    value_freeze(fixture->context);
}

static void tear_down(Fixture *fixture)
{
    rendered_clear(&fixture->rendered);
    arena_clear(&fixture->arena);
}

/* In any case, forward or backward, complete or most of it. */
static bool output(Str text)
{
    static const Str traces[] = { STR("hunter"), STR("unter2"),   STR("retnuh"),
                                  STR("2retnu"), STR("aHVudGVy"), STR("68756e74") };
    AUTO_CLEAR(Buf) folded = buf_make(BUF_UNLIMITED);
    for (size_t i = 0; i < text.len; i++) {
        buf_put_char(&folded, ascii_lower(text.data[i]));
    }
    for (size_t i = 0; i < COUNT_OF(traces); i++) {
        if (str_find(buf_str(&folded), traces[i], 0) != STR_NOT_FOUND ||
            str_find(text, traces[i], 0) != STR_NOT_FOUND) {
            return true;
        }
    }
    return false;
}

/* Whether it rendered without an error. */
PRINTF_LIKE(2, 3) static bool check(Fixture *fixture, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    assert_in_range(len, 0, sizeof text - 1);
    AUTO(Templates) *templates = templates_new(&fixture->settings);
    Rendered *rendered = &fixture->rendered;
    const Template *template;
    Fault fault;
    if (!templates_compile(templates, STR("t"), str_from_c(text), &template, &fault)) {
        return false;
    }
    bool ok = template_render(template, fixture->context, rendered, &fault);
    /* Text written before an error counts too. */
    fixture->shown += rendered->secret_count > 0;
    for (uint32_t i = 0; i < rendered->secret_count; i++) {
        SecretRange range = rendered->secrets[i];
        memset(rendered->text.data + range.start, '*', range.end - range.start);
    }
    if (output(buf_str(&rendered->text))) {
        print_error("%s: %" STR_FMT "\n", text, STR_ARG(buf_str(&rendered->text)));
        fail();
    }
    return ok;
}

/* The result as a whole, its items, their items, its values, and what methods return. */
static void check_uses(Fixture *fixture, const char *expression)
{
    check(fixture, "{{ %s }}", expression);
    check(fixture, "{%% set x = %s %%}{%% for a in x %%}{{ a }};{%% endfor %%}", expression);
    check(fixture,
          "{%% set x = %s %%}{%% for a in x %%}{%% for b in a %%}{{ b }};"
          "{%% for c in b %%}{{ c }};{%% endfor %%}{%% endfor %%}{%% endfor %%}",
          expression);
    check(fixture, "{%% for a, b in (%s).items() %%}{{ a }}={{ b }};{%% endfor %%}", expression);
    check(fixture, "{{ (%s)[0] }}", expression);
    check(fixture, "{{ (%s)[-1] }}", expression);
    check(fixture, "{{ (%s).k }}", expression);
    check(fixture, "{%% set d = {} %%}{%% do d.update(%s) %%}{{ d }}{{ d.keys() | list }}",
          expression);
    check(fixture, "{%% set d = [] %%}{%% do d.extend(%s) %%}{{ d }}", expression);
}

static const char *const values[] = {
    "p",        "l",     "m",    "hl",   "hm",     "'x'",       "[1]",
    "{'a': 1}", "['k']", "[hl]", "[hm]", "[[hl]]", "{'a': hm}", "{p: 1}",
};
static const char *const arguments[] = {
    "",
    "(p)",
    "(hl)",
    "(hm)",
    "(l)",
    "(m)",
    "(0)",
    "(1, p)",
    "('k')",
    "('x', p)",
    "(hl, hm)",
    "('upper')",
    "(2)",
    "(p, p)",
    "('%s')",
    "(m, hm)",
    "(attribute=0)",
    "(attribute='k')",
    "([hm])",
    "([hl])",
    "(hm, recursive=true)",
    "(hl, list_merge='append')",
};

static void rows_leak_no_secrets(void **state)
{
    Fixture fixture;
    set_up(&fixture);
    char expression[256];
    for (const Native *const *table = filter_tables; *table != NULL; table++) {
        for (const Native *row = *table; row->name != NULL; row++) {
            for (size_t i = 0; i < COUNT_OF(values); i++) {
                for (size_t k = 0; k < COUNT_OF(arguments); k++) {
                    snprintf(expression, sizeof expression, "%s | %s%s", values[i], row->name,
                             arguments[k]);
                    check_uses(&fixture, expression);
                }
            }
        }
    }
    for (const Native *const *table = global_tables; *table != NULL; table++) {
        for (const Native *row = *table; row->name != NULL; row++) {
            for (size_t k = 1; k < COUNT_OF(arguments); k++) {
                snprintf(expression, sizeof expression, "%s%s", row->name, arguments[k]);
                check_uses(&fixture, expression);
            }
        }
    }
    for (const MethodTable *table = method_tables; table->type != NULL; table++) {
        for (const Native *row = table->rows; row->name != NULL; row++) {
            for (size_t i = 0; i < COUNT_OF(values); i++) {
                for (size_t k = 0; k < COUNT_OF(arguments); k++) {
                    snprintf(expression, sizeof expression, "(%s).%s%s", values[i], row->name,
                             k == 0 ? "()" : arguments[k]);
                    check_uses(&fixture, expression);
                }
            }
        }
    }
    assert_true(fixture.shown > 1000); /* else nothing was tested */
    tear_down(&fixture);
}

static void operators_leak_no_secrets(void **state)
{
    static const char *const operators[] = { "+", "*", "%", "~", "and", "or", "if true else" };
    static const char *const others[] = { "2", "'%s'", "'a%(k)s'", "(p,)", "[[]]", "('x', hl)" };
    Fixture fixture;
    set_up(&fixture);
    char expression[256];
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        for (size_t op = 0; op < COUNT_OF(operators); op++) {
            for (size_t k = 0; k < COUNT_OF(values) + COUNT_OF(others); k++) {
                const char *other = k < COUNT_OF(values) ? values[k] : others[k - COUNT_OF(values)];
                snprintf(expression, sizeof expression, "(%s) %s (%s)", values[i], operators[op],
                         other);
                check_uses(&fixture, expression);
                snprintf(expression, sizeof expression, "(%s) %s (%s)", other, operators[op],
                         values[i]);
                check_uses(&fixture, expression);
            }
        }
        static const char *const slices[] = { "[:]", "[::-1]", "[1:]", "[:6]", "['k']", "[p]" };
        for (size_t k = 0; k < COUNT_OF(slices); k++) {
            snprintf(expression, sizeof expression, "(%s)%s", values[i], slices[k]);
            check_uses(&fixture, expression);
        }
    }
    assert_true(fixture.shown > 100);
    tear_down(&fixture);
}

static void statements_leak_no_secrets(void **state)
{
    /* Some paths are longer than a line. NOLINTBEGIN(bugprone-suspicious-missing-comma) */
    static const char *const ways[] = {
        "{% macro m(a) %}<{{ a }}>{% endmacro %}{{ m(p) }}{{ m(a=p) | upper }}{{ m(l) ~ '.' }}",
        "{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(p, x=p) }}{{ m(*hl, **hm) }}",
        "{% macro m() %}{{ kwargs.keys() | list }}{% endmacro %}{{ m(**hm) }}",
        "{% macro m(a=p) %}{{ a }}{% endmacro %}{% set x = m() %}{{ x }}{{ x[1:] }}{{ [x] }}",
        "{% macro m() %}{{ caller(p) }}{% endmacro %}{% call(a) m() %}[{{ a }}]{% endcall %}",
        "{% macro m() %}{{ caller() | upper }}{% endmacro %}{% call m() %}{{ p }}{% endcall %}",
        "{% macro m() %}{% set x=caller() %}{{ x }}{% endmacro %}{% call m() %}{{p}}{% endcall %}",
        "{% set x %}a {{ p }} b{% endset %}{{ x }}{{ x | reverse }}{{ x.split() }}",
        "{% set x | upper %}a {{ p }} b{% endset %}{{ x }}",
        "{% set x %}{% set y %}{{ p }}{% endset %}{{ y }}{% endset %}{{ x }}",
        "{%set x%}{%for a in [1]%}{%set y%}{%break%}{%endset%}{%endfor%}{{p}}{%endset%}{{x}}",
        "{% filter upper %}{{ p }}{% endfilter %}",
        "{% with x = p, y = {'z': p} %}{{ x }}{{ y }}{{ y.z }}{% endwith %}",
        "{% set ns = namespace(a=p) %}{{ ns.a }}{{ ns }}{% set ns.b = p %}{{ ns.b }}{{ ns }}",
        "{% set ns = namespace(hm) %}{{ ns.k }}{{ ns }}",
        "{% for c in p %}{{ c }}{% endfor %}{% for a in hl %}{{ a }}{{ loop.previtem }}"
        "{{ loop.nextitem }}{{ loop.cycle(p, p) }}{% endfor %}",
        "{% for a in l recursive %}{{ a }}{{ loop(hl) if loop.depth < 2 and loop.first }}{% endfor "
        "%}",
        "{% for k in hm %}{{ k }}{% endfor %}{% for k, v in m.items() %}{{ k }}{{ v }}{% endfor %}",
        "{% set a, b = hl %}{{ a }}{{ b }}{% set (c, d), e = [hl, 1] %}{{ c }}",
        "{% include 'output' %}{% set v = p %}{% include 'passes' %}",
        "{% import 'exports' as e with context %}{{ e.x }}{{ e }}{{ e.m(p) }}{{ e | upper }}",
        "{% from 'exports' import x, m with context %}{{ x }}{{ m(x) }}",
        "{% extends 'passes' %}{% block b %}{{ p }}{{ super() | upper }}{% endblock %}",
        "{% block b %}{{ p }}{% endblock %}{{ self.b() | upper }}{% set x = self.b() %}{{ x }}",
        "{% autoescape true %}{{ p }}{{ '<' ~ p }}{{ l }}{% set x %}{{ p }}{% endset %}{{ x }}"
        "{% endautoescape %}",
        "{% set c = cycler(p, p) %}{{ c.next() }}{{ c.current }}{{ c.items }}{{ c }}",
        "{% set j = joiner(p) %}{{ j() }}{{ j() }}{{ j.sep }}",
        "{{ p.upper }}{{ (p.upper)() }}{{ hm.items }}{{ hm.items() }}{{ hm.keys() }}",
        "{{ '{} {a} {b[k]}'.format(p, a=p, b=m) }}{{ '{a[k]}'.format_map({'a': hm}) }}",
        "{{ '%s' % p }}{{ '%(k)s' % m }}{{ '%(k)s' % hm }}{{ '%s' % (p,) }}",
        "{{ dict.fromkeys(hl) }}{{ dict(a=p).a }}{{ dict(hm) }}{{ dict([hl]) }}{{ dict(**hm) }}",
        "{{ {p: 1} | tojson }}",
        "{{ {p: 1} | string | upper }}",
        "{{ {p: 1} ~ '' }}",
        "{% set x = {p: 1} %}{{ x | to_yaml }}{{ x | dictsort }}{{ [x] | pprint }}",
        "{{ {p: 1} }}{{ {'a': hm}.a.k }}{{ [p][0] }}{{ (p, 1) | first }}",
        "{{ -(p | length) }}{{ (p ~ '') }}{{ p * 2 }}{{ 2 * hl }}{{ hl + [1] }}{{ [hl] + [1] }}",
        "{{ undef | default(p) }}{{ undef or p }}{{ p if p else 1 }}",
    };
    /* NOLINTEND(bugprone-suspicious-missing-comma) */
    Fixture fixture;
    set_up(&fixture);
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        unsigned before = fixture.shown;
        if (!check(&fixture, "%s", ways[i]) || fixture.shown == before) {
            print_error("nothing secret in, or failed: %s\n", ways[i]);
            fail();
        }
    }
    tear_down(&fixture);
}

/* Texts reported to the sink, one per line. */
typedef struct Reported {
    Arena *arena;
    Buf given, computed;
} Reported;

static void put_found(void *context, Str secret)
{
    buf_put(context, secret);
    buf_put_char(context, '\n');
}

static void note_found(void *context, Value secret, bool computed)
{
    Reported *reported = context;
    Error err;
    assert_true(secrets_find(secret, reported->arena, put_found,
                             computed ? &reported->computed : &reported->given, &err));
}

/* The same lines; number and order do not matter. */
static void assert_lines(Str reported, const char *expected)
{
    Str texts[] = { reported, str_from_c(expected) };
    for (size_t side = 0; side < COUNT_OF(texts); side++) {
        Str rest = texts[side], line;
        while (rest.len > 0 && str_split_next(&rest, '\n', &line)) {
            Str others = texts[1 - side], other = STR_EMPTY;
            bool found = false;
            while (!found && others.len > 0 && str_split_next(&others, '\n', &other)) {
                found = str_eq(other, line);
            }
            if (!found) {
                print_error("'%" STR_FMT "' is %s\n", STR_ARG(line), side == 0 ? "new" : "missing");
                fail();
            }
        }
    }
}

static void the_sink_receives_every_secret(void **state)
{
    static const struct {
        const char *template, *computed, *given;
    } rows[] = {
        { "plain {{ l | length }} {{ p == 'x' }}", "", "" },
        { "a {{ p }} b", "hunter2", "" },
        { "{{ 'x' ~ (p | reverse) }}", "2retnuh\nx2retnuh", "" },
        { "{{ p[2:] }} - {{ p.split('t') }}", "nter2\nhun\ner2\n['hun', 'er2']", "" },
        { "{% set x = p | upper %}{% if x == 'y' %}{% endif %}", "HUNTER2", "" },
        { "{{ 'a' | secret }} - {{ ['b', 'c'] | secret }}", "a\nb\nc\na - ['b', 'c']", "a\nb\nc" },
        /* In parts: with the text between them, unless that is too long. */
        { "{% for c in p %}{{ c }}. {% endfor %}", "h. u. n. t. e. r. 2", "" },
        { "{{ p[:2] }}{{ ' ' * 17 }}{{ p[2:] }}", "hu\nnter2", "" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        Fixture fixture;
        set_up(&fixture);
        Reported reported = { .arena = &fixture.arena,
                              .given = buf_make_in(&fixture.arena, BUF_UNLIMITED),
                              .computed = buf_make_in(&fixture.arena, BUF_UNLIMITED) };
        fixture.settings.secrets = (SecretSink){ note_found, &reported };
        assert_true(check(&fixture, "%s", rows[i].template));
        assert_lines(buf_str(&reported.computed), rows[i].computed);
        assert_lines(buf_str(&reported.given), rows[i].given);
        tear_down(&fixture);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_leak_no_secrets),
        cmocka_unit_test(operators_leak_no_secrets),
        cmocka_unit_test(statements_leak_no_secrets),
        cmocka_unit_test(the_sink_receives_every_secret),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
