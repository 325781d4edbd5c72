/* What templates of steps see: aliases, items, and the results of other steps. */
#include "run/scope.h"

#include "run/site_world.h"

enum {
    STEP_FETCH,    /* one#fetch: ran */
    STEP_SERVICE,  /* one#start vnstat: in a separate state */
    STEP_SKIPPED,  /* one#skipped */
    STEP_EACH_A,   /* one#each[a] */
    STEP_EACH_B,   /* one#each[b] */
    STEP_PENDING,  /* one#later */
    STEP_SAME_TWO, /* two#same */
    STEP_SAME_3,   /* three#same */
    STEP_FAILED,   /* three#broken */
    STEP_SAME_4,   /* four#same */
    STEP_COUNT
};

typedef struct Run {
    SiteWorld *world;
    Job jobs[4];
    StepSpec specs[STEP_COUNT];
    Step items[STEP_COUNT];
    Steps steps;
    StepReport reports[STEP_COUNT];
} Run;

static void put_step(Run *run, uint32_t at, Job *job, const char *name, StepResult result)
{
    run->specs[at] = (StepSpec){ .job = job, .name = str_from_c(name) };
    run->items[at] =
        (Step){ .index = at,
                .spec = &run->specs[at],
                .name = str_from_c(name),
                .id = arena_format(&run->world->dir->arena, "%s#%s", job->name.data, name),
                .item = value_missing() };
    run->reports[at] = (StepReport){ .status = { .result = result } };
}

static void put_instance(Run *run, uint32_t at, const StepSpec *spec, const char *key, Value item)
{
    run->items[at].spec = spec;
    run->items[at].key = str_from_c(key);
    run->items[at].item = item;
}

/* The current state of the site, in the middle of a run. */
static Run *load_run(SiteWorld *world, bool planning)
{
    assert_true(world_load(world));
    Run *run = ARENA_NEW(&world->dir->arena, Run);
    *run = (Run){ .world = world,
                  .jobs = { { .name = { "one", 3 } },
                            { .name = { "two", 3 } },
                            { .name = { "three", 5 } },
                            { .name = { "four", 4 } } } };
    put_step(run, STEP_FETCH, &run->jobs[0], "fetch", RESULT_CHANGED);
    put_step(run, STEP_SERVICE, &run->jobs[0], "start vnstat", RESULT_OK);
    put_step(run, STEP_SKIPPED, &run->jobs[0], "skipped", RESULT_SKIPPED);
    put_step(run, STEP_EACH_A, &run->jobs[0], "each[a]", RESULT_OK);
    put_step(run, STEP_EACH_B, &run->jobs[0], "each[b]", RESULT_CHANGED);
    put_step(run, STEP_PENDING, &run->jobs[0], "later", RESULT_PENDING);
    put_step(run, STEP_SAME_TWO, &run->jobs[1], "same", RESULT_OK);
    put_step(run, STEP_SAME_3, &run->jobs[2], "same", RESULT_OK);
    put_step(run, STEP_FAILED, &run->jobs[2], "broken", RESULT_FAILED);
    put_step(run, STEP_SAME_4, &run->jobs[3], "same", RESULT_OK);
    StepSpec *each = &run->specs[STEP_EACH_A];
    each->name = STR("each");
    each->has_for_each = true;
    put_instance(run, STEP_EACH_A, each, "a", value_string(STR("alpha")));
    put_instance(run, STEP_EACH_B, each, "b", value_string(STR("beta")));
    run->reports[STEP_FETCH].out = STR("token\n");
    run->reports[STEP_FETCH].has_exit_code = true;
    run->reports[STEP_FETCH].status.changed = true;
    run->reports[STEP_SERVICE].state = STR("running");
    run->reports[STEP_SKIPPED].reason = STR("its target does not include this node");
    run->reports[STEP_EACH_A].out = STR("A\n");
    run->reports[STEP_EACH_B].out = STR("B\n");
    run->reports[STEP_SAME_TWO].out = STR("two");
    run->reports[STEP_SAME_3].out = STR("three");
    run->reports[STEP_SAME_4].out = STR("four");
    run->reports[STEP_FAILED].error_out = STR("oops\n at once\r\n\n");
    run->reports[STEP_FAILED].has_exit_code = true;
    run->reports[STEP_FAILED].exit_code = 7;
    run->steps = (Steps){ .items = run->items, .count = STEP_COUNT };
    scope_set_run(world->scope, &run->steps, run->reports, planning);
    return run;
}

static Str eval_in(Run *run, uint32_t step, bool own, const char *expression)
{
    TestDir *dir = run->world->dir;
    Dynamic dynamic;
    Value value;
    problems_init(&dir->problems, &dir->arena);
    assert_true(dynamic_compile_expression(&dir->arena, run->world->templates, &dir->sources,
                                           value_string(str_from_c(expression)), &dynamic,
                                           &dir->problems));
    DynamicOutcome outcome =
        scope_evaluate(run->world->scope, step, &dynamic, own, &dir->arena, &value, &dir->problems);
    return outcome == DYNAMIC_UNKNOWN ? STR("?")
           : outcome == DYNAMIC_OK
               ? test_dir_json(dir, value)
               : arena_format(&dir->arena, "!%" STR_FMT, STR_ARG(dir->problems.items[0].message));
}

static void the_node_has_all_its_names(void **state)
{
    SiteWorld *world = *state;
    world->labels[0] = "kubernetes-master=";
    put_variables(world, "x: 5\n");
    assert_true(world_load(world));
    assert_str(world_eval(world, "[server.name, Server.Spec.FQDN, server.spec.fqdn]"),
               "[\"web01\",\"web01.example.com\",\"web01.example.com\"]");
    assert_str(world_eval(world, "'kubernetes-master' in Server.ObjectMetadata.Labels"), "true");
    assert_str(world_eval(world, "'kubernetes-master' in server.labels"), "true");
    assert_str(world_eval(world, "[vars.x, variables.x, eden.version]"), "[5,5,\"1.2\"]");
    assert_str(world_eval(world, "server.update({'name': 'x'})"),
               "!this dict belongs to the context, which is shared; copy it with dict(x) and "
               "change the copy");
    assert_str(world_eval(world, "event.name"), "!'event' is undefined");
    assert_str(world_eval(world, "events"), "!'events' is undefined");
    assert_str(world_eval(world, "item"),
               "!'item' is undefined: add 'forEach: [...]' to this step");
}

static void the_event_that_started_the_run_is_available(void **state)
{
    SiteWorld *world = *state;
    Map *event = map_new(&world->dir->arena, 1);
    map_set_str(&world->dir->arena, event, STR("name"), value_string(STR("web.down")));
    world->event = value_map(event);
    put_variables(world, "x: 5\n");
    assert_true(world_load(world));
    assert_str(world_eval(world, "event.name"), "\"web.down\"");
    assert_str(world_eval(world, "events"), "!'events' is undefined");
}

static void results_are_unknown_at_load(void **state)
{
    SiteWorld *world = *state;
    assert_true(world_load(world));
    assert_str(world_eval(world, "steps['x'].StdOut"), "?");
    assert_str(world_eval(world, "steps['x'] is defined or true"), "?");
    assert_str(world_eval(world, "steps.x.Changed | default(false)"), "?");
}

static void results_have_their_fields_in_every_spelling(void **state)
{
    SiteWorld *world = *state;
    Run *run = load_run(world, false);
    static const struct {
        const char *expression, *shows;
    } rows[] = {
        { "steps['fetch'].StdOut", "\"token\"" },
        { "[steps.fetch.stdout, steps.fetch.std_out, steps.fetch.RawStdOut]",
          "[\"token\",\"token\",\"token\\n\"]" },
        { "[steps.broken.StdErr, steps.broken.raw_stderr, steps.broken.rawstderr]",
          "[\"oops\\n at once\",\"oops\\n at once\\r\\n\\n\",\"oops\\n at once\\r\\n\\n\"]" },
        { "steps['fetch']['StdErr']", "\"\"" },
        { "[steps.fetch.ExitCode, steps.fetch.exitcode, steps.fetch.exit_code]", "[0,0,0]" },
        { "[steps.fetch.Changed, steps.fetch.changed, steps.fetch.Result]",
          "[true,true,\"changed\"]" },
        { "steps['start vnstat'].State == 'running'", "true" },
        { "[steps.fetch.State, steps['start vnstat'].changed]", "[\"changed\",false]" },
        { "steps['start vnstat'].ExitCode", "null" },
        { "steps['fetch'].Files", "[]" },
        { "steps['broken'].StdErr ~ steps['broken'].ExitCode", "\"oops\\n at once7\"" },
        { "'fetch' in steps and 'zork' not in steps", "true" },
        { "steps['fetch'] is defined and steps['zork'] is not defined", "true" },
        { "steps['fetsh'].StdOut", "!no step named 'fetsh' in this run" },
        { "steps.fetch.Output", "!'step object' has no attribute 'Output'" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_str(eval_in(run, STEP_SERVICE, false, rows[i].expression), rows[i].shows);
    }
    (void)eval_in(run, STEP_SERVICE, false, "steps['fetsh'].StdOut");
    assert_str(world->dir->problems.items[0].hint, "did you mean 'fetch'?");
}

static void steps_that_did_not_run_have_no_output(void **state)
{
    SiteWorld *world = *state;
    Run *run = load_run(world, false);
    assert_str(
        eval_in(run, 0, false, "steps.skipped.StdOut"),
        "!step 'skipped' did not run: it was skipped, its target does not include this node");
    assert_str(
        eval_in(run, 0, false, "steps.skipped.StdOut | default('x')"),
        "!step 'skipped' did not run: it was skipped, its target does not include this node");
    assert_str(eval_in(run, 0, false, "[steps.skipped.Result, steps.skipped.Changed]"),
               "[\"skipped\",false]");
    assert_str(eval_in(run, 0, false, "steps.later.Changed"), "!step 'later' has not run yet");
    assert_str(world->dir->problems.items[0].hint, "add it to 'require' of this step");
}

static void names_are_looked_up_in_the_own_job_first(void **state)
{
    SiteWorld *world = *state;
    Run *run = load_run(world, false);
    assert_str(eval_in(run, STEP_SAME_TWO, false, "steps.same.StdOut"), "\"two\"");
    assert_str(eval_in(run, STEP_FAILED, false, "steps.same.StdOut"), "\"three\"");
    assert_str(eval_in(run, STEP_SAME_4, false, "steps.same.StdOut"), "\"four\"");
    assert_str(eval_in(run, STEP_FETCH, false, "steps.same.StdOut"),
               "!several steps are named 'same': two#same, three#same, four#same");
    assert_str(eval_in(run, STEP_FETCH, false, "steps['three#same'].StdOut"), "\"three\"");
    assert_str(eval_in(run, STEP_SAME_TWO, false, "steps.fetch.Changed"), "true");
}

static void instances_of_for_each_are_available_together_and_individually(void **state)
{
    SiteWorld *world = *state;
    Run *run = load_run(world, false);
    static const struct {
        const char *expression, *shows;
    } rows[] = {
        { "steps['each[b]'].StdOut", "\"B\"" },
        { "steps.each.items | length", "2" },
        { "steps.each.items[0].StdOut ~ steps.each.items['b'].stdout", "\"AB\"" },
        { "steps.each.items | map(attribute='StdOut') | list", "[\"A\",\"B\"]" },
        { "steps.each.items | selectattr('Changed') | map(attribute='Key') | list", "[\"b\"]" },
        { "[steps.each.Changed, steps.each.Result, steps.each.StdOut]",
          "[true,\"changed\",\"A\\nB\"]" },
        { "[steps.each.RawStdOut, steps.each.items.a.raw_std_out]", "[\"A\\nB\\n\",\"A\\n\"]" },
        { "steps.each.items[1].item", "\"beta\"" },
        { "steps.fetch.items", "!step 'fetch' has no items because it has no 'forEach'" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_str(eval_in(run, STEP_FETCH, false, rows[i].expression), rows[i].shows);
    }
    assert_str(eval_in(run, STEP_EACH_B, false, "item"), "\"beta\"");
    assert_str(eval_in(run, STEP_EACH_A, false, "item ~ steps.fetch.Changed"), "\"alphaTrue\"");
    assert_str(eval_in(run, STEP_FETCH, false, "item"),
               "!'item' is undefined: add 'forEach: [...]' to this step");
}

static void a_template_cannot_change_the_item_of_its_step(void **state)
{
    SiteWorld *world = *state;
    Run *run = load_run(world, false);
    List *list = list_new(&world->dir->arena, 1);
    list_push(&world->dir->arena, list, value_int(1));
    run->items[STEP_EACH_A].item = value_list(list);
    Str refused = eval_in(run, STEP_EACH_A, false, "item.append(2)");
    assert_true(str_starts(refused, STR("!")));
    assert_str(eval_in(run, STEP_EACH_A, false, "item"), "[1]");
    assert_int_equal(list->len, 1);
}

static void a_step_sees_its_own_result_where_it_has_one(void **state)
{
    SiteWorld *world = *state;
    Run *run = load_run(world, false);
    run->reports[STEP_PENDING].out = STR("mine");
    assert_str(eval_in(run, STEP_PENDING, true, "step.StdOut ~ step.Result"), "\"mineok\"");
    assert_str(eval_in(run, STEP_EACH_B, true, "item ~ step.StdOut"), "\"betaB\"");
    assert_str(eval_in(run, STEP_PENDING, false, "step.StdOut"), "!'step' is undefined");
}

static void in_a_plan_output_is_unknown_and_flows_on(void **state)
{
    SiteWorld *world = *state;
    Run *run = load_run(world, true);
    run->reports[STEP_SAME_3].status.result = RESULT_UNKNOWN;
    static const struct {
        const char *expression, *shows;
    } rows[] = {
        { "steps.fetch.StdOut", "?" },
        { "steps.fetch.StdOut | default('x') | length", "?" },
        { "steps.fetch.State", "?" },
        { "steps.fetch.Files", "?" },
        { "steps.fetch.Changed", "true" },
        { "steps.fetch.Result", "\"changed\"" },
        { "steps['start vnstat'].State", "\"running\"" },
        { "steps['three#same'].Changed", "?" },
        { "steps['three#same'].Result", "?" },
        { "steps.each.StdOut", "?" },
        { "steps.each.items[0].StdOut", "\"A\"" },
        { "true or steps.fetch.StdOut", "true" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_str(eval_in(run, STEP_SERVICE, false, rows[i].expression), rows[i].shows);
    }
    List *files = list_new(&world->dir->arena, 1);
    list_push(&world->dir->arena, files, value_int(1));
    run->reports[STEP_FETCH].files = files;
    assert_str(eval_in(run, STEP_SERVICE, false, "steps.fetch.Files"), "[1]");
}

static void variables_and_macros_of_steps_work_and_see_no_steps(void **state)
{
    SiteWorld *world = *state;
    put_variables(world, "v: '{{ 2 + 3 }}'\n");
    put_macros(world, "m: {expression: \"steps['fetch'].StdOut\"}\n");
    Run *run = load_run(world, false);
    assert_str(eval_in(run, 0, false, "vars.v + steps.fetch.ExitCode"), "5");
    assert_str(eval_in(run, 0, false, "macros.m"),
               "!variables and macros cannot use the results of steps");
}

static void files_of_templates_see_the_step_and_their_context(void **state)
{
    SiteWorld *world = *state;
    TestDir *dir = world->dir;
    put_variables(world, "site: example\n");
    test_dir_put(dir, "templates/motd.j2",
                 "{% include 'head.j2' %}{{ vars.site }} {{ port }} {{ steps.fetch.ExitCode }}\n");
    test_dir_put(dir, "templates/head.j2", "# {{ server.name }}\n");
    Run *run = load_run(world, false);
    Map *context = map_new(&dir->arena, 1);
    map_set_str(&dir->arena, context, STR("port"), value_int(80));
    Value text;
    assert_int_equal(scope_render_file(world->scope, 0, STR("motd.j2"), value_map(context),
                                       value_null(), &dir->arena, &text, &dir->problems),
                     DYNAMIC_OK);
    assert_str(value_str(text), "# web01\nexample 80 0\n");
    assert_int_equal(scope_render_file(world->scope, 0, STR("motd.j2"), value_null(), value_null(),
                                       &dir->arena, &text, &dir->problems),
                     DYNAMIC_FAILED);
    assert_str(test_dir_problems(dir), "templates/motd.j2:1:43 'port' is undefined\n");
    scope_set_run(world->scope, &run->steps, run->reports, true);
    assert_int_equal(scope_render_file(world->scope, 0, STR("motd.j2"), value_map(context),
                                       value_null(), &dir->arena, &text, &dir->problems),
                     DYNAMIC_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(the_node_has_all_its_names),
        WORLD_TEST(the_event_that_started_the_run_is_available),
        WORLD_TEST(results_are_unknown_at_load),
        WORLD_TEST(results_have_their_fields_in_every_spelling),
        WORLD_TEST(steps_that_did_not_run_have_no_output),
        WORLD_TEST(names_are_looked_up_in_the_own_job_first),
        WORLD_TEST(instances_of_for_each_are_available_together_and_individually),
        WORLD_TEST(a_template_cannot_change_the_item_of_its_step),
        WORLD_TEST(a_step_sees_its_own_result_where_it_has_one),
        WORLD_TEST(in_a_plan_output_is_unknown_and_flows_on),
        WORLD_TEST(variables_and_macros_of_steps_work_and_see_no_steps),
        WORLD_TEST(files_of_templates_see_the_step_and_their_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
