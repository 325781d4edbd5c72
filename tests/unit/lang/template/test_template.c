/* Limits of templates: hostile ones end in LimitError or are cheap, and leave nothing behind. */
#include "lang/template/template.h"

#include "lang/template/program.h"
#include "unit.h"

typedef struct Loader {
    unsigned asked;
} Loader;

/* Finds templates with numeric names; allocates memory for every name, like one that reads
 * files. */
static bool load(void *context, Str name, Arena *arena, Str *text)
{
    Loader *loader = context;
    loader->asked++;
    *text = arena_copy(arena, name);
    return name.len > 0 && ascii_is_digit(name.data[0]);
}

/* Templates with separate limits, and the last result. */
typedef struct World {
    Loader loader;
    TemplateSettings settings; /* until `render` */
    Templates *templates;
    Rendered rendered;
    Fault fault;
} World;

static void world_clear(World *world)
{
    rendered_clear(&world->rendered);
    templates_free(world->templates);
}
DEFINE_AUTO_CLEAR(World, world_clear)

static void world_make(World *world)
{
    *world = (World){ .settings = template_settings_default() };
    world->settings.load = load;
    world->settings.load_context = &world->loader;
}

static bool render(World *world, const char *text)
{
    const Template *template;
    if (world->templates == NULL) {
        world->templates = templates_new(&world->settings);
        world->rendered = rendered_make(&world->settings.limits);
    }
    return templates_compile(world->templates, STR("t"), str_from_c(text), &template,
                             &world->fault) &&
           template_render(template, value_null(), &world->rendered, &world->fault);
}

static void a_missing_template_leaves_no_traces(void **state)
{
    AUTO_CLEAR(World) world;
    world_make(&world);
    assert_true(render(&world,
                       "{% for i in range(50000) %}{% include 'some-name-of-forty-characters-or-so'"
                       " ignore missing %}{% endfor %}"));
    assert_int_equal(world.loader.asked, 50000);
    assert_true(world.templates->arena.chunk_bytes < 1 << 16);
}

static void searching_a_missing_template_is_charged(void **state)
{
    AUTO_CLEAR(World) world;
    world_make(&world);
    world.settings.limits.steps = 100000;
    assert_false(
        render(&world, "{% for i in range(50000) %}{% include 'x' ignore missing %}{% endfor %}"));
    assert_int_equal(world.fault.class, FAULT_LIMIT);
    assert_in_range(world.loader.asked, 1, 5000);
}

static void a_loaded_template_is_compiled_once(void **state)
{
    AUTO_CLEAR(World) world;
    world_make(&world);
    assert_true(
        render(&world, "{% for i in range(9) %}{% include '1' %}{% include 2 %}{% endfor %}"));
    assert_str(buf_str(&world.rendered.text), "121212121212121212");
    assert_int_equal(world.loader.asked, 2);
}

static void templates_are_counted(void **state)
{
    AUTO_CLEAR(World) world;
    world_make(&world);
    world.settings.limits.templates = 3;
    assert_false(render(&world, "{% for i in range(9) %}{% include i %}{% endfor %}"));
    assert_int_equal(world.fault.class, FAULT_LIMIT);
    assert_str(buf_str(&world.rendered.text), "012");
}

/* Each would take minutes, or gigabytes, if its cost were quadratic. */
static void long_texts_take_linear_time(void **state)
{
    static const char *const texts[] = {
        "{{ ('x' * 1000000) | wordwrap(1) | length }}",
        "{{ ('-' * 1000000) | wordwrap(1) | length }}",
        "{{ ('\xc2\xa0' * 500000) | wordwrap(1) | length }}",
        "{{ ('x' * 1000000) | trim('y' * 1000000 ~ 'x') | length }}",
        "{{ ('x' * 1000000).strip('y' * 1000000 ~ 'x') | length }}",
    };
    AUTO_CLEAR(World) world;
    world_make(&world);
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        if (!render(&world, texts[i])) {
            assert_int_equal(world.fault.class, FAULT_LIMIT);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_template_leaves_no_traces),
        cmocka_unit_test(searching_a_missing_template_is_charged),
        cmocka_unit_test(a_loaded_template_is_compiled_once),
        cmocka_unit_test(templates_are_counted),
        cmocka_unit_test(long_texts_take_linear_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
