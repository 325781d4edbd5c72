#include "model/steps_text.h"

/* "name=x owner=y": the parameters of a step in the graph. */
static Str params_of(World *world, const char *name)
{
    const StepSpec *spec = graph_step(world->graph, world_step(world, name))->spec;
    Buf out = buf_make_in(&world->arena, BUF_UNLIMITED);
    for (uint32_t i = 0; i < action_param_count(spec->action); i++) {
        if ((spec->params_set >> i & 1) != 0) {
            buf_put_format(&out, "%s%s=%" STR_FMT, out.len > 0 ? " " : "",
                           spec->action->params[i].name,
                           STR_ARG(value_str(spec->params[i]->value)));
        }
    }
    return buf_str(&out);
}

static void use_copies_parameters_that_the_step_does_not_set(void **state)
{
    (void)state;
    static const struct {
        const char *steps;
        const char *expected; /* of step x */
    } cases[] = {
        { "a mod=file name=/a owner=web mode=0644; x mod=file name=/x use=a",
          "name=/x owner=web mode=0644" },
        { "a mod=file owner=web mode=0644; x mod=file mode=0600 use=a", "owner=web mode=0600" },
        { "a mod=file owner=web use_in=x; x mod=file", "owner=web" },
        { "x mod=file use=a; a mod=file owner=web", "owner=web" },
        /* Never the id. */
        { "a mod=file name=/a; x mod=file use=a", "" },
        /* The first that has it, if there are several. */
        { "a mod=file owner=web; b mod=file owner=www mode=1; x mod=file use=a,b",
          "owner=web mode=1" },
        /* Never what the other got with `use`, and never requisites. */
        { "a mod=file owner=web; b mod=file mode=1 use=a; x mod=file use=b", "mode=1" },
        { "r; a mod=file owner=web require=r; x mod=file use=a", "owner=web" },
        { "a mod=slow owner=web; x mod=file use=a", "owner=web" },
        { "a mod=file mode=7 each=k,l; x mod=file use=a", "mode=7" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        World world;
        world_make(&world, cases[i].steps);
        assert_str(params_of(&world, "x"), cases[i].expected);
        const Edge *edges = graph_edges(world.graph, world_step(&world, "x")).items;
        uint32_t count = graph_edges(world.graph, world_step(&world, "x")).count;
        for (uint32_t j = 0; j < count; j++) {
            assert_int_equal(edges[j].kind, REQUISITE_USE);
        }
        world_clear(&world);
    }
}

static void the_original_steps_are_unchanged(void **state)
{
    (void)state;
    World world;
    world_make(&world, "a mod=file owner=web; x mod=file use=a");
    assert_true(world.steps.items[1].spec->params_set == 0);
    assert_ptr_equal(world.steps.items[0].spec, graph_step(world.graph, 0)->spec);
    world_clear(&world);
}

/* Values evaluated at load are copied if both rows give them the same meaning. */
static void values_known_at_load_are_copied_too(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    world_read(&world, STR("a mod=file owner=web; x mod=file use=a"));
    Value values[2][COUNT_OF(world_params)];
    for (uint32_t i = 0; i < 2; i++) {
        for (uint32_t j = 0; j < COUNT_OF(world_params); j++) {
            values[i][j] = value_missing();
        }
        world.steps.items[i].values = values[i];
    }
    values[0][1] = value_string(STR("web"));
    values[1][1] = value_string(STR("the fallback"));
    assert_true(world_build(&world));
    assert_str(value_str(graph_step(world.graph, 1)->values[1]), "web");
    /* And the implied parameters. */
    const List *claims = graph_step(world.graph, 1)->claims;
    assert_int_equal(claims->len, 1);
    assert_str(value_str(claims->items[0]), "needs:user:web");
    assert_str(value_str(values[1][1]), "the fallback");
    world_clear(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(use_copies_parameters_that_the_step_does_not_set),
        cmocka_unit_test(the_original_steps_are_unchanged),
        cmocka_unit_test(values_known_at_load_are_copied_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
