#include "lang/yaml.h"

#include "lang/yaml_fixture.h"

typedef struct Expected {
    const char *code;
    uint32_t line;
    uint32_t column;
    const char *hint; /* part of it; NULL: none */
} Expected;

typedef struct Row {
    const char *text;
    Expected problems[3];
} Row;

static void check_rows(const Row *rows, size_t count, const YamlOptions *options)
{
    for (size_t i = 0; i < count; i++) {
        AUTO_CLEAR(Loaded) loaded;
        loaded_read(&loaded, str_from_c(rows[i].text), options);
        AUTO_CLEAR(Buf) reported = buf_make(BUF_UNLIMITED);
        problems_print(&loaded.problems, (ProblemStyle){ 0 }, &reported);
        uint32_t wanted = 0;
        bool same = true;
        for (; wanted < COUNT_OF(rows[i].problems) && rows[i].problems[wanted].code != NULL;
             wanted++) {
            const Expected *expected = &rows[i].problems[wanted];
            if (wanted >= loaded.problems.count) {
                break;
            }
            const Problem *problem = &loaded.problems.items[wanted];
            same = same && str_eq_c(problem->code, expected->code) &&
                   problem->line == expected->line && problem->column == expected->column &&
                   (expected->hint == NULL
                        ? problem->hint.len == 0
                        : str_find(problem->hint, str_from_c(expected->hint), 0) != STR_NOT_FOUND);
        }
        if (!same || loaded.problems.count != wanted) {
            fail_msg("%s\ngives %u problems:\n%s", rows[i].text, loaded.problems.count,
                     buf_c(&reported));
        }
    }
}

static void templates_must_be_quoted(void **state)
{
    static const Row rows[] = {
        { "a: {{ x }}\n", { { "E0103", 1, 4, "quote the template: \"{{ x }}\"" } } },
        { "a: {{ x }}/b # c\nd: e\n", { { "E0103", 1, 4, ": \"{{ x }}/b\"" } } },
        { "a: {{ x['y'] }}\nb: 1\n", { { "E0103", 1, 4, ": \"{{ x['y'] }}\"" } } },
        { "a: {{ x | default(\"a\") }}\n", { { "E0103", 1, 4, ": '{{ x | default(\"a\") }}'" } } },
        { "a: {{ x[\"b\"]['c'] }}\n", { { "E0103", 1, 4, "quote the template" } } },
        { "- {{ x }}\n- {{ y }}\n",
          { { "E0103", 1, 3, "\"{{ x }}\"" }, { "E0103", 2, 3, "\"{{ y }}\"" } } },
        { "a: [{{ x }}, b]\n", { { "E0103", 1, 5, ": \"{{ x }}\"" } } },
        { "{{ x }}: b\n", { { "E0103", 1, 1, "quote the template" } } },
        { "a: {{\n  x }}\n", { { "E0103", 1, 4, "quote the template" } } },
        { "a: {{ x\nb: 1\n", { { "E0103", 1, 4, "quote the template" } } },
        { "b: 1\n{% if x %}\na: b\n{% endif %}\n", { { "E0103", 2, 1, "quoted values" } } },
        { "a: {% if x %}b{% endif %}\n", { { "E0103", 1, 4, "quoted values" } } },
        { "a: '{{ x }}'\nb: x {{ y }}\n", { { 0 } } },
    };
    check_rows(rows, COUNT_OF(rows), NULL);
}

static void partially_quoted_values_must_be_fully_quoted(void **state)
{
    static const Row rows[] = {
        { "condition: 'a' in b\nc: d\n", { { "E0104", 1, 16, "expression: \"'a' in b\"" } } },
        { "- \"a\" == b # why\n", { { "E0104", 1, 7, ": '\"a\" == b'" } } },
        { "a: [\"x\" y]\n", { { "E0104", 1, 9, "quote the whole expression" } } },
        { "a: 'b' == \"c\"\n", { { "E0104", 1, 8, "quote the whole expression" } } },
    };
    check_rows(rows, COUNT_OF(rows), NULL);
}

static void open_quotes_and_brackets_show_where_they_open(void **state)
{
    static const Row rows[] = {
        { "a: 1\nb: 'x\nc: 3\n", { { "E0110", 2, 4, "''" } } },
        { "a: \"x\nc: 3\n", { { "E0110", 1, 4, NULL } } },
        { "a: [1, 2\nb: 3\n", { { "E0110", 1, 4, "before line 2" } } },
        { "a: {x: 1\n", { { "E0110", 1, 4, "'}' is missing" } } },
        { "a: [1, {b: 2]\n", { { "E0110", 1, 13, "'{' was opened at line 1, column 8" } } },
    };
    check_rows(rows, COUNT_OF(rows), NULL);
}

static void colons_and_indentation_are_explained(void **state)
{
    static const Row rows[] = {
        { "a:b\nc: d\n", { { "E0111", 1, 2, "key: value" } } },
        { "c: d\nport:80\ne: f\n", { { "E0111", 2, 5, "key: value" } } },
        { "a: b: c\n", { { "E0108", 1, 5, "quote the value: \"b: c\"" } } },
        { "url: http://x: y\n", { { "E0108", 1, 14, "\"http://x: y\"" } } },
        { "a:\n\tb: 1\n", { { "E0107", 2, 1, "spaces" } } },
        { "a: 'x\n\ty'\n", { { "E0107", 2, 1, "at least 1 space" } } },
        { "a:\n  b: 1\n c: 2\n", { { "E0117", 3, 1, "map on line 1 is indented by 0" } } },
        { "a: 1\n  b: 2\n", { { "E0117", 2, 3, "same indentation" } } },
        { "a: [b,\nc]\n", { { "E0117", 2, 1, "at least 1 space" } } },
        { "a:\n  - 'b\n  c'\n", { { "E0117", 3, 1, "at least 3 spaces" } } },
        { "a: |\n    \n  b\n", { { "E0117", 2, 1, NULL } } },
        { "- a\nb: c\n", { { "E0101", 2, 1, "list starts on line 1" } } },
        { "a: - b\n", { { "E0101", 1, 4, "next line" } } },
        { "key: value\nother\n", { { "E0101", 2, 1, NULL } } },
    };
    check_rows(rows, COUNT_OF(rows), NULL);
}

static void tabs_never_indent(void **state)
{
    static const Row rows[] = {
        { "-\t- a\n", { { "E0107", 1, 2, "spaces" } } },
        { "-\ta: b\n", { { "E0107", 1, 2, "spaces" } } },
        { "?\t- a\n", { { "E0107", 1, 2, "spaces" } } },
        { "a:\n  \tb: c\n", { { "E0107", 2, 3, "spaces" } } },
        { "a:\n  \t- b\n", { { "E0107", 2, 3, "spaces" } } },
        { "a:\n\tb\n", { { "E0107", 2, 1, "spaces" } } },
        { "a:\n  b: 1\n  \tc: 2\n", { { "E0107", 3, 3, "spaces" } } },
        { "a: 1\n\tb\n", { { "E0107", 2, 1, "spaces" } } },
    };
    check_rows(rows, COUNT_OF(rows), NULL);
}

static void invalid_characters_are_named(void **state)
{
    static const Row rows[] = {
        { "a: @foo\n", { { "E0118", 1, 4, "\"@foo\"" } } },
        { "a: %foo\n", { { "E0118", 1, 4, "\"%foo\"" } } },
        { "a: *.txt\n", { { "E0118", 1, 4, "\"*.txt\"" } } },
        { "a: [-]\n", { { "E0118", 1, 5, "quote it" } } },
        { "a: \"\\d\"\n", { { "E0119", 1, 5, "single quotes" } } },
        { "a: \xff\n", { { "E0106", 1, 4, "UTF-8" } } },
        { "é: \x01\n", { { "E0106", 1, 4, "double quotes" } } },
        { "\xff\xfe"
          "a",
          { { "E0106", 1, 1, "UTF-8" } } },
        { "a: 'b'#c\n", { { "E0101", 1, 7, "space" } } },
        { "a: [b]#c\n", { { "E0101", 1, 7, "space" } } },
        { "a: [b,#c\n d]\n", { { "E0101", 1, 7, "space" } } },
        { "a: [#c\n d]\n", { { "E0101", 1, 5, "space" } } },
        { "a: |#c\n d\n", { { "E0101", 1, 5, "space" } } },
        { "a: | c\n d\n", { { "E0101", 1, 6, "indent it further" } } },
        { "a: 1\n%YAML 1.2\n---\nb: 1\n", { { "E0120", 2, 1, "'...'" } } },
        { "%YAML 1.2#\n---\n", { { "E0120", 1, 1, NULL } } },
        { "%YAML 1.2 x\n---\n", { { "E0101", 1, 11, NULL } } },
        { "%HELLO\na: 1\n", { { "E0120", 2, 1, NULL } } },
        { "%TAG ! x:\n", { { "E0120", 2, 1, NULL } } },
        { "a\n... b\n", { { "E0101", 2, 5, "---" } } },
        { "[*:x]\n", { { "E0118", 1, 2, "\"*:x]\"" } } },
    };
    check_rows(rows, COUNT_OF(rows), NULL);
}

static void invalid_values_are_all_reported_at_once(void **state)
{
    static const Row rows[] = {
        { "a: 1\nb: {c: 1, c: 2}\na: 3\n",
          { { "E0102", 2, 11, "first at line 2, column 5" },
            { "E0102", 3, 1, "first at line 1, column 1" } } },
        { "a: 1\n'a': 2\nb: [\n", { { "E0102", 2, 1, "line 1" }, { "E0110", 3, 4, "missing" } } },
        { "1: a\n1.0: b\n", { { "E0102", 2, 1, "line 1" } } },
        { "a: 9223372036854775808\nb: -0x1\nc: 0xffffffffffffffff\n",
          { { "E0112", 1, 4, "quote" }, { "E0112", 3, 4, "quote" } } },
        { "a: !!int x\nb: !!map [1]\nc: !!seq x\n",
          { { "E0113", 1, 10, NULL }, { "E0113", 2, 10, NULL }, { "E0113", 3, 10, NULL } } },
        { "a: *bsae\nb: &base 1\nc: *bsae\n",
          { { "E0109", 1, 4, NULL }, { "E0109", 3, 4, "did you mean '*base'?" } } },
        { "a: &x [*x]\n", { { "E0109", 1, 8, NULL } } },
        { "? {a: b}\n: c\n", { { "E0114", 1, 3, "string" } } },
        { "? [{a: b}]\n: c\n", { { "E0114", 1, 3, "string" } } },
        { "<<: 1\n", { { "E0115", 1, 1, "'<<: *anchor'" } } },
        { "<<: [{a: 1}, 2]\n", { { "E0115", 1, 1, "'<<: *anchor'" } } },
        { "<<: {a: 1}\n<<: {b: 1}\n", { { "E0102", 2, 1, "line 1" } } },
    };
    check_rows(rows, COUNT_OF(rows), NULL);
}

static void surprising_values_get_hints_on_request(void **state)
{
    static const Row rows[] = {
        { "a: yes\nb: 'no'\nc: 0644\n",
          { { "E0131", 1, 4, "true or false" }, { "E0132", 3, 4, "0o" } } },
        { "a: 12:30\nb: 12:30x\nc: 0\n", { { "E0133", 1, 4, "quote it" } } },
        { "a: !!str on\n", { { 0 } } },
    };
    YamlOptions lint = yaml_options_default;
    lint.lint = true;
    check_rows(rows, COUNT_OF(rows), &lint);
    AUTO_CLEAR(Loaded) loaded;
    loaded_read(&loaded, STR("a: yes\n"), &lint);
    assert_true(loaded.ok);
    assert_int_equal(loaded.problems.items[0].severity, SEVERITY_HINT);
    AUTO_CLEAR(Loaded) quiet;
    loaded_read(&quiet, STR("a: yes\n"), NULL);
    assert_int_equal(quiet.problems.count, 0);
}

static void unknown_tags_are_reported(void **state)
{
    static const Row rows[] = {
        { "a: 1\nb: !vault |\n  x\n", { { "E0121", 2, 4, "decrypt" } } },
        { "- &x !foo {b: !bar [1]}\n", { { "E0121", 1, 6, "remove" }, { "E0121", 1, 15, "" } } },
        { "a: !!python/object:os.system {x: 1}\n", { { "E0121", 1, 4, "Python" } } },
        { "a: !!string 1\n", { { "E0121", 1, 4, "'!!str'" } } },
        { "a: !seq [1]\n", { { "E0121", 1, 4, "'!!seq'" } } },
        { "a: !secert x\n", { { "E0121", 1, 4, "'!secret'" } } },
        { "a: ! 1\nb: !!int 2\nc: !secret 3\nd: !<tag:yaml.org,2002:str> 4\n", { { 0 } } },
        { "!!merge <<: {a: 1}\nb: !!set {x}\nc: !!binary eA==\n", { { 0 } } },
    };
    YamlOptions strict = yaml_options_default;
    strict.strict_tags = true;
    check_rows(rows, COUNT_OF(rows), &strict);
    check_rows(rows, COUNT_OF(rows), NULL);
    AUTO_CLEAR(Loaded) refused;
    loaded_read(&refused, STR("a: !foo 1\n"), &strict);
    assert_false(refused.ok);
    AUTO_CLEAR(Loaded) taken;
    loaded_read(&taken, STR("a: !foo 1\n"), NULL);
    assert_true(taken.ok);
    assert_int_equal(taken.problems.items[0].severity, SEVERITY_WARNING);
}

/* A misspelled tag is no reason to show what it was supposed to hide. */
static void a_misspelled_secret_is_not_shown(void **state)
{
    AUTO_CLEAR(Loaded) loaded;
    loaded_read(&loaded, STR("password: !secert hunter2\n"), NULL);
    AUTO_CLEAR(Buf) reported = buf_make(BUF_UNLIMITED);
    problems_print(&loaded.problems, (ProblemStyle){ 0 }, &reported);
    assert_true(str_find(buf_str(&reported), STR("did you mean '!secret'?"), 0) != STR_NOT_FOUND);
    assert_true(str_find(buf_str(&reported), STR("hunter2"), 0) == STR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(templates_must_be_quoted),
        cmocka_unit_test(partially_quoted_values_must_be_fully_quoted),
        cmocka_unit_test(open_quotes_and_brackets_show_where_they_open),
        cmocka_unit_test(colons_and_indentation_are_explained),
        cmocka_unit_test(tabs_never_indent),
        cmocka_unit_test(invalid_characters_are_named),
        cmocka_unit_test(invalid_values_are_all_reported_at_once),
        cmocka_unit_test(surprising_values_get_hints_on_request),
        cmocka_unit_test(unknown_tags_are_reported),
        cmocka_unit_test(a_misspelled_secret_is_not_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
