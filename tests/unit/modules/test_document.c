/* json.value and yaml.value: the same except for the format. */
#include "modules/document.h"

#include "lang/json.h"
#include "module_fixture.h"

static void put(Fixture *fixture, const char *text)
{
    FileWrite write = {
        .content = str_from_c(text), .mode = 0644, .uid = HOST_KEEP_ID, .gid = HOST_KEEP_ID
    };
    assert_true(host_write(fixture->host, STR("/app"), &write, &fixture->err));
}

static Str text_of(Fixture *fixture)
{
    Str text;
    assert_true(host_read(fixture->host, &fixture->arena, STR("/app"), 1000, &text, &fixture->err));
    return text;
}

static Value json(Fixture *fixture, const char *text)
{
    Value v;
    assert_true(json_parse_text(&fixture->arena, str_from_c(text), NULL, &v, &fixture->err));
    return v;
}

static void use_value(Fixture *fixture, const char *action, const char *path, const char *value)
{
    use_action(fixture, action);
    set_text(fixture, "name", "/app");
    set_text(fixture, "path", path);
    set_text(fixture, "state", value == NULL ? "absent" : "present");
    set_param(fixture, "parents", value_bool(true));
    if (value != NULL) {
        set_param(fixture, "value", json(fixture, value));
    }
}

static void changes_once(Fixture *fixture, const char *text)
{
    if (!run(fixture)) {
        fail_msg("%s", fixture->err.text);
    }
    assert_true(fixture->outcome.changed);
    assert_str(text_of(fixture), text);
    assert_true(check(fixture));
    assert_false(fixture->outcome.changed);
}

static void a_value_is_set_once(void **state)
{
    Fixture *fixture = *state;
    put(fixture, "{\"a\": {\"b\": 1}}\n");
    use_value(fixture, "json.value", "a.b", "[1, {\"x\": null}]");
    assert_true(plan(fixture));
    const Value *reported = value_get(value_map(fixture->outcome.changes), STR("value"));
    assert_int_equal(value_get(*reported, STR("old"))->integer, 1);
    assert_int_equal(value_get(*reported, STR("new"))->kind, VALUE_LIST);
    assert_int_equal(fixture->kept, 0);
    changes_once(fixture, "{\"a\": {\"b\": [1, {\"x\": null}]}}\n");
    assert_int_equal(fixture->kept, 1);
    use_value(fixture, "json.value", "a", NULL);
    changes_once(fixture, "{}\n");
    assert_str(fixture->outcome.state, "absent");
}

static void yaml_keeps_its_comments(void **state)
{
    Fixture *fixture = *state;
    put(fixture, "# top\nusers: # all\n  - web # one\n");
    use_value(fixture, "yaml.value", "users.-", "\"db\"");
    changes_once(fixture, "# top\nusers: # all\n  - web # one\n  - db\n");
    use_value(fixture, "yaml.value", "users.-", "\"web\"");
    set_text(fixture, "state", "absent");
    changes_once(fixture, "# top\nusers: # all\n  - db\n");
}

static void a_missing_file_is_created_on_request(void **state)
{
    Fixture *fixture = *state;
    use_value(fixture, "yaml.value", "a.b", "true");
    assert_true(plan(fixture));
    assert_true(fixture->outcome.unknown);
    assert_false(check(fixture));
    assert_int_equal(fixture->err.kind, ERROR_NOT_FOUND);
    set_param(fixture, "create", value_bool(true));
    set_param(fixture, "mode", value_int(0600));
    changes_once(fixture, "a:\n  b: true\n");
}

static void secrets_are_not_shown(void **state)
{
    Fixture *fixture = *state;
    put(fixture, "{}");
    use_value(fixture, "json.value", "a", "{\"password\": \"hunter2\"}");
    Value v = json(fixture, "{\"password\": \"hunter2\"}");
    v.map->entries[0].value.flags |= VALUE_SECRET;
    set_param(fixture, "value", v);
    assert_true(check(fixture));
    assert_true(fixture->outcome.changed);
    assert_str(fixture->outcome.diff, "/app: changed (secret)\n");
    assert_null(value_get(value_map(fixture->outcome.changes), STR("value")));
}

static void invalid_parameters_fail_a_plan(void **state)
{
    Fixture *fixture = *state;
    use_value(fixture, "json.value", "a..b", "1");
    assert_false(plan(fixture));
    assert_int_equal(fixture->err.kind, ERROR_INVALID);
    use_value(fixture, "json.value", "a", "1");
    set_param(fixture, "value", value_missing());
    assert_false(plan(fixture));
    assert_string_equal(fixture->err.text, "'value' is required");
    put(fixture, "{\n  \"a\": 1,\n}\n");
    use_value(fixture, "json.value", "a", "1");
    assert_false(plan(fixture));
    assert_string_equal(fixture->err.text, "/app:2:9: trailing comma before '}'");
    put(fixture, "\xff\xfe");
    use_value(fixture, "yaml.value", "a", "1");
    assert_false(plan(fixture));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_ROOT(a_value_is_set_once),
        IN_ROOT(yaml_keeps_its_comments),
        IN_ROOT(a_missing_file_is_created_on_request),
        IN_ROOT(secrets_are_not_shown),
        IN_ROOT(invalid_parameters_fail_a_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
