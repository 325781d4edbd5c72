/* What the leader and the API see of a target: its session, or for how long it has had none. */
#include "fleet/dispatch_target.h"

#include "fleet/dispatch_plan.h"
#include "unit.h"

enum {
    CREATED_MS = 1000000,
    NOW_MS = CREATED_MS + 5000,
    LOST_MS = 100000,
};

typedef struct Fixture {
    RunTarget target;
    RunEntry run;
} Fixture;

static void make_run(Fixture *f)
{
    *f = (Fixture){ .target = { .order_revision = 7 } };
    f->run =
        (RunEntry){ .record = { .created_ms = CREATED_MS }, .revision = 9, .targets = &f->target };
}

static DispatchTarget look(Fixture *f, const RosterNode *node)
{
    return dispatch_target(&f->run, 0, node, NOW_MS);
}

static void a_session_is_no_silence(void **state)
{
    Fixture f;
    make_run(&f);
    DispatchTarget target = look(&f, &(RosterNode){ .is_alive = true, .since_ms = CREATED_MS });
    assert_true(target.is_member);
    assert_int_equal(target.silent_ms, -1);
    assert_int_equal(target.order_revision, 7);
}

static void silence_counts_from_its_start(void **state)
{
    Fixture f;
    make_run(&f);
    assert_int_equal(look(&f, &(RosterNode){ .since_ms = CREATED_MS - 3000 }).silent_ms, 8000);
    assert_int_equal(look(&f, &(RosterNode){ .since_ms = NOW_MS - 1 }).silent_ms, 1);
}

static void silence_of_unknown_start_counts_from_the_creation_of_the_run(void **state)
{
    Fixture f;
    make_run(&f);
    assert_int_equal(look(&f, &(RosterNode){ 0 }).silent_ms, 5000);
}

static void a_clock_that_was_set_back_does_not_make_a_session(void **state)
{
    Fixture f;
    make_run(&f);
    assert_int_equal(look(&f, &(RosterNode){ .since_ms = NOW_MS + 60000 }).silent_ms, 0);
}

static void a_removed_node_is_not_a_member(void **state)
{
    Fixture f;
    make_run(&f);
    assert_false(look(&f, NULL).is_member);
    assert_int_equal(look(&f, NULL).silent_ms, 5000);
}

static void results_are_those_of_the_target(void **state)
{
    Fixture f;
    make_run(&f);
    assert_false(look(&f, NULL).has_result);
    f.target = (RunTarget){ .has_result = true, .outcome = NODE_RUNNING };
    DispatchTarget target = look(&f, NULL);
    assert_true(target.has_result);
    assert_int_equal(target.outcome, NODE_RUNNING);
    assert_int_equal(target.order_revision, 0);
}

/* One that reboots gets longer than one that never started, unless the run was canceled. */
static void a_run_waits_until_its_target_is_given_up(void **state)
{
    Fixture f;
    make_run(&f);
    f.target = (RunTarget){ .has_result = true, .outcome = NODE_RUNNING };
    DispatchTarget target = look(&f, &(RosterNode){ .since_ms = NOW_MS - 1000 });
    assert_int_equal(dispatch_waits_until_ms(&f.run, &target, LOST_MS, NOW_MS),
                     NOW_MS - 1000 + LOST_MS);
    f.run.record.is_canceled = true;
    assert_int_equal(dispatch_waits_until_ms(&f.run, &target, LOST_MS, NOW_MS),
                     NOW_MS - 1000 + DISPATCH_SILENT_MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_is_no_silence),
        cmocka_unit_test(silence_counts_from_its_start),
        cmocka_unit_test(silence_of_unknown_start_counts_from_the_creation_of_the_run),
        cmocka_unit_test(a_clock_that_was_set_back_does_not_make_a_session),
        cmocka_unit_test(a_removed_node_is_not_a_member),
        cmocka_unit_test(results_are_those_of_the_target),
        cmocka_unit_test(a_run_waits_until_its_target_is_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
