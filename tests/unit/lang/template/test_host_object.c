/* Host objects: lazy maps, different results for calls and reads, unknown values, nested
 * renders. */
#include "lang/template/host_object.h"

#include "lang/template/ops.h"
#include "unit.h"

/* Returns `{'name': NAME, 'secret': 'hush-hush'}` for every key except "absent"; counts how often
 * it was evaluated. */
typedef struct Lazy {
    Object object;
    Map *map;
    unsigned forced;
} Lazy;

static bool lazy_get_item(Render *r, Object *object, Value key, Value *out, bool *found)
{
    const MapEntry *entry = map_find(((Lazy *)object)->map, key);
    *found = entry != NULL;
    if (*found) {
        *out = entry->value;
        render_note_external(r, *out);
    }
    return true;
}

static bool lazy_get_attr(Render *r, Object *object, Str name, Value *out, bool *found)
{
    return lazy_get_item(r, object, value_string(name), out, found);
}

static bool lazy_force(Render *r, Object *object, Value *out)
{
    Lazy *lazy = (Lazy *)object;
    lazy->forced++;
    *out = value_map(lazy->map);
    render_note_external(r, *out);
    return true;
}

static bool lazy_iterate(Render *r, Object *object, Iter *iter)
{
    return iter_start(r, value_map(((Lazy *)object)->map), iter);
}

static const ObjectType lazy_type = { .name = "dict",
                                      .get_attr = lazy_get_attr,
                                      .get_item = lazy_get_item,
                                      .iterate = lazy_iterate,
                                      .force = lazy_force,
                                      .mapping = true };

static bool double_call(Render *r, Object *object, const Args *args, Value *out)
{
    return op_binary(r, OP_ADD, args->values[0], args->values[0], out);
}
static const ObjectType double_type = { .name = "double", .call = double_call };
static const Object doubler = { &double_type };

/* macros['count'] is 3, macros['count'](x) is twice x; macros['later'] is unknown. */
static bool macros_get_item(Render *r, Object *object, Value key, Value *out, bool *found)
{
    *found = str_eq(value_str(key), STR("count"));
    *out = value_int(3);
    return !str_eq(value_str(key), STR("later")) ||
           render_raise(r, FAULT_UNKNOWN, "the output of 'later' is not known before it runs");
}

static bool macros_get_callee(Render *r, Object *object, Value key, Value *out, bool *found)
{
    *found = str_eq(value_str(key), STR("count"));
    *out = value_object((Object *)&doubler);
    return true;
}

static bool macros_get_attr(Render *r, Object *object, Str name, Value *out, bool *found)
{
    return macros_get_item(r, object, value_string(name), out, found);
}

static const ObjectType macros_type = { .name = "macros",
                                        .get_attr = macros_get_attr,
                                        .get_item = macros_get_item,
                                        .get_callee = macros_get_callee };

/* Renders its template for every name requested. */
typedef struct Inner {
    Object object;
    const Template *template;
    Value context;
    Value document;
} Inner;

static bool inner_get_attr(Render *r, Object *object, Str name, Value *out, bool *found)
{
    const Inner *inner = (Inner *)object;
    AUTO_CLEAR(Rendered) rendered = rendered_make(&r->settings->limits);
    Fault fault;
    Value value;
    *found = true;
    if (!template_evaluate_nested(r, inner->template, inner->context, &rendered, &value, &fault)) {
        return render_raise_nested(r, &fault, inner->document);
    }
    *out = value_copy(r->arena, value);
    return true;
}
static const ObjectType inner_type = { .name = "inner", .get_attr = inner_get_attr };

typedef struct World {
    Arena arena;
    TemplateSettings settings;
    Templates *templates;
    Rendered rendered;
    Lazy lazy;
    Object macros;
    Inner inner;
    Map *scope;
    Fault fault;
    char shown[256];
} World;

static int setup(void **state)
{
    World *w = test_calloc(1, sizeof *w);
    arena_init(&w->arena, ARENA_UNLIMITED);
    w->settings = template_settings_default();
    w->settings.undefined = UNDEFINED_STRICT;
    w->templates = templates_new(&w->settings);
    w->rendered = rendered_make(&w->settings.limits);
    w->lazy = (Lazy){ { &lazy_type }, map_new(&w->arena, 4), 0 };
    map_set_str(&w->arena, w->lazy.map, STR("port"), value_int(80));
    map_set_str(&w->arena, w->lazy.map, STR("name"), value_string(STR("web")));
    w->macros = (Object){ &macros_type };
    w->scope = map_new(&w->arena, 4);
    w->inner = (Inner){ .object = { &inner_type }, .context = value_map(w->scope) };
    map_set_str(&w->arena, w->scope, STR("vars"), value_object(&w->lazy.object));
    map_set_str(&w->arena, w->scope, STR("macros"), value_object(&w->macros));
    map_set_str(&w->arena, w->scope, STR("inner"), value_object(&w->inner.object));
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    World *w = *state;
    rendered_clear(&w->rendered);
    templates_free(w->templates);
    arena_clear(&w->arena);
    test_free(w);
    return 0;
}

/* The text, or "!Class: message". */
static const char *show(World *w, const char *text)
{
    const Template *template;
    Str shown;
    if (templates_compile(w->templates, STR("outer"), str_from_c(text), &template, &w->fault) &&
        template_render(template, value_map(w->scope), &w->rendered, &w->fault)) {
        shown = buf_str(&w->rendered.text);
    } else {
        shown = arena_format(&w->arena, "!%s: %" STR_FMT, fault_class_name(w->fault.class),
                             STR_ARG(w->fault.message));
    }
    assert_true(shown.len < sizeof w->shown);
    memcpy(w->shown, shown.data, shown.len);
    w->shown[shown.len] = '\0';
    return w->shown;
}

static void a_lazy_map_behaves_like_a_map(void **state)
{
    static const struct {
        const char *text, *output;
    } rows[] = {
        { "{{ vars.port }}{{ vars['name'] }}", "80web" },
        { "{{ vars }}", "{'port': 80, 'name': 'web'}" },
        { "{{ vars | tojson }}", "{\"name\": \"web\", \"port\": 80}" },
        { "{{ [vars] | tojson }}", "[{\"name\": \"web\", \"port\": 80}]" },
        { "{{ vars | to_yaml }}", "{name: web, port: 80}\n" },
        { "{{ [vars] | map(attribute='port') | list }}", "[80]" },
        { "{{ vars | length }}{{ vars | dictsort }}", "2[('name', 'web'), ('port', 80)]" },
        { "{% for k, v in vars.items() %}{{ k }}={{ v }} {% endfor %}", "port=80 name=web " },
        { "{{ vars.get('name') }}{{ vars.get('x', 'none') }}", "webnone" },
        { "{{ vars == {'port': 80, 'name': 'web'} }}{{ {} == vars }}", "TrueFalse" },
        { "{{ 'port' in vars }}{{ 'x' in vars }}", "TrueFalse" },
        { "{{ 'full' if vars else 'empty' }}", "full" },
        { "{{ vars is mapping }}{{ vars is defined }}{{ vars.x is defined }}", "TrueTrueFalse" },
        { "{{ dict(**vars) }}{{ vars ~ '' }}",
          "{'port': 80, 'name': 'web'}{'port': 80, 'name': 'web'}" },
        { "{{ {'a': 1} | combine(vars) }}", "{'a': 1, 'port': 80, 'name': 'web'}" },
        { "{{ vars.x | default(7) }}", "7" },
        { "{{ vars.prot }}", "!UndefinedError: 'dict object' has no attribute 'prot'" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_string_equal(show(*state, rows[i].text), rows[i].output);
    }
    assert_str(((World *)*state)->fault.hint, "did you mean 'port'?");
}

static void one_element_of_a_lazy_map_leaves_the_rest_alone(void **state)
{
    World *w = *state;
    assert_string_equal(show(w, "{{ vars.port + 1 }}{{ vars['port'] }}{{ 'x' in vars }}"),
                        "8180False");
    assert_int_equal(w->lazy.forced, 0);
}

static void an_expression_returning_a_lazy_map_gives_a_plain_one(void **state)
{
    World *w = *state;
    const Template *template;
    Value value;
    assert_true(
        templates_compile_expression(w->templates, STR_EMPTY, STR("[vars]"), &template, &w->fault));
    assert_true(template_evaluate(template, value_map(w->scope), &w->rendered, &value, &w->fault));
    assert_int_equal(value.list->items[0].kind, VALUE_MAP);
}

static void secrets_from_a_host_are_marked(void **state)
{
    World *w = *state;
    map_set_str(&w->arena, w->lazy.map, STR("password"),
                value_with_secret(value_string(STR("hush-hush-hush"))));
    show(w, "a {{ vars.password }} b");
    assert_int_equal(w->rendered.secret_count, 1);
    assert_int_equal(w->rendered.secrets[0].start, 2);
    show(w, "{{ vars }}");
    assert_int_equal(w->rendered.secret_count, 1);
    show(w, "{% set x %}{{ vars }}{% endset %}{{ x }}");
    assert_int_equal(w->rendered.secret_count, 1);
    show(w, "{{ vars ~ '' }}");
    assert_int_equal(w->rendered.secret_count, 1);
    show(w, "{{ vars | tojson }}");
    assert_int_equal(w->rendered.secret_count, 1);
    const char *shown = show(w, "{{ vars.password | int + vars.password }}");
    assert_null(strstr(shown, "hush-hush-hush"));
}

static void callables_can_have_a_different_value(void **state)
{
    static const struct {
        const char *text, *output;
    } rows[] = {
        { "{{ macros['count'] }}{{ macros.count }}", "33" },
        { "{{ macros['count'](21) }}{{ macros.count('x') }}", "42xx" },
        { "{{ macros['count'] > 2 and macros['count'](1) == 2 }}", "True" },
        { "{{ macros['count'](macros['count']) }}", "6" },
        { "{% set f = macros['count'] %}{{ f(1) }}", "!TypeError: 'int' object is not callable" },
        { "{{ macros['zork'](1) }}", "!UndefinedError: 'macros object' has no attribute 'zork'" },
        { "{{ {'f': dict}['f'](a=1) }}{{ [range][0](2) | list }}", "{'a': 1}[0, 1]" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_string_equal(show(*state, rows[i].text), rows[i].output);
    }
}

static void unknown_values_are_never_hidden(void **state)
{
    static const char *const texts[] = {
        "{{ macros['later'] }}",
        "{{ macros['later'] | default('x') }}",
        "{{ macros.later is defined }}",
        "{{ macros.later is undefined }}",
        "{% if macros.later is defined %}{% endif %}",
        "{% include [macros.later, 'x'] ignore missing %}",
        "{{ [1] | map('default', macros.later) | list }}",
        "{{ vars.get('x', macros.later) }}",
        "{{ 1 if false else macros.later }}",
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        assert_string_equal(show(*state, texts[i]),
                            "!UnknownError: the output of 'later' is not known before it runs");
    }
    assert_string_equal(
        show(*state, "{{ macros.later if false else 1 }}{{ false and macros.later }}"), "1False");
}

static void a_nested_fault_has_its_location_and_trace(void **state)
{
    World *w = *state;
    assert_true(templates_compile_expression(w->templates, STR("deep"), STR("1 + vars.zork"),
                                             &w->inner.template, &w->fault));
    w->inner.document = value_string(STR("the document"));
    show(w, "\n{{ inner.x }}");
    assert_int_equal(w->fault.class, FAULT_UNDEFINED);
    assert_str(w->fault.template_name, "deep");
    assert_int_equal(w->fault.line, 1);
    assert_int_equal(w->fault.column, 10);
    assert_str(value_str(w->fault.document), "the document");
    assert_non_null(w->fault.origin);
    assert_str(w->fault.origin->template_name, "outer");
    assert_int_equal(w->fault.origin->line, 2);
}

static void nested_renders_are_bounded(void **state)
{
    World *w = *state;
    assert_true(templates_compile_expression(w->templates, STR("deep"), STR("inner.x + inner.x"),
                                             &w->inner.template, &w->fault));
    show(w, "{{ inner.x }}");
    assert_int_equal(w->fault.class, FAULT_RECURSION);
}

static void nested_renders_share_their_step_budget(void **state)
{
    World *w = *state;
    TemplateSettings settings = template_settings_default();
    settings.limits.steps = 1000;
    AUTO(Templates) *templates = templates_new(&settings);
    const Template *template;
    assert_true(templates_compile_expression(templates, STR("deep"), STR("range(90) | sum"),
                                             &w->inner.template, &w->fault));
    assert_true(templates_compile(templates, STR("outer"),
                                  STR("{% for i in range(30) %}{{ inner.x }}{% endfor %}"),
                                  &template, &w->fault));
    assert_false(template_render(template, value_map(w->scope), &w->rendered, &w->fault));
    assert_int_equal(w->fault.class, FAULT_LIMIT);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_lazy_map_behaves_like_a_map),
        TEST(one_element_of_a_lazy_map_leaves_the_rest_alone),
        TEST(an_expression_returning_a_lazy_map_gives_a_plain_one),
        TEST(secrets_from_a_host_are_marked),
        TEST(callables_can_have_a_different_value),
        TEST(unknown_values_are_never_hidden),
        TEST(a_nested_fault_has_its_location_and_trace),
        TEST(nested_renders_are_bounded),
        TEST(nested_renders_share_their_step_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
