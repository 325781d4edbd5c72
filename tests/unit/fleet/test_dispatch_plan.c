/* The leader's next step for a run, as a table: a state of the targets, and the expected step. */
#include "fleet/dispatch_plan.h"
#include "unit.h"

#define MEMBER            .is_member = true
#define ALIVE             MEMBER, .silent_ms = -1
#define ORDERED(revision) .order_revision = (revision)
#define RESULT(name)      .has_result = true, .outcome = (name)

enum {
    TARGETS_MAX = 3
};

typedef struct Case {
    const char *name;
    DispatchRun run;
    DispatchTarget targets[TARGETS_MAX];
    uint32_t count;
    DispatchAction action;
    uint32_t acts_on[TARGETS_MAX];
    uint32_t acts_count;
    int64_t wait_ms;
} Case;

static const Case cases[] = {
    { "every target of a new run gets an order",
      { .state = RUN_PENDING },
      { { ALIVE }, { ALIVE, ORDERED(5) }, { MEMBER, .silent_ms = 99999999 } },
      3,
      DISPATCH_ORDER,
      { 0, 2 },
      2,
      0 },
    { "a target that has left the cluster gets none",
      { .state = RUN_PENDING },
      { { .silent_ms = 5 }, { ALIVE, ORDERED(5) } },
      2,
      DISPATCH_RUNNING,
      { 0 },
      0,
      0 },
    { "a target with a result gets no second order",
      { .state = RUN_PENDING },
      { { ALIVE, RESULT(NODE_RUNNING) }, { ALIVE, RESULT(NODE_OK) } },
      2,
      DISPATCH_RUNNING,
      { 0 },
      0,
      0 },
    { "a canceled run gives no more orders",
      { .state = RUN_PENDING, .canceled_revision = 9 },
      { { ALIVE }, { ALIVE, ORDERED(5) } },
      2,
      DISPATCH_RUNNING,
      { 0 },
      0,
      0 },
    { "orders from before the cancellation are written again",
      { .state = RUN_RUNNING, .canceled_revision = 9 },
      { { ALIVE, ORDERED(5), RESULT(NODE_RUNNING) }, { ALIVE, ORDERED(12) } },
      2,
      DISPATCH_ORDER,
      { 0 },
      1,
      0 },
    { "targets in progress are waited for",
      { .state = RUN_RUNNING },
      { { ALIVE, ORDERED(5), RESULT(NODE_RUNNING) }, { ALIVE, RESULT(NODE_FAILED) } },
      2,
      DISPATCH_WAIT,
      { 0 },
      0,
      0 },
    { "a target without a session is waited for until it counts as silent",
      { .state = RUN_RUNNING },
      { { MEMBER, .silent_ms = 5000, ORDERED(5) }, { ALIVE, RESULT(NODE_OK) } },
      2,
      DISPATCH_WAIT,
      { 0 },
      0,
      DISPATCH_SILENT_MS - 5000 },
    { "one that has started is given more time, because it may reboot",
      { .state = RUN_RUNNING },
      { { MEMBER, .silent_ms = DISPATCH_SILENT_MS, ORDERED(5), RESULT(NODE_RUNNING) } },
      1,
      DISPATCH_WAIT,
      { 0 },
      0,
      DISPATCH_LOST_MS - DISPATCH_SILENT_MS },
    { "how long is a setting",
      { .state = RUN_RUNNING, .lost_ms = 60000 },
      { { MEMBER, .silent_ms = DISPATCH_SILENT_MS, ORDERED(5), RESULT(NODE_RUNNING) } },
      1,
      DISPATCH_WAIT,
      { 0 },
      0,
      60000 - DISPATCH_SILENT_MS },
    { "orders of silent targets are withdrawn before the run ends",
      { .state = RUN_RUNNING },
      { { MEMBER, .silent_ms = DISPATCH_SILENT_MS, ORDERED(5) }, { ALIVE, RESULT(NODE_OK) } },
      2,
      DISPATCH_WITHDRAW,
      { 0 },
      1,
      0 },
    { "a run ends when all targets have finished or are silent",
      { .state = RUN_RUNNING },
      { { MEMBER, .silent_ms = DISPATCH_SILENT_MS }, { ALIVE, RESULT(NODE_OK) }, { ORDERED(0) } },
      3,
      DISPATCH_END,
      { 0 },
      0,
      0 },
    { "a target that accepts its order while it is withdrawn does not start it",
      { .state = RUN_RUNNING },
      { { ALIVE, RESULT(NODE_WAITING) }, { ALIVE, RESULT(NODE_OK) } },
      2,
      DISPATCH_END,
      { 0 },
      0,
      0 },
    { "but one that has started finishes",
      { .state = RUN_RUNNING },
      { { ALIVE, RESULT(NODE_RUNNING) }, { ALIVE, RESULT(NODE_OK) } },
      2,
      DISPATCH_WAIT,
      { 0 },
      0,
      0 },
    { "silent targets of a new version catch up: their orders stay",
      { .state = RUN_RUNNING, .cause = RUN_BY_VERSION },
      { { MEMBER, .silent_ms = DISPATCH_SILENT_MS, ORDERED(5) }, { ALIVE, RESULT(NODE_OK) } },
      2,
      DISPATCH_END,
      { 0 },
      0,
      0 },
    { "until a later version replaces it",
      { .state = RUN_ENDED, .cause = RUN_BY_VERSION, .is_superseded = true },
      { { MEMBER, .silent_ms = DISPATCH_SILENT_MS, ORDERED(5) }, { ALIVE, RESULT(NODE_OK) } },
      2,
      DISPATCH_WITHDRAW,
      { 0 },
      1,
      0 },
    { "an order that is left beside a final result is deleted",
      { .state = RUN_RUNNING },
      { { ALIVE, ORDERED(5), RESULT(NODE_CHANGED) }, { ALIVE, ORDERED(5) } },
      2,
      DISPATCH_WITHDRAW,
      { 0 },
      1,
      0 },
    { "a canceled run does not wait for a silent target that has started",
      { .state = RUN_RUNNING, .canceled_revision = 9 },
      { { MEMBER, .silent_ms = DISPATCH_SILENT_MS, ORDERED(12), RESULT(NODE_RUNNING) } },
      1,
      DISPATCH_END,
      { 0 },
      0,
      0 },
    { "whose canceled order stays, for when it returns",
      { .state = RUN_ENDED, .canceled_revision = 9 },
      { { MEMBER, .silent_ms = DISPATCH_SILENT_MS, ORDERED(12), RESULT(NODE_RUNNING) },
        { MEMBER, .silent_ms = DISPATCH_SILENT_MS + 1, ORDERED(12) } },
      2,
      DISPATCH_WAIT,
      { 0 },
      0,
      DISPATCH_LOST_MS - DISPATCH_SILENT_MS - 1 },
    { "but not forever",
      { .state = RUN_ENDED, .canceled_revision = 9 },
      { { MEMBER, .silent_ms = DISPATCH_LOST_MS, ORDERED(12), RESULT(NODE_RUNNING) } },
      1,
      DISPATCH_WITHDRAW,
      { 0 },
      1,
      0 },
    { "a silent target is told that the run was canceled before the run ends",
      { .state = RUN_RUNNING, .canceled_revision = 9 },
      { { MEMBER, .silent_ms = DISPATCH_SILENT_MS, ORDERED(5), RESULT(NODE_RUNNING) } },
      1,
      DISPATCH_ORDER,
      { 0 },
      1,
      0 },
    { "a run that was canceled before its targets got orders ends",
      { .state = RUN_RUNNING, .canceled_revision = 9 },
      { { ALIVE }, { ALIVE, RESULT(NODE_CANCELED) } },
      2,
      DISPATCH_END,
      { 0 },
      0,
      0 },
    { "a run without targets ends",
      { .state = RUN_RUNNING },
      { { 0 } },
      0,
      DISPATCH_END,
      { 0 },
      0,
      0 },
};

static void test_each_case(void **state)
{
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const Case *row = &cases[i];
        DispatchStep step;
        dispatch_plan(&row->run, row->targets, row->count, &step);
        bool acts = step.action == DISPATCH_ORDER || step.action == DISPATCH_WITHDRAW;
        bool ok = step.action == row->action && (!acts || step.target_count == row->acts_count) &&
                  step.wait_ms == row->wait_ms;
        for (uint32_t j = 0; ok && acts && j < row->acts_count; j++) {
            ok = step.targets[j] == row->acts_on[j];
        }
        if (!ok) {
            fail_msg("%s: action %d, %u targets, wait %lld", row->name, (int)step.action,
                     step.target_count, (long long)step.wait_ms);
        }
    }
}

static void test_orders_are_written_in_batches(void **state)
{
    static DispatchTarget targets[DISPATCH_BATCH_MAX + 1];
    DispatchRun run = { .state = RUN_PENDING };
    DispatchStep step;
    for (uint32_t i = 0; i < COUNT_OF(targets); i++) {
        targets[i] = (DispatchTarget){ ALIVE };
    }
    dispatch_plan(&run, targets, COUNT_OF(targets), &step);
    assert_int_equal(step.target_count, DISPATCH_BATCH_MAX);
    for (uint32_t i = 0; i < step.target_count; i++) {
        targets[step.targets[i]].order_revision = 5;
    }
    dispatch_plan(&run, targets, COUNT_OF(targets), &step);
    assert_int_equal(step.target_count, 1);
    assert_int_equal(step.targets[0], DISPATCH_BATCH_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_case),
        cmocka_unit_test(test_orders_are_written_in_batches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
