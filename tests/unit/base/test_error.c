#include "base/error.h"

#include "base/utf8.h"
#include "unit.h"

static void error_set_returns_false(void **state)
{
    Error err = { 0 };
    assert_false(error_set(&err, ERROR_NOT_FOUND, "no file '%s'", "a"));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    assert_string_equal(err.text, "no file 'a'");
    assert_false(error_wrap(&err, "job '%s'", "web"));
    assert_false(error_wrap(&err, "site"));
    assert_string_equal(err.text, "site: job 'web': no file 'a'");
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
}

static void the_cause_outlives_the_context(void **state)
{
    Error err = { 0 };
    error_set(&err, ERROR_INVALID, "the cause");
    for (int i = 0; i < 100; i++) {
        assert_false(error_wrap(&err, "context number %d", i));
    }
    assert_true(str_ends(str_from_c(err.text), STR(": context number 0: the cause")));
    assert_true(strlen(err.text) < sizeof err.text);

    char long_context[2 * sizeof err.text];
    memset(long_context, 'c', sizeof long_context - 1);
    long_context[sizeof long_context - 1] = '\0';
    error_set(&err, ERROR_INVALID, "the cause");
    error_wrap(&err, "%s", long_context);
    assert_string_equal(err.text, "the cause");
}

/* Context is kept if it fits exactly, and dropped if it is one byte longer. */
static void context_fills_the_buffer_exactly(void **state)
{
    Error err = { 0 };
    char context[sizeof err.text];
    memset(context, 'c', sizeof context);
    size_t fits = sizeof err.text - 1 - strlen(": cause");
    error_set(&err, ERROR_INVALID, "cause");
    error_wrap(&err, "%.*s", (int)fits + 1, context);
    assert_string_equal(err.text, "cause");
    error_wrap(&err, "%.*s", (int)fits, context);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    assert_true(str_ends(str_from_c(err.text), STR("c: cause")));
}

static void a_long_cause_is_truncated_between_characters(void **state)
{
    for (int shift = 0; shift < 4; shift++) {
        char text[2000];
        size_t len = 0;
        for (int i = 0; i < shift; i++) {
            text[len++] = 'x';
        }
        while (len + 4 < sizeof text) {
            len += utf8_encode(0x1f600, text + len);
        }
        text[len] = '\0';
        Error err = { 0 };
        error_set(&err, ERROR_INVALID, "%s", text);
        assert_true(utf8_is_valid(str_from_c(err.text)));
        assert_true(strlen(err.text) >= sizeof err.text - 4);
    }
    Error err = { 0 };
    char ascii[2000];
    memset(ascii, 'a', sizeof ascii - 1);
    ascii[sizeof ascii - 1] = '\0';
    error_set(&err, ERROR_INVALID, "%s", ascii);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
}

static void an_error_can_quote_itself(void **state)
{
    Error err = { 0 };
    error_set(&err, ERROR_OS, "disk full");
    error_set(&err, ERROR_UNAVAILABLE, "giving up after '%s'", err.text);
    assert_string_equal(err.text, "giving up after 'disk full'");
    error_wrap(&err, "again %s", err.text);
    assert_string_equal(err.text, "again giving up after 'disk full': giving up after 'disk full'");
}

static void some_failures_are_temporary(void **state)
{
    for (ErrorKind kind = ERROR_NONE; kind <= ERROR_BUG; kind++) {
        Error err = { .kind = kind };
        assert_int_equal(error_is_transient(&err),
                         kind == ERROR_UNAVAILABLE || kind == ERROR_LIMIT || kind == ERROR_TIMEOUT);
    }
}

static void every_kind_has_a_name_and_an_exit_code(void **state)
{
    for (ErrorKind kind = ERROR_NONE; kind <= ERROR_BUG; kind++) {
        assert_true(strlen(error_kind_name(kind)) > 0);
        for (ErrorKind other = ERROR_NONE; other < kind; other++) {
            assert_string_not_equal(error_kind_name(kind), error_kind_name(other));
        }
        assert_int_equal(error_kind_exit_code(kind) == 0, kind == ERROR_NONE);
    }
    assert_int_equal(error_kind_exit_code(ERROR_UNAVAILABLE), 3);
    assert_int_equal(error_kind_exit_code(ERROR_DENIED), 4);
    assert_int_equal(error_kind_exit_code(ERROR_CONFLICT), 5);
    assert_int_equal(error_kind_exit_code(ERROR_TIMEOUT), 124);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(error_set_returns_false),
        cmocka_unit_test(the_cause_outlives_the_context),
        cmocka_unit_test(context_fills_the_buffer_exactly),
        cmocka_unit_test(a_long_cause_is_truncated_between_characters),
        cmocka_unit_test(an_error_can_quote_itself),
        cmocka_unit_test(some_failures_are_temporary),
        cmocka_unit_test(every_kind_has_a_name_and_an_exit_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
