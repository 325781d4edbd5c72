#include "module_fixture.h"

static void put(Fixture *fixture, const char *text)
{
    FileWrite write = {
        .content = str_from_c(text), .mode = 0644, .uid = HOST_KEEP_ID, .gid = HOST_KEEP_ID
    };
    assert_true(host_write(fixture->host, STR("/app.ini"), &write, &fixture->err));
}

static Str text_of(Fixture *fixture)
{
    Str text;
    assert_true(
        host_read(fixture->host, &fixture->arena, STR("/app.ini"), 1000, &text, &fixture->err));
    return text;
}

static void use_option(Fixture *fixture, const char *section, const char *option, const char *value)
{
    use_action(fixture, "ini.option");
    set_text(fixture, "name", "/app.ini");
    set_text(fixture, "section", section);
    set_text(fixture, "option", option);
    set_text(fixture, "separator", " = ");
    set_text(fixture, "state", "present");
    set_param(fixture, "exclusive", value_bool(true));
    set_param(fixture, "parents", value_bool(true));
    if (value != NULL) {
        set_text(fixture, "value", value);
    }
}

static void an_option_is_set_once(void **state)
{
    Fixture *fixture = *state;
    put(fixture, "; main\n[server]\nport=80\n");
    use_option(fixture, "server", "port", "8080");
    assert_true(plan(fixture));
    assert_true(fixture->outcome.changed);
    assert_str(fixture->outcome.diff, "--- /app.ini\n+++ /app.ini\n@@ -1,3 +1,3 @@\n ; main\n "
                                      "[server]\n-port=80\n+port=8080\n");
    assert_str(text_of(fixture), "; main\n[server]\nport=80\n");
    assert_true(run(fixture));
    assert_true(fixture->outcome.changed);
    assert_int_equal(fixture->kept, 1);
    assert_str(fixture->outcome.state, "present");
    assert_str(text_of(fixture), "; main\n[server]\nport=8080\n");
    assert_true(check(fixture));
    assert_false(fixture->outcome.changed);
    FileInfo info;
    assert_true(host_stat(fixture->host, STR("/app.ini"), &info, &fixture->err));
    assert_int_equal(info.mode, 0644);
}

static void an_option_is_removed(void **state)
{
    Fixture *fixture = *state;
    put(fixture, "[server]\nport=80\n");
    use_option(fixture, "server", "port", NULL);
    set_text(fixture, "state", "absent");
    assert_true(run(fixture));
    assert_str(text_of(fixture), "[server]\n");
    assert_str(fixture->outcome.state, "absent");
    assert_true(check(fixture));
    assert_false(fixture->outcome.changed);
}

static void a_missing_file_is_created_on_request(void **state)
{
    Fixture *fixture = *state;
    use_option(fixture, "server", "port", "80");
    assert_true(plan(fixture));
    assert_true(fixture->outcome.unknown);
    assert_false(check(fixture));
    assert_string_equal(fixture->err.text,
                        "/app.ini: No such file or directory; set 'create: true' to create it");
    set_param(fixture, "create", value_bool(true));
    assert_true(run(fixture));
    assert_str(text_of(fixture), "[server]\nport = 80\n");
    set_text(fixture, "name", "/other.ini");
    set_text(fixture, "state", "absent");
    assert_true(check(fixture));
    assert_false(fixture->outcome.changed);
    assert_str(fixture->outcome.state, "absent");
}

static void secrets_are_not_shown(void **state)
{
    Fixture *fixture = *state;
    use_option(fixture, "db", "password", NULL);
    set_param(fixture, "value", value_with_secret(value_string(STR("hunter2"))));
    set_param(fixture, "create", value_bool(true));
    assert_true(check(fixture));
    assert_str(fixture->outcome.diff, "/app.ini: changed (secret)\n");
    assert_true(run(fixture));
    FileInfo info;
    assert_true(host_stat(fixture->host, STR("/app.ini"), &info, &fixture->err));
    assert_int_equal(info.mode, 0600);
}

static void invalid_parameters_fail_a_plan_early(void **state)
{
    Fixture *fixture = *state;
    use_option(fixture, "server", "port", NULL);
    assert_false(plan(fixture));
    assert_string_equal(fixture->err.text,
                        "'value' is required; for an option without a value, set 'bare: true'");
    use_option(fixture, "server", "port", "80");
    set_param(fixture, "bare", value_bool(true));
    assert_false(plan(fixture));
    assert_string_equal(fixture->err.text, "'bare' and 'value' are mutually exclusive");
    use_option(fixture, "server", "", "80");
    assert_false(plan(fixture));
    assert_string_equal(fixture->err.text, "'option' is required");
    use_option(fixture, "a\nb", "port", "80");
    assert_false(plan(fixture));
    assert_int_equal(fixture->err.kind, ERROR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_ROOT(an_option_is_set_once),
        IN_ROOT(an_option_is_removed),
        IN_ROOT(a_missing_file_is_created_on_request),
        IN_ROOT(secrets_are_not_shown),
        IN_ROOT(invalid_parameters_fail_a_plan_early),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
