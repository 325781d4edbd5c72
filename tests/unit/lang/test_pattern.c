#include "lang/pattern.h"

#include "unit.h"

static bool finds(const char *pattern, Str text)
{
    AUTO(Pattern) *compiled = NULL;
    Error err;
    bool found = false;
    assert_true(pattern_new(str_from_c(pattern), &compiled, &err));
    assert_true(pattern_find(compiled, text, &found, &err));
    return found;
}

static void finds_anywhere_in_a_line(void **state)
{
    assert_true(finds("^#?Port\\s", STR("#Port 22")));
    assert_false(finds("^#?Port\\s", STR("GatewayPorts no")));
    assert_true(finds("", STR_EMPTY));
    assert_true(finds("b", STR("a\xff\xfe b")));
}

static void a_bad_pattern_is_reported_with_its_position(void **state)
{
    Pattern *pattern;
    Error err;
    assert_false(pattern_new(STR("a(b"), &pattern, &err));
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_non_null(strstr(err.text, "invalid pattern 'a(b': missing closing parenthesis"));
}

static void endless_backtracking_is_stopped(void **state)
{
    AUTO(Pattern) *pattern = NULL;
    Error err;
    bool found;
    assert_true(pattern_new(STR("(a+)+$"), &pattern, &err));
    assert_false(
        pattern_find(pattern, STR("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"), &found, &err));
    assert_int_equal(err.kind, ERROR_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_anywhere_in_a_line),
        cmocka_unit_test(a_bad_pattern_is_reported_with_its_position),
        cmocka_unit_test(endless_backtracking_is_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
