#include "cli/run_matrix.h"

#include "lang/json.h"
#include "unit.h"

typedef struct World {
    Arena arena;
    RunMatrix matrix;
} World;

static void world_clear(World *world)
{
    run_matrix_clear(&world->matrix);
    arena_clear(&world->arena);
}
DEFINE_AUTO_CLEAR(World, world_clear)

static void world_init(World *world)
{
    arena_init(&world->arena, ARENA_UNLIMITED);
    run_matrix_init(&world->matrix, &world->arena);
}

PRINTF_LIKE(2, 3) static void take(World *world, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    Str line = arena_format_v(&world->arena, format, args);
    va_end(args);
    assert_true(run_matrix_add(&world->matrix, line));
    assert_true(run_matrix_add(&world->matrix, STR("\n")));
}

static void begin(World *world, const char *node, const char *steps)
{
    take(world, "{\"event\":\"begin\",\"node\":\"%s\",\"attempt\":1,\"steps\":%s}", node, steps);
}

static void step(World *world, const char *node, const char *id, const char *result,
                 const char *more)
{
    take(world, "{\"event\":\"step\",\"node\":\"%s\",\"step\":\"%s\",\"result\":\"%s\"%s%s}", node,
         id, result, more[0] != '\0' ? "," : "", more);
}

static void add_node(World *world, const char *name, const char *outcome, const char *more)
{
    Value node;
    Error err;
    Str text =
        arena_format(&world->arena, "{\"node\":\"%s\",\"outcome\":\"%s\"%s}", name, outcome, more);
    assert_true(json_parse_text(&world->arena, text, NULL, &node, &err));
    run_matrix_add_node(&world->matrix, node);
}

static void check_group(World *world, uint32_t group, const char *outcome, const char *names)
{
    const MatrixGroup *of = &world->matrix.groups.items[group];
    assert_true(group < world->matrix.groups.len);
    assert_str(run_matrix_first(&world->matrix, of)->outcome, outcome);
    assert_str(run_matrix_names(&world->matrix, &world->arena, &of->nodes, 9), names);
}

static void check_result(World *world, uint32_t node, uint32_t step, const char *expected)
{
    StepResult result;
    bool is_there = run_matrix_result(&world->matrix, node, step, &result);
    assert_str(is_there ? str_from_c(step_result_name(result)) : STR_EMPTY, expected);
}

static void equal_rows_are_one_group_and_failures_come_first(void **state)
{
    AUTO_CLEAR(World) world;
    world_init(&world);
    static const char *const names[] = { "web3", "web1", "web2", "db1" };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        begin(&world, names[i], "[\"a\",\"b\"]");
        step(&world, names[i], "a", "ok", "");
        step(&world, names[i], "b", i == 3 ? "failed" : "changed",
             i == 3 ? "\"error\":{\"code\":\"E0601\",\"message\":\"exited with 1\"}" : "");
        add_node(&world, names[i], i == 3 ? "failed" : "changed", "");
    }
    add_node(&world, "db2", "silent", "");
    run_matrix_finish(&world.matrix);
    assert_int_equal(world.matrix.groups.len, 3);
    check_group(&world, 0, "failed", "db1");
    check_group(&world, 1, "silent", "db2");
    check_group(&world, 2, "changed", "web1, web2, web3");
    assert_int_equal(world.matrix.details.len, 2);
    assert_str(world.matrix.details.items[0].message, "exited with 1");
    assert_int_equal(world.matrix.details.items[1].nodes.len, 3);
    check_result(&world, 0, 1, "failed");
    check_result(&world, 1, 1, "");
    check_result(&world, 4, 0, "ok");
    assert_str(run_matrix_detail(&world.matrix, 0, 1)->code, "E0601");
    assert_null(run_matrix_detail(&world.matrix, 0, 0));
    assert_true(run_matrix_is_unchanged(&world.matrix.steps.items[0]));
    assert_false(run_matrix_is_unchanged(&world.matrix.steps.items[1]));
}

static void texts_that_differ_in_the_name_of_the_node_are_equal(void **state)
{
    AUTO_CLEAR(World) world;
    world_init(&world);
    for (uint32_t i = 0; i < 3; i++) {
        Str name = arena_format(&world.arena, "web%u", i + 1);
        step(&world, name.data, "a", "changed",
             arena_format(&world.arena, "\"diff\":\"+hello %s%s\",\"changes\":{\"/etc/%s\":1}",
                          name.data, i == 2 ? "!" : "", name.data)
                 .data);
        add_node(&world, name.data, "changed", "");
    }
    run_matrix_finish(&world.matrix);
    assert_int_equal(world.matrix.groups.len, 1);
    assert_int_equal(world.matrix.details.len, 2);
    assert_str(world.matrix.details.items[0].diff, "+hello {node}");
    assert_str(world.matrix.details.items[0].changes, "{\"/etc/{node}\":1}");
    assert_str(world.matrix.details.items[1].diff, "+hello web3!");
}

static void steps_of_several_roles_stay_in_the_order_of_the_site(void **state)
{
    AUTO_CLEAR(World) world;
    world_init(&world);
    begin(&world, "web1", "[\"first\",\"web\",\"last\"]");
    begin(&world, "db1", "[\"first\",\"db\",\"last\"]");
    begin(&world, "new1", "[\"new\",\"first\"]");
    take(&world, "{\"event\":\"steps\",\"node\":\"new1\",\"steps\":[\"more\"]}");
    run_matrix_finish(&world.matrix);
    static const char *const expected[] = { "new", "first", "more", "db", "web", "last" };
    assert_int_equal(world.matrix.steps.len, COUNT_OF(expected));
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        assert_str(world.matrix.steps.items[world.matrix.order[i]].id, expected[i]);
    }
    check_result(&world, 0, 0, "pending"); /* db1 */
    check_result(&world, 0, 1, "");
}

static void a_repeated_run_does_not_forget_its_changes(void **state)
{
    AUTO_CLEAR(World) world;
    world_init(&world);
    begin(&world, "web1", "[\"a\",\"b\"]");
    step(&world, "web1", "a", "changed", "\"diff\":\"+x\"");
    step(&world, "web1", "b", "failed", "\"error\":{\"message\":\"killed\"}");
    take(&world, "{\"event\":\"begin\",\"node\":\"web1\",\"attempt\":2,\"steps\":[\"a\",\"b\"]}");
    step(&world, "web1", "a", "ok", "");
    step(&world, "web1", "b", "ok", "");
    run_matrix_finish(&world.matrix);
    check_result(&world, 0, 0, "changed");
    check_result(&world, 0, 1, "ok");
    assert_int_equal(world.matrix.details.len, 1);
    assert_str(run_matrix_detail(&world.matrix, 0, 0)->diff, "+x");
}

static void different_reasons_are_different_groups(void **state)
{
    AUTO_CLEAR(World) world;
    world_init(&world);
    add_node(&world, "a", "failed", ",\"error\":\"no site\",\"code\":\"E0881\"");
    add_node(&world, "b", "failed", ",\"error\":\"no disk on b\"");
    add_node(&world, "c", "failed", ",\"error\":\"no disk on c\"");
    add_node(&world, "d", "waiting", ",\"reason\":\"another run\"");
    run_matrix_finish(&world.matrix);
    assert_int_equal(world.matrix.groups.len, 3);
    check_group(&world, 0, "failed", "b, c");
    check_group(&world, 1, "failed", "a");
    check_group(&world, 2, "waiting", "d");
}

static void damaged_lines_and_unknown_events_are_ignored(void **state)
{
    AUTO_CLEAR(World) world;
    world_init(&world);
    take(&world, "{\"event\":");
    take(&world, "null");
    take(&world, "{\"event\":\"step\",\"step\":\"a\",\"result\":\"ok\"}");
    take(&world, "{\"event\":\"step\",\"node\":\"web1\",\"step\":\"a\",\"result\":\"odd\"}");
    take(&world, "{\"event\":\"later\",\"node\":\"web1\"}");
    take(&world, "{\"event\":\"begin\",\"node\":\"web1\",\"steps\":7}");
    run_matrix_finish(&world.matrix);
    assert_int_equal(world.matrix.nodes.len, 1);
    check_result(&world, 0, 0, "");
}

static void names_are_shortened(void **state)
{
    AUTO_CLEAR(World) world;
    world_init(&world);
    for (uint32_t i = 0; i < 4; i++) {
        add_node(&world, arena_format(&world.arena, "n%u", i).data, "ok", "");
    }
    run_matrix_finish(&world.matrix);
    assert_str(
        run_matrix_names(&world.matrix, &world.arena, &world.matrix.groups.items[0].nodes, 2),
        "n0, n1 and 2 more");
}

/* Events are sent by nodes, who may invent steps. */
static void results_are_limited(void **state)
{
    AUTO_CLEAR(World) world;
    world_init(&world);
    begin(&world, "a", "[\"first\"]");
    world.matrix.cell_count = MATRIX_CELLS_MAX;
    begin(&world, "b", "[\"first\",\"second\"]");
    step(&world, "b", "second", "ok", "");
    step(&world, "a", "first", "changed", "");
    add_node(&world, "a", "changed", "");
    add_node(&world, "b", "ok", "");
    run_matrix_finish(&world.matrix);
    assert_true(world.matrix.is_incomplete);
    check_result(&world, 0, 0, "changed");
    check_result(&world, 1, 0, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_rows_are_one_group_and_failures_come_first),
        cmocka_unit_test(texts_that_differ_in_the_name_of_the_node_are_equal),
        cmocka_unit_test(steps_of_several_roles_stay_in_the_order_of_the_site),
        cmocka_unit_test(a_repeated_run_does_not_forget_its_changes),
        cmocka_unit_test(different_reasons_are_different_groups),
        cmocka_unit_test(damaged_lines_and_unknown_events_are_ignored),
        cmocka_unit_test(names_are_shortened),
        cmocka_unit_test(results_are_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
