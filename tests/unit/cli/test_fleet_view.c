/* Progress of a run across nodes: what is counted, and what a log and a terminal show of it. */
#include "cli/fleet_view.h"

#include "sys/clock.h"
#include "unit.h"

typedef struct Fixture {
    Arena arena;
    Stream out;
    FleetView view;
    uint32_t numbers;
} Fixture;

static Fixture f;

static void open_view(ProgressMode mode, uint32_t targets)
{
    f = (Fixture){ .out = stream_make(STREAM_MEMORY) };
    arena_init(&f.arena, ARENA_UNLIMITED);
    fleet_view_init(&f.view, &f.arena,
                    &(FleetViewOptions){ .stream = &f.out,
                                         .mode = mode,
                                         .run = STR("r1"),
                                         .what = STR("3f2a"),
                                         .targets = targets });
}

static int tear_down(void **state)
{
    fleet_view_clear(&f.view);
    stream_clear(&f.out);
    arena_clear(&f.arena);
    return 0;
}

static void take(const char *node, const char *event)
{
    Str line = arena_format(&f.arena, "{\"node\":\"%s\",\"n\":%u,\"at_ms\":7,\"event\":%s}", node,
                            ++f.numbers, event);
    fleet_view_add(&f.view, line);
}

#define BEGIN          "\"begin\",\"attempt\":1,\"steps\":[\"a\",\"b\"]"
#define START(step)    "\"start\",\"step\":\"" step "\""
#define DONE(step, is) "\"step\",\"step\":\"" step "\",\"result\":\"" is "\",\"error\":null"
#define FAILED(step, why)                                                                 \
    "\"step\",\"step\":\"" step "\",\"result\":\"failed\",\"error\":{\"code\":\"E0601\"," \
    "\"message\":\"" why "\"}"
#define WAIT(step, why) "\"wait\",\"step\":\"" step "\",\"reason\":\"" why "\""
#define END             "\"end\",\"result\":\"ok\""

static void expect(const char *expected)
{
    assert_str(buf_str(&f.out.buf), expected);
    buf_reset(&f.out.buf);
}

static void a_log_has_a_line_for_each_step_that_is_done(void **state)
{
    open_view(PROGRESS_PLAIN, 2);
    take("web1", BEGIN);
    take("web1", START("a"));
    take("web1", DONE("a", "changed"));
    expect(""); /* the other node may have it too */
    take("web2", BEGIN);
    take("web2", START("a"));
    take("web2", DONE("a", "ok"));
    expect("  ok  a  2/2  1 changed\n");
    take("web1", FAILED("b", "exited with 1"));
    take("web2", DONE("b", "skipped"));
    expect("failed  web1: b: exited with 1\n  XX  b  2/2  1 failed  1 skipped\n");
}

static void a_repeated_attempt_is_counted_once(void **state)
{
    open_view(PROGRESS_PLAIN, 1);
    take("web1", BEGIN);
    take("web1", START("a"));
    take("web1", DONE("a", "changed"));
    take("web1", START("b"));
    take("web1", BEGIN);
    take("web1", START("a"));
    take("web1", DONE("a", "ok"));
    take("web1", START("b"));
    take("web1", DONE("b", "ok"));
    take("web1", END);
    expect("  ok  a  1/1  1 changed\n  ok  b  1/1\n");
    assert_int_equal(f.view.started, 1);
    assert_int_equal(f.view.ended, 1);
    assert_int_equal(f.view.steps.items[0].counts[FLEET_OK], 1);
    assert_int_equal(f.view.steps.items[0].counts[FLEET_CHANGED], 0);
    assert_int_equal(f.view.steps.items[1].running, 0);
    assert_int_equal(f.view.results, 2);
}

static void equal_failures_are_not_repeated_forever(void **state)
{
    open_view(PROGRESS_PLAIN, 100);
    for (int i = 0; i < 30; i++) {
        take(arena_format(&f.arena, "n%d", i).data, FAILED("a", "no route"));
    }
    uint32_t lines = 0;
    for (size_t i = 0; i < f.out.buf.len; i++) {
        lines += f.out.buf.data[i] == '\n';
    }
    assert_int_equal(lines, FLEET_VIEW_REPEATS_MAX);
    assert_int_equal(f.view.failures.len, 1);
    assert_int_equal(f.view.failures.items[0].count, 30);
    take("m1", FAILED("a", "other"));
    assert_true(str_ends(buf_str(&f.out.buf), STR("failed  m1: a: other\n")));
}

static void add_missing(Str node, Str outcome, Str reason)
{
    fleet_view_add_missing(&f.view,
                           &(FleetMissing){ .node = node, .outcome = outcome, .reason = reason });
}

static void set_missing(const char *node)
{
    fleet_view_reset_missing(&f.view);
    add_missing(STR("db9"), STR("silent"), STR("it has no session"));
    add_missing(STR("db1"), STR("waiting"), STR("waiting for run r0"));
    add_missing(str_from_c(node), STR("waiting"), STR("waiting for run r0"));
    fleet_view_show_missing(&f.view);
}

static void a_lost_node_is_shown_with_its_step_and_how_long_it_is_waited_for(void **state)
{
    open_view(PROGRESS_PLAIN, 2);
    take("db1", BEGIN);
    take("db1", START("a"));
    fleet_view_reset_missing(&f.view);
    fleet_view_add_missing(&f.view, &(FleetMissing){ .node = STR("db1"),
                                                     .outcome = STR("silent"),
                                                     .reason = STR("gone"),
                                                     .until = STR("12:18:11") });
    fleet_view_show_missing(&f.view);
    assert_true(str_ends(buf_str(&f.out.buf), STR("silent  db1: gone; its last event is from step "
                                                  "'a'; waiting for it until 12:18:11\n")));
}

static void who_does_not_report_is_named_once(void **state)
{
    open_view(PROGRESS_PLAIN, 4);
    set_missing("db2");
    expect("silent  db9: it has no session\nwaiting  db1, db2: waiting for run r0\n");
    set_missing("db3");
    expect("");
}

static void steps_do_not_wait_for_who_does_not_report(void **state)
{
    open_view(PROGRESS_PLAIN, 4);
    take("web1", BEGIN);
    take("web1", DONE("a", "ok"));
    expect("");
    set_missing("db2");
    assert_true(str_ends(buf_str(&f.out.buf), STR("\n  ok  a  1/1\n")));
}

static void a_log_has_a_line_while_nothing_happens(void **state)
{
    open_view(PROGRESS_PLAIN, 3);
    take("web1", BEGIN);
    take("web1", START("a"));
    take("web1", WAIT("a", "try 3/20"));
    fleet_view_tick(&f.view);
    expect("");
    set_missing("db2");
    buf_reset(&f.out.buf);
    f.view.printed_us -= FLEET_VIEW_HEARTBEAT_MS * 1000LL;
    fleet_view_tick(&f.view);
    expect("  ..  00:00  0/3 nodes done, 1 silent, 2 waiting; a 0/1 waiting: try 3/20\n");
    fleet_view_tick(&f.view);
    expect("");
}

static void the_first_record_has_the_format(void **state)
{
    open_view(PROGRESS_JSON, 2);
    expect("{\"format\":\"eden.run-progress/1\",\"run\":\"r1\",\"version\":\"3f2a\","
           "\"targets\":2}\n");
    take("web1", END);
    expect("{\"node\":\"web1\",\"n\":1,\"at_ms\":7,\"event\":\"end\",\"result\":\"ok\"}\n");
    add_missing(STR("db9"), STR("silent"), STR("it has no session"));
    fleet_view_show_missing(&f.view);
    expect("{\"event\":\"missing\",\"outcome\":\"silent\",\"reason\":\"it has no session\","
           "\"count\":1,\"nodes\":[\"db9\"]}\n");
}

static void an_outage_is_one_record(void **state)
{
    open_view(PROGRESS_JSON, 2);
    buf_reset(&f.out.buf);
    fleet_view_resume(&f.view);
    fleet_view_interrupt(&f.view, STR("refused"));
    fleet_view_interrupt(&f.view, STR("refused"));
    fleet_view_resume(&f.view);
    fleet_view_interrupt(&f.view, STR_EMPTY);
    expect("{\"event\":\"interrupted\",\"reason\":\"refused\"}\n{\"event\":\"resumed\"}\n"
           "{\"event\":\"interrupted\"}\n");
}

static void a_terminal_shows_all_steps_and_failures(void **state)
{
    open_view(PROGRESS_TTY, 4);
    take("web1", BEGIN);
    take("web2", BEGIN);
    take("web1", DONE("a", "changed"));
    take("web2", FAILED("a", "exit 1"));
    take("web1", START("b"));
    take("web1", WAIT("b", "try 3/20"));
    set_missing("db2");
    fleet_view_tick(&f.view);
    expect("run r1  3f2a  0/4 nodes done  00:00\n"
           "  XX  a  2/2  1 changed  1 failed\n"
           "  ..  b  0/2  1 waiting: try 3/20\n"
           "  XX  1 failed  a: exit 1  [web2]\n"
           "  --  1 silent  db9: it has no session\n"
           "  --  2 waiting  db1, db2: waiting for run r0\n");
    take("web1", WAIT("b", ""));
    take("web1", DONE("b", "ok"));
    fleet_view_tick(&f.view);
    assert_true(str_starts(buf_str(&f.out.buf), STR("\033[6A\r\033[Jrun r1")));
    assert_true(str_find(buf_str(&f.out.buf), STR("  ..  b  1/2\n"), 0) != STR_NOT_FOUND);
    buf_reset(&f.out.buf);
    fleet_view_end(&f.view);
    expect("\033[6A\r\033[J");
}

static void many_steps_fit_on_the_terminal(void **state)
{
    open_view(PROGRESS_TTY, 1);
    take("web1", "\"begin\",\"steps\":[]");
    for (int i = 0; i < 100; i++) {
        AUTO_CLEAR(Buf) event = buf_make(BUF_UNLIMITED);
        buf_put_format(&event, "\"step\",\"step\":\"s%d\",\"result\":\"%s\"", i,
                       i == 10 ? "failed" : "ok");
        buf_put_char(&event, '\0');
        take("web1", event.data);
    }
    take("web1", START("last"));
    fleet_view_tick(&f.view);
    assert_int_equal(f.view.drawn_lines, 23); /* of 24 rows */
    Str text = buf_str(&f.out.buf);
    assert_true(str_find(text, STR("  ok  81 other steps\n  XX  s10  1/1"), 0) != STR_NOT_FOUND);
    assert_true(str_find(text, STR("  ..  last  0/1\n"), 0) != STR_NOT_FOUND);
}

static void the_rest_is_estimated(void **state)
{
    open_view(PROGRESS_NONE, 2);
    assert_int_equal(fleet_view_remaining_ms(&f.view, 10000), -1);
    take("web1", BEGIN);
    assert_int_equal(fleet_view_remaining_ms(&f.view, 10000), -1);
    take("web1", DONE("a", "ok"));
    assert_int_equal(fleet_view_remaining_ms(&f.view, 1000), -1);
    assert_int_equal(fleet_view_remaining_ms(&f.view, 10000), 30000); /* 1 of 4 */
    add_missing(STR("web2"), STR("silent"), STR_EMPTY);
    assert_int_equal(fleet_view_remaining_ms(&f.view, 10000), 10000); /* 1 of 2 */
    fleet_view_reset_missing(&f.view);
    take("web2", BEGIN);
    take("web2", DONE("a", "ok"));
    assert_int_equal(fleet_view_remaining_ms(&f.view, 10000), 10000);
    take("web1", DONE("b", "ok"));
    take("web2", DONE("b", "ok"));
    assert_int_equal(fleet_view_remaining_ms(&f.view, 10000), 0);
}

static void others_than_targets_do_no_harm(void **state)
{
    open_view(PROGRESS_TTY, 1);
    for (int i = 0; i < 5; i++) {
        const char *node = arena_format(&f.arena, "n%d", i).data;
        take(node, BEGIN);
        take(node, DONE("a", "ok"));
        take(node, END);
        take(node, "\"unknown\"");
    }
    fleet_view_add(&f.view, STR("damaged"));
    fleet_view_tick(&f.view);
}

/* Events are sent by nodes, who may invent steps and messages. */
static void steps_and_failures_are_limited(void **state)
{
    open_view(PROGRESS_NONE, FLEET_VIEW_CELLS_MAX / 2);
    take("web1", START("a"));
    take("web1", DONE("a", "ok"));
    take("web1", START("b"));
    take("web1", WAIT("b", "why"));
    take("web1", FAILED("b", "no space"));
    assert_int_equal(f.view.steps.len, 1);
    assert_true(f.view.is_full);
    assert_str(f.view.failures.items[0].what, "b");
    for (uint32_t i = 0; i < 2 * FLEET_VIEW_GROUPS_MAX; i++) {
        take("web1", arena_format(&f.arena, FAILED("b", "message %u"), i).data);
    }
    assert_int_equal(f.view.failures.len, FLEET_VIEW_GROUPS_MAX + 1);
    assert_str(f.view.failures.items[FLEET_VIEW_GROUPS_MAX].what, "others");
    assert_int_equal(f.view.failures.items[FLEET_VIEW_GROUPS_MAX].count, FLEET_VIEW_GROUPS_MAX + 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, NULL, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_log_has_a_line_for_each_step_that_is_done),
        TEST(a_repeated_attempt_is_counted_once),
        TEST(equal_failures_are_not_repeated_forever),
        TEST(a_lost_node_is_shown_with_its_step_and_how_long_it_is_waited_for),
        TEST(who_does_not_report_is_named_once),
        TEST(steps_do_not_wait_for_who_does_not_report),
        TEST(a_log_has_a_line_while_nothing_happens),
        TEST(the_first_record_has_the_format),
        TEST(an_outage_is_one_record),
        TEST(a_terminal_shows_all_steps_and_failures),
        TEST(many_steps_fit_on_the_terminal),
        TEST(the_rest_is_estimated),
        TEST(others_than_targets_do_no_harm),
        TEST(steps_and_failures_are_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
