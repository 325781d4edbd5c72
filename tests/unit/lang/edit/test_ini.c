#include "lang/edit/ini.h"

#include "unit.h"

#define REQUEST(...)                                            \
    (IniRequest)                                                \
    {                                                           \
        .exclusive = true, .separator = STR(" = "), __VA_ARGS__ \
    }
#define SET(s, o, v) \
    REQUEST(.section = STR(s), .option = STR(o), .value = STR(v), .has_value = true)
#define GONE(s, o) REQUEST(.section = STR(s), .option = STR(o), .absent = true)

typedef struct Case {
    const char *before;
    IniRequest request;
    const char *after; /* NULL: unchanged */
} Case;

static void check_case(const Case *one)
{
    Arena arena;
    Error err;
    Str before = str_from_c(one->before);
    arena_init(&arena, ARENA_UNLIMITED);
    if (!ini_request_check(&one->request, &err)) {
        fail_msg("%s", err.text);
    }
    Str after = ini_edit(&arena, before, &one->request);
    assert_str(after, one->after == NULL ? one->before : one->after);
    assert_true(one->after != NULL || after.data == before.data);
    /* Repeating it changes nothing. */
    Str again = ini_edit(&arena, after, &one->request);
    assert_true(again.data == after.data);
    arena_clear(&arena);
}

static void check_cases(const Case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        check_case(&cases[i]);
    }
}
#define CHECK(...)                             \
    do {                                       \
        const Case cases_[] = { __VA_ARGS__ }; \
        check_cases(cases_, COUNT_OF(cases_)); \
    } while (0)

static void a_value_is_changed_in_its_line(void **state)
{
    CHECK({ "[a]\nx = 1\ny = 2\n", SET("a", "x", "5"), "[a]\nx = 5\ny = 2\n" },
          { "[a]\nx=1\n", SET("a", "x", "5"), "[a]\nx=5\n" },
          { "[a]\n\tx   =   1\n", SET("a", "x", "5"), "[a]\n\tx   =   5\n" },
          { "[a]\nx = 5\n", SET("a", "x", "5"), NULL },
          { "[a]\nx=5   \n", SET("a", "x", "5"), NULL },
          { "[a]\nx =\n", SET("a", "x", "5"), "[a]\nx = 5\n" },
          { "[a]\nx=\n", SET("a", "x", "5"), "[a]\nx=5\n" },
          { "[a]\nx\n", SET("a", "x", "5"), "[a]\nx = 5\n" },
          { "[a]\nx = 1\n", SET("a", "x", ""), "[a]\nx =\n" },
          { "[a]\nx = a = b\n", SET("a", "x", "a = c"), "[a]\nx = a = c\n" },
          { "x = 1\n[a]\nx = 2\n", SET("", "x", "5"), "x = 5\n[a]\nx = 2\n" },
          { "x = 1\n[a]\nx = 2\n", SET("a", "x", "5"), "x = 1\n[a]\nx = 5\n" },
          { "[a]\nx = 1", SET("a", "x", "5"), "[a]\nx = 5" });
}

static void a_new_option_is_formatted_like_its_neighbors(void **state)
{
    CHECK(
        { "[a]\nx = 1\n", SET("a", "y", "2"), "[a]\nx = 1\ny = 2\n" },
        { "[a]\nx=1\n", SET("a", "y", "2"), "[a]\nx=1\ny=2\n" },
        { "[a]\n\tx = 1\n", SET("a", "y", "2"), "[a]\n\tx = 1\n\ty = 2\n" },
        { "[a]\nlonger    = 1\n", SET("a", "y", "2"), "[a]\nlonger    = 1\ny = 2\n" },
        { "[a]\nx=1\n\n# about b\n[b]\n", SET("a", "y", "2"), "[a]\nx=1\ny=2\n\n# about b\n[b]\n" },
        { "[a]\nx=1\n[b]\n", SET("b", "y", "2"), "[a]\nx=1\n[b]\ny=2\n" },
        { "[a]\n# comment\n", SET("a", "y", "2"), "[a]\ny = 2\n# comment\n" },
        { "[a]", SET("a", "y", "2"), "[a]\ny = 2\n" },
        { "[a]\nx=1", SET("a", "y", "2"), "[a]\nx=1\ny=2\n" },
        { "[a]\nskip\nx=1\n", SET("a", "y", ""), "[a]\nskip\nx=1\ny=\n" },
        { "[a]\nx =\n", SET("a", "y", "2"), "[a]\nx =\ny = 2\n" });
}

static void a_new_option_follows_a_comment_that_shows_it(void **state)
{
    CHECK(
        { "[a]\n#port = 80\n# more\nx = 1\n", SET("a", "port", "81"),
          "[a]\n#port = 80\nport = 81\n# more\nx = 1\n" },
        { "[a]\n ; port=80\nx = 1\n", SET("a", "port", "81"), "[a]\n ; port=80\nport=81\nx = 1\n" },
        { "[a]\n#port=\n", SET("a", "port", "81"), "[a]\n#port=\nport=81\n" },
        { "[a]\n# the port = 80\nx=1\n", SET("a", "port", "81"),
          "[a]\n# the port = 80\nx=1\nport=81\n" },
        { "[b]\n#port=80\n[a]\nx=1\n", SET("a", "port", "81"),
          "[b]\n#port=80\n[a]\nx=1\nport=81\n" });
}

static void a_missing_section_is_appended(void **state)
{
    CHECK({ "", SET("a", "x", "1"), "[a]\nx = 1\n" }, { "", SET("", "x", "1"), "x = 1\n" },
          { "[b]\ny=1\n", SET("a", "x", "1"), "[b]\ny=1\n\n[a]\nx=1\n" },
          { "[b]\ny=1\n\n", SET("a", "x", "1"), "[b]\ny=1\n\n[a]\nx=1\n" },
          { "[b]\ny=1", SET("a", "x", "1"), "[b]\ny=1\n\n[a]\nx=1\n" },
          { "[remote \"o\"]\n\turl = x\n", SET("remote \"p\"", "url", "y"),
            "[remote \"o\"]\n\turl = x\n\n[remote \"p\"]\n\turl = y\n" },
          { "[b]\n", REQUEST(.section = STR("a")), "[b]\n\n[a]\n" },
          { "[b]\n[a]\n", REQUEST(.section = STR("a")), NULL });
}

static void options_without_a_section_precede_the_first(void **state)
{
    CHECK({ "[a]\nx=1\n", SET("", "y", "2"), "y=2\n\n[a]\nx=1\n" },
          { "# about a\n[a]\n", SET("", "y", "2"), "y = 2\n\n# about a\n[a]\n" },
          { "# file\n\n[a]\n", SET("", "y", "2"), "# file\n\ny = 2\n\n[a]\n" },
          { "# file\n", SET("", "y", "2"), "# file\ny = 2\n" },
          { "x=1\n[a]\n", SET("", "y", "2"), "x=1\ny=2\n[a]\n" });
}

static void duplicate_options_are_reduced_to_one(void **state)
{
    CHECK({ "[a]\nx=1\ny=0\nx=2\n", SET("a", "x", "3"), "[a]\ny=0\nx=3\n" },
          { "[a]\nx=1\ny=0\nx=2\n", SET("a", "x", "1"), "[a]\nx=1\ny=0\n" },
          { "[a]\nx=1\n[b]\nx=7\n[a]\nx=2\n", SET("a", "x", "3"), "[a]\n[b]\nx=7\n[a]\nx=3\n" },
          { "[a]\nx=1\n[b]\n[a]\n", SET("a", "y", "3"), "[a]\nx=1\n[b]\n[a]\ny=3\n" });
}

static void duplicate_options_can_be_kept(void **state)
{
    IniRequest request = SET("a", "x", "3"), gone = GONE("a", "x");
    request.exclusive = false;
    gone.value = STR("2");
    gone.has_value = true;
    CHECK({ "[a]\nx=1\nx=2\ny=0\n", request, "[a]\nx=1\nx=2\nx=3\ny=0\n" },
          { "[a]\nx=3\nx=2\n", request, NULL }, { "[a]\nx=1\nx=2\nx=2\n", gone, "[a]\nx=1\n" });
}

static void options_and_sections_can_be_removed(void **state)
{
    CHECK({ "[a]\nx=1\ny=2\n", GONE("a", "x"), "[a]\ny=2\n" },
          { "[a]\nx=1\nx=3\n", GONE("a", "x"), "[a]\n" }, { "[a]\nx=1\n", GONE("b", "x"), NULL },
          { "", GONE("b", "x"), NULL },
          { "[a]\nx=1\n more\n more\ny=2\n", GONE("a", "x"), "[a]\ny=2\n" },
          { "[a]\nx=1\n\n# about b\n[b]\ny=2\n", GONE("a", ""), "# about b\n[b]\ny=2\n" },
          { "[b]\n[a]\nx=1\n# end\n", GONE("a", ""), "[b]\n" },
          { "[a]\nx=1\n[b]\n[a]\ny=1\n", GONE("a", ""), "[b]\n" },
          { "[a]\nx=1\n[a]\ny=1\n", GONE("a", ""), "" });
}

static void multi_line_values(void **state)
{
    CHECK({ "[a]\nx =\n    one\n    two==2\ny = 1\n", SET("a", "x", "\none\ntwo==2\n"), NULL },
          { "[a]\nx =\n    one\n    two==2\ny = 1\n", SET("a", "x", "3"), "[a]\nx = 3\ny = 1\n" },
          { "[a]\nx = 3\ny = 1\n", SET("a", "x", "one\ntwo"), "[a]\nx = one\n    two\ny = 1\n" },
          { "[a]\ny=1\n", SET("a", "x", "one\ntwo"), "[a]\ny=1\nx=one\n    two\n" },
          { "[a]\nx=a \\\n b\\\nc=d\ny=2\n", SET("a", "x", "7"), "[a]\nx=7\ny=2\n" },
          { "[a]\nx=a \\\n  b\n", SET("a", "x", "a \\\nb"), NULL },
          { "[a]\nx = 1\n    one\n", SET("a", "x", "1"), "[a]\nx = 1\n" },
          { "[a]\nx = 1\n", SET("a", "x", "1\ntwo"), "[a]\nx = 1\n    two\n" },
          { "[a]\n  x = 1\n  y = 2\n", SET("a", "y", "3"), "[a]\n  x = 1\n  y = 3\n" });
}

static void inline_comments_are_supported_on_request(void **state)
{
    IniRequest request = SET("a", "x", "5");
    CHECK({ "[a]\nx = 1 ; one\n", request, "[a]\nx = 5\n" });
    request.comments = STR(";#");
    CHECK({ "[a]\nx = 1 ; one\n", request, "[a]\nx = 5 ; one\n" },
          { "[a]\nx = 5  # five\n", request, NULL }, { "[a]\nx = 5;5\n", request, "[a]\nx = 5\n" },
          { "[a]\nx = # none\n", request, "[a]\nx = 5 # none\n" });
}

static void options_without_a_value(void **state)
{
    IniRequest request = REQUEST(.section = STR("a"), .option = STR("x"), .bare = true);
    CHECK({ "[a]\ny = 1\n", request, "[a]\ny = 1\nx\n" }, { "[a]\nx\n", request, NULL },
          { "[a]\n x = 1\n", request, "[a]\n x\n" });
}

static void other_separators(void **state)
{
    IniRequest request = SET("", "x", "http://a");
    request.separator = STR(": ");
    CHECK({ "x: 1\n", request, "x: http://a\n" }, { "", request, "x: http://a\n" },
          { "y:1\n", request, "y:1\nx:http://a\n" });
}

static void comments_between_continuation_lines_belong_to_the_value(void **state)
{
    CHECK({ "[a]\nx = 1\n# c\n  2\n", SET("a", "x", "5"), "[a]\nx = 5\n" },
          { "[a]\nx = 1\n# c\n  2\n# d\n", SET("a", "x", "1\n2"), NULL },
          { "[a]\nx = 1\n# c\n  2\n# d\n", SET("a", "x", "1"), "[a]\nx = 1\n# d\n" },
          { "[a]\nx =\n ; c\n [b]\ny = 1\n", GONE("a", "x"), "[a]\ny = 1\n" });

    IniRequest request = SET("a", "x", "5");
    request.comments = STR("#");
    CHECK({ "[a]\nx = 1 # c\\\\\\\n2\ny = 1\n", request, "[a]\nx = 5 # c\ny = 1\n" });
}

static void unusual_texts_are_preserved(void **state)
{
    CHECK(
        { "[a]\r\nx=1\r\n", SET("a", "x", "2"), "[a]\r\nx=2\r\n" },
        /* An indented section would become a continuation line of the value above it. */
        { "[a]\n [b]\n", SET("a", "y", "2"), "[a]\n y = 2\n [b]\n" },
        { "[a]\n# c\n  [b]\n", SET("a", "y", "2"), "[a]\n  y = 2\n# c\n  [b]\n" },
        { "[a]\r\nx=1\r\n", SET("a", "y", "2"), "[a]\r\nx=1\r\ny=2\r\n" },
        { "[a]\r\n", SET("b", "y", "2"), "[a]\r\n\r\n[b]\r\ny = 2\r\n" },
        { "\xef\xbb\xbf[a]\nx=1\n", SET("a", "x", "2"), "\xef\xbb\xbf[a]\nx=2\n" },
        { "\xef\xbb\xbf[a]\n", SET("", "x", "2"), "\xef\xbb\xbfx = 2\n\n[a]\n" },
        { "\xef\xbb\xbfx=1\n", GONE("", "x"), "\xef\xbb\xbf" },
        { "x=1\n\xef\xbb\xbfx=2\n", GONE("", "x"), "\n\xef\xbb\xbfx=2\n" },
        { "[ a ]  ; the first\nx=1\n", SET("a", "x", "2"), "[ a ]  ; the first\nx=2\n" },
        { "[a]b]\nx=1\n", SET("a]b", "x", "2"), "[a]b]\nx=2\n" },
        { "[a]\n#y=1\n p\nx=1\n", SET("a", "y", "2"), "[a]\n#y=1\n y=2\n p\nx=1\n" },
        { "[a]\nx=1\\\n", SET("a", "y", "2"), "[a]\nx=1\\\n\ny=2\n" },
        { "p\nx=1\n[a]\n q=1\ny=1\\\n\n", SET("a", "z", "2"), "p\nx=1\n[a]\n q=1\ny=1\\\n\nz=2\n" },
        { " x=1\n[a]\ny\\\n\n", SET("a", "z", "2"), " x=1\n[a]\ny\\\n\nz=2\n" },
        { "[a\nx=1\n", SET("", "x", "2"), "[a\nx=2\n" },
        { "[]\nx=1\n", SET("", "x", "2"), "[]\nx=2\n" },
        { "\n\n\n", SET("", "x", "2"), "\n\n\nx = 2\n" },
        { "=\n= 1\n", SET("", "x", "2"), "=\n= 1\nx= 2\n" },
        { "[a]\nx=\xff\xfe\n", SET("a", "x", "2"), "[a]\nx=2\n" },
        { " \t\n[a]\n\\\nx=1\n", SET("a", "x", "2"), " \t\n[a]\n\\\nx=1\nx = 2\n" });
}

static void unrepresentable_values_are_rejected(void **state)
{
    const struct {
        IniRequest request;
        const char *message;
    } cases[] = {
        { REQUEST(.absent = true), "'option' or 'section' is required" },
        { SET("a", "[x", "1"), "'[x' is not a valid option name" },
        { SET("a", "#x", "1"), "'#x' is not a valid option name" },
        { SET("a", "x=y", "1"), "'x=y' is not a valid option name" },
        { SET("a", "x\ny", "1"), "'x\ny' is not a valid option name" },
        { SET("a", " x", "1"), "' x' is not a valid option name" },
        { SET("a\nb", "x", "1"),
          "'section' must be a single line without leading or trailing whitespace" },
        { SET("a", "x", "1\r"), "'value' has leading or trailing whitespace, which most parsers of "
                                "such files strip; add quotes if the parser supports them" },
        { SET("a", "x", "1\r2"), "'value' contains a control character" },
        { SET("a", "x", "1\n\n2"), "a line of 'value' is empty or would be a comment" },
        { SET("a", "x", "1\n# 2"), "a line of 'value' is empty or would be a comment" },
        { SET("a", "x", "C:\\"),
          "'value' ends with a backslash, which would continue it on the next line" },
        { REQUEST(.option = STR("x"), .value = STR("a #b"), .has_value = true,
                  .comments = STR("#")),
          "'value' contains a comment" },
        { { .option = STR("x"), .separator = STR("=>") },
          "'separator' must be '=' or ':', optionally with spaces around it" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Error err;
        assert_false(ini_request_check(&cases[i].request, &err));
        assert_string_equal(err.text, cases[i].message);
        assert_int_equal(err.kind, ERROR_INVALID);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_is_changed_in_its_line),
        cmocka_unit_test(a_new_option_is_formatted_like_its_neighbors),
        cmocka_unit_test(a_new_option_follows_a_comment_that_shows_it),
        cmocka_unit_test(a_missing_section_is_appended),
        cmocka_unit_test(options_without_a_section_precede_the_first),
        cmocka_unit_test(duplicate_options_are_reduced_to_one),
        cmocka_unit_test(duplicate_options_can_be_kept),
        cmocka_unit_test(options_and_sections_can_be_removed),
        cmocka_unit_test(multi_line_values),
        cmocka_unit_test(inline_comments_are_supported_on_request),
        cmocka_unit_test(options_without_a_value),
        cmocka_unit_test(other_separators),
        cmocka_unit_test(comments_between_continuation_lines_belong_to_the_value),
        cmocka_unit_test(unusual_texts_are_preserved),
        cmocka_unit_test(unrepresentable_values_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
