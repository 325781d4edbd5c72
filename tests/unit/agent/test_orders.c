/* The cluster's orders on a node: what an agent starts, recovers, reports, and never does twice. */
#include "agent/orders_fixture.h"

static void a_run_is_reported_from_its_order_to_its_end(void **state)
{
    Fixture *f = *state;
    put_apply(f, "ok-1");
    take(f);
    const Report *waiting = wait_for(f, "ok-1", NODE_WAITING);
    assert_string_equal(waiting->reason, "fetching version v1");
    answer_fetch(f, f->scratch->path);
    wait_for(f, "ok-1", NODE_RUNNING);
    const Report *end = wait_for(f, "ok-1", NODE_CHANGED);
    assert_int_equal(end->attempts, 1);
    assert_int_equal(end->logged, 3);
    assert_int_equal(end->changed, 2);
    assert_int_equal(f->lines, 3);
    assert_int_equal(f->fetches, 1);
}

static void a_runner_gets_what_templates_see(void **state)
{
    Fixture *f = *state;
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    Error err;
    Str text;
    put_key(f, "words-1", "words-1", "apply", SITE ",\"event\":{\"name\":\"down\"}");
    take(f);
    answer_fetch(f, f->scratch->path);
    wait_for(f, "words-1", NODE_CHANGED);
    LocalRun *run = load(f, "words-1");
    assert_true(local_run_open(&f->agent, run, &directory, &err));
    local_run_free(run);
    assert_true(directory_read(&directory, &f->scratch->arena, "words", 10000, &text, &err));
    assert_true(str_find(text, STR("--servers\n/list\n"), 0) != STR_NOT_FOUND);
    assert_true(str_find(text, STR("/words-1/event.json\n"), 0) != STR_NOT_FOUND);
    assert_true(directory_read(&directory, &f->scratch->arena, LOCAL_EVENT, 10000, &text, &err));
    assert_str(text, "{\"name\":\"down\"}");
}

static void a_result_is_reported_after_its_events_and_once(void **state)
{
    Fixture *f = *state;
    f->is_connected = false;
    put_exec(f, "ok-1");
    take(f);
    wait_for(f, "ok-1", NODE_RUNNING);
    world_pass(&f->world, 300);
    assert_int_equal(count_reports(f, "ok-1", NODE_CHANGED), 0);
    f->is_connected = true;
    orders_connected(f->orders);
    wait_for(f, "ok-1", NODE_CHANGED);
    orders_room(f->orders);
    world_pass(&f->world, 50);
    assert_int_equal(count_reports(f, "ok-1", NODE_CHANGED), 1);

    /* It is not yet in the outbox on the disk. */
    restart(f);
    take(f);
    wait_for(f, "ok-1", NODE_CHANGED);
    orders_stored(f->orders, f->report_count);
    restart(f);
    take(f);
    world_pass(&f->world, 50);
    assert_int_equal(f->report_count, 0);
}

static void a_full_outbox_delays_reports(void **state)
{
    Fixture *f = *state;
    f->is_full = true;
    put_exec(f, "ok-1");
    put_key(f, "bad-1", "bad-1", "exec", "");
    take(f);
    world_pass(&f->world, 300);
    assert_int_equal(f->report_count, 0);
    f->is_full = false;
    orders_room(f->orders);
    wait_for(f, "ok-1", NODE_CHANGED);
    wait_for(f, "bad-1", NODE_FAILED);
}

static void useless_runner_output_is_explained(void **state)
{
    Fixture *f = *state;
    put_exec(f, "mute-1");
    take(f);
    const Report *end = wait_for(f, "mute-1", NODE_FAILED);
    assert_non_null(strstr(end->reason, "the runner exited with status 3: \\xe9"));
    put_exec(f, "kill-1");
    take(f);
    end = wait_for(f, "kill-1", NODE_FAILED);
    assert_string_equal(end->reason,
                        "the runner was killed by SIGKILL while step 'web#a' was running");
}

static void a_canceled_run_is_interrupted(void **state)
{
    Fixture *f = *state;
    put_exec(f, "hang-1");
    take(f);
    wait_for(f, "hang-1", NODE_RUNNING);
    while (f->lines < 2) { /* it has begun */
        world_pass(&f->world, 10);
    }
    put_key(f, "hang-1", "hang-1", "exec", COMMAND ",\"canceled\":true");
    take(f);
    wait_for(f, "hang-1", NODE_CANCELED);
    LocalRun *run = load(f, "hang-1");
    assert_int_equal(run->state.signals, 1);
    local_run_free(run);
}

static void the_next_agent_finds_the_runner(void **state)
{
    Fixture *f = *state;
    put_exec(f, "hang-1");
    take(f);
    while (f->lines < 2) {
        world_pass(&f->world, 10);
    }
    restart(f);
    take(f);
    world_pass(&f->world, 50);
    assert_int_equal(last_report(f, "hang-1")->outcome, NODE_RUNNING);
    put_key(f, "hang-1", "hang-1", "exec", COMMAND ",\"canceled\":true");
    take(f);
    const Report *end = wait_for(f, "hang-1", NODE_CANCELED);
    assert_int_equal(end->attempts, 1);
    assert_int_equal(end->logged, 3);
}

static void a_lost_command_is_not_repeated(void **state)
{
    Fixture *f = *state;
    put_exec(f, "hang-1");
    take(f);
    while (f->lines < 2) {
        world_pass(&f->world, 10);
    }
    orders_close(TAKE(f->orders));
    lose_runner(f, "hang-1");
    open_orders(f);
    take(f);
    const Report *end = wait_for(f, "hang-1", NODE_FAILED);
    assert_string_equal(end->reason, "it was interrupted, and commands are not repeated");
}

static void a_lost_site_run_is_applied_again(void **state)
{
    Fixture *f = *state;
    put_apply(f, "hang-1");
    take(f);
    answer_fetch(f, f->scratch->path);
    while (f->lines < 2) {
        world_pass(&f->world, 10);
    }
    orders_close(TAKE(f->orders));
    lose_runner(f, "hang-1");
    open_orders(f);
    f->report_count = 0;
    take(f);
    wait_for(f, "hang-1", NODE_WAITING);
    answer_fetch(f, f->scratch->path);
    const Report *running = wait_for(f, "hang-1", NODE_RUNNING);
    assert_int_equal(running->attempts, 2);
    while (f->lines < 4) {
        world_pass(&f->world, 10);
    }
    orders_close(TAKE(f->orders));
    lose_runner(f, "hang-1");
    open_orders(f);
}

static void unreadable_events_count_as_possibly_begun(void **state)
{
    Fixture *f = *state;
    put_exec(f, "hang-1");
    take(f);
    while (f->lines < 2) {
        world_pass(&f->world, 10);
    }
    orders_close(TAKE(f->orders));
    lose_runner(f, "hang-1");
    assert_int_equal(remove(scratch_place(f->scratch, "agent/runs/hang-1/" LOCAL_EVENTS)), 0);
    assert_int_equal(mkdir(scratch_place(f->scratch, "agent/runs/hang-1/" LOCAL_EVENTS), 0700), 0);
    open_orders(f);
    take(f);
    wait_for(f, "hang-1", NODE_FAILED);
}

static void a_damaged_run_is_not_executed_again(void **state)
{
    static const char *const files[] = { "state.json", "result.json", "order.json" };
    Fixture *f = *state;
    put_exec(f, "ok-1");
    take(f);
    wait_for(f, "ok-1", NODE_CHANGED);
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        AUTO_CLEAR(Arena) arena;
        arena_init(&arena, ARENA_UNLIMITED);
        const char *name =
            arena_copy_c(&arena, arena_format(&arena, "agent/runs/ok-1/%s", files[i]));
        const char *kept = scratch_place(f->scratch, "kept");
        orders_close(TAKE(f->orders));
        assert_int_equal(rename(scratch_place(f->scratch, name), kept), 0);
        if (i < 2) {
            scratch_put(f->scratch, name, "{\"format\":\"eden.x/1\"");
        }
        f->report_count = 0;
        open_orders(f);
        take(f);
        const Report *refused = wait_for(f, "ok-1", NODE_FAILED);
        assert_non_null(strstr(refused->reason, "the state of the run on this node is damaged"));
        take(f);
        assert_int_equal(f->report_count, 1);
        assert_int_equal(f->lines, 3);
        assert_int_equal(rename(kept, scratch_place(f->scratch, name)), 0);
    }
    withdraw(f);
    assert_false(has_directory(f, "ok-1"));
}

static void nothing_starts_until_the_runs_on_disk_are_known(void **state)
{
    Fixture *f = *state;
    const char *runs = scratch_place(f->scratch, "agent/runs");
    const char *kept = scratch_place(f->scratch, "kept");
    put_exec(f, "ok-1");
    take(f);
    wait_for(f, "ok-1", NODE_CHANGED);
    orders_close(TAKE(f->orders));
    assert_int_equal(rename(runs, kept), 0);
    scratch_put(f->scratch, "agent/runs", "not a directory");
    f->report_count = 0;
    open_orders(f);
    put_exec(f, "ok-2");
    take(f);
    world_pass(&f->world, 50);
    assert_int_equal(f->report_count, 0);
    assert_int_equal(remove(runs), 0);
    assert_int_equal(rename(kept, runs), 0);
    take(f);
    wait_for(f, "ok-2", NODE_CHANGED);
    assert_int_equal(wait_for(f, "ok-1", NODE_CHANGED)->attempts, 1);
    assert_int_equal(count_reports(f, "ok-1", NODE_RUNNING), 0);
}

static void an_unreadable_order_is_rejected_once(void **state)
{
    Fixture *f = *state;
    put_exec(f, "hang-1");
    take(f);
    wait_for(f, "hang-1", NODE_RUNNING);
    put_key(f, "bad-1", "bad-1", "exec", "");
    put_key(f, "bad-2", "hang-1", "exec", COMMAND); /* of another run */
    put_key(f, "..", "x", "exec", COMMAND);
    take(f);
    take(f);
    assert_int_equal(count_reports(f, "bad-1", NODE_FAILED), 1);
    assert_int_equal(count_reports(f, "bad-2", NODE_FAILED), 1);
    assert_null(last_report(f, ".."));
    assert_true(has_directory(f, "hang-1"));
    put_exec(f, "bad-1"); /* the server has corrected it */
    put_key(f, "hang-1", "hang-1", "exec", COMMAND ",\"canceled\":true");
    take(f);
    wait_for(f, "bad-1", NODE_CHANGED);
    wait_for(f, "hang-1", NODE_CANCELED);
}

static void a_full_disk_delays_an_order(void **state)
{
    Fixture *f = *state;
    struct rlimit before, none = { 0 };
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    none.rlim_max = before.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    put_exec(f, "ok-1");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    take(f);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(f->report_count, 0);
    orders_room(f->orders);
    wait_for(f, "ok-1", NODE_CHANGED);
}

static void a_full_disk_delays_a_start(void **state)
{
    Fixture *f = *state;
    struct rlimit before, none = { 0 };
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    none.rlim_max = before.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    put_apply(f, "ok-1");
    take(f);
    answer_fetch(f, f->scratch->path);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    world_pass(&f->world, 50);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(count_reports(f, "ok-1", NODE_RUNNING), 0);
    orders_room(f->orders);
    const Report *end = wait_for(f, "ok-1", NODE_CHANGED);
    assert_int_equal(end->attempts, 1);
}

static void a_withdrawn_order_is_forgotten_before_it_starts(void **state)
{
    Fixture *f = *state;
    put_apply(f, "ok-1");
    take(f);
    wait_for(f, "ok-1", NODE_WAITING);
    assert_true(has_directory(f, "ok-1"));
    withdraw(f);
    assert_false(has_directory(f, "ok-1"));
}

static void a_second_site_waits_for_the_first_and_a_command_does_not(void **state)
{
    Fixture *f = *state;
    put_apply(f, "hang-1");
    put_apply(f, "ok-2");
    put_exec(f, "ok-3");
    take(f);
    answer_fetch(f, f->scratch->path);
    const Report *waiting = wait_for(f, "ok-2", NODE_WAITING);
    assert_string_equal(waiting->reason, "waiting for run hang-1");
    wait_for(f, "ok-3", NODE_CHANGED);
    wait_for(f, "hang-1", NODE_RUNNING);
    while (f->lines < 5) {
        world_pass(&f->world, 10);
    }
    put_key(f, "hang-1", "hang-1", "apply", SITE ",\"canceled\":true");
    take(f);
    wait_for(f, "hang-1", NODE_CANCELED);
    answer_fetch(f, f->scratch->path);
    wait_for(f, "ok-2", NODE_CHANGED);
}

static void a_site_that_cannot_be_fetched_is_explained(void **state)
{
    Fixture *f = *state;
    put_apply(f, "ok-1");
    take(f);
    answer_fetch(f, NULL);
    while (strcmp(wait_for(f, "ok-1", NODE_WAITING)->reason,
                  "cannot fetch version v1: no server") != 0) {
        world_run(&f->world);
    }
    put_key(f, "ok-1", "ok-1", "apply", SITE ",\"canceled\":true");
    take(f);
    const Report *end = wait_for(f, "ok-1", NODE_CANCELED);
    assert_string_equal(end->reason, "it was canceled before it started");
    assert_int_equal(f->fetches, 1);
}

static void old_runs_are_removed_when_the_server_knows_them(void **state)
{
    Fixture *f = *state;
    char run[32];
    for (int i = 0; i < LOCAL_RUNS_RETAINED + 3; i++) {
        snprintf(run, sizeof run, "late-%02d", i);
        put_key(f, run, run, "exec", COMMAND ",\"expires_ms\":6");
    }
    take(f);
    assert_int_equal(f->report_count, LOCAL_RUNS_RETAINED + 3);
    assert_int_equal(last_report(f, "late-00")->outcome, NODE_SKIPPED);
    withdraw(f);
    assert_true(has_directory(f, "late-00")); /* its result may be lost */
    orders_stored(f->orders, f->report_count);
    withdraw(f);
    assert_false(has_directory(f, "late-00"));
    assert_false(has_directory(f, "late-02"));
    assert_true(has_directory(f, "late-03"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(int argc, char **argv)
{
    if (argc > 5 && strcmp(argv[1], "apply") == 0) {
        return act_as_runner(argv[3], argv[5], argv);
    }
    const struct CMUnitTest tests[] = {
        TEST(a_run_is_reported_from_its_order_to_its_end),
        TEST(a_runner_gets_what_templates_see),
        TEST(a_result_is_reported_after_its_events_and_once),
        TEST(a_full_outbox_delays_reports),
        TEST(useless_runner_output_is_explained),
        TEST(a_canceled_run_is_interrupted),
        TEST(the_next_agent_finds_the_runner),
        TEST(a_lost_command_is_not_repeated),
        TEST(a_lost_site_run_is_applied_again),
        TEST(unreadable_events_count_as_possibly_begun),
        TEST(a_damaged_run_is_not_executed_again),
        TEST(nothing_starts_until_the_runs_on_disk_are_known),
        TEST(an_unreadable_order_is_rejected_once),
        TEST(a_full_disk_delays_an_order),
        TEST(a_full_disk_delays_a_start),
        TEST(a_withdrawn_order_is_forgotten_before_it_starts),
        TEST(a_second_site_waits_for_the_first_and_a_command_does_not),
        TEST(a_site_that_cannot_be_fetched_is_explained),
        TEST(old_runs_are_removed_when_the_server_knows_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
