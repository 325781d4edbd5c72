#include "run/last_applied.h"

#include <stdlib.h>

#include "lang/json.h"
#include "scratch.h"

/* The last applied state, in a separate directory. */
typedef struct Fixture {
    Scratch *scratch;
    Directory directory;
    LastApplied last;
    Error err;
} Fixture;

static Digest digest(Fixture *fixture, const char *text)
{
    Value value;
    assert_true(
        json_parse_text(&fixture->scratch->arena, str_from_c(text), NULL, &value, &fixture->err));
    return digest_value(value);
}

static void load(Fixture *fixture, uint32_t warned)
{
    Problems problems;
    problems_init(&problems, &fixture->scratch->arena);
    last_applied_init(&fixture->last, &fixture->scratch->arena, STR_EMPTY, STR("/srv/site"));
    assert_true(last_applied_load(&fixture->last, &fixture->directory, &problems, &fixture->err));
    assert_int_equal(problems.count, warned);
}

static void save(Fixture *fixture)
{
    assert_true(last_applied_save(&fixture->last, &fixture->directory, &fixture->err));
}

static void put(Fixture *fixture, Str text)
{
    assert_true(
        directory_write(&fixture->directory, fixture->last.file, text, false, &fixture->err));
}

static bool has_file(const Fixture *fixture)
{
    return directory_has(&fixture->directory, fixture->last.file);
}

static int set_up(void **state)
{
    Fixture *fixture = calloc(1, sizeof *fixture);
    void *scratch = NULL;
    int failed = scratch_set_up(&scratch);
    fixture->scratch = scratch;
    *state = fixture;
    if (failed != 0 ||
        !directory_open(fixture->scratch->path, &fixture->directory, &fixture->err)) {
        return -1;
    }
    load(fixture, 0);
    return 0;
}

static int tear_down(void **state)
{
    Fixture *fixture = *state;
    void *scratch = fixture->scratch;
    directory_close(&fixture->directory);
    free(fixture);
    return scratch_tear_down(&scratch);
}

static void values_that_differ_have_digests_that_differ(void **state)
{
    Fixture *fixture = *state;
    static const char *const values[] = {
        "null",      "false",     "true",      "0",
        "1",         "-1",        "1.0",       "\"\"",
        "\"1\"",     "\"a\"",     "\"aa\"",    "\"12345678\"",
        "[]",        "{}",        "[[]]",      "[null]",
        "[1,2]",     "[2,1]",     "[\"ab\"]",  "[\"a\",\"b\"]",
        "{\"a\":1}", "{\"a\":2}", "{\"b\":1}", "\"12345678\\u0000\"",
    };
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        for (size_t k = 0; k < COUNT_OF(values); k++) {
            assert_int_equal(digest_equal(digest(fixture, values[i]), digest(fixture, values[k])),
                             i == k);
        }
    }
}

/* Spelled out, because another version reads what one version saved. */
static void digests_never_change(void **state)
{
    Digest known =
        digest(*state, "{\"name\": \"/etc/motd\", \"mode\": 420, \"list\": [1.5, null]}");
    assert_int_equal(known.high, UINT64_C(0xa2b3c857e4aad85d));
    assert_int_equal(known.low, UINT64_C(0x88ce3a34680b5cd4));
}

static bool is_gone(void *context, Str step)
{
    assert_false(str_eq(step, STR("web#motd"))); /* it was looked up */
    return str_eq(step, STR("web#gone"));
}

static void drift_is_distinguished_from_intent(void **state)
{
    Fixture *fixture = *state;
    LastApplied *last = &fixture->last;
    Digest one = digest(fixture, "1"), two = digest(fixture, "2");
    assert_int_equal(last_applied_cause(last, STR("web#motd"), one), CAUSE_NEW);
    last_applied_set(last, STR("web#motd"), one);
    last_applied_set(last, STR("web#gone"), one);
    last_applied_set(last, STR("web#blocked"), one);
    save(fixture);
    load(fixture, 0);
    assert_int_equal(last_applied_cause(last, STR("web#motd"), one), CAUSE_DRIFT);
    assert_int_equal(last_applied_cause(last, STR("web#motd"), two), CAUSE_INTENT);
    assert_int_equal(last_applied_cause(last, STR("web#mot"), one), CAUSE_NEW);
    last_applied_drop(last, is_gone, last);
    save(fixture);
    load(fixture, 0);
    assert_int_equal(last_applied_cause(last, STR("web#gone"), one), CAUSE_NEW);
    assert_int_equal(last_applied_cause(last, STR("web#blocked"), one), CAUSE_DRIFT);
    assert_int_equal(last_applied_cause(last, STR("web#motd"), one), CAUSE_DRIFT);
}

static void a_run_without_changes_writes_nothing(void **state)
{
    Fixture *fixture = *state;
    LastApplied *last = &fixture->last;
    save(fixture);
    assert_false(has_file(fixture));
    last_applied_set(last, STR("a"), digest(fixture, "1"));
    save(fixture);
    assert_true(directory_remove(&fixture->directory, last->file, &fixture->err));
    last_applied_set(last, STR("a"), digest(fixture, "1"));
    save(fixture);
    assert_false(has_file(fixture));
}

static void a_damaged_file_is_reported_and_counts_as_empty(void **state)
{
    Fixture *fixture = *state;
    LastApplied *last = &fixture->last;
    last_applied_set(last, STR("web#a"), digest(fixture, "1"));
    last_applied_set(last, STR("web#b"), digest(fixture, "2"));
    save(fixture);
    Str whole;
    assert_true(directory_read(&fixture->directory, &fixture->scratch->arena, last->file, 10000,
                               &whole, &fixture->err));
    char *bytes = arena_copy_c(&fixture->scratch->arena, whole);
    for (size_t len = 0; len < whole.len; len++) {
        put(fixture, str_slice(whole, 0, len));
        load(fixture, 1);
        assert_int_equal(last->steps.count, 0);
        bytes[len] ^= 4;
        put(fixture, str_from(bytes, whole.len));
        load(fixture, 1);
        bytes[len] ^= 4;
    }
    save(fixture);
    load(fixture, 0);
}

static void many_steps_and_long_names_survive_a_round_trip(void **state)
{
    Fixture *fixture = *state;
    LastApplied *last = &fixture->last;
    char name[10000];
    memset(name, 'x', sizeof name);
    last_applied_set(last, str_from(name, sizeof name), digest(fixture, "7"));
    for (int i = 0; i < 5000; i++) {
        Str step = arena_format(&fixture->scratch->arena, "job#step %d", i);
        last_applied_set(last, step, digest_value(value_int(i)));
    }
    save(fixture);
    load(fixture, 0);
    assert_int_equal(last->steps.count, 5001);
    assert_int_equal(last_applied_cause(last, STR("job#step 4999"), digest_value(value_int(4999))),
                     CAUSE_DRIFT);
    assert_int_equal(last_applied_cause(last, str_from(name, sizeof name), digest(fixture, "7")),
                     CAUSE_DRIFT);
}

#define IN_DIRECTORY(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

/* As written by a version that identified sites by their paths. */
static void entries_by_path_move_to_the_name(void **state)
{
    Fixture *fixture = *state;
    Problems problems;
    problems_init(&problems, &fixture->scratch->arena);
    last_applied_set(&fixture->last, STR("job#a"), digest(fixture, "1"));
    save(fixture);
    const char *former = fixture->last.file;
    last_applied_init(&fixture->last, &fixture->scratch->arena, STR("site"), STR("/srv/site"));
    assert_string_not_equal(fixture->last.file, former);
    assert_true(last_applied_load(&fixture->last, &fixture->directory, &problems, &fixture->err));
    assert_int_equal(last_applied_cause(&fixture->last, STR("job#a"), digest(fixture, "1")),
                     CAUSE_DRIFT);
    save(fixture);
    assert_true(has_file(fixture));
    assert_false(directory_has(&fixture->directory, former));
    last_applied_init(&fixture->last, &fixture->scratch->arena, STR("site"),
                      STR("/elsewhere/site"));
    assert_true(last_applied_load(&fixture->last, &fixture->directory, &problems, &fixture->err));
    assert_int_equal(last_applied_cause(&fixture->last, STR("job#a"), digest(fixture, "2")),
                     CAUSE_INTENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(values_that_differ_have_digests_that_differ),
        IN_DIRECTORY(digests_never_change),
        IN_DIRECTORY(drift_is_distinguished_from_intent),
        IN_DIRECTORY(a_run_without_changes_writes_nothing),
        IN_DIRECTORY(a_damaged_file_is_reported_and_counts_as_empty),
        IN_DIRECTORY(many_steps_and_long_names_survive_a_round_trip),
        IN_DIRECTORY(entries_by_path_move_to_the_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
