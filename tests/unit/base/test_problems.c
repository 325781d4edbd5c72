#include "base/problems.h"

#include <stdlib.h>

#include "unit.h"

typedef struct Fixture {
    Arena arena;
    Problems problems;
    Buf out;
} Fixture;

static int set_up(void **state)
{
    Fixture *fixture = calloc(1, sizeof *fixture);
    arena_init(&fixture->arena, ARENA_UNLIMITED);
    problems_init(&fixture->problems, &fixture->arena);
    fixture->out = buf_make(BUF_UNLIMITED);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *fixture = *state;
    arena_clear(&fixture->arena);
    buf_clear(&fixture->out);
    free(fixture);
    return 0;
}

static Source source_of(Str text)
{
    return (Source){ .name = STR("tasks/vnstat.yaml"), .text = text, .first_line = 1 };
}

/* The only problem so far, as text. */
static Str printed(Fixture *fixture)
{
    buf_reset(&fixture->out);
    problems_print(&fixture->problems, (ProblemStyle){ .color = false }, &fixture->out);
    return buf_str(&fixture->out);
}

static void a_problem_has_the_promised_shape(void **state)
{
    Fixture *fixture = *state;
    Source source = source_of(STR("      - require: instal vnstat\n"));
    source.first_line = 14;
    Problem *problem = problems_add(&fixture->problems, "E0207", &source, 17, 13,
                                    "no step named '%s'", "instal vnstat");
    problem->hint = STR("did you mean 'install vnstat' (line 4)?");
    problem_add_origin(&fixture->arena, problem, STR("jobs/base.yaml"), 3);
    assert_str(printed(fixture),
               "error[E0207]: no step named 'instal vnstat'\n"
               "  --> tasks/vnstat.yaml:14:18   (from jobs/base.yaml:3)\n"
               "14 |       - require: instal vnstat\n"
               "   |                  ^^^^^^^^^^^^^ did you mean 'install vnstat' (line 4)?\n"
               "   = eden explain E0207\n");
}

static void unknown_parts_are_omitted(void **state)
{
    Fixture *fixture = *state;
    Problem *problem = problems_add(&fixture->problems, NULL, NULL, 0, 0, "no such file");
    assert_str(printed(fixture), "error: no such file\n");
    problem->hint = STR("look elsewhere");
    problem->file = STR("a.yaml");
    assert_str(printed(fixture), "error: no such file\n  --> a.yaml\n  = look elsewhere\n");
}

static void origins_are_listed_outward(void **state)
{
    Fixture *fixture = *state;
    Source source = source_of(STR("x"));
    Problem *problem = problems_add(&fixture->problems, NULL, &source, 0, 1, "m");
    for (uint32_t i = 1; i <= 2; i++) {
        problem_add_origin(&fixture->arena, problem, i == 1 ? STR("inner") : STR("outer"), i);
    }
    assert_str(printed(fixture), "error: m\n"
                                 "  --> tasks/vnstat.yaml:1:1   (from inner:1, from outer:2)\n"
                                 "1 | x\n"
                                 "  | ^\n");
    for (uint32_t i = 0; i < 20; i++) {
        problem_add_origin(&fixture->arena, problem, STR("f"), 9);
    }
    assert_true(str_find(printed(fixture), STR("from f:9, ...)\n"), 0) != STR_NOT_FOUND);
}

static void notes_follow_below(void **state)
{
    Fixture *fixture = *state;
    Source source = source_of(STR("x"));
    Problem *problem = problems_add(&fixture->problems, "E0001", &source, 0, 1, "m");
    problem_add_note(&fixture->arena, problem, STR("in item 2 of the loop"), STR("a.j2"), 3);
    problem_add_note(&fixture->arena, problem, STR("on a Monday"), STR_EMPTY, 0);
    assert_str(printed(fixture), "error[E0001]: m\n"
                                 "  --> tasks/vnstat.yaml:1:1\n"
                                 "1 | x\n"
                                 "  | ^\n"
                                 "  = in item 2 of the loop at a.j2:3\n"
                                 "  = on a Monday\n"
                                 "  = eden explain E0001\n");
}

static void carets_align_with_their_characters(void **state)
{
    Fixture *fixture = *state;
    const struct {
        Str text;
        uint32_t offset;
        uint32_t length;
        const char *excerpt;
        const char *carets;
    } rows[] = {
        { STR("\tab\tcd"), 4, 2, "    ab  cd", "        ^^" },
        { STR("a\tb"), 1, 1, "a   b", " ^^^" }, /* the tab itself */
        { STR("\xc3\xa9\xc3\xa9 x"), 5, 1, "\xc3\xa9\xc3\xa9 x", "   ^" },
        { STR("\xe6\xbc\xa2 x"), 4, 1, "\xe6\xbc\xa2 x", "   ^" }, /* a wide character */
        { STR("e\xcc\x81x"), 3, 1, "e\xcc\x81x", " ^" },           /* a combining mark */
        { STR("a\033[31mb"), 6, 1, "a\\x1b[31mb", "         ^" },
        { STR("a\xff"
              "b"),
          2, 1, "a\\xffb", "     ^" },
        { STR("a\xe2\x80\xae"
              "b"),
          4, 1, "a\\u202eb", "       ^" },
        { STR("ab"), 2, 0, "ab", "  ^" },    /* after the end */
        { STR("ab"), 0, 0, "ab", "^" },      /* no length */
        { STR("ab\ncd"), 1, 4, "ab", " ^" }, /* over the line's end */
        { STR("ab"), 1, UINT32_MAX, "ab", " ^" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        problems_init(&fixture->problems, &fixture->arena);
        Source source = source_of(rows[i].text);
        problems_add(&fixture->problems, NULL, &source, rows[i].offset, rows[i].length, "m");
        Str text = printed(fixture);
        Str line;
        assert_true(str_split_next(&text, '\n', &line));
        assert_true(str_split_next(&text, '\n', &line));
        assert_true(str_split_next(&text, '\n', &line));
        assert_str(str_from_offset(line, 4), rows[i].excerpt);
        assert_true(str_split_next(&text, '\n', &line));
        assert_str(str_from_offset(line, 4), rows[i].carets);
    }
}

/* Wherever the position is in a long line, the caret is below it and the line is shortened. */
static void long_lines_are_cut_around_the_caret(void **state)
{
    Fixture *fixture = *state;
    enum {
        LENGTH = 3000
    };
    char text[LENGTH];
    for (uint32_t offset = 0; offset < LENGTH; offset += 7) {
        memset(text, '-', sizeof text);
        text[offset] = 'X';
        problems_init(&fixture->problems, &fixture->arena);
        Source source = source_of(str_from(text, sizeof text));
        const Problem *problem = problems_add(&fixture->problems, NULL, &source, offset, 1, "m");
        assert_true(problem->excerpt.len < 1000);
        Str out = printed(fixture);
        Str excerpt = STR_EMPTY;
        Str carets = STR_EMPTY;
        for (int i = 0; i < 3; i++) {
            assert_true(str_split_next(&out, '\n', &excerpt));
        }
        assert_true(str_split_next(&out, '\n', &carets));
        assert_true(excerpt.len <= 120);
        assert_int_equal(str_find(excerpt, STR("X"), 0), str_find(carets, STR("^"), 0));
        assert_int_equal(str_starts(excerpt, STR("1 | ...")), offset > 30);
        assert_int_equal(str_ends(excerpt, STR("...")), offset + 70 < LENGTH);
    }
}

static void a_long_underline_stops_at_the_window(void **state)
{
    Fixture *fixture = *state;
    char text[500];
    memset(text, 'x', sizeof text);
    Source source = source_of(str_from(text, sizeof text));
    problems_add(&fixture->problems, NULL, &source, 0, sizeof text, "m");
    Str out = printed(fixture);
    Str line = STR_EMPTY;
    for (int i = 0; i < 4; i++) {
        assert_true(str_split_next(&out, '\n', &line));
    }
    assert_int_equal(line.len, 4 + 100);
}

static void messages_are_safe_to_show_and_bounded(void **state)
{
    Fixture *fixture = *state;
    problems_add(&fixture->problems, NULL, NULL, 0, 0, "bad \033[2J and\nnewline");
    assert_str(printed(fixture), "error: bad \\x1b[2J and\\nnewline\n");

    /* Two-byte characters, shifted by one, so that the cut falls inside one. */
    static char name[3 * PROBLEM_MESSAGE_MAX];
    for (size_t i = 0; i + 1 < sizeof name; i += 2) {
        memcpy(name + i, "\xc3\xa9", 2);
    }
    const Problem *problem =
        problems_add(&fixture->problems, NULL, NULL, 0, 0, "x%.*s", (int)sizeof name - 2, name);
    assert_true(problem->message.len <= PROBLEM_MESSAGE_MAX + 3);
    assert_true(str_ends(problem->message, STR("\xc3\xa9...")));
}

static void errors_are_listed_first_and_counted(void **state)
{
    Fixture *fixture = *state;
    problems_add_severity(&fixture->problems, SEVERITY_WARNING, NULL, NULL, 0, 0, "one");
    problems_add(&fixture->problems, NULL, NULL, 0, 0, "two");
    problems_add_severity(&fixture->problems, SEVERITY_HINT, NULL, NULL, 0, 0, "three");
    problems_add(&fixture->problems, NULL, NULL, 0, 0, "four");
    assert_int_equal(fixture->problems.errors, 2);
    assert_str(printed(fixture), "error: two\n\nerror: four\n\nwarning: one\n\nhint: three\n\n"
                                 "2 errors, 1 warning, 1 hint\n");
}

static void problems_past_the_maximum_are_only_counted(void **state)
{
    Fixture *fixture = *state;
    for (int i = 0; i < PROBLEMS_MAX; i++) {
        problems_add_severity(&fixture->problems, SEVERITY_WARNING, "E0001", NULL, 0, 0, "w%d", i);
    }
    assert_int_equal(fixture->problems.errors, 0);
    size_t used = arena_used(&fixture->arena);
    for (int i = 0; i < 1000; i++) {
        Problem *problem = problems_add(&fixture->problems, "E0001", NULL, 0, 0, "e%d", i);
        problem->hint = STR("harmless");
    }
    assert_int_equal(arena_used(&fixture->arena), used);
    assert_int_equal(fixture->problems.count, PROBLEMS_MAX);
    assert_int_equal(fixture->problems.errors, 1000); /* so that the command still fails */
    assert_true(str_ends(printed(fixture), STR("\n1000 errors, 200 warnings (1000 not shown)\n")));
}

static void hints_for_a_location_can_be_withdrawn(void **state)
{
    Fixture *fixture = *state;
    Problems *problems = &fixture->problems;
    Source source = source_of(STR("a: 0644\nb: 0644\n"));
    problems_add_severity(problems, SEVERITY_HINT, "E0132", &source, 3, 4, "first");
    problems_add_severity(problems, SEVERITY_HINT, "E0132", &source, 11, 4, "second");
    problems_add_severity(problems, SEVERITY_HINT, "E0131", &source, 11, 4, "of another code");
    problems_add(problems, "E0132", &source, 11, 4, "an error");
    problems_remove_warning(problems, "E0132", NULL, 11);
    assert_int_equal(problems->count, 4);
    problems_remove_warning(problems, "E0132", &source, 11);
    assert_int_equal(problems->count, 3);
    assert_str(problems->items[0].message, "first");
    assert_str(problems->items[1].message, "of another code");
    assert_str(problems->items[2].message, "an error");
}

static void colors_are_always_reset(void **state)
{
    Fixture *fixture = *state;
    Source source = source_of(STR("x"));
    Problem *problem = problems_add(&fixture->problems, "E0001", &source, 0, 1, "m");
    problem_print(problem, (ProblemStyle){ .color = true }, &fixture->out);
    assert_str(buf_str(&fixture->out), "\033[1;31merror[E0001]\033[0m\033[1m: m\033[0m\n"
                                       "\033[1;34m  --> \033[0mtasks/vnstat.yaml:1:1\n"
                                       "\033[1;34m1 |\033[0m x\n"
                                       "\033[1;34m  |\033[0m \033[1;31m^\033[0m\n"
                                       "\033[1;34m  =\033[0m eden explain E0001\n");
}

static void json_has_the_same_content(void **state)
{
    Fixture *fixture = *state;
    Source source = source_of(STR("a: \"b\n"));
    Problem *problem = problems_add(&fixture->problems, "E0102", &source, 3, 2, "quote \"opened\"");
    problem->hint = STR("close it");
    problem_add_origin(&fixture->arena, problem, STR("site.yaml"), 7);
    problem_add_origin(&fixture->arena, problem, STR("job"), 0);
    problem_add_note(&fixture->arena, problem, STR("in item 2 of the loop"), STR("a.j2"), 3);
    problem_add_note(&fixture->arena, problem, STR("on a Monday"), STR_EMPTY, 0);
    problems_add_severity(&fixture->problems, SEVERITY_WARNING, NULL, NULL, 0, 0, "\xff\n");
    problems_print_json(&fixture->problems, &fixture->out);
    assert_str(
        buf_str(&fixture->out),
        "{\"format\":\"eden.problems/1\",\"problems\":["
        "{\"severity\":\"error\",\"code\":\"E0102\",\"message\":\"quote \\\"opened\\\"\","
        "\"file\":\"tasks/vnstat.yaml\",\"line\":1,\"column\":4,\"hint\":\"close it\","
        "\"from\":[{\"file\":\"site.yaml\",\"line\":7},{\"file\":\"job\",\"line\":null}],"
        "\"notes\":[{\"message\":\"in item 2 of the loop\",\"file\":\"a.j2\",\"line\":3},"
        "{\"message\":\"on a Monday\",\"file\":null,\"line\":null}]},"
        "{\"severity\":\"warning\",\"code\":null,\"message\":\"\xef\xbf\xbd\\n\",\"file\":null,"
        "\"line\":null,\"column\":null,\"hint\":null,\"from\":[],\"notes\":[]}]}\n");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_problem_has_the_promised_shape),
        TEST(unknown_parts_are_omitted),
        TEST(origins_are_listed_outward),
        TEST(notes_follow_below),
        TEST(carets_align_with_their_characters),
        TEST(long_lines_are_cut_around_the_caret),
        TEST(a_long_underline_stops_at_the_window),
        TEST(messages_are_safe_to_show_and_bounded),
        TEST(errors_are_listed_first_and_counted),
        TEST(problems_past_the_maximum_are_only_counted),
        TEST(hints_for_a_location_can_be_withdrawn),
        TEST(colors_are_always_reset),
        TEST(json_has_the_same_content),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
