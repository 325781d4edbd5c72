/* Records of runs across nodes: printed and parsed again, and what is rejected. */
#include "fleet/records.h"
#include "unit.h"

#define MANIFEST "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

static FleetRun example(Str *targets, uint32_t count)
{
    return (FleetRun){ .id = "20260131T081530.250-3f2a",
                       .kind = RUN_KIND_APPLY,
                       .cause = RUN_BY_CALLER,
                       .state = RUN_RUNNING,
                       .requested_by = STR("token ops"),
                       .reason = STR("new certificate"),
                       .selector = STR("role=web or db1"),
                       .targets = targets,
                       .target_count = count,
                       .version = "9f86d081884c",
                       .manifest = MANIFEST,
                       .mode = STR("genius"),
                       .timeout_ms = 600000,
                       .created_ms = 1800000000000 };
}

static void test_a_run_survives_a_round_trip(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    AUTO_CLEAR(Buf) again = buf_make(BUF_UNLIMITED);
    Str targets[] = { STR("db1"), STR("web1"), STR("web2") };
    FleetRun run = example(targets, COUNT_OF(targets)), read;
    Error err;
    fleet_run_print(&run, &text);
    assert_true(fleet_run_read(&arena, buf_str(&text), &read, &err));
    fleet_run_print(&read, &again);
    assert_true(str_eq(buf_str(&again), buf_str(&text)));
    assert_int_equal(read.target_count, 3);
    for (uint32_t i = 0; i < read.target_count; i++) {
        assert_true(str_eq(read.targets[i], targets[i]));
    }
}

static void test_targets_must_be_sorted(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    Str targets[] = { STR("web1"), STR("db1") };
    FleetRun run = example(targets, COUNT_OF(targets)), read;
    Error err;
    fleet_run_print(&run, &text);
    assert_false(fleet_run_read(&arena, buf_str(&text), &read, &err));
    assert_non_null(strstr(err.text, "not sorted"));
}

/* Nodes would reject the order made from it. */
static void test_only_exec_has_a_command(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str targets[] = { STR("web1") }, command[] = { STR("true") };
    for (RunKind kind = RUN_KIND_APPLY; kind <= RUN_KIND_EXEC; kind++) {
        for (uint32_t words = 0; words < 2; words++) {
            AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
            FleetRun run = example(targets, COUNT_OF(targets)), read;
            Error err = { 0 };
            run.kind = kind;
            run.command = command;
            run.command_count = words;
            fleet_run_print(&run, &text);
            bool is_valid = (kind == RUN_KIND_EXEC) == (words > 0);
            assert_int_equal(fleet_run_read(&arena, buf_str(&text), &read, &err), is_valid);
            assert_true(is_valid || strstr(err.text, "command") != NULL);
        }
    }
}

static void test_an_order_contains_the_settings_of_the_run(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    FleetRun run = example(NULL, 0);
    Order order = fleet_run_order(&run), read;
    Error err;
    order_print(&order, &text);
    assert_true(order_read(&arena, buf_str(&text), &read, &err));
    assert_string_equal(read.run, run.id);
    assert_string_equal(read.manifest, MANIFEST);
    assert_str(read.mode, "genius");
    assert_str(read.requested_by, "token ops");
    assert_int_equal(read.timeout_ms, 600000);
}

static void expect_refused(const char *text, const char *why)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Order order;
    Error err;
    assert_false(order_read(&arena, str_from_c(text), &order, &err));
    if (strstr(err.text, why) == NULL) {
        fail_msg("'%s' does not contain '%s'", err.text, why);
    }
}

static void test_invalid_orders_are_rejected(void **state)
{
#define HEAD "{\"format\":\"eden.order/1\",\"created_ms\":1,"
    expect_refused(HEAD "\"run\":\"../etc\",\"kind\":\"exec\",\"command\":[\"id\"]}", "run");
    expect_refused(HEAD "\"run\":\".x\",\"kind\":\"exec\",\"command\":[\"id\"]}", "run");
    expect_refused(HEAD "\"run\":\"r1\",\"kind\":\"exec\"}", "no command");
    expect_refused(HEAD "\"run\":\"r1\",\"kind\":\"apply\"}", "no manifest");
    expect_refused(HEAD "\"run\":\"r1\",\"kind\":\"apply\",\"manifest\":\"abc\"}", "SHA-256");
    expect_refused(HEAD "\"run\":\"r1\",\"kind\":\"reboot\"}", "kind");
#undef HEAD
}

static void test_a_result_keeps_what_a_newer_node_reports(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    NodeResult result;
    Error err;
    Str from = STR("{\"format\":\"eden.node-result/1\",\"outcome\":\"failed\",\"since_ms\":5,"
                   "\"counts\":{\"ok\":3,\"failed\":1},\"step\":\"web#nginx\",\"code\":\"E0601\","
                   "\"error\":\"exited with 1\",\"weather\":\"fine\"}");
    assert_true(node_result_read(&arena, from, &result, &err));
    assert_int_equal(result.outcome, NODE_FAILED);
    assert_true(node_outcome_is_final(result.outcome));
    assert_int_equal(result.counts.ok, 3);
    node_result_print(&result, &text);
    assert_non_null(memmem(text.data, text.len, "\"weather\":\"fine\"", 16));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_run_survives_a_round_trip),
        cmocka_unit_test(test_targets_must_be_sorted),
        cmocka_unit_test(test_only_exec_has_a_command),
        cmocka_unit_test(test_an_order_contains_the_settings_of_the_run),
        cmocka_unit_test(test_invalid_orders_are_rejected),
        cmocka_unit_test(test_a_result_keeps_what_a_newer_node_reports),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
