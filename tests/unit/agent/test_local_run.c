#include "agent/local_run.h"

#include "scratch.h"
#include "syncs.h"

#define ORDER_OF(run)                                   \
    "{\"format\":\"eden.order/1\",\"run\":\"" run       \
    "\",\"kind\":\"exec\",\"command\":[\"a {b\",\"\"]," \
    "\"created_ms\":5,\"by\":\"user:ann\"}"
#define ORDER ORDER_OF("r1")

#define MANIFEST "ea6ccffa3891734c13dfcf1351df44480b951a05a9c818b101c027c059cc3d58"

typedef struct Fixture {
    Scratch *scratch;
    Directory agent;
    LocalRun *run;
} Fixture;

static int set_up(void **state)
{
    scratch_set_up(state);
    Fixture *f = calloc(1, sizeof *f);
    Error err;
    f->scratch = *state;
    *state = f;
    assert_true(directory_open(f->scratch->path, &f->agent, &err));
    assert_true(local_run_create(&f->agent, STR("r1"), STR(ORDER), 7, &f->run, &err));
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    *state = f->scratch;
    local_run_free(f->run);
    directory_close(&f->agent);
    free(f);
    return scratch_tear_down(state);
}

static LocalRun *load(Fixture *f)
{
    LocalRun *run;
    Error err;
    if (!local_run_load(&f->agent, STR("r1"), &run, &err)) {
        fail_msg("%s", err.text);
    }
    return run;
}

static void a_run_record_survives_a_round_trip(void **state)
{
    Fixture *f = *state;
    Error err;
    f->run->state.phase = QUEUE_STARTED;
    f->run->state.attempts = 2;
    snprintf(f->run->state.boot, sizeof f->run->state.boot, "boot-1");
    assert_true(local_run_save(&f->agent, f->run, &err));
    LocalRun *loaded = load(f);
    assert_int_equal(loaded->state.phase, QUEUE_STARTED);
    assert_int_equal(loaded->state.attempts, 2);
    assert_int_equal(loaded->state.accepted_ms, 7);
    assert_string_equal(loaded->state.boot, "boot-1");
    assert_str(loaded->order.command[0], "a {b");
    assert_false(loaded->has_result);
    local_run_free(loaded);
    NodeResult result = {
        .outcome = NODE_FAILED, .reason = STR("why"), .since_ms = 9, .unknown = value_missing()
    };
    assert_true(local_run_conclude(&f->agent, f->run, &result, &err));
    loaded = load(f);
    assert_true(loaded->has_result);
    assert_int_equal(loaded->result.outcome, NODE_FAILED);
    assert_str(loaded->result.reason, "why");
    local_run_free(loaded);
}

static void variables_are_removed_with_the_result(void **state)
{
    Fixture *f = *state;
    Error err;
    LocalRun *run;
    Str text;
    NodeResult result = { .outcome = NODE_OK, .unknown = value_missing() };
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    assert_true(
        local_run_create(&f->agent, STR("r2"),
                         STR("{\"format\":\"eden.order/1\",\"run\":\"r2\",\"kind\":\"apply\","
                             "\"version\":\"8fe15f536fa9\",\"manifest\":\"" MANIFEST "\","
                             "\"defines\":[\"pw=hunter2\"],\"created_ms\":5,\"by\":\"user:ann\"}"),
                         7, &run, &err));
    assert_true(local_run_open(&f->agent, run, &directory, &err));
    assert_true(directory_read(&directory, &f->scratch->arena, "order.json", 4096, &text, &err));
    assert_int_not_equal(str_find(text, STR("hunter2"), 0), STR_NOT_FOUND);
    assert_true(local_run_conclude(&f->agent, run, &result, &err));
    assert_true(directory_read(&directory, &f->scratch->arena, "order.json", 4096, &text, &err));
    assert_int_equal(str_find(text, STR("hunter2"), 0), STR_NOT_FOUND);
    local_run_free(run);
    assert_true(local_run_load(&f->agent, STR("r2"), &run, &err));
    assert_string_equal(run->order.version, "8fe15f536fa9");
    assert_int_equal(run->order.define_count, 0);
    local_run_free(run);
}

/* An order that was accepted, how far it is, and its result survive a power failure. */
static void what_is_recorded_is_on_disk(void **state)
{
    Fixture *f = *state;
    Error err;
    LocalRun *other;
    NodeResult result = { .outcome = NODE_FAILED, .unknown = value_missing() };
    const char *directory = scratch_place(f->scratch, LOCAL_RUNS "/r1");
    syncs_forget();
    assert_true(local_run_save(&f->agent, f->run, &err));
    assert_int_equal(syncs, 2); /* the file and its name */
    assert_true(is_synced(directory));
    syncs_forget();
    assert_true(local_run_conclude(&f->agent, f->run, &result, &err));
    assert_true(syncs >= 2);
    assert_true(is_synced(directory));
    syncs_forget();
    assert_true(local_run_put_order(&f->agent, f->run, STR(ORDER), &err));
    assert_true(syncs >= 2);
    syncs_fail = true;
    assert_false(local_run_save(&f->agent, f->run, &err));
    assert_false(local_run_conclude(&f->agent, f->run, &result, &err));
    assert_false(local_run_put_order(&f->agent, f->run, STR(ORDER), &err));
    assert_false(local_run_create(&f->agent, STR("r2"), STR(ORDER_OF("r2")), 7, &other, &err));
    syncs_fail = false;
    syncs_forget();
    assert_true(local_run_create(&f->agent, STR("r2"), STR(ORDER_OF("r2")), 7, &other, &err));
    assert_true(is_synced(scratch_place(f->scratch, LOCAL_RUNS "/r2/order.json")));
    assert_true(is_synced(scratch_place(f->scratch, LOCAL_RUNS "/r2/state.json")));
    local_run_free(other);
}

/* What is left of an order that was not accepted, or of an earlier run. */
static void a_new_run_has_nothing_of_a_former_one(void **state)
{
    Fixture *f = *state;
    LocalRun *run;
    Error err;
    scratch_put(f->scratch, LOCAL_RUNS "/r2/result.json",
                "{\"format\":\"eden.node-result/1\",\"outcome\":\"ok\",\"since_ms\":1}");
    scratch_put(f->scratch, LOCAL_RUNS "/r2/" LOCAL_EVENTS,
                "{\"n\":1,\"at_ms\":1,\"event\":\"begin\"}\n");
    assert_true(local_run_create(&f->agent, STR("r2"), STR(ORDER_OF("r2")), 7, &run, &err));
    local_run_free(run);
    assert_true(local_run_load(&f->agent, STR("r2"), &run, &err));
    assert_false(run->has_result);
    Str text;
    assert_true(local_run_events(&f->agent, run, &f->scratch->arena, &text, &err));
    assert_str(text, "");
    local_run_free(run);
}

static void expect_unreadable(Fixture *f, ErrorKind kind)
{
    LocalRun *run;
    Error err = { 0 };
    assert_false(local_run_load(&f->agent, STR("r1"), &run, &err));
    if (kind != ERROR_NONE) {
        assert_int_equal(err.kind, kind);
    }
}

/* Otherwise it would be executed again, or taken for one that was not accepted. */
static void a_run_that_cannot_be_read_is_an_error(void **state)
{
    Fixture *f = *state;
    const char *order = LOCAL_RUNS "/r1/order.json";
    assert_int_equal(remove(scratch_place(f->scratch, order)), 0);
    expect_unreadable(f, ERROR_INVALID);
    scratch_put(f->scratch, order, ORDER_OF("r2"));
    expect_unreadable(f, ERROR_INVALID);
    scratch_put(f->scratch, order, ORDER);
    local_run_free(load(f));
    scratch_put(f->scratch, LOCAL_RUNS "/r1/result.json/file", "");
    expect_unreadable(f, ERROR_NONE);
}

static void events_that_cannot_be_read_are_an_error(void **state)
{
    Fixture *f = *state;
    Str text;
    Error err;
    scratch_put(f->scratch, LOCAL_RUNS "/r1/" LOCAL_EVENTS "/file", "");
    assert_false(local_run_events(&f->agent, f->run, &f->scratch->arena, &text, &err));
    assert_str(text, "");
}

static void runs_are_listed_and_removed(void **state)
{
    Fixture *f = *state;
    Str *ids;
    uint32_t count;
    Error err;
    assert_true(local_runs_list(f->scratch->path, &f->scratch->arena, &ids, &count, &err));
    assert_int_equal(count, 1);
    assert_str(ids[0], "r1");
    local_run_remove(&f->agent, STR("r1"));
    local_run_remove(&f->agent, STR("../x"));
    assert_true(local_runs_list(f->scratch->path, &f->scratch->arena, &ids, &count, &err));
    assert_int_equal(count, 0);
    LocalRun *gone;
    assert_false(local_run_load(&f->agent, STR("r1"), &gone, &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
}

static void only_changes_of_the_same_order_are_accepted(void **state)
{
    Fixture *f = *state;
    Error err;
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    Order changed = f->run->order;
    changed.is_canceled = true;
    order_print(&changed, &text);
    assert_true(local_run_put_order(&f->agent, f->run, buf_str(&text), &err));
    assert_true(f->run->order.is_canceled);
    LocalRun *other;
    assert_true(local_run_create(&f->agent, STR("r2"), STR(ORDER_OF("r2")), 7, &other, &err));
    local_run_free(other);
    snprintf(changed.run, sizeof changed.run, "r2");
    changed.is_canceled = false;
    buf_reset(&text);
    order_print(&changed, &text);
    assert_false(local_run_put_order(&f->agent, f->run, buf_str(&text), &err));
    assert_false(local_run_put_order(&f->agent, f->run, STR("{}"), &err));
    assert_true(f->run->order.is_canceled);
    assert_string_equal(f->run->order.run, "r1");
    LocalRun *loaded = load(f);
    assert_true(loaded->order.is_canceled);
    local_run_free(loaded);
}

static void a_command_is_a_step_without_templates(void **state)
{
    Fixture *f = *state;
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    Error err;
    Str text;
    assert_true(local_run_put_command(&f->agent, f->run, &err));
    assert_true(local_run_open(&f->agent, f->run, &directory, &err));
    assert_true(directory_read(&directory, &f->scratch->arena, LOCAL_COMMAND, 4096, &text, &err));
    assert_str(text, "{\"steps\":[{\"name\":\"command\",\"cmd.run\":{\"cmd\":[\"a {{ '{' }}b\","
                     "\"\"]}}]}\n");
}

static void a_command_has_the_time_limit_of_its_run(void **state)
{
    Fixture *f = *state;
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    Error err;
    Str text;
    f->run->order.timeout_ms = 1500;
    assert_true(local_run_put_command(&f->agent, f->run, &err));
    assert_true(local_run_open(&f->agent, f->run, &directory, &err));
    assert_true(directory_read(&directory, &f->scratch->arena, LOCAL_COMMAND, 4096, &text, &err));
    assert_true(str_ends(text, STR("],\"timeout\":\"1500ms\"}}]}\n")));
}

#define BEGIN(n)      "{\"n\":" #n ",\"at_ms\":1,\"event\":\"begin\",\"run\":\"r1\"}\n"
#define EVENT(n, ...) "{\"n\":" #n ",\"at_ms\":1,\"event\":" __VA_ARGS__ "}\n"

static void events_show_how_an_attempt_ended(void **state)
{
    static const struct {
        const char *text;
        uint32_t attempts_before; /* before this attempt */
        QueueTail tail;
    } rows[] = {
        { "", 0, TAIL_NONE },
        { BEGIN(1), 0, TAIL_OPEN },
        { BEGIN(1), 1, TAIL_NONE },
        { BEGIN(1) EVENT(2, "\"step\""), 0, TAIL_OPEN },
        { BEGIN(1) EVENT(2, "\"leave\""), 0, TAIL_REBOOTING },
        { BEGIN(1) EVENT(2, "\"end\",\"result\":\"ok\""), 0, TAIL_ENDED },
        { BEGIN(1) EVENT(2, "\"end\",\"interrupted\":true"), 0, TAIL_INTERRUPTED },
        { BEGIN(1) EVENT(2, "\"end\""), 1, TAIL_NONE }, /* that was the previous attempt */
        { BEGIN(1) EVENT(2, "\"end\"") BEGIN(3), 1, TAIL_OPEN },
    };
    Fixture *f = *state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        RunEventScan scan = run_events_scan(str_from_c(rows[i].text));
        f->run->state.attempts_before = rows[i].attempts_before;
        assert_int_equal(local_run_tail(f->run, &scan), rows[i].tail);
    }
}

static void the_last_event_becomes_the_result(void **state)
{
    Fixture *f = *state;
    Arena *arena = &f->scratch->arena;
    NodeResult result;
    Error err;
    assert_true(local_run_result(
        arena,
        STR("{\"n\":2,\"at_ms\":1,\"event\":\"end\",\"result\":\"failed\",\"counts\":{\"ok\":3,"
            "\"failed\":1,\"blocked\":-1,\"changed\":99999999999},\"failure\":{\"step\":\"a#b\","
            "\"code\":\"E0601\",\"message\":\"exited with 3\"},\"digest\":\"0123456789abcdef\"}"),
        &result, &err));
    assert_int_equal(result.outcome, NODE_FAILED);
    assert_int_equal(result.counts.ok, 3);
    assert_int_equal(result.counts.blocked, 0);
    assert_int_equal(result.counts.changed, UINT32_MAX);
    assert_str(result.step, "a#b");
    assert_str(result.code, "E0601");
    assert_str(result.error, "exited with 3");
    assert_string_equal(result.digest, "0123456789abcdef");
    static const struct {
        const char *result;
        NodeOutcome outcome;
    } rows[] = { { "ok", NODE_OK },           { "changed", NODE_CHANGED },
                 { "unknown", NODE_CHANGED }, { "skipped", NODE_SKIPPED },
                 { "waiting", NODE_FAILED },  { "", NODE_FAILED } };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        Str end = arena_format(arena, "{\"result\":\"%s\"}", rows[i].result);
        assert_true(local_run_result(arena, end, &result, &err));
        assert_int_equal(result.outcome, rows[i].outcome);
    }
    assert_false(local_run_result(arena, STR("{"), &result, &err));
    assert_true(local_run_result(
        arena, STR("{\"result\":\"failed\",\"timed_out\":true,\"digest\":\"0123\"}"), &result,
        &err));
    assert_str(result.reason, "steps were still waiting");
    assert_string_equal(result.digest, "");
    assert_true(local_run_result(
        arena, STR("{\"result\":\"failed\",\"timed_out\":true,\"reason\":\"why\"}"), &result,
        &err));
    assert_str(result.reason, "why");
}

/* The longest texts, truncated within a character, still give a readable record. */
static void a_result_with_long_texts_can_be_stored(void **state)
{
    Fixture *f = *state;
    Arena *arena = &f->scratch->arena;
    Buf end = buf_make_in(arena, BUF_UNLIMITED);
    NodeResult result;
    Error err;
    buf_put(&end, STR("{\"result\":\"failed\",\"reason\":\""));
    for (int part = 0; part < 2; part++) {
        for (int i = 0; i < 3000; i++) {
            buf_put(&end, STR("\xe2\x82\xac"));
        }
        buf_put(&end, part == 0 ? STR("\",\"failure\":{\"code\":\"E0601\",\"step\":\"x\","
                                      "\"message\":\"y")
                                : STR("\"}}"));
    }
    assert_true(local_run_result(arena, buf_str(&end), &result, &err));
    result.since_ms = 1;
    assert_true(local_run_conclude(&f->agent, f->run, &result, &err));
    LocalRun *loaded = load(f);
    assert_true(loaded->result.error.len > NODE_ERROR_MAX / 2);
    local_run_free(loaded);
}

static void damaged_events_end_before_the_damage(void **state)
{
    Fixture *f = *state;
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    Arena *arena = &f->scratch->arena;
    Error err;
    Str text;
    assert_true(local_run_events(&f->agent, f->run, arena, &text, &err));
    assert_str(text, "");
    assert_true(local_run_open(&f->agent, f->run, &directory, &err));
    assert_true(
        directory_write(&directory, LOCAL_EVENTS, STR(BEGIN(1) "{\"n\":2,\"at"), false, &err));
    assert_true(local_run_events(&f->agent, f->run, arena, &text, &err));
    assert_str(text, BEGIN(1));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static void nothing_can_be_freed(void **state)
{
    local_run_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_run_record_survives_a_round_trip),
        cmocka_unit_test(nothing_can_be_freed),
        TEST(variables_are_removed_with_the_result),
        TEST(what_is_recorded_is_on_disk),
        TEST(a_new_run_has_nothing_of_a_former_one),
        TEST(a_run_that_cannot_be_read_is_an_error),
        TEST(events_that_cannot_be_read_are_an_error),
        TEST(runs_are_listed_and_removed),
        TEST(only_changes_of_the_same_order_are_accepted),
        TEST(a_command_is_a_step_without_templates),
        TEST(a_command_has_the_time_limit_of_its_run),
        TEST(events_show_how_an_attempt_ended),
        TEST(the_last_event_becomes_the_result),
        TEST(a_result_with_long_texts_can_be_stored),
        TEST(damaged_events_end_before_the_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
