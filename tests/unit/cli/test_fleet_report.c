/* Reports of large runs stay small, and nothing in them can become markup. */
#include "cli/fleet_report.h"

#include <stdlib.h>

#include "lang/json.h"
#include "unit.h"

typedef struct World {
    Arena arena;
    RunMatrix matrix;
    FleetReport report;
    List *nodes;
    Buf out;
} World;

static void world_clear(World *world)
{
    run_matrix_clear(&world->matrix);
    buf_clear(&world->out);
    arena_clear(&world->arena);
}
DEFINE_AUTO_CLEAR(World, world_clear)

static Value parse(World *world, Str text)
{
    Value value;
    Error err;
    assert_true(json_parse_text(&world->arena, text, NULL, &value, &err));
    return value;
}

static void world_init(World *world, const char *run)
{
    *world = (World){ .out = buf_make(BUF_UNLIMITED) };
    arena_init(&world->arena, ARENA_UNLIMITED);
    run_matrix_init(&world->matrix, &world->arena);
    world->nodes = list_new(&world->arena, 8);
    world->report = (FleetReport){ .run = parse(world, str_from_c(run)),
                                   .nodes = world->nodes,
                                   .matrix = &world->matrix };
}

#define RUN(more)                                                                                  \
    "{\"metadata\":{\"name\":\"r1\"},\"spec\":{" more "},\"status\":{\"kind\":\"apply\","          \
    "\"outcome\":\"failed\",\"targets\":2,\"counts\":{\"failed\":1,\"silent\":1},"                 \
    "\"by\":\"user:<b>\",\"created\":\"2026-01-31T08:15:30Z\",\"ended\":\"2026-01-31T08:16:00Z\"}" \
    "}"

PRINTF_LIKE(2, 3) static void take(World *world, const char *format, ...)
{
    AUTO_CLEAR(Buf) line = buf_make(BUF_UNLIMITED);
    va_list args;
    va_start(args, format);
    buf_put_format_v(&line, format, args);
    va_end(args);
    buf_put_char(&line, '\n');
    assert_true(run_matrix_add(&world->matrix, buf_str(&line)));
}

PRINTF_LIKE(2, 3) static void add_node(World *world, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    Value node = parse(world, arena_format_v(&world->arena, format, args));
    va_end(args);
    list_push(&world->arena, world->nodes, node);
    run_matrix_add_node(&world->matrix, node);
}

static bool has(const World *world, const char *text)
{
    return str_find(buf_str(&world->out), str_from_c(text), 0) != STR_NOT_FOUND;
}

#define HOSTILE "<script>\\\"'&</pre></td>]]>\\u0007\\u202e"

static void make_hostile(World *world)
{
    world_init(world, RUN("\"reason\":\"" HOSTILE "\",\"selector\":\"" HOSTILE "\""));
    take(world,
         "{\"event\":\"step\",\"node\":\"web1\",\"step\":\"" HOSTILE "\",\"result\":\"failed\","
         "\"job\":\"" HOSTILE "\",\"action\":\"" HOSTILE "\",\"error\":{\"code\":\"" HOSTILE
         "\",\"message\":\"" HOSTILE "\"},\"diff\":\"+" HOSTILE "\\n-" HOSTILE
         "\",\"stdout\":\"" HOSTILE "\",\"stderr\":\"" HOSTILE "\",\"reason\":\"" HOSTILE
         "\",\"cause\":\"" HOSTILE "\",\"changes\":{\"" HOSTILE "\":{\"old\":\"" HOSTILE
         "\",\"new\":[\"" HOSTILE "\"]}}}");
    add_node(world, "{\"node\":\"web1\",\"outcome\":\"failed\",\"error\":\"" HOSTILE "\"}");
    add_node(world,
             "{\"node\":\"" HOSTILE "\",\"outcome\":\"" HOSTILE "\",\"reason\":\"" HOSTILE "\"}");
    run_matrix_finish(&world->matrix);
}

static void nothing_in_a_page_is_markup_of_others(void **state)
{
    AUTO_CLEAR(World) world;
    make_hostile(&world);
    fleet_report_html(&world.report, &world.out);
    assert_false(has(&world, "<script"));
    assert_false(has(&world, "\"'"));
    assert_false(has(&world, "&<"));
    assert_false(has(&world, "\a"));
    assert_false(has(&world, "\xe2\x80\xae"));
    assert_true(has(&world, "user:&lt;b&gt;"));
    assert_true(has(&world, "&lt;script&gt;&quot;&#39;&amp;&lt;/pre&gt;"));
    assert_true(has(&world, "default-src 'none'"));
    assert_false(has(&world, "http:"));
    assert_false(has(&world, "https:"));
}

static void json_and_junit_are_well_formed(void **state)
{
    AUTO_CLEAR(World) world;
    make_hostile(&world);
    fleet_report_json(&world.report, &world.out);
    Value value = parse(&world, buf_str(&world.out));
    assert_str(value_get_text(value, "format"), "eden.run-report/1");
    assert_int_equal(value_get_list(value, "nodes")->len, 2);
    assert_int_equal(value_get_list(value, "details")->len, 1);
    Value detail = value_get_list(value, "details")->items[0];
    assert_true(
        str_starts(value_get_text(value_get_map(detail, "error"), "code"), STR("<script>")));
    assert_int_equal(value_get_map(detail, "changes").map->len, 1);
    buf_reset(&world.out);
    fleet_report_junit(&world.report, &world.out);
    assert_false(has(&world, "<script"));
    assert_true(
        has(&world, "<testsuite name=\"web1\" hostname=\"web1\" tests=\"1\" failures=\"1\""));
    assert_true(has(&world, "<error message=\"&lt;script&gt;"));
}

/* A node without results is an error, and one that failed outside of a step says so. */
static void nodes_without_steps_are_in_junit(void **state)
{
    AUTO_CLEAR(World) world;
    world_init(&world, RUN(""));
    add_node(&world, "{\"node\":\"a\",\"outcome\":\"silent\",\"reason\":\"no session\"}");
    add_node(&world, "{\"node\":\"b\",\"outcome\":\"failed\",\"error\":\"time limit\"}");
    add_node(&world, "{\"node\":\"c\",\"outcome\":\"skipped\",\"reason\":\"no job\"}");
    take(&world, "{\"event\":\"step\",\"node\":\"b\",\"step\":\"web#one\",\"result\":\"ok\"}");
    run_matrix_finish(&world.matrix);
    fleet_report_junit(&world.report, &world.out);
    assert_true(has(&world, "<testcase classname=\"node\" name=\"a\" time=\"0.000\"><error "
                            "message=\"no session\"/>"));
    assert_true(has(&world, "<testcase classname=\"node\" name=\"b\" time=\"0.000\"><failure "
                            "message=\"time limit\">"));
    assert_true(has(&world, "<skipped message=\"no job\"/>"));
    assert_true(has(&world, "<testcase classname=\"web\" name=\"one\""));
}

/* EDEN_REPORT_NODES: how many, to measure more of them. */
static uint32_t node_count(void)
{
    const char *text = getenv("EDEN_REPORT_NODES");
    return text == NULL ? 1000 : (uint32_t)atoi(text);
}

static void a_page_of_many_nodes_has_a_row_per_group(void **state)
{
    enum {
        STEPS = 20
    };
    AUTO_CLEAR(World) world;
    world_init(&world, RUN(""));
    uint32_t count = node_count();
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j < STEPS; j++) {
            bool fails = i % 100 == 7 && j == STEPS - 1;
            take(
                &world,
                "{\"event\":\"step\",\"node\":\"node%u\",\"step\":\"%s#step %u\",\"result\":\"%s\","
                "\"diff\":%s%s}",
                i, i % 3 == 0 ? "db" : "web", j,
                fails    ? "failed"
                : j == 5 ? "changed"
                         : "ok",
                j == 5 ? "\"+hello\"" : "null",
                fails ? ",\"error\":{\"code\":\"E0601\",\"message\":\"no space left\"}" : "");
        }
        add_node(&world, "{\"node\":\"node%u\",\"outcome\":\"%s\"}", i,
                 i % 100 == 7 ? "failed" : "changed");
    }
    run_matrix_finish(&world.matrix);
    fleet_report_html(&world.report, &world.out);
    assert_int_equal(world.matrix.groups.len, 4);
    assert_int_equal(world.matrix.details.len, 4);
    size_t rows = 0;
    for (size_t at = 0;
         (at = str_find(buf_str(&world.out), STR("<th scope=\"row\">"), at)) != STR_NOT_FOUND;
         at++) {
        rows++;
    }
    assert_int_equal(rows, 4);
    assert_in_range(world.out.len, 1, 20000 + 60 * (size_t)count);
}

/* Each node has its own combination of results of the first steps; the others are equal on each
 * node. */
static void a_page_of_different_nodes_has_a_limited_size(void **state)
{
    enum {
        STEPS = 100,
        OWN = 20,
    };
    AUTO_CLEAR(World) world;
    world_init(&world, RUN(""));
    uint32_t count = node_count() < 3000 ? 3000 : node_count();
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j < STEPS; j++) {
            bool changes = j < OWN ? (i >> j) % 2 == 1 : i % 2 == 1;
            take(&world,
                 "{\"event\":\"step\",\"node\":\"node%u\",\"step\":\"web#step "
                 "%u\",\"result\":\"%s\"}",
                 i, j, changes ? "changed" : "ok");
        }
        add_node(&world, "{\"node\":\"node%u\",\"outcome\":\"changed\"}", i);
    }
    run_matrix_finish(&world.matrix);
    assert_int_equal(world.matrix.groups.len, count);
    assert_true(world.matrix.cell_count <= 2 * (uint64_t)count * STEPS);
    fleet_report_html(&world.report, &world.out);
    assert_true(has(&world, "80 steps with identical results"));
    assert_in_range(world.out.len, 1, (12 << 20) + 60 * (size_t)count);
    assert_int_equal(has(&world, " more nodes</b>"), count > 4761);
    print_message("%u nodes: %zu bytes of HTML, %zu bytes of memory\n", count, world.out.len,
                  arena_used(&world.arena));
}

/* Of a large run, JUnit has the steps that did something, and each text once. */
static void a_large_run_is_small_in_junit(void **state)
{
    enum {
        NODES = 2100,
        STEPS = 100,
    };
    AUTO_CLEAR(World) world;
    world_init(&world, RUN(""));
    for (uint32_t i = 0; i < NODES; i++) {
        for (uint32_t j = 0; j < STEPS; j++) {
            take(&world,
                 "{\"event\":\"step\",\"node\":\"node%u\",\"step\":\"web#step "
                 "%u\",\"result\":\"%s\"%s}",
                 i, j, j == 7 && i < 2 ? "failed" : "ok",
                 j == 7 && i < 2 ? ",\"stderr\":\"no space left\",\"error\":{\"code\":\"E0601\","
                                   "\"message\":\"exited with 1\"}"
                                 : "");
        }
        add_node(&world, "{\"node\":\"node%u\",\"outcome\":\"%s\"}", i, i < 2 ? "failed" : "ok");
    }
    run_matrix_finish(&world.matrix);
    fleet_report_junit(&world.report, &world.out);
    assert_true(
        has(&world, "<testsuite name=\"node0\" hostname=\"node0\" tests=\"1\" failures=\"1\""));
    assert_true(has(&world, "<testcase classname=\"web\" name=\"step 7\""));
    assert_false(has(&world, "step 8"));
    assert_true(has(&world, "<testcase classname=\"node\" name=\"node2099\""));
    size_t at = str_find(buf_str(&world.out), STR("no space left"), 0);
    assert_true(at != STR_NOT_FOUND);
    assert_true(str_find(buf_str(&world.out), STR("no space left"), at + 1) == STR_NOT_FOUND);
}

static void more_steps_than_columns_are_folded(void **state)
{
    enum {
        STEPS = 1500
    };
    AUTO_CLEAR(World) world;
    world_init(&world, RUN(""));
    for (uint32_t j = 0; j < STEPS; j++) {
        for (uint32_t i = 0; i < 2; i++) {
            take(&world,
                 "{\"event\":\"step\",\"node\":\"node%u\",\"step\":\"web#step "
                 "%u\",\"result\":\"%s\"}",
                 i, j, (i + j) % 2 == 1 ? "changed" : "ok");
        }
    }
    add_node(&world, "{\"node\":\"node0\",\"outcome\":\"changed\"}");
    add_node(&world, "{\"node\":\"node1\",\"outcome\":\"changed\"}");
    run_matrix_finish(&world.matrix);
    fleet_report_html(&world.report, &world.out);
    assert_true(has(&world, "500 further steps: the worst result of each row"));
    assert_true(has(&world, "title=\"500 steps, at worst changed\""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_in_a_page_is_markup_of_others),
        cmocka_unit_test(json_and_junit_are_well_formed),
        cmocka_unit_test(nodes_without_steps_are_in_junit),
        cmocka_unit_test(a_page_of_many_nodes_has_a_row_per_group),
        cmocka_unit_test(a_page_of_different_nodes_has_a_limited_size),
        cmocka_unit_test(more_steps_than_columns_are_folded),
        cmocka_unit_test(a_large_run_is_small_in_junit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
