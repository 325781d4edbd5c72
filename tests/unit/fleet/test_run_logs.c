/* Logs of runs on the disk of a server: what was acknowledged stays, nothing is stored twice. */
#include "fleet/run_logs.h"
#include "scratch.h"
#include "unit.h"

typedef struct Fixture {
    Scratch *scratch;
    Loop *loop;
    RunLogs *logs;
    uint64_t next; /* of the last append */
    ErrorKind kind;
    uint32_t waiting;
} Fixture;

static void reopen(Fixture *f)
{
    Error err;
    run_logs_close(f->logs);
    assert_true(run_logs_open(f->loop, scratch_place(f->scratch, "logs"), &f->logs, &err));
}

static int set_up(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    scratch_set_up(state);
    f->scratch = *state;
    f->loop = loop_new();
    reopen(f);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    run_logs_close(f->logs);
    loop_free(f->loop);
    *state = f->scratch;
    free(f);
    return scratch_tear_down(state);
}

static void on_appended(void *context, uint64_t next, const Error *err)
{
    Fixture *f = context;
    f->next = next;
    f->kind = err == NULL ? ERROR_NONE : err->kind;
    if (--f->waiting == 0) {
        loop_stop(f->loop);
    }
}

static void start(Fixture *f, const char *node, uint64_t from, const char *lines)
{
    Error err;
    if (!run_logs_append(f->logs, STR("r1"), str_from_c(node), from, str_from_c(lines), on_appended,
                         f, &err)) {
        f->kind = err.kind;
        return;
    }
    f->waiting++;
}

/* Returns the number of the next event. */
static uint64_t append(Fixture *f, const char *node, uint64_t from, const char *lines)
{
    f->kind = ERROR_NONE;
    f->next = 0;
    start(f, node, from, lines);
    if (f->waiting > 0) {
        loop_run(f->loop);
    }
    return f->next;
}

#define EVENT(n, name) "{\"n\":" n ",\"at_ms\":7,\"event\":\"" name "\",\"step\":\"web#a\"}\n"

static void expect_log(Fixture *f, const char *node, const char *step, const char *expected)
{
    AUTO(RunLogReader) *reader = NULL;
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    bool is_end = false;
    Error err;
    assert_true(
        run_log_read(f->logs, STR("r1"), str_from_c(node), str_from_c(step), &reader, &err));
    while (!is_end) {
        assert_true(run_log_reader_next(reader, 40, &text, &is_end, &err));
    }
    assert_str(buf_str(&text), expected);
}

#define STORED(node, n, name) \
    "{\"node\":\"" node "\",\"n\":" n ",\"at_ms\":7,\"event\":\"" name "\",\"step\":\"web#a\"}\n"

static void test_events_are_stored_with_the_name_of_their_node(void **state)
{
    Fixture *f = *state;
    assert_int_equal(append(f, "web1", 1, EVENT("1", "begin") EVENT("2", "start")), 3);
    assert_int_equal(append(f, "db1", 1, EVENT("1", "begin")), 2);
    expect_log(f, "", "",
               STORED("web1", "1", "begin") STORED("web1", "2", "start")
                   STORED("db1", "1", "begin"));
    expect_log(f, "db1", "", STORED("db1", "1", "begin"));
    expect_log(f, "db1", "web#a", STORED("db1", "1", "begin"));
    expect_log(f, "db1", "web#b", "");
    expect_log(f, "mail", "", "");
}

static void test_repeated_events_are_stored_once(void **state)
{
    Fixture *f = *state;
    append(f, "web1", 1, EVENT("1", "begin") EVENT("2", "start"));
    assert_int_equal(
        append(f, "web1", 1, EVENT("1", "begin") EVENT("2", "start") EVENT("3", "step")), 4);
    reopen(f);
    assert_int_equal(append(f, "web1", 2, EVENT("2", "start") EVENT("3", "step")), 4);
    expect_log(f, "", "",
               STORED("web1", "1", "begin") STORED("web1", "2", "start")
                   STORED("web1", "3", "step"));
}

static void test_events_after_a_gap_are_requested_again(void **state)
{
    Fixture *f = *state;
    append(f, "web1", 1, EVENT("1", "begin"));
    assert_int_equal(append(f, "web1", 4, EVENT("4", "end")), 2);
    assert_int_equal(append(f, "web1", 0, ""), 2);
    expect_log(f, "", "", STORED("web1", "1", "begin"));
}

static void test_invalid_events_are_refused_as_a_whole(void **state)
{
    static const char *const lines[] = {
        "{\"n\":2}\n",
        EVENT("2", "start") "garbage\n",
        EVENT("2", "start") EVENT("4", "step"),
        "{\"n\":2,\"at_ms\":7,\"event\":\"start\"",
        "{\"n\":2,\"at_ms\":7,\"event\":\"start\",}\n",
    };
    Fixture *f = *state;
    append(f, "web1", 1, EVENT("1", "begin"));
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        append(f, "web1", 2, lines[i]);
        assert_int_equal(f->kind, ERROR_INVALID);
    }
    expect_log(f, "", "", STORED("web1", "1", "begin"));
}

static void test_a_torn_last_line_is_cut(void **state)
{
    Fixture *f = *state;
    append(f, "web1", 1, EVENT("1", "begin"));
    run_logs_close(TAKE(f->logs));
    FILE *file = fopen(scratch_place(f->scratch, "logs/r1.ndjson"), "a");
    fputs("{\"node\":\"web1\",\"n\":2,\"at_", file);
    fclose(file);
    reopen(f);
    assert_int_equal(append(f, "web1", 2, EVENT("2", "start")), 3);
    expect_log(f, "", "", STORED("web1", "1", "begin") STORED("web1", "2", "start"));
}

static void test_appends_at_the_same_time_are_written_together(void **state)
{
    Fixture *f = *state;
    start(f, "web1", 1, EVENT("1", "begin"));
    start(f, "web1", 2, EVENT("2", "start"));
    start(f, "db1", 1, EVENT("1", "begin"));
    loop_run(f->loop);
    assert_int_equal(f->waiting, 0);
    expect_log(f, "db1", "", STORED("db1", "1", "begin"));
    expect_log(f, "web1", "", STORED("web1", "1", "begin") STORED("web1", "2", "start"));
}

static bool keeps_nothing(void *context, Str run)
{
    return false;
}

static void test_logs_of_forgotten_runs_are_removed(void **state)
{
    Fixture *f = *state;
    append(f, "web1", 1, EVENT("1", "begin"));
    run_logs_sweep(f->logs, keeps_nothing, NULL);
    expect_log(f, "", "", "");
    assert_int_equal(append(f, "web1", 0, ""), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_events_are_stored_with_the_name_of_their_node, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_repeated_events_are_stored_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_events_after_a_gap_are_requested_again, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_invalid_events_are_refused_as_a_whole, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_torn_last_line_is_cut, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_appends_at_the_same_time_are_written_together, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_logs_of_forgotten_runs_are_removed, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
