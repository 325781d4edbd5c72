#include "run/run_events.h"

#include "run/test_dir.h"
#include "sys/file.h"

#define FIRST  "{\"n\":1,\"at_ms\":5,\"event\":\"begin\",\"run\":\"r1\"}\n"
#define SECOND "{\"n\":2,\"at_ms\":7,\"event\":\"start\",\"step\":\"a\"}\n"

static void lines_count_up_to_the_first_damaged_one(void **state)
{
    static const struct {
        Str text;
        uint64_t last;
        const char *end;
    } rows[] = {
        { STR(""), 0, "" },
        { STR(FIRST), 1, "begin" },
        { STR(FIRST SECOND), 2, "start" },
        { STR(FIRST "{\"n\":2,\"at_ms\":7,\"event\":\"sta"), 1, "begin" },
        { STR(FIRST "{\"n\":2,\"at_ms\":7,\"event\":\"end\",\"x\":\n"), 1, "begin" },
        { STR(FIRST "{\"n\":2,\"at_ms\":7,\"event\":\"end\",\"x\":\"\0\"}\n"), 1, "begin" },
        { STR(FIRST "\0\0\0\0\0\0\0\n" SECOND), 1, "begin" },
        { STR(FIRST FIRST), 1, "begin" },
        { STR(SECOND), 0, "" },
        { STR("{\"n\":0,\"at_ms\":5,\"event\":\"begin\"}\n"), 0, "" },
        { STR("{\"n\":99999999999999999999,\"at_ms\":5,\"event\":\"begin\"}\n"), 0, "" },
        { STR("{\"n\":1,\"at_ms\":5,\"event\":\"begin}\n"), 0, "" },
        { STR("\n" FIRST), 0, "" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        RunEventScan scan = run_events_scan(rows[i].text);
        assert_int_equal(scan.last, rows[i].last);
        assert_str(scan.end.event, rows[i].end);
        assert_int_equal(scan.begun, rows[i].last > 0);
        assert_true(scan.valid_len <= rows[i].text.len);
        assert_true(scan.last == 0 || rows[i].text.data[scan.valid_len - 1] == '\n');
    }
}

/* One attempt of run `id` that cannot begin. */
static bool attempt(TestDir *dir, Str id, Error *err)
{
    AUTO(RunEvents) *events = NULL;
    RunEventsSettings settings = { .path = test_dir_path(dir, "events"), .run = id };
    return run_events_open(&dir->arena, &settings, &events, err) &&
           run_events_fail(events, "failed", STR("no site"), NULL, 1, err) &&
           run_events_lost(events) == NULL;
}

static Str content(TestDir *dir)
{
    Str text;
    Error err;
    assert_true(file_read(&dir->arena, test_dir_path(dir, "events"), 1 << 20, &text, &err));
    return text;
}

static void a_second_attempt_continues_the_numbers_after_a_torn_line(void **state)
{
    TestDir *dir = *state;
    Error err;
    assert_true(attempt(dir, STR("r1"), &err));
    assert_int_equal(run_events_scan(content(dir)).last, 2);
    Str torn =
        arena_format(&dir->arena, "%" STR_FMT "{\"n\":3,\"at_m%c", STR_ARG(content(dir)), '\0');
    test_dir_put(dir, "events", torn.data);
    assert_true(attempt(dir, STR("r1"), &err));
    RunEventScan scan = run_events_scan(content(dir));
    assert_int_equal(scan.last, 4);
    assert_int_equal(scan.begun, 2);
    assert_int_equal(scan.valid_len, content(dir).len);
    assert_str(scan.end.event, "end");
    assert_true(str_find(content(dir), STR("\"attempt\":2,\"resumed\":true"), 0) != STR_NOT_FOUND);
    assert_true(str_find(scan.end.text, STR("\"reason\":\"no site\",\"exit_code\":1"), 0) !=
                STR_NOT_FOUND);
}

static void a_file_of_another_run_is_not_touched(void **state)
{
    TestDir *dir = *state;
    Error err;
    test_dir_put(dir, "events", FIRST SECOND);
    assert_false(attempt(dir, STR("r2"), &err));
    assert_int_equal(err.kind, ERROR_CONFLICT);
    assert_str(content(dir), FIRST SECOND);
    assert_true(attempt(dir, STR("r1"), &err));
}

static void an_attempt_is_made_once(void **state)
{
    TestDir *dir = *state;
    AUTO(RunEvents) *events = NULL;
    Error err;
    RunEventsSettings settings = { .path = test_dir_path(dir, "events"),
                                   .run = STR("r1"),
                                   .attempt = 1 };
    assert_true(run_events_open(&dir->arena, &settings, &events, &err));
    assert_true(run_events_fail(events, "failed", STR("x"), NULL, 1, &err));
    run_events_close(TAKE(events));
    assert_false(run_events_open(&dir->arena, &settings, &events, &err));
    assert_int_equal(err.kind, ERROR_CONFLICT);
    assert_string_equal(err.text, "another process has made attempt 1 of the run");
    settings.attempt = 2;
    assert_true(run_events_open(&dir->arena, &settings, &events, &err));
}

static void the_problems_of_a_site_are_in_the_end(void **state)
{
    TestDir *dir = *state;
    AUTO(RunEvents) *events = NULL;
    Error err;
    RunEventsSettings settings = { .path = test_dir_path(dir, "events"), .run = STR("r1") };
    problems_add_severity(&dir->problems, SEVERITY_WARNING, "E0002", NULL, 0, 0, "a warning");
    for (int i = 0; i < 100; i++) {
        problems_add(&dir->problems, "E0001", NULL, 0, 0, "problem %d", i);
    }
    assert_true(run_events_open(&dir->arena, &settings, &events, &err));
    assert_true(run_events_fail(events, "failed", STR_EMPTY, &dir->problems, 1, &err));
    Str end = run_events_scan(content(dir)).end.text;
    assert_true(str_find(end,
                         STR("\"failure\":{\"step\":\"\",\"code\":\"E0001\",\"message\":"
                             "\"problem 0\"}"),
                         0) != STR_NOT_FOUND);
    assert_true(str_find(end, STR("problem 19"), 0) != STR_NOT_FOUND);
    assert_true(str_find(end, STR("problem 20"), 0) == STR_NOT_FOUND);
    assert_true(str_find(end, STR("warning"), 0) == STR_NOT_FOUND);
}

/* --- Digests ---------------------------------------------------------------------------------- */

enum {
    STEPS = 3
};

typedef struct Result {
    Step steps[STEPS];
    StepReport reports[STEPS];
    Steps list;
    RunReport report;
} Result;

static void result_init(Result *result)
{
    static const char *const ids[STEPS] = { "a#one", "a#two", "a#three" };
    *result = (Result){ .list = { .count = STEPS } };
    for (uint32_t i = 0; i < STEPS; i++) {
        result->steps[i].id = str_from_c(ids[i]);
        result->reports[i].status.result = RESULT_OK;
    }
    result->list.items = result->steps;
    result->report = (RunReport){ .steps = &result->list, .items = result->reports };
}

static Str digest(TestDir *dir, Result *result)
{
    result->report.steps = &result->list;
    return run_report_digest(&result->report, &dir->arena);
}

static void equal_changes_have_equal_digests(void **state)
{
    TestDir *dir = *state;
    Result a, b;
    result_init(&a);
    assert_str(digest(dir, &a), "");
    result_init(&b);
    a.reports[1].status.result = b.reports[1].status.result = RESULT_CHANGED;
    a.reports[1].diff = b.reports[1].diff = STR("+x");
    a.reports[1].duration_us = 5;
    a.reports[1].out = a.reports[1].shown_out = STR("took 3 s");
    a.reports[2].status.result = RESULT_SKIPPED;
    assert_true(str_eq(digest(dir, &a), digest(dir, &b)));
    assert_int_equal(digest(dir, &a).len, 16);
}

static void different_changes_have_different_digests(void **state)
{
    TestDir *dir = *state;
    Result base, other;
    result_init(&base);
    base.reports[0].status.result = RESULT_CHANGED;
    base.reports[0].diff = STR("+x");
    Str of_base = digest(dir, &base);
    result_init(&other);
    other.reports[1].status.result = RESULT_CHANGED; /* another step */
    other.reports[1].diff = STR("+x");
    assert_false(str_eq(digest(dir, &other), of_base));
    result_init(&other);
    other.reports[0].status.result = RESULT_FAILED; /* another result */
    other.reports[0].diff = STR("+x");
    assert_false(str_eq(digest(dir, &other), of_base));
    result_init(&other);
    other.reports[0].status.result = RESULT_CHANGED; /* another diff */
    other.reports[0].diff = STR("+y");
    assert_false(str_eq(digest(dir, &other), of_base));
    other.reports[0].diff = STR("+x"); /* other changes */
    other.reports[0].changes = map_new(&dir->arena, 1);
    map_set_str(&dir->arena, other.reports[0].changes, STR("mode"), value_string(STR("0644")));
    assert_false(str_eq(digest(dir, &other), of_base));
}

static void the_name_of_the_node_does_not_count(void **state)
{
    TestDir *dir = *state;
    Problem error = { .code = STR("E0601"), .message = STR("web1: exited with 1") };
    Problem error_of_other = { .code = STR("E0601"), .message = STR("web22: exited with 1") };
    Result a, b;
    result_init(&a);
    result_init(&b);
    a.report.node = STR("web1");
    b.report.node = STR("web22");
    a.reports[0].status.result = b.reports[0].status.result = RESULT_CHANGED;
    a.reports[0].diff = STR("+++ /etc/web1\n+hello web1");
    b.reports[0].diff = STR("+++ /etc/web22\n+hello web22");
    a.reports[0].changes = map_new(&dir->arena, 1);
    map_set_str(&dir->arena, a.reports[0].changes, STR("size"), value_int(11));
    b.reports[0].changes = map_new(&dir->arena, 1);
    map_set_str(&dir->arena, b.reports[0].changes, STR("size"), value_int(12));
    a.reports[1].status.result = b.reports[1].status.result = RESULT_FAILED;
    a.reports[1].error = &error;
    b.reports[1].error = &error_of_other;
    assert_true(str_eq(digest(dir, &a), digest(dir, &b)));
    error_of_other.message = STR("web22: exited with 2");
    assert_false(str_eq(digest(dir, &a), digest(dir, &b)));
    b.reports[1].error = &error;
    assert_false(str_eq(digest(dir, &a), digest(dir, &b)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_count_up_to_the_first_damaged_one),
        TEST_IN_DIR(a_second_attempt_continues_the_numbers_after_a_torn_line),
        TEST_IN_DIR(a_file_of_another_run_is_not_touched),
        TEST_IN_DIR(an_attempt_is_made_once),
        TEST_IN_DIR(the_problems_of_a_site_are_in_the_end),
        TEST_IN_DIR(equal_changes_have_equal_digests),
        TEST_IN_DIR(different_changes_have_different_digests),
        TEST_IN_DIR(the_name_of_the_node_does_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
