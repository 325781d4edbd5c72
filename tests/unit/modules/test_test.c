#include "module_fixture.h"

static void test_ok_changes_nothing(void **state)
{
    Fixture *fixture = *state;
    use_action(fixture, "test.ok");
    assert_true(run(fixture));
    assert_false(fixture->outcome.changed);
    assert_true(react(fixture));
    assert_true(fixture->outcome.changed);
}

static void test_changed_reports_a_change(void **state)
{
    Fixture *fixture = *state;
    use_action(fixture, "test.changed");
    assert_true(run(fixture));
    assert_true(fixture->outcome.changed);
    assert_non_null(fixture->outcome.changes);
}

static void test_failed_fails_in_a_plan_too(void **state)
{
    Fixture *fixture = *state;
    use_action(fixture, "test.failed");
    set_text(fixture, "message", "so there");
    assert_false(plan(fixture));
    assert_string_equal(fixture->err.text, "so there");
    assert_false(check(fixture));
}

static void a_step_ends_with_the_requested_result(void **state)
{
    Fixture *fixture = *state;
    use_action(fixture, "test.step");
    set_text(fixture, "result", "ok");
    set_text(fixture, "stdout", "hello");
    assert_true(run(fixture));
    assert_false(fixture->outcome.changed);
    assert_str(fixture->outcome.out, "hello");
    set_text(fixture, "result", "changed");
    assert_true(run(fixture));
    assert_true(fixture->outcome.changed);
    set_text(fixture, "result", "false");
    assert_false(plan(fixture));
    assert_false(run(fixture));
    set_param(fixture, "changed", value_bool(true));
    assert_true(plan(fixture));
    assert_true(fixture->outcome.changed);
    assert_false(run(fixture));
    assert_true(fixture->outcome.changed);
}

static void a_plan_does_not_sleep_and_a_canceled_step_stops(void **state)
{
    Fixture *fixture = *state;
    use_action(fixture, "test.step");
    set_param(fixture, "sleep", value_int(INT64_MAX));
    assert_true(plan(fixture));
    atomic_bool canceled = true;
    fixture->call.canceled = &canceled;
    assert_false(run(fixture));
    assert_int_equal(fixture->err.kind, ERROR_UNAVAILABLE);
}

static void a_random_sleep_waits_unless_planned_and_stops_if_canceled(void **state)
{
    Fixture *fixture = *state;
    atomic_bool canceled = true;
    use_action(fixture, "time.sleep_rand");
    set_param(fixture, "time", value_int(INT64_MAX));
    assert_true(plan(fixture));
    assert_int_equal(fixture->outcome.comment.len, 0);
    fixture->call.canceled = &canceled;
    assert_false(run(fixture));
    assert_int_equal(fixture->err.kind, ERROR_UNAVAILABLE);
    fixture->call.canceled = NULL;
    set_param(fixture, "time", value_int(1));
    assert_true(run(fixture));
    assert_true(str_starts(fixture->outcome.comment, STR("slept ")));
    assert_false(fixture->outcome.changed);
}

static void an_expression_returns_its_value(void **state)
{
    Fixture *fixture = *state;
    use_action(fixture, "template.expression");
    set_text(fixture, "content", "three");
    assert_true(run(fixture));
    assert_false(fixture->outcome.changed);
    assert_str(value_str(fixture->outcome.value), "three");
    assert_str(fixture->outcome.out, "three");
    set_param(fixture, "content", value_int(3));
    assert_true(run(fixture));
    assert_int_equal(fixture->outcome.value.integer, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_ROOT(test_ok_changes_nothing),
        IN_ROOT(test_changed_reports_a_change),
        IN_ROOT(test_failed_fails_in_a_plan_too),
        IN_ROOT(a_step_ends_with_the_requested_result),
        IN_ROOT(a_plan_does_not_sleep_and_a_canceled_step_stops),
        IN_ROOT(a_random_sleep_waits_unless_planned_and_stops_if_canceled),
        IN_ROOT(an_expression_returns_its_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
