#include "model/dynamic.h"

#include "lang/yaml_fixture.h"

typedef struct World {
    Loaded loaded;
    Templates *templates;
    Rendered rendered;
    Dynamic dynamic;
    bool ok;
} World;

static void world_clear(World *world)
{
    rendered_clear(&world->rendered);
    templates_free(world->templates);
    loaded_clear(&world->loaded);
}
DEFINE_AUTO_CLEAR(World, world_clear)

/* The document is {scope: .., it: ..}; `it` is compiled. */
static void world_compile(World *world, const char *yaml, bool expression)
{
    loaded_read(&world->loaded, str_from_c(yaml), NULL);
    assert_true(world->loaded.ok);
    TemplateSettings settings = dynamic_template_settings();
    world->templates = templates_new(&settings);
    world->rendered = rendered_make(&settings.limits);
    const Value *it = value_get(world->loaded.documents->items[0], STR("it"));
    assert_non_null(it);
    world->ok =
        expression ? dynamic_compile_expression(&world->loaded.arena, world->templates,
                                                &world->loaded.sources, *it, &world->dynamic,
                                                &world->loaded.problems)
                   : dynamic_compile(&world->loaded.arena, world->templates, &world->loaded.sources,
                                     *it, &world->dynamic, &world->loaded.problems);
}

/* The value as text, or "failed: MESSAGE at LINE:COLUMN". */
static void world_put_result(World *world, Buf *out)
{
    Value value;
    const Value *scope = value_get(world->loaded.documents->items[0], STR("scope"));
    DynamicOutcome outcome =
        !world->ok ? DYNAMIC_FAILED
                   : dynamic_evaluate(&world->dynamic, scope == NULL ? value_null() : *scope,
                                      &world->loaded.sources, &world->rendered,
                                      &world->loaded.arena, &value, &world->loaded.problems);
    if (outcome == DYNAMIC_OK) {
        dump_value(value, out);
    }
    for (uint32_t i = 0; i < world->loaded.problems.count; i++) {
        const Problem *problem = &world->loaded.problems.items[i];
        buf_put_format(out, "%s%" STR_FMT " %" STR_FMT " at %u:%u+%u", out->len == 0 ? "" : "; ",
                       STR_ARG(problem->code), STR_ARG(problem->message), problem->line,
                       problem->column, problem->span);
    }
}

typedef struct Row {
    const char *yaml;
    const char *expected;
} Row;

static void check_rows(const Row *rows, size_t count, bool expression)
{
    for (size_t i = 0; i < count; i++) {
        AUTO_CLEAR(World) world = { 0 };
        world_compile(&world, rows[i].yaml, expression);
        AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
        world_put_result(&world, &out);
        if (!str_eq_c(buf_str(&out), rows[i].expected)) {
            fail_msg("%s\ngives    %s\nexpected %s", rows[i].yaml, buf_c(&out), rows[i].expected);
        }
    }
}

static void values_keep_their_type(void **state)
{
    static const Row rows[] = {
        { "it: plain", "'plain'" },
        { "it: {a: [1, true, null, {b: c}]}", "{'a': [1, true, null, {'b': 'c'}]}" },
        { "it: '{{ 1 + 1 }}'", "2" },
        { "it: '  {{ [1, 2] }} '", "[1, 2]" },
        { "it: |\n  {{ 1 + 1 }}\n", "2" },
        { "it: '{{- 7 -}}'", "7" },
        { "it: '{{ -7 }}'", "-7" },
        { "it: '{{ 1 }}{{ 2 }}'", "'12'" },
        { "it: 'a{{ 1 }}'", "'a1'" },
        { "it: |\n  a {{ 1 }}\n", "'a 1\n'" },
        { "it: \"{{ {'a': {'b': 1}} }}\"", "{'a': {'b': 1}}" },
        { "it: \"{{ '}}' }}\"", "'}}'" },
        { "it: '{# none #}'", "''" },
        { "it: {'{{ a }}': '{{ 1 }}'}", "{'{{ a }}': 1}" },
        { "scope: {a: {b: x}}\nit: ['{{ a }}', '{{ a.b }}', c]", "[{'b': 'x'}, 'x', 'c']" },
        { "scope: {a: '{{ 1 }}'}\nit: '{{ a }}'", "'{{ 1 }}'" },
        { "it: '{{ range(3) }}'", "[0, 1, 2]" },
        { "it: '{% if true %}x{% endif %}'", "'x'" },
        { "it: !secret 'a{{ 1 }}'", "!'a1'" },
        { "scope: {p: !secret hunter2}\nit: 'a{{ p }}'", "!'ahunter2'" },
        { "scope: {p: !secret hunter2}\nit: '{{ p }}'", "!'hunter2'" },
    };
    check_rows(rows, COUNT_OF(rows), false);
}

static void errors_have_a_location_in_the_document(void **state)
{
    static const Row rows[] = {
        { "it: a {{ b }}", "E0204 'b' is undefined at 1:10+1" },
        { "it: '{{ bee }}'", "E0204 'bee' is undefined at 1:9+3" },
        { "it: 'it''s {{ bee }}'", "E0204 'bee' is undefined at 1:15+3" },
        { "it: \"\\x41\\tb {{ bee }}\"", "E0204 'bee' is undefined at 1:17+3" },
        { "it: |\n  one\n\n    two {{ bee }}\n", "E0204 'bee' is undefined at 4:12+3" },
        { "it: >\n  one\n  two\n\n  three {{ bee }}\n", "E0204 'bee' is undefined at 5:12+3" },
        { "it: one\n  two {{ bee }}\n", "E0204 'bee' is undefined at 2:10+3" },
        { "it: 'one\n\n  two {{ bee }}'\n", "E0204 'bee' is undefined at 3:10+3" },
        { "it: ['{{ bee }}', {a: '{{ cee }}'}]",
          "E0204 'bee' is undefined at 1:10+3; E0204 'cee' is undefined at 1:27+3" },
        { "it: |\n  {{ 1 + }}\n", "E0201 unexpected 'end of template' at 2:8+1" },
        { "it: '{{ 1 | uper }}'", "E0202 unknown filter 'uper' at 1:13+4" },
        { "it: '{% if a %}'", "E0201 the 'if' is never closed at 1:14+2" },
    };
    check_rows(rows, COUNT_OF(rows), false);
}

static void conditions_are_bare_expressions(void **state)
{
    static const Row rows[] = {
        { "it: 1 + 1 == 2", "true" },
        { "it: \"'a' in ['a']\"", "true" },
        { "it: true", "true" },
        { "it: 0", "0" },
        { "it: '{{ 1 == 2 }}'",
          "false; E0318 braces are not needed: this is an expression already at 1:5+14" },
        { "it: [a]", "E0303 this must be an expression, not a list at 1:5+3" },
        { "it: a ==", "E0201 unexpected 'end of template' at 1:7+2" },
        { "it: bee == 1", "E0204 'bee' is undefined at 1:5+3" },
    };
    check_rows(rows, COUNT_OF(rows), true);
}

static void literal_uses_of_steps_are_found(void **state)
{
    static const struct {
        const char *yaml, *names;
        bool computed;
    } rows[] = {
        { "it: plain", "", false },
        { "it: \"{{ steps['a b'].StdOut }} {{ steps.c.State }} {{ steps['a b'].x }}\"", "a b,c",
          false },
        { "it: ['{{ steps.a }}', {b: 'x{{ steps.d }}'}]", "a,d", false },
        { "it: '{% if steps.a.Changed %}{{ f(steps.b, x=steps.c) }}{% endif %}'", "a,b,c", false },
        { "it: '{{ steps[name].StdOut }}'", "", true },
        { "it: '{{ steps | length }}'", "", true },
        { "it: '{{ steps.items() }}'", "", true },
        { "it: '{{ other.steps.a }}'", "", false },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_CLEAR(World) world = { 0 };
        world_compile(&world, rows[i].yaml, false);
        assert_true(world.ok);
        List *names = list_new(&world.loaded.arena, 4);
        bool computed = false;
        dynamic_steps_used(&world.dynamic, &world.loaded.arena, names, &computed);
        AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
        for (uint32_t k = 0; k < names->len; k++) {
            buf_put_format(&out, "%s%" STR_FMT, k == 0 ? "" : ",",
                           STR_ARG(value_str(names->items[k])));
        }
        assert_str(buf_str(&out), rows[i].names);
        assert_int_equal(computed, rows[i].computed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_keep_their_type),
        cmocka_unit_test(errors_have_a_location_in_the_document),
        cmocka_unit_test(conditions_are_bare_expressions),
        cmocka_unit_test(literal_uses_of_steps_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
