#include "model/conclude.h"

#include "unit.h"

static void when_decides_whether_it_continues(void **state)
{
    static const struct {
        Answer answer;
        bool retries;
        int64_t limit, asked;
        Verdict run, plan;
    } rows[] = {
        { ANSWER_YES, false, 0, 0, VERDICT_PROCEED, VERDICT_PROCEED },
        { ANSWER_NO, false, 0, 1, VERDICT_SKIP, VERDICT_SKIP },
        { ANSWER_NO, true, 0, 1000, VERDICT_PARK, VERDICT_WAIT },
        { ANSWER_NO, true, 2, 2, VERDICT_PARK, VERDICT_WAIT },
        { ANSWER_NO, true, 2, 3, VERDICT_FAIL, VERDICT_WAIT },
        { ANSWER_UNKNOWN, false, 0, 0, VERDICT_FAIL, VERDICT_UNKNOWN },
        { ANSWER_FAILED, true, 5, 0, VERDICT_FAIL, VERDICT_FAIL },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        Retry retry = { .is_set = rows[i].retries, .limit = rows[i].limit };
        assert_int_equal(conclude_when(rows[i].answer, &retry, rows[i].asked, false), rows[i].run);
        assert_int_equal(conclude_when(rows[i].answer, &retry, rows[i].asked, true), rows[i].plan);
    }
}

static void conditions_about_a_result_fail_it(void **state)
{
    Retry none = { 0 }, once = { .is_set = true, .limit = 1 };
    assert_int_equal(conclude_result(ANSWER_YES, &none, 0, false), VERDICT_PROCEED);
    assert_int_equal(conclude_result(ANSWER_NO, &none, 1, false), VERDICT_FAIL);
    assert_int_equal(conclude_result(ANSWER_NO, &once, 1, false), VERDICT_PARK);
    assert_int_equal(conclude_result(ANSWER_NO, &once, 2, false), VERDICT_FAIL);
    assert_int_equal(conclude_result(ANSWER_UNKNOWN, &once, 0, false), VERDICT_FAIL);
    assert_int_equal(conclude_result(ANSWER_FAILED, &once, 0, true), VERDICT_FAIL);
    /* In a plan the action has not run. */
    assert_int_equal(conclude_result(ANSWER_NO, &none, 1, true), VERDICT_PROCEED);
    assert_int_equal(conclude_result(ANSWER_UNKNOWN, &none, 0, true), VERDICT_PROCEED);
}

static StepResult result_of(WorkPhase phase, Observation seen, bool planning)
{
    StepStatus status = { 0 };
    conclude_observation(&status, phase, seen, planning);
    conclude_success(&status, phase);
    return phase == PHASE_CHECK ? status.pending : status.result;
}

static void observations_become_the_result(void **state)
{
    Observation nothing = { 0 }, change = { .changed = true }, unknown = { .unknown = true };
    assert_int_equal(result_of(PHASE_RUN, nothing, false), RESULT_OK);
    assert_int_equal(result_of(PHASE_RUN, change, false), RESULT_CHANGED);
    assert_int_equal(result_of(PHASE_RUN, unknown, true), RESULT_UNKNOWN);
    assert_int_equal(result_of(PHASE_CHECK, nothing, false), RESULT_OK);
    assert_int_equal(result_of(PHASE_CHECK, change, false), RESULT_CHANGED);
    assert_int_equal(result_of(PHASE_CHECK, unknown, false), RESULT_UNKNOWN);
}

static void a_check_changes_nothing(void **state)
{
    StepStatus status = { 0 };
    conclude_observation(&status, PHASE_CHECK, (Observation){ .changed = true }, false);
    assert_false(status.changed);
    assert_int_equal(status.result, RESULT_PENDING);
}

static void a_reaction_leaves_results_but_ok_alone(void **state)
{
    static const StepResult before[] = { RESULT_OK, RESULT_CHANGED, RESULT_FAILED };
    static const StepResult after[] = { RESULT_CHANGED, RESULT_CHANGED, RESULT_FAILED };
    for (size_t i = 0; i < COUNT_OF(before); i++) {
        StepStatus status = { .result = before[i] };
        conclude_observation(&status, PHASE_REACT,
                             (Observation){ .changed = true, .reacted = true }, false);
        conclude_success(&status, PHASE_REACT);
        assert_int_equal(status.result, after[i]);
        assert_true(status.reacted);
        conclude_not_run(&status, PHASE_REACT, RESULT_SKIPPED);
        assert_int_equal(status.result, after[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(when_decides_whether_it_continues),
        cmocka_unit_test(conditions_about_a_result_fail_it),
        cmocka_unit_test(observations_become_the_result),
        cmocka_unit_test(a_check_changes_nothing),
        cmocka_unit_test(a_reaction_leaves_results_but_ok_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
