/* Orders on a node, after runners or the agent have ended: what is repeated, and what is
 * remembered. */
#include "agent/orders_fixture.h"

/* --- Runners ---------------------------------------------------------------------------------- */

/* It has not begun, so it does not count as an attempt. */
static void a_run_that_finds_the_lock_held_is_started_again(void **state)
{
    Fixture *f = *state;
    put_apply(f, "ok-1");
    take(f);
    scratch_put(f->scratch, "agent/runs/ok-1/" HELD, "");
    answer_fetch(f, f->scratch->path);
    const Report *end = wait_for(f, "ok-1", NODE_CHANGED);
    assert_int_equal(end->attempts, 1);
    assert_int_equal(f->fetches, 1);
}

/* The number of the signal is that exit code. */
static void a_killed_runner_did_not_find_the_lock_held(void **state)
{
    Fixture *f = *state;
    assert_int_equal(SIGTRAP, error_kind_exit_code(ERROR_CONFLICT));
    put_exec(f, "trap-1");
    take(f);
    const Report *end = wait_for(f, "trap-1", NODE_FAILED);
    assert_string_equal(end->reason, "the runner was killed by SIGTRAP");
}

static void lose_agent_and_runner(Fixture *f, const char *run)
{
    orders_close(TAKE(f->orders));
    lose_runner(f, run);
    f->report_count = 0;
    open_orders(f);
    take(f);
}

/* What an earlier attempt has written is not by this one. */
static void a_repeated_run_may_find_the_lock_held(void **state)
{
    Fixture *f = *state;
    put_apply(f, "once-1");
    take(f);
    answer_fetch(f, f->scratch->path);
    int64_t first_ms = wait_for(f, "once-1", NODE_RUNNING)->started_ms;
    wait_begun(f, "once-1", 1);
    lose_agent_and_runner(f, "once-1");
    wait_for(f, "once-1", NODE_WAITING);
    scratch_put(f->scratch, "agent/runs/once-1/" HELD, "");
    answer_fetch(f, f->scratch->path);
    const Report *end = wait_for(f, "once-1", NODE_CHANGED);
    assert_int_equal(end->attempts, 2);
    assert_true(first_ms > 0 && end->started_ms == first_ms);
    LocalRun *run = load(f, "once-1");
    assert_int_equal(run->state.interruptions, 1);
    local_run_free(run);
}

static void a_run_that_is_always_interrupted_fails(void **state)
{
    Fixture *f = *state;
    put_apply(f, "hang-1");
    take(f);
    for (uint32_t i = 1; i < QUEUE_ATTEMPTS_MAX; i++) {
        wait_for(f, "hang-1", NODE_WAITING);
        answer_fetch(f, f->scratch->path);
        wait_begun(f, "hang-1", i);
        lose_agent_and_runner(f, "hang-1");
    }
    wait_for(f, "hang-1", NODE_WAITING);
    answer_fetch(f, f->scratch->path);
    wait_begun(f, "hang-1", QUEUE_ATTEMPTS_MAX);
    lose_agent_and_runner(f, "hang-1");
    const Report *end = wait_for(f, "hang-1", NODE_FAILED);
    assert_string_equal(end->reason, "it was interrupted too often");
    assert_int_equal(end->attempts, QUEUE_ATTEMPTS_MAX);
}

/* It has not held its lock when the agent looked for it. */
static void a_runner_that_is_found_late_is_not_started_twice(void **state)
{
    Fixture *f = *state;
    Error err;
    put_exec(f, "hang-1");
    take(f);
    wait_begun(f, "hang-1", 1);
    orders_close(TAKE(f->orders));
    LocalRun *run = load(f, "hang-1");
    run->state.phase = QUEUE_ACCEPTED;
    assert_true(local_run_save(&f->agent, run, &err));
    local_run_free(run);
    f->report_count = 0;
    open_orders(f);
    take(f);
    wait_for(f, "hang-1", NODE_RUNNING);
    put_key(f, "hang-1", "hang-1", "exec", COMMAND ",\"canceled\":true");
    take(f);
    wait_for(f, "hang-1", NODE_CANCELED);
    assert_int_equal(count_begun(f, "hang-1"), 1);
}

static void a_run_continues_after_the_machine_has_booted(void **state)
{
    Fixture *f = *state;
    put_apply(f, "boot-1");
    take(f);
    answer_fetch(f, f->scratch->path);
    while (strcmp(wait_for(f, "boot-1", NODE_RUNNING)->reason, "the machine is rebooting") != 0) {
        world_run(&f->world);
    }
    world_pass(&f->world, 30);
    restart(f); /* by itself, that is not a reboot */
    take(f);
    assert_string_equal(wait_for(f, "boot-1", NODE_RUNNING)->reason, "the machine is rebooting");
    world_pass(&f->world, 30);
    assert_int_equal(last_report(f, "boot-1")->outcome, NODE_RUNNING);
    assert_int_equal(count_begun(f, "boot-1"), 1);
    f->boot = "boot-2";
    restart(f);
    take(f);
    wait_for(f, "boot-1", NODE_WAITING);
    answer_fetch(f, f->scratch->path);
    const Report *end = wait_for(f, "boot-1", NODE_CHANGED);
    assert_int_equal(end->attempts, 2);
    assert_int_equal(count_begun(f, "boot-1"), 2);
}

/* Until the agent has the orders, it does not know whether they were withdrawn. */
static void nothing_starts_before_the_orders_are_known(void **state)
{
    Fixture *f = *state;
    put_apply(f, "ok-1");
    take(f);
    wait_for(f, "ok-1", NODE_WAITING);
    answer_fetch(f, NULL);
    restart(f);
    orders_room(f->orders);
    world_pass(&f->world, 30);
    assert_int_equal(f->fetches, 1);
    take(f);
    assert_int_equal(f->fetches, 2);
    answer_fetch(f, f->scratch->path);
    wait_for(f, "ok-1", NODE_CHANGED);
}

/* An agent that was killed while it accepted an order. */
static void a_run_that_was_not_accepted_is_accepted_again(void **state)
{
    Fixture *f = *state;
    scratch_put(f->scratch, "agent/runs/ok-1/order.json", "{}");
    scratch_put(f->scratch, "agent/runs/ok-2/order.json", "{}");
    restart(f);
    assert_false(has_directory(f, "ok-2"));
    put_exec(f, "ok-1");
    take(f);
    wait_for(f, "ok-1", NODE_CHANGED);
}

/* --- Signals ---------------------------------------------------------------------------------- */

static void an_urgent_cancel_stops_the_running_step(void **state)
{
    Fixture *f = *state;
    put_exec(f, "slow-1");
    take(f);
    wait_begun(f, "slow-1", 1);
    put_key(f, "slow-1", "slow-1", "exec", COMMAND ",\"canceled\":true,\"cancel_now\":true");
    take(f);
    wait_for(f, "slow-1", NODE_CANCELED);
}

static void a_runner_that_was_found_gets_messages(void **state)
{
    Fixture *f = *state;
    put_exec(f, "tell-1"); /* ignores signals */
    take(f);
    wait_begun(f, "tell-1", 1);
    restart(f);
    put_key(f, "tell-1", "tell-1", "exec", COMMAND ",\"canceled\":true");
    take(f);
    wait_for(f, "tell-1", NODE_CANCELED);
}

/* One that an earlier version has started has no pipe. */
static void a_runner_without_a_pipe_is_interrupted_by_a_signal(void **state)
{
    Fixture *f = *state;
    put_exec(f, "hang-1");
    take(f);
    wait_begun(f, "hang-1", 1);
    orders_close(TAKE(f->orders));
    assert_int_equal(remove(scratch_place(f->scratch, "agent/runs/hang-1/" LOCAL_CONTROL)), 0);
    f->report_count = 0;
    put_key(f, "hang-1", "hang-1", "exec", COMMAND ",\"canceled\":true");
    open_orders(f);
    take(f);
    wait_for(f, "hang-1", NODE_CANCELED);
}

/* Time that passed while no agent was running counts. */
static void a_runner_that_does_not_stop_is_killed(void **state)
{
    Fixture *f = *state;
    Error err;
    put_exec(f, "deaf-1");
    take(f);
    wait_begun(f, "deaf-1", 1);
    orders_close(TAKE(f->orders));
    LocalRun *run = load(f, "deaf-1");
    run->state.signals = 2;
    run->state.signaled_ms = loop_wall_ms(f->world.loop) - QUEUE_STOP_MS;
    assert_true(local_run_save(&f->agent, run, &err));
    local_run_free(run);
    f->report_count = 0;
    put_key(f, "deaf-1", "deaf-1", "exec", COMMAND ",\"canceled\":true");
    open_orders(f);
    take(f);
    wait_for(f, "deaf-1", NODE_CANCELED);
    run = load(f, "deaf-1");
    assert_int_equal(run->state.signals, 3);
    local_run_free(run);
}

static void the_next_attempt_was_not_signaled(void **state)
{
    Fixture *f = *state;
    Error err;
    put_apply(f, "hang-1");
    take(f);
    answer_fetch(f, f->scratch->path);
    wait_begun(f, "hang-1", 1);
    orders_close(TAKE(f->orders));
    LocalRun *run = load(f, "hang-1");
    run->state.signals = 1; /* over a time limit that is not there anymore */
    assert_true(local_run_save(&f->agent, run, &err));
    local_run_free(run);
    lose_runner(f, "hang-1");
    f->report_count = 0;
    open_orders(f);
    take(f);
    wait_for(f, "hang-1", NODE_WAITING);
    answer_fetch(f, f->scratch->path);
    assert_string_equal(wait_for(f, "hang-1", NODE_RUNNING)->reason, "");
    wait_begun(f, "hang-1", 2);
    orders_close(TAKE(f->orders));
    lose_runner(f, "hang-1");
    open_orders(f);
}

/* --- Reports ---------------------------------------------------------------------------------- */

static void an_unchanged_run_is_reported_once(void **state)
{
    Fixture *f = *state;
    put_exec(f, "hang-1");
    take(f);
    wait_begun(f, "hang-1", 1);
    for (int i = 0; i < 5; i++) {
        orders_room(f->orders);
        world_pass(&f->world, 2);
    }
    assert_int_equal(count_reports(f, "hang-1", NODE_RUNNING), 1);
    put_key(f, "hang-1", "hang-1", "exec", COMMAND ",\"canceled\":true");
    take(f);
    wait_for(f, "hang-1", NODE_CANCELED);
}

/* Of a run in progress, the server stores reports too. */
static void only_the_final_report_completes_a_run(void **state)
{
    Fixture *f = *state;
    put_exec(f, "hang-1");
    take(f);
    wait_for(f, "hang-1", NODE_RUNNING);
    orders_stored(f->orders, f->report_count);
    put_key(f, "hang-1", "hang-1", "exec", COMMAND ",\"canceled\":true");
    take(f);
    wait_for(f, "hang-1", NODE_CANCELED);
    orders_stored(f->orders, f->report_count - 1);
    LocalRun *run = load(f, "hang-1");
    assert_false(run->state.is_reported);
    local_run_free(run);
    orders_stored(f->orders, f->report_count);
    run = load(f, "hang-1");
    assert_true(run->state.is_reported);
    local_run_free(run);
}

static void an_order_that_is_back_keeps_its_run(void **state)
{
    Fixture *f = *state;
    char run[32];
    for (int i = 0; i < LOCAL_RUNS_RETAINED + 1; i++) {
        snprintf(run, sizeof run, "late-%02d", i);
        put_key(f, run, run, "exec", COMMAND ",\"expires_ms\":6");
    }
    take(f);
    orders_stored(f->orders, f->report_count);
    take(f); /* the server still has the orders */
    assert_true(has_directory(f, "late-00"));
    withdraw(f);
    assert_false(has_directory(f, "late-00"));
    assert_true(has_directory(f, "late-01"));
}

/* --- Sequence --------------------------------------------------------------------------------- */

static void runs_of_one_moment_are_executed_in_the_order_of_their_names(void **state)
{
    Fixture *f = *state;
    put_apply(f, "ok-2");
    take(f);
    wait_for(f, "ok-2", NODE_WAITING);
    put_apply(f, "ok-1");
    take(f);
    while (strcmp(wait_for(f, "ok-2", NODE_WAITING)->reason, "waiting for run ok-1") != 0) {
        world_run(&f->world);
    }
    answer_fetch(f, NULL);
}

static void earlier_runs_are_executed_first(void **state)
{
    Fixture *f = *state;
    put_key_at(f, "ok-1", "ok-1", "apply", 7, SITE);
    take(f);
    wait_for(f, "ok-1", NODE_WAITING);
    put_key_at(f, "ok-2", "ok-2", "apply", 6, SITE); /* it was delayed */
    take(f);
    while (strcmp(wait_for(f, "ok-1", NODE_WAITING)->reason, "waiting for run ok-2") != 0) {
        world_run(&f->world);
    }
    answer_fetch(f, NULL);
}

static void a_command_is_written_for_the_runner(void **state)
{
    Fixture *f = *state;
    Str text;
    Error err;
    put_key(f, "ok-1", "ok-1", "exec", ",\"command\":[\"echo\",\"{{ x }}\"]");
    take(f);
    wait_for(f, "ok-1", NODE_CHANGED);
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    LocalRun *run = load(f, "ok-1");
    assert_true(local_run_open(&f->agent, run, &directory, &err));
    local_run_free(run);
    assert_true(directory_read(&directory, &f->scratch->arena, LOCAL_COMMAND, 10000, &text, &err));
    assert_true(str_find(text, STR("\"echo\""), 0) != STR_NOT_FOUND);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(int argc, char **argv)
{
    if (argc > 5 && strcmp(argv[1], "apply") == 0) {
        return act_as_runner(argv[3], argv[5], argv);
    }
    const struct CMUnitTest tests[] = {
        TEST(a_run_that_finds_the_lock_held_is_started_again),
        TEST(a_killed_runner_did_not_find_the_lock_held),
        TEST(a_repeated_run_may_find_the_lock_held),
        TEST(a_run_that_is_always_interrupted_fails),
        TEST(a_runner_that_is_found_late_is_not_started_twice),
        TEST(a_run_continues_after_the_machine_has_booted),
        TEST(nothing_starts_before_the_orders_are_known),
        TEST(a_run_that_was_not_accepted_is_accepted_again),
        TEST(an_urgent_cancel_stops_the_running_step),
        TEST(a_runner_that_was_found_gets_messages),
        TEST(a_runner_without_a_pipe_is_interrupted_by_a_signal),
        TEST(a_runner_that_does_not_stop_is_killed),
        TEST(the_next_attempt_was_not_signaled),
        TEST(an_unchanged_run_is_reported_once),
        TEST(only_the_final_report_completes_a_run),
        TEST(an_order_that_is_back_keeps_its_run),
        TEST(earlier_runs_are_executed_first),
        TEST(a_command_is_written_for_the_runner),
        TEST(runs_of_one_moment_are_executed_in_the_order_of_their_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
