#include "run/last_applied.h"

#include "lang/json.h"
#include "scratch.h"

static Value json(Scratch *scratch, const char *text)
{
    Value v;
    Error err;
    assert_true(json_parse_text(&scratch->arena, str_from_c(text), NULL, &v, &err));
    return v;
}

static Digest digest(Scratch *scratch, const char *text)
{
    return digest_value(json(scratch, text));
}

static void values_that_differ_have_digests_that_differ(void **state)
{
    Scratch *scratch = *state;
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
            assert_int_equal(digest_equal(digest(scratch, values[i]), digest(scratch, values[k])),
                             i == k);
        }
    }
}

/* Written down, because what one version saved another one reads. */
static void digests_stay_the_same_for_ever(void **state)
{
    Digest known =
        digest(*state, "{\"name\": \"/etc/motd\", \"mode\": 420, \"list\": [1.5, null]}");
    assert_int_equal(known.high, UINT64_C(0xa2b3c857e4aad85d));
    assert_int_equal(known.low, UINT64_C(0x88ce3a34680b5cd4));
}

static void load(Scratch *scratch, const Directory *directory, LastApplied *last, uint32_t warned)
{
    Error err;
    Problems problems;
    problems_init(&problems, &scratch->arena);
    last_applied_init(last, &scratch->arena, STR("/srv/site"));
    assert_true(last_applied_load(last, directory, &problems, &err));
    assert_int_equal(problems.count, warned);
}

static bool is_gone(void *context, Str step)
{
    assert_false(str_eq(step, STR("web#motd"))); /* it was looked up */
    return str_eq(step, STR("web#gone"));
}

static void drift_is_told_from_intent(void **state)
{
    Scratch *scratch = *state;
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    Error err;
    assert_true(directory_open(scratch->path, &directory, &err));
    LastApplied last;
    load(scratch, &directory, &last, 0);
    Digest one = digest(scratch, "1"), two = digest(scratch, "2");
    assert_int_equal(last_applied_cause(&last, STR("web#motd"), one), CAUSE_NEW);
    last_applied_set(&last, STR("web#motd"), one);
    last_applied_set(&last, STR("web#gone"), one);
    last_applied_set(&last, STR("web#blocked"), one);
    assert_true(last_applied_save(&last, &directory, &err));
    load(scratch, &directory, &last, 0);
    assert_int_equal(last_applied_cause(&last, STR("web#motd"), one), CAUSE_DRIFT);
    assert_int_equal(last_applied_cause(&last, STR("web#motd"), two), CAUSE_INTENT);
    assert_int_equal(last_applied_cause(&last, STR("web#mot"), one), CAUSE_NEW);
    last_applied_drop(&last, is_gone, &last);
    assert_true(last_applied_save(&last, &directory, &err));
    load(scratch, &directory, &last, 0);
    assert_int_equal(last_applied_cause(&last, STR("web#gone"), one), CAUSE_NEW);
    assert_int_equal(last_applied_cause(&last, STR("web#blocked"), one), CAUSE_DRIFT);
    assert_int_equal(last_applied_cause(&last, STR("web#motd"), one), CAUSE_DRIFT);
}

static void a_run_without_news_writes_nothing(void **state)
{
    Scratch *scratch = *state;
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    Error err;
    assert_true(directory_open(scratch->path, &directory, &err));
    LastApplied last;
    load(scratch, &directory, &last, 0);
    assert_true(last_applied_save(&last, &directory, &err));
    assert_false(directory_has(&directory, last.file));
    last_applied_set(&last, STR("a"), digest(scratch, "1"));
    assert_true(last_applied_save(&last, &directory, &err));
    assert_true(directory_remove(&directory, last.file, &err));
    last_applied_set(&last, STR("a"), digest(scratch, "1"));
    assert_true(last_applied_save(&last, &directory, &err));
    assert_false(directory_has(&directory, last.file));
}

static void a_damaged_file_is_told_and_counts_as_empty(void **state)
{
    Scratch *scratch = *state;
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    Error err;
    assert_true(directory_open(scratch->path, &directory, &err));
    LastApplied last;
    load(scratch, &directory, &last, 0);
    last_applied_set(&last, STR("web#a"), digest(scratch, "1"));
    last_applied_set(&last, STR("web#b"), digest(scratch, "2"));
    assert_true(last_applied_save(&last, &directory, &err));
    Str whole;
    assert_true(directory_read(&directory, &scratch->arena, last.file, 10000, &whole, &err));
    char *bytes = arena_copy_c(&scratch->arena, whole);
    for (size_t len = 0; len < whole.len; len++) {
        assert_true(
            directory_write(&directory, last.file, str_slice(whole, 0, len), false, &err));
        load(scratch, &directory, &last, 1);
        assert_int_equal(last.steps.count, 0);
        bytes[len] ^= 4;
        assert_true(
            directory_write(&directory, last.file, str_from(bytes, whole.len), false, &err));
        load(scratch, &directory, &last, 1);
        bytes[len] ^= 4;
    }
    assert_true(last_applied_save(&last, &directory, &err));
    load(scratch, &directory, &last, 0);
}

static void many_steps_and_long_names_come_back(void **state)
{
    Scratch *scratch = *state;
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    Error err;
    assert_true(directory_open(scratch->path, &directory, &err));
    LastApplied last;
    load(scratch, &directory, &last, 0);
    char name[10000];
    memset(name, 'x', sizeof name);
    last_applied_set(&last, str_from(name, sizeof name), digest(scratch, "7"));
    for (int i = 0; i < 5000; i++) {
        Str step = arena_format(&scratch->arena, "job#step %d", i);
        last_applied_set(&last, step, digest_value(value_int(i)));
    }
    assert_true(last_applied_save(&last, &directory, &err));
    load(scratch, &directory, &last, 0);
    assert_int_equal(last.steps.count, 5001);
    assert_int_equal(last_applied_cause(&last, STR("job#step 4999"), digest_value(value_int(4999))),
                     CAUSE_DRIFT);
    assert_int_equal(last_applied_cause(&last, str_from(name, sizeof name), digest(scratch, "7")),
                     CAUSE_DRIFT);
}

#define SCRATCH_TEST(f) cmocka_unit_test_setup_teardown(f, scratch_set_up, scratch_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(values_that_differ_have_digests_that_differ),
        SCRATCH_TEST(digests_stay_the_same_for_ever),
        SCRATCH_TEST(drift_is_told_from_intent),
        SCRATCH_TEST(a_run_without_news_writes_nothing),
        SCRATCH_TEST(a_damaged_file_is_told_and_counts_as_empty),
        SCRATCH_TEST(many_steps_and_long_names_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
