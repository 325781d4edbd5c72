#include "model/graph.h"

#include "model/steps_text.h"

/* A template inserted into step "x" of the text. */
typedef struct Case {
    const char *steps;
    const char *where; /* a parameter, or "when", "success", "continue", "until" */
    const char *template;
    const char *expected; /* edges of x, or the problem */
} Case;

static StepSpec *spec_of(World *world, const char *name)
{
    for (uint32_t i = 0; i < world->steps.count; i++) {
        if (str_eq_c(world->steps.items[i].spec->name, name)) {
            return (StepSpec *)world->steps.items[i].spec;
        }
    }
    fail();
    return NULL;
}

static void put_template(World *world, Templates *templates, const Case *c)
{
    StepSpec *spec = spec_of(world, "x");
    Value text = value_string(str_from_c(c->template));
    Str where = str_from_c(c->where);
    int index = action_param_index(spec->action, where);
    if (index >= 0) {
        Dynamic *param = ARENA_NEW(&world->arena, Dynamic);
        spec->params_set |= (uint64_t)1 << index;
        spec->params[index] = param;
        assert_true(dynamic_compile(&world->arena, templates, &world->sources, text, param,
                                    &world->problems));
        return;
    }
    bool until = str_eq(where, STR("until"));
    RunOptions *options = ARENA_NEW(&world->arena, RunOptions);
    Condition *condition = ARENA_NEW(&world->arena, Condition);
    options->retry.is_set = until;
    spec->run = options;
    condition->is_set = !until;
    *(str_eq(where, STR("when"))      ? &spec->when
      : str_eq(where, STR("success")) ? &spec->success
                                      : &spec->proceed) = condition;
    assert_true(dynamic_compile_expression(&world->arena, templates, &world->sources, text,
                                           until ? &options->retry.until : &condition->test,
                                           &world->problems));
}

static Str reported(World *world, bool built)
{
    Buf out = buf_make_in(&world->arena, BUF_UNLIMITED);
    for (uint32_t i = 0; i < world->problems.count; i++) {
        const Problem *problem = &world->problems.items[i];
        buf_put_format(&out, "%s%" STR_FMT " %" STR_FMT, i > 0 ? "; " : "", STR_ARG(problem->code),
                       STR_ARG(problem->message));
    }
    if (!built) {
        return buf_str(&out);
    }
    for (uint32_t i = 0; i < world->graph->edge_count; i++) {
        const Edge *edge = &world->graph->edges[i];
        if (str_eq(graph_step(world->graph, edge->from)->spec->name, STR("x"))) {
            buf_put_format(&out, "%s%s %" STR_FMT " (%s)", out.len > 0 ? ", " : "",
                           requisite_kind_name((RequisiteKind)edge->kind),
                           STR_ARG(graph_step(world->graph, edge->to)->name),
                           edge_origin_name((EdgeOrigin)edge->origin));
        }
    }
    return buf_str(&out);
}

static void check(const Case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        World world;
        world_init(&world);
        world_read(&world, str_from_c(cases[i].steps));
        TemplateSettings settings = dynamic_template_settings();
        Templates *templates = templates_new(&settings);
        put_template(&world, templates, &cases[i]);
        Str text = reported(&world, world_build(&world));
        if (!str_eq_c(text, cases[i].expected)) {
            print_error("%s with %s: %s\n", cases[i].steps, cases[i].where, cases[i].template);
        }
        assert_str(text, cases[i].expected);
        world_clear(&world);
        templates_free(templates);
    }
}

static void a_result_used_in_a_parameter_is_required(void **state)
{
    (void)state;
    static const Case cases[] = {
        { "x; a", "content", "{{ steps['a'].StdOut }}", "require a (result)" },
        { "x; a", "content", "{{ steps.a.StdOut }}", "require a (result)" },
        { "x; a; b", "content", "{{ steps['a'].StdOut }} {{ steps['b'].Changed }}",
          "require a (result), require b (result)" },
        { "x; a", "content", "{{ vars.a }}", "" },
        { "x require=a; a", "content", "{{ steps['a'].StdOut }}", "require a (written)" },
        { "x watch=a; a", "content", "{{ steps['a'].StdOut }}",
          "watch a (written), require a (result)" },
        { "x; a each=k,l", "content", "{{ steps['a'].items }}",
          "require a[k] (result), require a[l] (result)" },
        { "x; a each=k,l", "content", "{{ steps['a[l]'].StdOut }}", "require a[l] (result)" },
        { "x; job:web; a", "content", "{{ steps['a'].StdOut }}", "require a (result)" },
        { "x; a; job:web; a", "content", "{{ steps['web#a'].StdOut }}", "require a (result)" },
        /* The step runs because of its failure. */
        { "x onfail=a; a", "content", "{{ steps['a'].StdErr }}",
          "onfail a (written), order a (result)" },
        { "x; a onfail_in=x", "content", "{{ steps['a'].StdErr }}",
          "onfail a (written in), order a (result)" },
        { "x onfail=a; a; b", "content", "{{ steps['a'].StdErr }}{{ steps['b'].StdOut }}",
          "onfail a (written), order a (result), require b (result)" },
    };
    check(cases, COUNT_OF(cases));
}

static void a_result_used_in_a_condition_is_only_waited_for(void **state)
{
    (void)state;
    static const Case cases[] = {
        { "x; a", "when", "steps['a'].Changed", "order a (condition)" },
        { "x; a", "success", "steps['a'].State == 'running'", "order a (condition)" },
        { "x; a", "continue", "steps['a'].Changed", "order a (condition)" },
        { "x; a", "until", "steps['a'].Changed", "order a (condition)" },
        /* The step's own result is available after the action. */
        { "x", "success", "steps['x'].ExitCode == 0", "" },
        { "x", "until", "steps['x'].ExitCode == 0", "" },
    };
    check(cases, COUNT_OF(cases));
}

static void impossible_uses_are_reported(void **state)
{
    (void)state;
    static const Case cases[] = {
        { "x; a", "content", "{{ steps['b'].StdOut }}", "E0401 no step named 'b' in this run" },
        { "x; a", "content", "{{ steps['*'].StdOut }}", "E0401 no step named '*' in this run" },
        { "x", "content", "{{ steps['x'].StdOut }}",
          "E0403 circular requisites: 'x' -uses the result of-> 'x'" },
        { "x", "when", "steps['x'].Changed",
          "E0403 circular requisites: 'x' -has a condition on-> 'x'" },
        { "x require_in=a; a", "content", "{{ steps['a'].StdOut }}",
          "E0403 circular requisites: 'x' -uses the result of-> 'a' -require (written there "
          "as _in)-> 'x'" },
        { "x; job:web; a; job:www; a", "content", "{{ steps['a'].StdOut }}",
          "E0402 2 jobs have a step named 'a': 'web', 'www'" },
        { "x; a", "content", "{{ steps[item].StdOut }}",
          "E0406 'x' computes the name of the step whose result it uses" },
        { "x listen=a; a", "content", "{{ steps[item].StdOut }}",
          "E0406 'x' computes the name of the step whose result it uses" },
        { "x require=a; a", "content", "{{ steps[item].StdOut }}", "require a (written)" },
    };
    check(cases, COUNT_OF(cases));
}

/* from: [{file: STEP}] */
static void published_files_are_required(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    world_read(&world, STR("x mod=file; get mod=file; other"));
    StepSpec *spec = spec_of(&world, "x");
    List *list = list_new(&world.arena, 1);
    Map *map = map_new(&world.arena, 1);
    map_set_str(&world.arena, map, STR("file"), value_string(STR("get")));
    list_push(&world.arena, list, value_map(map));
    int index = action_param_index(spec->action, STR("from"));
    spec->params[index] = &(Dynamic){ .value = value_list(list) };
    spec->params_set |= (uint64_t)1 << index;
    assert_str(reported(&world, world_build(&world)), "require get (result)");
    map_set_str(&world.arena, map, STR("file"), value_string(STR("other")));
    assert_str(reported(&world, world_build(&world)),
               "E0401 no step with 'file: other' in this run");
    world_clear(&world);
}

static void conditions_of_the_job_count_for_each_of_its_steps(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    world_read(&world, STR("a; job:web; x; y"));
    TemplateSettings settings = dynamic_template_settings();
    Templates *templates = templates_new(&settings);
    JobGate outer = { .when = { .is_set = true } }, gate = { .outer = &outer };
    assert_true(dynamic_compile_expression(&world.arena, templates, &world.sources,
                                           value_string(STR("steps['main#a'].Changed")),
                                           &outer.when.test, &world.problems));
    const JobGate *gates[] = { &gate };
    Job *job = (Job *)spec_of(&world, "x")->job;
    job->gates = gates;
    job->gate_count = 1;
    assert_str(reported(&world, world_build(&world)), "order a (condition)");
    assert_int_equal(graph_edges(world.graph, 2).count, 1);
    world_clear(&world);
    templates_free(templates);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_result_used_in_a_parameter_is_required),
        cmocka_unit_test(a_result_used_in_a_condition_is_only_waited_for),
        cmocka_unit_test(impossible_uses_are_reported),
        cmocka_unit_test(published_files_are_required),
        cmocka_unit_test(conditions_of_the_job_count_for_each_of_its_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
