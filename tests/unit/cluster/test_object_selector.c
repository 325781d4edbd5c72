#include "cluster/object_selector.h"

#include "model/selector_forms.h"
#include "unit.h"

static void errors_suggest_a_correction(void **state)
{
    static const struct {
        const char *text, *message, *hint;
        uint32_t column, span;
    } rows[] = {
        { "role=web adn os=debian", "expected 'and' or 'or' instead of 'adn'",
          "did you mean 'and'?", 10, 3 },
        { "role=web OR os=debian", "expected 'and' or 'or' instead of 'OR'", "did you mean 'or'?",
          10, 2 },
        { "web1 web2", "'and' or 'or' is expected before this", "", 6, 4 },
        { "(web1) web2", "'and' or 'or' is expected before this", "", 8, 4 },
        { "role==web", "a label is compared with a single '='", "write 'role=web'", 5, 2 },
        { "role == 'web'", "a label is compared with a single '='", "write 'role=web'", 6, 2 },
        { "role in (a,b)", "'in' is not a valid operator", "write '(role=a or role=b)'", 6, 2 },
        { "role notin (a, 'b')", "'notin' is not a valid operator", "write '!(role=a or role=b)'",
          6, 5 },
        { "role in", "'in' is not a valid operator", "write '(role=a or role=b)'", 6, 2 },
        { "role='web", "unmatched quote", "write 'role=web'", 6, 1 },
        { "\"web1", "unmatched quote", "write 'web1'", 1, 1 },
        { "x and role='we b", "unmatched quote", "add a closing quote", 12, 1 },
        { "role='web'", "label names and values must not be quoted", "write 'role=web'", 6, 5 },
        { "'web1'", "label names and values must not be quoted", "write 'web1'", 1, 6 },
        { "role = web", "spaces around '=' are not allowed", "write 'role=web'", 6, 1 },
        { "role != web", "spaces around '=' are not allowed", "write 'role!=web'", 6, 2 },
        { "role=web,dc=fra", "commas are not allowed in a selector",
          "write 'or' or 'and' between the terms", 9, 1 },
        { "role=web && dc=fra", "'&' is not a valid operator", "write 'and'", 10, 2 },
        { "role =~ web", "'=~' is not a valid operator",
          "write a pattern with '*', '?' or '[abc]', such as 'role=web*'", 6, 2 },
        { "größe=1 adn x", "expected 'and' or 'or' instead of 'adn'", "did you mean 'and'?", 9, 3 },
        { "server.os == 'debian'", "only names and labels are allowed here",
          "write 'web*' or 'role=web'", 1, 21 },
        { "role=web)", "unmatched closing parenthesis", "", 9, 1 },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_CLEAR(Arena) arena;
        Problems problems;
        const Selector *selector;
        arena_init(&arena, ARENA_UNLIMITED);
        problems_init(&problems, &arena);
        bool ok = object_selector_parse_as(&arena, STR("-l"), str_from_c(rows[i].text), &selector,
                                           &problems);
        const Problem *problem = &problems.items[0];
        if (ok || problems.count != 1 || !str_eq_c(problem->message, rows[i].message) ||
            !str_eq_c(problem->hint, rows[i].hint) || problem->column != rows[i].column ||
            problem->span != rows[i].span || problem->line != 1 || !str_eq_c(problem->file, "-l")) {
            AUTO_CLEAR(Buf) reported = buf_make(BUF_UNLIMITED);
            problems_print(&problems, (ProblemStyle){ 0 }, &reported);
            fail_msg("%s gives\n%s", rows[i].text, buf_c(&reported));
        }
    }
}

static void an_error_has_the_column(void **state)
{
    AUTO_CLEAR(Arena) arena;
    const Selector *selector;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    assert_false(object_selector_parse(&arena, STR("a=b adn c"), &selector, &err));
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_string_equal(err.text, "column 5: expected 'and' or 'or' instead of 'adn'; did you mean "
                                  "'and'?");
    char *much = arena_alloc(&arena, SELECTOR_TEXT_MAX + 1);
    memset(much, 'a', SELECTOR_TEXT_MAX + 1);
    assert_false(
        object_selector_parse(&arena, str_from(much, SELECTOR_TEXT_MAX + 1), &selector, &err));
    assert_string_equal(err.text, "a selector must be at most 4096 bytes long");
}

/* The syntax shown in the help is accepted. */
static void every_form_is_read(void **state)
{
    for (const SelectorForm *form = selector_forms; form->text != NULL; form++) {
        AUTO_CLEAR(Arena) arena;
        const Selector *selector;
        Error err;
        arena_init(&arena, ARENA_UNLIMITED);
        bool ok = object_selector_parse(&arena, str_from_c(form->text), &selector, &err);
        if (ok == form->is_expression) {
            fail_msg("%s: %s", form->text, ok ? "is read" : err.text);
        }
    }
}

static void a_single_word_is_a_name(void **state)
{
    AUTO_CLEAR(Arena) arena;
    const Selector *selector;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    assert_true(object_selector_parse(&arena, STR("role"), &selector, &err));
    assert_true(str_eq_c(selector_name(selector), "role"));
    assert_true(object_selector_parse(&arena, STR("role=web"), &selector, &err));
    assert_int_equal(selector_name(selector).len, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_suggest_a_correction),
        cmocka_unit_test(an_error_has_the_column),
        cmocka_unit_test(every_form_is_read),
        cmocka_unit_test(a_single_word_is_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
