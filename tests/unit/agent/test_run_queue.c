#include "agent/run_queue.h"

#include "unit.h"

#define NOW 1000000

enum {
    RUNS_MAX = 4
};

/* A run; unspecified fields are zero: an apply that was accepted. */
typedef struct Row {
    const char *name;
    Order order;
    QueueRun run;
    bool is_locked;
    QueueAction wanted;
} Row;

static const char *kind_name(QueueActionKind kind)
{
    static const char *const names[] = {
        [QUEUE_WAIT] = "rest",
        [QUEUE_FORGET] = "forget",
        [QUEUE_FETCH] = "fetch",
        [QUEUE_START] = "start",
        [QUEUE_REQUEUE] = "requeue",
        [QUEUE_INTERRUPT] = "interrupt",
        [QUEUE_STOP] = "stop",
        [QUEUE_KILL] = "kill",
        [QUEUE_STORE_RESULT] = "conclude",
        [QUEUE_STORE_LAST_RESULT] = "adopt end",
    };
    return names[kind];
}

static void check(const Row *row)
{
    QueueRun run = row->run;
    run.order = &row->order;
    QueueView view = { .runs = &run, .count = 1, .is_locked = row->is_locked, .now_ms = NOW };
    QueueAction got = queue_decide(&view);
    const QueueAction *wanted = &row->wanted;
    const char *reason = got.reason == NULL ? "" : got.reason;
    if (got.kind != wanted->kind || got.outcome != wanted->outcome ||
        got.counts != wanted->counts ||
        (wanted->kind == QUEUE_WAIT && got.check_ms != wanted->check_ms) ||
        (wanted->reason != NULL && strstr(reason, wanted->reason) == NULL)) {
        print_error("%s: got %s, outcome %d, counts %d, look %lld, '%s'\n", row->name,
                    kind_name(got.kind), got.outcome, got.counts, (long long)got.check_ms, reason);
        fail();
    }
}

#define STARTED .phase = QUEUE_STARTED, .attempts = 1, .started_ms = NOW - 1000
#define RUNNING STARTED, .has_runner = true

static void each_state_leads_to_one_action(void **state)
{
    static const Row rows[] = {
        /* Before the start. */
        { "a new one starts", .wanted = { QUEUE_START } },
        { "its site is missing", .run = { .site = SITE_MISSING }, .wanted = { QUEUE_FETCH } },
        { "its site is fetched", .run = { .site = SITE_FETCHING },
          .wanted = { QUEUE_WAIT, .check_ms = INT64_MAX } },
        { "its site could not be fetched", .run = { .site = SITE_FAILED, .fetched_ms = NOW - 1 },
          .wanted = { QUEUE_WAIT, .check_ms = NOW - 1 + QUEUE_FETCH_MS } },
        { "a while ago", .run = { .site = SITE_FAILED, .fetched_ms = NOW - QUEUE_FETCH_MS },
          .wanted = { QUEUE_FETCH } },
        { "its site is there", .run = { .site = SITE_READY }, .wanted = { QUEUE_START } },
        { "an apply waits for the lock", .is_locked = true,
          .wanted = { QUEUE_WAIT, .check_ms = NOW + QUEUE_LOCK_MS } },
        { "a plan does not",
          { .kind = RUN_KIND_PLAN },
          .is_locked = true,
          .wanted = { QUEUE_START } },
        { "nor a command",
          { .kind = RUN_KIND_EXEC },
          .is_locked = true,
          .wanted = { QUEUE_START } },
        { "withdrawn", .run = { .is_withdrawn = true }, .wanted = { QUEUE_FORGET } },
        { "withdrawn between two attempts", .run = { .is_withdrawn = true, .attempts = 1 },
          .wanted = { QUEUE_START } },
        { "canceled",
          { .is_canceled = true },
          .wanted = { QUEUE_STORE_RESULT, .outcome = NODE_CANCELED, .reason = "before" } },
        { "expired",
          { .expires_ms = NOW },
          .wanted = { QUEUE_STORE_RESULT, .outcome = NODE_SKIPPED, .reason = "expired" } },
        { "canceled and expired",
          { .expires_ms = NOW, .is_canceled = true },
          .wanted = { QUEUE_STORE_RESULT, .outcome = NODE_CANCELED } },
        { "not yet expired", { .expires_ms = NOW + 1 }, .wanted = { QUEUE_START } },
        { "it expires while it waits",
          { .expires_ms = NOW + 1 },
          .is_locked = true,
          .wanted = { QUEUE_WAIT, .check_ms = NOW + 1 } },
        { "one that has started does not expire",
          { .expires_ms = NOW - 1 },
          .run = { .attempts = 1 },
          .wanted = { QUEUE_START } },
        /* While it runs. */
        { "it runs", .run = { RUNNING }, .wanted = { QUEUE_WAIT, .check_ms = INT64_MAX } },
        { "it runs and is withdrawn", .run = { RUNNING, .is_withdrawn = true },
          .wanted = { QUEUE_WAIT, .check_ms = INT64_MAX } },
        { "cancel", { .is_canceled = true }, .run = { RUNNING }, .wanted = { QUEUE_INTERRUPT } },
        { "canceled just now",
          { .is_canceled = true },
          .run = { RUNNING, .signals = 1, .signaled_ms = NOW - 1 },
          .wanted = { QUEUE_WAIT, .check_ms = NOW - 1 + QUEUE_CANCEL_MS } },
        { "canceled a while ago",
          { .is_canceled = true },
          .run = { RUNNING, .signals = 1, .signaled_ms = NOW - QUEUE_CANCEL_MS },
          .wanted = { QUEUE_STOP } },
        { "canceled now",
          { .is_canceled = true, .is_urgent = true },
          .run = { RUNNING },
          .wanted = { QUEUE_STOP } },
        { "canceled, and then now",
          { .is_canceled = true, .is_urgent = true },
          .run = { RUNNING, .signals = 1, .signaled_ms = NOW - 1 },
          .wanted = { QUEUE_STOP } },
        { "stopped just now",
          { .is_canceled = true, .is_urgent = true },
          .run = { RUNNING, .signals = 2, .signaled_ms = NOW - 1 },
          .wanted = { QUEUE_WAIT, .check_ms = NOW - 1 + QUEUE_STOP_MS } },
        { "canceled twice",
          { .is_canceled = true },
          .run = { RUNNING, .signals = 2, .signaled_ms = NOW - QUEUE_STOP_MS },
          .wanted = { QUEUE_KILL } },
        { "within its time",
          { .timeout_ms = 2000 },
          .run = { RUNNING },
          .wanted = { QUEUE_WAIT, .check_ms = NOW + 1000 } },
        { "over its time", { .timeout_ms = 1000 }, .run = { RUNNING }, .wanted = { QUEUE_STOP } },
        { "a command that is about to be killed",
          { .kind = RUN_KIND_EXEC, .timeout_ms = 1000 },
          .run = { RUNNING },
          .wanted = { QUEUE_WAIT, .check_ms = NOW + QUEUE_CANCEL_MS } },
        { "a command that was not killed in time",
          { .kind = RUN_KIND_EXEC, .timeout_ms = 1000 },
          .run = { .phase = QUEUE_STARTED,
                   .has_runner = true,
                   .started_ms = NOW - 1000 - QUEUE_CANCEL_MS },
          .wanted = { QUEUE_STOP } },
        { "a limit without end",
          { .timeout_ms = INT64_MAX },
          .run = { RUNNING },
          .wanted = { QUEUE_WAIT, .check_ms = INT64_MAX } },
        /* The runner has exited. */
        { "ended", .run = { STARTED, .tail = TAIL_ENDED },
          .wanted = { QUEUE_STORE_LAST_RESULT, .outcome = NODE_OK } },
        { "ended before the cancel arrived",
          { .is_canceled = true },
          .run = { STARTED, .tail = TAIL_ENDED, .signals = 1 },
          .wanted = { QUEUE_STORE_LAST_RESULT, .outcome = NODE_OK } },
        { "interrupted by a cancel",
          { .is_canceled = true },
          .run = { STARTED, .tail = TAIL_INTERRUPTED, .signals = 1 },
          .wanted = { QUEUE_STORE_LAST_RESULT, .outcome = NODE_CANCELED } },
        { "interrupted by its timeout",
          { .timeout_ms = 1000 },
          .run = { STARTED, .tail = TAIL_INTERRUPTED, .signals = 1 },
          .wanted = { QUEUE_STORE_LAST_RESULT, .outcome = NODE_OK, .reason = "time limit" } },
        { "killed by its timeout",
          { .timeout_ms = 1000 },
          .run = { STARTED, .tail = TAIL_OPEN, .signals = 3, .was_watched = true },
          .wanted = { QUEUE_STORE_RESULT, .outcome = NODE_FAILED, .reason = "time limit" } },
        { "killed by a cancel",
          { .is_canceled = true },
          .run = { STARTED, .tail = TAIL_OPEN, .signals = 3, .was_watched = true },
          .wanted = { QUEUE_STORE_RESULT, .outcome = NODE_CANCELED } },
        { "killed while watched", .run = { STARTED, .tail = TAIL_OPEN, .was_watched = true },
          .wanted = { QUEUE_STORE_RESULT, .outcome = NODE_FAILED } },
        { "interrupted while watched",
          .run = { STARTED, .tail = TAIL_INTERRUPTED, .was_watched = true },
          .wanted = { QUEUE_STORE_LAST_RESULT, .outcome = NODE_OK } },
        { "interrupted at a shutdown", .run = { STARTED, .tail = TAIL_INTERRUPTED },
          .wanted = { QUEUE_REQUEUE, .counts = true } },
        { "lost", .run = { STARTED, .tail = TAIL_OPEN },
          .wanted = { QUEUE_REQUEUE, .counts = true } },
        { "lost before it began", .run = { STARTED }, .wanted = { QUEUE_REQUEUE, .counts = true } },
        { "lost twice", .run = { STARTED, .tail = TAIL_OPEN, .interruptions = 1 },
          .wanted = { QUEUE_REQUEUE, .counts = true } },
        { "lost three times", .run = { STARTED, .tail = TAIL_OPEN, .interruptions = 2 },
          .wanted = { QUEUE_STORE_RESULT, .outcome = NODE_FAILED, .reason = "too often" } },
        { "lost and canceled",
          { .is_canceled = true },
          .run = { STARTED, .tail = TAIL_OPEN },
          .wanted = { QUEUE_STORE_RESULT, .outcome = NODE_CANCELED } },
        { "a lost command",
          { .kind = RUN_KIND_EXEC },
          .run = { STARTED, .tail = TAIL_OPEN },
          .wanted = { QUEUE_STORE_RESULT, .outcome = NODE_FAILED, .reason = "not repeated" } },
        { "a command lost before it began",
          { .kind = RUN_KIND_EXEC },
          .run = { STARTED },
          .wanted = { QUEUE_REQUEUE, .counts = true } },
        { "locked out", .run = { STARTED, .was_watched = true, .is_locked = true },
          .wanted = { QUEUE_REQUEUE } },
        /* Reboots that a step has requested. */
        { "the machine goes down",
          .run = { STARTED, .tail = TAIL_REBOOTING, .is_same_boot = true, .reboot_ms = NOW - 5,
                   .was_watched = true },
          .wanted = { QUEUE_WAIT, .check_ms = NOW - 5 + QUEUE_REBOOT_MS } },
        { "it does not",
          .run = { STARTED, .tail = TAIL_REBOOTING, .is_same_boot = true,
                   .reboot_ms = NOW - QUEUE_REBOOT_MS },
          .wanted = { QUEUE_REQUEUE } },
        { "it is back",
          .run = { STARTED, .tail = TAIL_REBOOTING, .reboot_ms = NOW - 5, .interruptions = 2 },
          .wanted = { QUEUE_REQUEUE } },
        { "it is back, and the run was canceled",
          { .is_canceled = true },
          .run = { STARTED, .tail = TAIL_REBOOTING, .reboot_ms = NOW - 5 },
          .wanted = { QUEUE_STORE_RESULT, .outcome = NODE_CANCELED } },
        { "over", .run = { .phase = QUEUE_ENDED },
          .wanted = { QUEUE_WAIT, .check_ms = INT64_MAX } },
        { "over and withdrawn", .run = { .phase = QUEUE_ENDED, .is_withdrawn = true },
          .wanted = { QUEUE_WAIT, .check_ms = INT64_MAX } },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        check(&rows[i]);
    }
}

typedef struct Queue {
    Order orders[RUNS_MAX];
    QueueRun runs[RUNS_MAX];
    QueueView view;
} Queue;

static void queue_init(Queue *queue, uint32_t count)
{
    *queue = (Queue){ .view = { .runs = queue->runs, .count = count, .now_ms = NOW } };
    for (uint32_t i = 0; i < count; i++) {
        queue->runs[i].order = &queue->orders[i];
    }
}

static void the_oldest_starts_and_others_wait_behind_it(void **state)
{
    Queue queue;
    uint32_t blocking_run;
    queue_init(&queue, 3);
    QueueAction action = queue_decide(&queue.view);
    assert_int_equal(action.kind, QUEUE_START);
    assert_int_equal(action.run, 0);
    assert_int_equal(queue_wait(&queue.view, 0, &blocking_run), WAIT_NONE);
    assert_int_equal(queue_wait(&queue.view, 2, &blocking_run), WAIT_RUN);
    assert_int_equal(blocking_run, 0);
    queue.runs[0].phase = QUEUE_STARTED;
    queue.runs[0].has_runner = true;
    assert_int_equal(queue_decide(&queue.view).kind, QUEUE_WAIT);
    queue.runs[0].phase = QUEUE_ENDED;
    action = queue_decide(&queue.view);
    assert_int_equal(action.kind, QUEUE_START);
    assert_int_equal(action.run, 1);
}

static void a_started_run_stays_first(void **state)
{
    Queue queue;
    uint32_t blocking_run;
    queue_init(&queue, 2); /* an older order arrives late */
    queue.runs[1].phase = QUEUE_STARTED;
    queue.runs[1].has_runner = true;
    assert_int_equal(queue_decide(&queue.view).kind, QUEUE_WAIT);
    assert_int_equal(queue_wait(&queue.view, 0, &blocking_run), WAIT_RUN);
    assert_int_equal(blocking_run, 1);
}

static void nothing_starts_during_shutdown(void **state)
{
    Queue queue;
    queue_init(&queue, 2);
    queue.runs[0] = (QueueRun){ .order = &queue.orders[0],
                                .phase = QUEUE_STARTED,
                                .tail = TAIL_REBOOTING,
                                .is_same_boot = true,
                                .reboot_ms = NOW };
    assert_int_equal(queue_decide(&queue.view).kind, QUEUE_WAIT);
}

static void a_command_does_not_wait_for_an_apply(void **state)
{
    Queue queue;
    queue_init(&queue, 3);
    queue.orders[1].kind = queue.orders[2].kind = RUN_KIND_EXEC;
    queue.runs[0].phase = QUEUE_STARTED;
    queue.runs[0].has_runner = true;
    QueueAction action = queue_decide(&queue.view);
    assert_int_equal(action.kind, QUEUE_START);
    assert_int_equal(action.run, 1);
    queue.runs[1].phase = QUEUE_STARTED;
    queue.runs[1].has_runner = true;
    assert_int_equal(queue_decide(&queue.view).kind, QUEUE_WAIT); /* but for another command */
}

static void waiting_runs_can_be_canceled_or_expire(void **state)
{
    Queue queue;
    queue_init(&queue, 3);
    queue.runs[0].phase = QUEUE_STARTED;
    queue.runs[0].has_runner = true;
    queue.orders[1].expires_ms = NOW + 7;
    assert_int_equal(queue_decide(&queue.view).check_ms, NOW + 7);
    queue.orders[2].is_canceled = true;
    QueueAction action = queue_decide(&queue.view);
    assert_int_equal(action.run, 2);
    assert_int_equal(action.outcome, NODE_CANCELED);
}

static void a_run_reports_what_it_waits_for(void **state)
{
    Queue queue;
    uint32_t blocking_run;
    queue_init(&queue, 1);
    queue.view.is_locked = true;
    assert_int_equal(queue_wait(&queue.view, 0, &blocking_run), WAIT_LOCK);
    assert_int_equal(blocking_run, UINT32_MAX);
    queue.runs[0].site = SITE_FETCHING;
    assert_int_equal(queue_wait(&queue.view, 0, &blocking_run), WAIT_SITE);
    queue.runs[0].site = SITE_READY;
    queue.orders[0].kind = RUN_KIND_PLAN;
    assert_int_equal(queue_wait(&queue.view, 0, &blocking_run), WAIT_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_state_leads_to_one_action),
        cmocka_unit_test(the_oldest_starts_and_others_wait_behind_it),
        cmocka_unit_test(a_started_run_stays_first),
        cmocka_unit_test(nothing_starts_during_shutdown),
        cmocka_unit_test(a_command_does_not_wait_for_an_apply),
        cmocka_unit_test(waiting_runs_can_be_canceled_or_expire),
        cmocka_unit_test(a_run_reports_what_it_waits_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
