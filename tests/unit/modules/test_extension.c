#include "modules/extension_response.h"

#include <stdlib.h>

#include "unit.h"

typedef struct Fixture {
    Arena arena;
    Error err;
} Fixture;

static int set_up(void **state)
{
    Fixture *fixture = calloc(1, sizeof *fixture);
    arena_init(&fixture->arena, ARENA_UNLIMITED);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *fixture = *state;
    arena_clear(&fixture->arena);
    free(fixture);
    return 0;
}

static bool read_rows(Fixture *fixture, const char *text, ExtensionRows *rows)
{
    Value description;
    return extension_object_read(&fixture->arena, str_from_c(text), &description, &fixture->err) &&
           extension_rows_read(&fixture->arena, "probe", description, rows, &fixture->err);
}

static void rows_are_as_described(void **state)
{
    Fixture *fixture = *state;
    ExtensionRows rows;
    bool ok = read_rows(
        fixture,
        "{\"format\": \"eden.module/1\", \"help\": \"A probe.\", \"id_param\": \"name\", "
        "\"actions\": {"
        "\"present\": {\"help\": \"Is there.\", \"text\": \"More.\", \"roots\": true, "
        "\"timeout\": \"30s\", \"params\": {"
        "\"name\": {\"kind\": \"path\", \"required\": true, \"claims\": \"path\", \"help\": \"a\"},"
        "\"state\": {\"kind\": \"string\", \"choices\": [\"on\", \"off\"], \"fallback\": \"on\", "
        "\"help\": \"b\"},"
        "\"count\": {\"kind\": \"int\", \"fallback\": 3, \"help\": \"c\"}}},"
        "\"ask\": {\"help\": \"Asks.\", \"does\": [\"query\"], \"repeats\": true}}}",
        &rows);
    assert_string_equal(ok ? "" : fixture->err.text, "");
    assert_string_equal(rows.module.name, "probe");
    assert_string_equal(rows.module.id_param, "name");
    assert_int_equal(rows.count, 2);
    const Action *present = &rows.module.actions[0], *ask = &rows.module.actions[1];
    assert_string_equal(present->text, "More.\n");
    assert_int_equal(action_param_count(present), 3);
    assert_true(present->params[0].required && present->params[0].kind == PARAM_PATH);
    assert_string_equal(present->params[0].claims, "path");
    assert_string_equal(present->params[1].choices, "on|off");
    assert_string_equal(present->params[2].fallback, "3");
    assert_true(rows.extras[0].roots && rows.extras[0].does[EXTENSION_APPLY]);
    assert_int_equal(rows.extras[0].timeout_ms, 30000);
    assert_true(ask->always_changes && rows.extras[1].does[EXTENSION_QUERY]);
    assert_false(rows.extras[1].does[EXTENSION_CHECK] || rows.extras[1].roots);
    assert_int_equal(action_param_count(ask), 0);
    assert_null(rows.module.actions[2].name);
}

static void errors_name_the_action(void **state)
{
    Fixture *fixture = *state;
    ExtensionRows rows;
    assert_false(read_rows(fixture,
                           "{\"format\": \"eden.module/1\", \"help\": \"A probe.\", \"actions\": "
                           "{\"ask\": {\"help\": \"Asks.\"}, \"present\": {}}}",
                           &rows));
    assert_string_equal(fixture->err.text, "action 'present': 'help' is required and must be a "
                                           "sentence");
}

static void responses_are_parsed(void **state)
{
    Fixture *fixture = *state;
    ExtensionResponse answer;
    Str text = STR("{\"progress\": \"a\"}\n{\"progress\": \"b\"}\n"
                   "{\"changed\": true, \"comment\": \" one\\ntwo\\u001b \", \"state\": \"on\",\n"
                   " \"changes\": {}, \"found\": {\"a\": [1]}, \"keeps\": [\"/x\"]}\n\n");
    assert_true(
        extension_response_read(&fixture->arena, text, EXTENSION_CHECK, &answer, &fixture->err));
    assert_true(answer.changed && !answer.unknown && !answer.failed);
    assert_str(answer.comment, "one | two ");
    assert_str(answer.state, "on");
    assert_null(answer.changes);
    assert_int_equal(answer.keeps->len, 1);
    assert_true(answer.found.kind == VALUE_MAP);
}

/* Cut between characters. */
static void a_long_comment_is_cut(void **state)
{
    static const struct {
        size_t before;
        const char *rest;
        size_t kept; /* in addition */
    } rows[] = {
        { EXTENSION_LINE_MAX, "b", 0 },
        { EXTENSION_LINE_MAX - 1, "\xe2\x82\xac", 0 },
        { EXTENSION_LINE_MAX - 2, "\xe2\x82\xac", 0 },
        { EXTENSION_LINE_MAX - 3, "\xe2\x82\xac", 3 },
        { EXTENSION_LINE_MAX - 3, "\xe2\x82\xac\xe2\x82\xac", 3 },
    };
    Fixture *fixture = *state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char start[EXTENSION_LINE_MAX + 1] = { 0 };
        ExtensionResponse answer;
        memset(start, 'a', rows[i].before);
        Str text = arena_format(&fixture->arena, "{\"changed\": true, \"comment\": \"%s%s\"}",
                                start, rows[i].rest);
        assert_true(extension_response_read(&fixture->arena, text, EXTENSION_CHECK, &answer,
                                            &fixture->err));
        if (answer.comment.len != rows[i].before + rows[i].kept) {
            fail_msg("row %zu: %zu", i, answer.comment.len);
        }
    }
}

static void other_responses_are_rejected(void **state)
{
    static const struct {
        ExtensionOp op;
        const char *text, *error;
    } rows[] = {
        { EXTENSION_CHECK, "", "it did not respond" },
        { EXTENSION_CHECK, "{\"progress\": \"a\"}", "it did not respond" },
        { EXTENSION_CHECK, "{\"changed\": true} x", "it wrote data after its response" },
        { EXTENSION_CHECK, "{}", "its response lacks 'changed'" },
        { EXTENSION_APPLY, "{\"unknown\": true}", "its response lacks 'changed'" },
        { EXTENSION_QUERY, "{\"changed\": true}", "its response lacks 'value'" },
        { EXTENSION_CHECK, "7", "its response must be an object, not int" },
        { EXTENSION_CHECK, "{\"changed\": true, \"state\": \"a b\"}",
          "'state' in its response must be a word of at most 32 letters" },
        { EXTENSION_CHECK, "{\"changed\": true, \"keeps\": [\"x\"]}",
          "'keeps' in its response must be a list of at most 1000 absolute paths" },
        { EXTENSION_CHECK, "{\"changed\": true, \"changes\": []}",
          "'changes' in its response must be an object: {WHAT: {\"old\": .., \"new\": ..}}" },
        { EXTENSION_CHECK, "{\"changed\": true, \"zzzzzzzz\": 1}",
          "its response has an unknown key 'zzzzzzzz'" },
    };
    Fixture *fixture = *state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        ExtensionResponse answer;
        assert_false(extension_response_read(&fixture->arena, str_from_c(rows[i].text), rows[i].op,
                                             &answer, &fixture->err));
        assert_string_equal(fixture->err.text, rows[i].error);
    }
}

static void a_failure_needs_only_a_reason(void **state)
{
    Fixture *fixture = *state;
    ExtensionResponse answer;
    for (int op = 0; op < EXTENSION_OPS; op++) {
        assert_true(extension_response_read(&fixture->arena, STR("{\"failed\": \"no\"}"),
                                            (ExtensionOp)op, &answer, &fixture->err));
        assert_true(answer.failed);
        assert_str(answer.failure, "no");
    }
}

static void invalid_names_are_rejected(void **state)
{
    static const char *const good[] = { "a", "abc", "a1_b" };
    static const char *const bad[] = { "", "A", "1a", "_a", "a-b", "a.sig", "a b", "\xc3\xa4" };
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        assert_true(extension_name_is(str_from_c(good[i])));
    }
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_false(extension_name_is(str_from_c(bad[i])));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rows_are_as_described, set_up, tear_down),
        cmocka_unit_test_setup_teardown(errors_name_the_action, set_up, tear_down),
        cmocka_unit_test_setup_teardown(responses_are_parsed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_long_comment_is_cut, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_responses_are_rejected, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_failure_needs_only_a_reason, set_up, tear_down),
        cmocka_unit_test(invalid_names_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
