/* Outputs of a command on many nodes: equal ones are one group, and too many are not kept. */
#include "cli/run_outputs.h"

#include <stdlib.h>

#include "cli/run_stream.h"
#include "unit.h"

typedef struct Fixture {
    Arena arena;
    RunOutputs outputs;
} Fixture;

static int set_up(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    arena_init(&f->arena, ARENA_UNLIMITED);
    run_outputs_init(&f->outputs, &f->arena);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    arena_clear(&f->arena);
    free(f);
    return 0;
}

static void take(Fixture *f, const char *node, const char *rest)
{
    Str line = arena_format(&f->arena,
                            "{\"node\":\"%s\",\"n\":3,\"at_ms\":7,\"event\":\"step\","
                            "\"step\":\"exec#command\",%s}",
                            node, rest);
    run_outputs_add(&f->outputs, line);
}

static void expect(Fixture *f, const char *expected)
{
    AUTO_CLEAR(Stream) out = stream_make(STREAM_MEMORY);
    run_outputs_sort(&f->outputs);
    run_outputs_print(&f->outputs, &out);
    assert_str(buf_str(&out.buf), expected);
}

#define RESULT(code, out, err)                                                               \
    "\"result\":\"changed\",\"exit_code\":" code ",\"stdout\":\"" out "\",\"stderr\":\"" err \
    "\",\"error\":null"

static void equal_results_are_one_group(void **state)
{
    Fixture *f = *state;
    take(f, "web3", RESULT("0", "a\\nb\\n", ""));
    take(f, "web1", RESULT("0", "c", ""));
    take(f, "web2", RESULT("0", "a\\nb\\n", ""));
    expect(f, "2 nodes: exited with 0\n  web2, web3\n    a\n    b\n"
              "1 node: exited with 0\n  web1\n    c\n");
}

static void what_was_written_where_makes_a_difference(void **state)
{
    Fixture *f = *state;
    take(f, "web1", RESULT("0", "a", ""));
    take(f, "web2", RESULT("0", "", "a"));
    take(f, "web3", RESULT("1", "a", ""));
    expect(f, "1 node: exited with 0\n  web1\n    a\n"
              "1 node: exited with 0\n  web2\n    stderr: a\n"
              "1 node: exited with 1\n  web3\n    a\n");
}

static void a_failure_without_an_exit_code_has_its_reason(void **state)
{
    Fixture *f = *state;
    take(f, "web1",
         "\"result\":\"failed\",\"exit_code\":null,\"stdout\":\"a\",\"stderr\":\"\",\"cut\":true,"
         "\"error\":{\"code\":\"E0601\",\"message\":\"timed out\"}");
    expect(f, "1 node: timed out\n  web1\n    a\n    (the output is truncated)\n");
}

static void only_some_of_many_nodes_are_named(void **state)
{
    Fixture *f = *state;
    for (int i = 10; i < 30; i++) {
        take(f, arena_format(&f->arena, "n%d", i).data, RESULT("0", "", ""));
    }
    expect(f, "20 nodes: exited with 0\n  n10, n11, n12, n13, n14, n15, n16, n17 and 12 more\n");
    assert_int_equal(value_get_list(run_outputs_value(&f->outputs).list->items[0], "nodes")->len,
                     20);
}

static void a_second_result_and_other_events_are_ignored(void **state)
{
    Fixture *f = *state;
    take(f, "web1", RESULT("0", "a", ""));
    take(f, "web1", RESULT("1", "b", ""));
    run_outputs_add(&f->outputs,
                    STR("{\"node\":\"web2\",\"n\":1,\"event\":\"step\",\"step\":\"x#y\"}"));
    run_outputs_add(&f->outputs, STR("{\"node\":\"web2\",\"n\":1,\"event\":\"begin\"}"));
    run_outputs_add(&f->outputs, STR("damaged"));
    expect(f, "1 node: exited with 0\n  web1\n    a\n");
}

static void control_characters_are_escaped(void **state)
{
    Fixture *f = *state;
    take(f, "web1", RESULT("0", "\\u001b[2J", ""));
    expect(f, "1 node: exited with 0\n  web1\n    \\x1b[2J\n");
}

static void more_than_fits_is_not_kept(void **state)
{
    Fixture *f = *state;
    f->outputs.bytes = RUN_OUTPUTS_MAX - 1;
    take(f, "web1", RESULT("0", "ab", ""));
    take(f, "web2", RESULT("0", "cd", ""));
    take(f, "web3", RESULT("0", "e", ""));
    expect(f, "2 nodes: exited with 0\n  web1, web2\n    (the output is truncated)\n"
              "1 node: exited with 0\n  web3\n    e\n");
}

/* --- Events of a stream ---------------------------------------------------------------------- */

#define LINE(node, n) STR("{\"node\":\"" node "\",\"n\":" n ",\"at_ms\":7,\"event\":\"start\"}")

static void events_are_taken_once(void **state)
{
    AUTO_CLEAR(SeenEvents) seen;
    seen_events_init(&seen);
    assert_true(seen_events_add(&seen, LINE("web1", "1")));
    assert_true(seen_events_add(&seen, LINE("web1", "3"))); /* others may be filtered */
    assert_true(seen_events_add(&seen, LINE("db1", "1")));
    assert_false(seen_events_add(&seen, LINE("web1", "1")));
    assert_false(seen_events_add(&seen, LINE("web1", "3")));
    assert_true(seen_events_add(&seen, LINE("web1", "4")));
    assert_false(seen_events_add(&seen, LINE("db1", "1")));
}

static void what_has_no_number_is_always_taken(void **state)
{
    AUTO_CLEAR(SeenEvents) seen;
    seen_events_init(&seen);
    for (int i = 0; i < 2; i++) {
        assert_true(seen_events_add(&seen, STR("{\"event\":\"other\"}")));
        assert_true(seen_events_add(&seen, LINE("web1", "x")));
        assert_true(seen_events_add(&seen, STR_EMPTY));
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(equal_results_are_one_group),
        TEST(what_was_written_where_makes_a_difference),
        TEST(a_failure_without_an_exit_code_has_its_reason),
        TEST(only_some_of_many_nodes_are_named),
        TEST(a_second_result_and_other_events_are_ignored),
        TEST(control_characters_are_escaped),
        TEST(more_than_fits_is_not_kept),
        cmocka_unit_test(events_are_taken_once),
        cmocka_unit_test(what_has_no_number_is_always_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
