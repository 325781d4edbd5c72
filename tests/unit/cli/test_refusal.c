#include "cli/refusal.h"

#include "api/problem_json.h"
#include "cli/codes.h"
#include "lang/json.h"
#include "lang/yaml_fixture.h"

static const char file[] = "metadata: {name: web}\n"
                           "spec:\n"
                           "  rules:\n"
                           "  - verbs: [get, aprove]\n"
                           "    kind: [Node]\n"
                           "    selector: \"role=web adn x\"\n";

static void send(Loaded *loaded, const char *json, ErrorKind kind, const char *plural)
{
    Value response = value_null();
    Error err;
    if (json != NULL) {
        assert_true(json_parse_text(&loaded->arena, str_from_c(json), NULL, &response, &err));
    }
    error_set(&err, kind, "no");
    RefusedRequest request = { .plural = str_from_c(plural) };
    if (loaded->documents != NULL) {
        request.sources = &loaded->sources;
        request.document = loaded->documents->items[0];
    }
    refusal_add(&loaded->problems, &request, response, &err);
}

/* Every error of the API has a code that can be explained, and the exit code of its row. */
static void every_code_of_the_api_has_a_row(void **state)
{
    for (int status = 400; status < 600; status++) {
        static const int known[] = { 400, 401, 403, 404, 405, 409, 412, 413, 415,
                                     421, 422, 429, 431, 500, 503, 504, 505 };
        bool is_known = false;
        for (size_t i = 0; i < COUNT_OF(known); i++) {
            is_known = is_known || known[i] == status;
        }
        const RefusalRow *row = refusal_row_of_status(status);
        assert_int_equal(row->code != NULL, is_known);
        assert_non_null(code_find(str_from_c(row->problem)));
        if (!is_known) {
            continue;
        }
        AUTO_CLEAR(Loaded) loaded = { 0 };
        loaded_read(&loaded, STR("x"), NULL);
        Buf json = buf_make_in(&loaded.arena, BUF_UNLIMITED);
        problem_json_put(&json, status, STR("no"), NULL);
        loaded.documents = NULL;
        send(&loaded, buf_c(&json), row->kind, "");
        assert_int_equal(loaded.problems.count, 1);
        assert_str(loaded.problems.items[0].code, row->problem);
        assert_str(loaded.problems.items[0].server_code, row->code);
        assert_str(loaded.problems.items[0].hint, row->hint);
    }
}

static void a_hint_names_the_command_of_the_kind(void **state)
{
    static const struct {
        const char *plural, *hint;
    } rows[] = {
        { "nodes", "'eden nodes list' lists them" },
        { "facts", "'eden nodes list' lists them" },
        { "store", "'eden get / --prefix' lists them" },
        { "backup", "" }, /* a command without lists */
        { "unicorns", "" },
        { "", "" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_CLEAR(Loaded) loaded = { 0 };
        loaded_read(&loaded, STR("x"), NULL);
        loaded.documents = NULL;
        send(&loaded, "{\"code\":\"not-found\"}", ERROR_NOT_FOUND, rows[i].plural);
        assert_str(loaded.problems.items[0].hint, rows[i].hint);
    }
}

static void without_a_response_the_error_kind_decides(void **state)
{
    static const struct {
        ErrorKind kind;
        const char *code;
    } rows[] = {
        { ERROR_UNAVAILABLE, "E0859" },
        { ERROR_CONFLICT, "E0854" },
        { ERROR_OS, "E0812" },
        { ERROR_BUG, "E0812" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_CLEAR(Loaded) loaded = { 0 };
        loaded_read(&loaded, STR("x"), NULL);
        loaded.documents = NULL;
        send(&loaded, NULL, rows[i].kind, "nodes");
        assert_str(loaded.problems.items[0].code, rows[i].code);
        send(&loaded, "{\"code\":\"of-tomorrow\",\"problems\":7}", rows[i].kind, "nodes");
        assert_str(loaded.problems.items[1].code, rows[i].code);
    }
}

static void field_errors_have_locations(void **state)
{
    static const struct {
        const char *field, *message, *hint;
        uint32_t line, column, span;
    } rows[] = {
        { "{\"pointer\":\"/spec/rules/0/verbs/1\",\"detail\":\"there is no verb; did you mean "
          "'approve'?\"}",
          "there is no verb", "did you mean 'approve'?", 4, 18, 6 },
        { "{\"pointer\":\"/spec/rules/0/kind\",\"detail\":\"unknown field\",\"part\":\"name\"}",
          "unknown field", "", 5, 5, 4 },
        { "{\"pointer\":\"/spec/rules/0/kinds\",\"detail\":\"is required\"}",
          "/spec/rules/0/kinds: is required", "", 4, 5, 1 },
        { "{\"pointer\":\"/spec/rules/0/selector\",\"detail\":\"x; write 'and'\",\"column\":10}",
          "x", "write 'and'", 6, 25, 3 },
        { "{\"pointer\":\"/spec/rules/0/selector\",\"detail\":\"x\",\"column\":99}", "x", "", 6, 30,
          0 },
        { "{\"pointer\":\"/spec/rules\",\"detail\":\"too many\"}", "too many", "", 3, 3, 5 },
        { "{\"pointer\":\"/status\",\"detail\":\"x\"}", "/status: x", "", 1, 1, 1 },
        { "{\"detail\":\"x\"}", "x", "", 1, 1, 1 },
        { "7", "", "", 1, 1, 1 },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_CLEAR(Loaded) loaded = { 0 };
        loaded_read(&loaded, str_from_c(file), NULL);
        Str json =
            arena_format(&loaded.arena, "{\"code\":\"invalid\",\"problems\":[%s]}", rows[i].field);
        send(&loaded, json.data, ERROR_INVALID, "roles");
        const Problem *problem = &loaded.problems.items[0];
        if (!str_eq_c(problem->message, rows[i].message) ||
            !str_eq_c(problem->hint, rows[i].hint) || problem->line != rows[i].line ||
            problem->column != rows[i].column ||
            (rows[i].span > 0 && problem->span != rows[i].span)) {
            AUTO_CLEAR(Buf) reported = buf_make(BUF_UNLIMITED);
            problem_print(problem, (ProblemStyle){ 0 }, &reported);
            fail_msg("%s: span %u\n%s", rows[i].field, problem->span, buf_c(&reported));
        }
    }
}

static void errors_about_the_whole_object_point_to_its_name(void **state)
{
    AUTO_CLEAR(Loaded) loaded = { 0 };
    loaded_read(&loaded, str_from_c(file), NULL);
    send(&loaded, "{\"code\":\"conflict\",\"detail\":\"no\"}", ERROR_CONFLICT, "roles");
    assert_int_equal(loaded.problems.items[0].line, 1);
    assert_int_equal(loaded.problems.items[0].column, 18);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_of_the_api_has_a_row),
        cmocka_unit_test(a_hint_names_the_command_of_the_kind),
        cmocka_unit_test(without_a_response_the_error_kind_decides),
        cmocka_unit_test(field_errors_have_locations),
        cmocka_unit_test(errors_about_the_whole_object_point_to_its_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
