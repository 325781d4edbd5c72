#include "base/glob.h"

#include "unit.h"

static void wildcards_match_names(void **state)
{
    static const struct {
        const char *pattern, *text;
        bool matches;
    } rows[] = {
        { "", "", true },
        { "", "a", false },
        { "web", "web", true },
        { "web", "web1", false },
        { "*", "", true },
        { "*", "a/b", true },
        { "web*", "web01.example.com", true },
        { "*.com", "web.com.com", true },
        { "a*b*c", "a-b-b-c", true },
        { "a*b*c", "a-c-b", false },
        { "web?", "web1", true },
        { "web?", "web", false },
        { "?", "\xc3\xa9", true },
        { "web[123]", "web2", true },
        { "web[123]", "web4", false },
        { "web[0-9][0-9]", "web42", true },
        { "web[!0-9]", "webx", true },
        { "web[!0-9]", "web1", false },
        { "[]]", "]", true },
        { "[*]", "*", true },
        { "[*]", "a", false },
        { "a[", "a[", true },
        { "a[b", "a[b", true },
        { "**", "abc", true },
        { "*a", "baab", false },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        bool got = glob_match(str_from_c(rows[i].pattern), str_from_c(rows[i].text));
        if (got != rows[i].matches) {
            fail_msg("'%s' and '%s'", rows[i].pattern, rows[i].text);
        }
    }
}

static void only_wildcards_make_a_pattern(void **state)
{
    assert_true(glob_is_pattern(STR("a*")));
    assert_true(glob_is_pattern(STR("a?")));
    assert_true(glob_is_pattern(STR("[a]")));
    assert_false(glob_is_pattern(STR("a]/b-c")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wildcards_match_names),
        cmocka_unit_test(only_wildcards_make_a_pattern),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
