/* Parsing the reports of Puppet and Ansible about a run, including odd ones. */
#include "modules/foreign_report.h"

#include "module_fixture.h"

static bool read_puppet(Fixture *fixture, const char *text, ForeignReport *out)
{
    fixture->outcome = (Outcome){ 0 };
    return puppet_report_read(&fixture->call, str_from_c(text), &fixture->outcome, out,
                              &fixture->err);
}

static bool read_ansible(Fixture *fixture, const char *text, ForeignReport *out)
{
    fixture->outcome = (Outcome){ 0 };
    return ansible_report_read(&fixture->call, str_from_c(text), &fixture->outcome, out,
                               &fixture->err);
}

static bool has_change(const Fixture *fixture, const char *what)
{
    return fixture->outcome.changes != NULL &&
           map_find_str(fixture->outcome.changes, str_from_c(what)) != NULL;
}

static void test_resources_of_puppet_are_changes(void **state)
{
    Fixture *fixture = *state;
    ForeignReport report;
    assert_true(read_puppet(
        fixture,
        "--- !ruby/object:Puppet::Transaction::Report\n"
        "logs:\n"
        "- {level: notice, source: x, message: \"\\n--- /srv/a\\n+++ /tmp/b\\n-x\\n+y\\n\"}\n"
        "- {level: err, source: '/Stage[main]/Main/User[web]', message: no useradd}\n"
        "resource_statuses:\n"
        "  File[/srv/a]:\n"
        "    resource_type: File\n"
        "    events:\n"
        "    - {property: content, previous_value: x, desired_value: y, status: noop}\n"
        "  Service[web]:\n"
        "    resource_type: Service\n"
        "    events:\n"
        "    - {property: , status: success, message: Triggered refresh}\n"
        "  Exec[/bin/false]:\n"
        "    resource_type: Exec\n"
        "    line: 4\n"
        "    failed: true\n"
        "    events:\n"
        "    - {property: returns, status: failure, message: returned 1}\n"
        "  User[web]: {resource_type: User, failed: true}\n"
        "  File[/srv/b]: {resource_type: File, skipped: true}\n"
        "  Notify[told]:\n"
        "    resource_type: Notify\n"
        "    events:\n"
        "    - {property: message, previous_value: absent, desired_value: told, status: noop}\n",
        &report));
    assert_int_equal(report.changed, 2);
    assert_int_equal(report.failed, 2);
    assert_int_equal(report.skipped, 1);
    assert_true(has_change(fixture, "File[/srv/a]/content"));
    assert_true(has_change(fixture, "Service[web]/refresh"));
    assert_str(report.failures, "Exec[/bin/false]: returned 1 (line 4); User[web]: no useradd");
    assert_str(fixture->outcome.diff, "--- /srv/a\n+++ /tmp/b\n-x\n+y\n");
}

/* Rather than a message in the log, and however short. */
static void test_a_failure_of_puppet_has_the_message_of_its_event(void **state)
{
    Fixture *fixture = *state;
    ForeignReport report;
    assert_true(read_puppet(fixture,
                            "logs:\n"
                            "- {level: err, source: 'Exec[a]', message: from the log}\n"
                            "resource_statuses:\n"
                            "  Exec[a]:\n"
                            "    events:\n"
                            "    - {property: returns, status: failure, message: x}\n",
                            &report));
    assert_str(report.failures, "Exec[a]: x");
}

static void test_hidden_values_of_puppet_stay_hidden(void **state)
{
    Fixture *fixture = *state;
    ForeignReport report;
    assert_true(read_puppet(fixture,
                            "resource_statuses:\n"
                            "  User[web]:\n"
                            "    resource_type: User\n"
                            "    events:\n"
                            "    - {property: password, previous_value: a, desired_value: b,\n"
                            "       redacted: true, status: success}\n",
                            &report));
    const MapEntry *change = map_find_str(fixture->outcome.changes, STR("User[web]/password"));
    assert_non_null(change);
    assert_null(value_get(change->value, STR("old")));
    assert_str(value_str(*value_get(change->value, STR("new"))), "(secret)");
}

static void test_invalid_puppet_reports_are_rejected(void **state)
{
    static const char *const texts[] = { "",     "[1, 2]", "resource_statuses: 3",
                                         "a: [", "\x01",   "--- !ruby/object:X {}" };
    ForeignReport report;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        assert_false(read_puppet(*state, texts[i], &report));
    }
    assert_true(read_puppet(*state,
                            "resource_statuses: {1: 2, a: b, 'File[x]': {events: 3, "
                            "resource_type: [], failed: 'yes'}}",
                            &report));
    assert_int_equal(report.changed + report.failed, 0);
}

static void test_tasks_of_ansible_are_changes(void **state)
{
    Fixture *fixture = *state;
    ForeignReport report;
    assert_true(read_ansible(
        fixture,
        "{\"status\":\"ok\",\"host\":\"localhost\",\"task\":\"copy\",\"action\":\"copy\","
        "\"changed\":true,\"diff\":\"--- a\\n+++ b\\n\"}\n"
        "{\"status\":\"ok\",\"host\":\"localhost\",\"task\":\"copy\",\"changed\":true}\n"
        "{\"status\":\"ok\",\"host\":\"web\",\"task\":\"copy\",\"changed\":true}\n"
        "{\"status\":\"ok\",\"host\":\"localhost\",\"task\":\"same\",\"changed\":false}\n"
        "{\"status\":\"skipped\",\"host\":\"localhost\",\"task\":\"run\",\"unasked\":true}\n"
        "{\"status\":\"ignored\",\"host\":\"localhost\",\"task\":\"may fail\"}\n"
        "{\"status\":\"failed\",\"host\":\"localhost\",\"task\":\"bad\",\"message\":\"no\","
        "\"place\":\"p:3\"}\n"
        "{\"status\":\"unreachable\",\"host\":\"db\",\"task\":\"far\",\"message\":\"gone\","
        "\"place\":\"p:4\"}\n"
        "{\"status\":\"ok\",\"torn",
        &report));
    assert_int_equal(report.changed, 4);
    assert_int_equal(report.failed, 2);
    assert_true(has_change(fixture, "copy") && has_change(fixture, "copy (2)"));
    assert_true(has_change(fixture, "web: copy") && has_change(fixture, "run"));
    assert_str(report.failures,
               "task 'bad' failed: no (p:3); "
               "task 'db: far' failed because its host is unreachable: gone (p:4)");
    assert_str(fixture->outcome.diff, "--- a\n+++ b\n");
}

static void test_invalid_ansible_reports_are_rejected(void **state)
{
    ForeignReport report;
    assert_true(read_ansible(*state, "", &report));
    assert_false(read_ansible(*state, "\n", &report));
    assert_false(read_ansible(*state, "[]\n", &report));
    assert_false(read_ansible(*state, "{\n", &report));
    assert_true(read_ansible(*state, "{}\n{\"task\":3,\"changed\":\"yes\"}\n", &report));
    assert_int_equal(report.changed + report.failed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_ROOT(test_resources_of_puppet_are_changes),
        IN_ROOT(test_a_failure_of_puppet_has_the_message_of_its_event),
        IN_ROOT(test_hidden_values_of_puppet_stay_hidden),
        IN_ROOT(test_invalid_puppet_reports_are_rejected),
        IN_ROOT(test_tasks_of_ansible_are_changes),
        IN_ROOT(test_invalid_ansible_reports_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
