/* What the leader writes for the runs of the cluster: once, fenced, and again after failures. */
#include "fleet/dispatcher.h"

#include "failing_store.h"
#include "fleet/dispatch_plan.h"
#include "lossy_store.h"
#include "store_world.h"

typedef struct Fixture {
    StoreWorld world;
    LossyStore lossy; /* counts and refuses writes */
    FailingStore *store;
    FleetRuns *runs;
    Dispatcher *dispatcher;
} Fixture;

static int set_up(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    world_open(&f->world);
    store_close(f->world.cluster_store.store);
    f->store = failing_store_open(f->world.cluster_store.loop);
    f->world.cluster_store.store =
        lossy_open(&f->lossy, f->world.cluster_store.loop, &f->store->base, NULL, 0);
    world_follow(&f->world);
    f->runs = fleet_runs_new(f->world.cluster_store.state, PREFIX);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    dispatcher_free(f->dispatcher);
    fleet_runs_free(f->runs);
    world_close(&f->world);
    free(f);
    return 0;
}

static void pass(Fixture *f, int64_t ms)
{
    loop_run_virtual_until(f->world.cluster_store.loop,
                           loop_now_ms(f->world.cluster_store.loop) + ms);
}

static void lead(Fixture *f)
{
    StoreCompare fence = world_lead(&f->world);
    f->dispatcher = dispatcher_new(&(DispatcherOptions){
        .cluster_store = f->world.cluster_store, .runs = f->runs, .fence = fence });
    pass(f, 10);
}

/* --- Records --------------------------------------------------------------------------------- */

static Str key_of(Fixture *f, KeyKind kind, const char *first, const char *second)
{
    return key_make(&f->world.arena, PREFIX, kind,
                    (Str[]){ str_from_c(first), second == NULL ? STR_EMPTY : str_from_c(second) },
                    second == NULL ? 1 : 2);
}

static Str liveness(Fixture *f, const char *format, int64_t since_ms)
{
    return arena_format(&f->world.arena, "{\"format\":\"%s\",\"since_ms\":%lld}", format,
                        (long long)since_ms);
}

static int64_t now(Fixture *f)
{
    return loop_wall_ms(f->world.cluster_store.loop);
}

static void put_alive(Fixture *f, const char *name)
{
    world_put(&f->world, key_of(f, KEY_NODE_ALIVE, name, NULL),
              liveness(f, "eden.alive/1", now(f)));
}

static void put_node(Fixture *f, const char *name)
{
    Buf text = buf_make_in(&f->world.arena, BUF_UNLIMITED);
    NodeRecord record = { .labels = value_missing() };
    snprintf(record.name, sizeof record.name, "%s", name);
    snprintf(record.enrollment, sizeof record.enrollment, "%s", "0123456789abcdef");
    node_record_print(&record, &text);
    world_put(&f->world, key_of(f, KEY_NODE, name, NULL), buf_str(&text));
    put_alive(f, name);
}

static Str run_text(Fixture *f, const char *id, const char *targets, const char *more)
{
    return arena_format(&f->world.arena,
                        "{\"format\":\"eden.fleet-run/1\",\"id\":\"%s\",\"kind\":\"exec\","
                        "\"by\":\"ann\",\"targets\":[%s],\"command\":[\"true\"],"
                        "\"created_ms\":%lld,%s}",
                        id, targets, (long long)now(f), more);
}

#define PENDING "\"cause\":\"caller\",\"state\":\"pending\""
#define ENDED   "\"cause\":\"caller\",\"state\":\"ended\""
#define VERSION "\"cause\":\"version\",\"state\":\"pending\""

static void put_run(Fixture *f, const char *id, const char *targets, const char *more)
{
    world_put(&f->world, key_of(f, KEY_RUN, id, NULL), run_text(f, id, targets, more));
}

static Str result_text(Fixture *f, const char *outcome)
{
    return arena_format(&f->world.arena,
                        "{\"format\":\"eden.node-result/1\",\"outcome\":\"%s\",\"since_ms\":1}",
                        outcome);
}

static void put_result(Fixture *f, const char *id, const char *node, const char *outcome)
{
    world_put(&f->world, key_of(f, KEY_RUN_NODE, id, node), result_text(f, outcome));
}

static void delete_key(Fixture *f, Str key)
{
    Error err;
    assert_true(store_delete(f->world.cluster_store.store, key, world_stored, &f->world, &err));
    world_expect(&f->world, ERROR_NONE, NULL);
}

static bool has_order(Fixture *f, const char *id, const char *node)
{
    return world_get(&f->world, key_of(f, KEY_ORDER, node, id)).there;
}

static FleetRun stored_run(Fixture *f, const char *id)
{
    FleetRun run = { 0 };
    Error err;
    WorldValue got = world_get(&f->world, key_of(f, KEY_RUN, id, NULL));
    assert_true(got.there);
    assert_true(fleet_run_read(&f->world.arena, got.value, &run, &err));
    return run;
}

/* While responses are held back: what another client of the store does meanwhile. */
static void write_meanwhile(Fixture *f, const StoreOp *op)
{
    StoreTxn txn = { .success = op, .success_count = 1 };
    Error err;
    assert_true(store_txn(f->store->inner, &txn, world_stored, &f->world, &err));
    world_expect(&f->world, ERROR_NONE, NULL);
}

/* --- Tests ----------------------------------------------------------------------------------- */

static void a_run_gets_its_orders_and_ends_with_its_results(void **state)
{
    Fixture *f = *state;
    put_node(f, "a");
    put_node(f, "b");
    lead(f);
    put_run(f, "r1", "\"a\",\"b\"", PENDING);
    assert_true(has_order(f, "r1", "a"));
    assert_true(has_order(f, "r1", "b"));
    FleetRun run = stored_run(f, "r1");
    assert_int_equal(run.state, RUN_RUNNING);
    assert_int_equal(run.ended_ms, 0);
    put_result(f, "r1", "a", "ok");
    assert_false(has_order(f, "r1", "a")); /* whatever the node's server left */
    assert_int_equal(stored_run(f, "r1").state, RUN_RUNNING);
    put_result(f, "r1", "b", "failed");
    run = stored_run(f, "r1");
    assert_int_equal(run.state, RUN_ENDED);
    assert_true(run.ended_ms > run.created_ms);
}

static void each_step_is_written_once(void **state)
{
    Fixture *f = *state;
    put_node(f, "a");
    lead(f);
    f->store->hangs = true;
    uint32_t before = f->lossy.sent;
    write_meanwhile(f, &(StoreOp){ .kind = STORE_PUT,
                                   .key = key_of(f, KEY_RUN, "r1", NULL),
                                   .value = run_text(f, "r1", "\"a\"", PENDING) });
    assert_int_equal(f->lossy.sent, before + 1);
    /* another reason to plan, during the write */
    write_meanwhile(f, &(StoreOp){ .kind = STORE_PUT,
                                   .key = key_of(f, KEY_NODE_ALIVE, "a", NULL),
                                   .value = liveness(f, "eden.alive/1", now(f)) });
    assert_int_equal(f->lossy.sent, before + 1);
    f->store->is_mute = true; /* the state does not get the order that is now written */
    failing_store_release(f->store);
    pass(f, 100);
    assert_true(has_order(f, "r1", "a"));
    assert_int_equal(f->lossy.sent, before + 1);
    pass(f, 1000);
    assert_int_equal(f->lossy.sent, before + 1);
}

static void a_deposed_leader_writes_nothing_and_stops(void **state)
{
    Fixture *f = *state;
    put_node(f, "a");
    lead(f);
    (void)world_lead(&f->world);
    put_run(f, "r1", "\"a\"", PENDING);
    assert_false(has_order(f, "r1", "a"));
    uint32_t sent = f->lossy.sent;
    pass(f, 10000);
    put_run(f, "r2", "\"a\"", PENDING);
    assert_false(has_order(f, "r2", "a"));
    assert_int_equal(f->lossy.sent, sent + 1); /* that of the test */
}

static void a_run_that_was_changed_meanwhile_is_planned_again(void **state)
{
    Fixture *f = *state;
    put_node(f, "a");
    lead(f);
    f->store->hangs = true;
    write_meanwhile(f, &(StoreOp){ .kind = STORE_PUT,
                                   .key = key_of(f, KEY_RUN, "r1", NULL),
                                   .value = run_text(f, "r1", "\"a\"", PENDING) });
    write_meanwhile(
        f, &(StoreOp){ .kind = STORE_PUT,
                       .key = key_of(f, KEY_RUN, "r1", NULL),
                       .value = run_text(f, "r1", "\"a\"", PENDING ",\"canceled\":true") });
    failing_store_release(f->store);
    pass(f, 10000);
    assert_false(has_order(f, "r1", "a"));
    assert_int_equal(stored_run(f, "r1").state, RUN_ENDED);
}

static void no_order_follows_a_result(void **state)
{
    Fixture *f = *state;
    put_node(f, "a");
    lead(f);
    f->store->hangs = true;
    write_meanwhile(f, &(StoreOp){ .kind = STORE_PUT,
                                   .key = key_of(f, KEY_RUN, "r1", NULL),
                                   .value = run_text(f, "r1", "\"a\"", PENDING) });
    write_meanwhile(f, &(StoreOp){ .kind = STORE_PUT,
                                   .key = key_of(f, KEY_RUN_NODE, "r1", "a"),
                                   .value = result_text(f, "ok") });
    f->store->is_mute = true; /* nobody deletes it again */
    failing_store_release(f->store);
    pass(f, 500);
    assert_false(has_order(f, "r1", "a"));
}

static void a_canceled_order_is_not_written_again_after_its_result(void **state)
{
    Fixture *f = *state;
    put_node(f, "a");
    lead(f);
    put_run(f, "r1", "\"a\"", PENDING);
    assert_true(has_order(f, "r1", "a"));
    f->store->hangs = true;
    write_meanwhile(f, &(StoreOp){ .kind = STORE_PUT,
                                   .key = key_of(f, KEY_RUN, "r1", NULL),
                                   .value = run_text(f, "r1", "\"a\"",
                                                     "\"cause\":\"caller\",\"state\":\"running\","
                                                     "\"canceled\":true") });
    write_meanwhile(f, &(StoreOp){ .kind = STORE_DELETE, .key = key_of(f, KEY_ORDER, "a", "r1") });
    f->store->is_mute = true;
    failing_store_release(f->store);
    pass(f, 500);
    assert_false(has_order(f, "r1", "a"));
}

static void canceling_reaches_the_orders(void **state)
{
    Fixture *f = *state;
    put_node(f, "a");
    lead(f);
    put_run(f, "r1", "\"a\"", PENDING);
    put_run(f, "r1", "\"a\"", "\"cause\":\"caller\",\"state\":\"running\",\"canceled\":true");
    WorldValue got = world_get(&f->world, key_of(f, KEY_ORDER, "a", "r1"));
    Order order;
    Error err;
    assert_true(got.there);
    assert_true(order_read(&f->world.arena, got.value, &order, &err));
    assert_true(order.is_canceled);
    assert_int_equal(stored_run(f, "r1").state, RUN_RUNNING);
}

static void a_refused_write_is_repeated(void **state)
{
    static const Fate fates[] = { FATE_WELL, FATE_REFUSED };
    Fixture *f = *state;
    put_node(f, "a");
    lead(f);
    lossy_set_fates(&f->lossy, fates, COUNT_OF(fates));
    put_run(f, "r1", "\"a\"", PENDING);
    assert_false(has_order(f, "r1", "a"));
    pass(f, 5000);
    assert_true(has_order(f, "r1", "a"));
    assert_int_equal(stored_run(f, "r1").state, RUN_RUNNING);
}

static void nothing_is_written_from_an_outdated_state(void **state)
{
    Fixture *f = *state;
    Error broken;
    put_node(f, "a");
    put_run(f, "r1", "\"a\"", PENDING);
    error_set(&broken, ERROR_OS, "disk I/O error");
    f->store->reads = &broken;
    failing_store_break_watch(f->store, &broken);
    uint32_t sent = f->lossy.sent + 2; /* those that make it the leader */
    lead(f);
    pass(f, 5000);
    assert_int_equal(f->lossy.sent, sent);
    f->store->reads = NULL;
    pass(f, 60000);
    assert_true(has_order(f, "r1", "a"));
}

static void a_run_waits_for_a_silent_target_that_comes_back(void **state)
{
    Fixture *f = *state;
    put_node(f, "a");
    lead(f);
    put_run(f, "r1", "\"a\"", PENDING);
    delete_key(f, key_of(f, KEY_NODE_ALIVE, "a", NULL));
    world_put(&f->world, key_of(f, KEY_NODE_SILENT, "a", NULL),
              liveness(f, "eden.silent/1", now(f)));
    pass(f, DISPATCH_SILENT_MS - 2000);
    put_alive(f, "a");
    pass(f, 2 * DISPATCH_SILENT_MS);
    assert_int_equal(stored_run(f, "r1").state, RUN_RUNNING);
    assert_true(has_order(f, "r1", "a"));
}

static void the_first_silent_target_is_given_up_first(void **state)
{
    Fixture *f = *state;
    put_node(f, "a");
    put_node(f, "b");
    lead(f);
    put_run(f, "r1", "\"a\"", PENDING);
    put_run(f, "r2", "\"b\"", PENDING);
    delete_key(f, key_of(f, KEY_NODE_ALIVE, "a", NULL));
    world_put(&f->world, key_of(f, KEY_NODE_SILENT, "a", NULL),
              liveness(f, "eden.silent/1", now(f)));
    pass(f, DISPATCH_SILENT_MS / 2);
    delete_key(f, key_of(f, KEY_NODE_ALIVE, "b", NULL));
    world_put(&f->world, key_of(f, KEY_NODE_SILENT, "b", NULL),
              liveness(f, "eden.silent/1", now(f)));
    pass(f, DISPATCH_SILENT_MS / 2 + 1000);
    assert_int_equal(stored_run(f, "r1").state, RUN_ENDED);
    assert_false(has_order(f, "r1", "a"));
    assert_int_equal(stored_run(f, "r2").state, RUN_RUNNING);
    pass(f, DISPATCH_SILENT_MS / 2);
    assert_int_equal(stored_run(f, "r2").state, RUN_ENDED);
}

static void a_target_without_a_session_is_given_up(void **state)
{
    Fixture *f = *state;
    put_node(f, "a");
    lead(f);
    put_run(f, "r1", "\"a\"", PENDING);
    pass(f, 2 * DISPATCH_SILENT_MS);
    assert_int_equal(stored_run(f, "r1").state, RUN_RUNNING);
    delete_key(f, key_of(f, KEY_NODE_ALIVE, "a", NULL)); /* nothing says since when */
    assert_int_equal(stored_run(f, "r1").state, RUN_ENDED);
}

static void a_target_that_was_silent_for_long_is_given_up_at_once(void **state)
{
    Fixture *f = *state;
    put_node(f, "a");
    delete_key(f, key_of(f, KEY_NODE_ALIVE, "a", NULL));
    lead(f);
    put_run(f, "r1", "\"a\"", PENDING);
    assert_int_equal(stored_run(f, "r1").state, RUN_RUNNING);
    world_put(&f->world, key_of(f, KEY_NODE_SILENT, "a", NULL),
              liveness(f, "eden.silent/1", now(f) - DISPATCH_SILENT_MS));
    assert_int_equal(stored_run(f, "r1").state, RUN_ENDED);
}

/* Silent nodes apply the last version when they return, but not the ones before. */
static void orders_of_versions_stay_until_the_next_version(void **state)
{
    Fixture *f = *state;
    put_node(f, "a");
    delete_key(f, key_of(f, KEY_NODE_ALIVE, "a", NULL));
    lead(f);
    put_run(f, "r1", "\"a\"", VERSION);
    pass(f, 2 * DISPATCH_SILENT_MS);
    assert_int_equal(stored_run(f, "r1").state, RUN_ENDED);
    assert_true(has_order(f, "r1", "a"));
    put_run(f, "r2", "\"a\"", PENDING);
    pass(f, 2 * DISPATCH_SILENT_MS);
    assert_true(has_order(f, "r1", "a"));
    put_run(f, "r3", "\"a\"", VERSION);
    pass(f, 2 * DISPATCH_SILENT_MS);
    assert_false(has_order(f, "r1", "a")); /* although it has ended */
    assert_true(has_order(f, "r3", "a"));
}

static void a_run_that_is_too_old_is_deleted_with_its_results(void **state)
{
    Fixture *f = *state;
    char id[16];
    put_result(f, "r0000", "a", "ok");
    put_result(f, "r0001", "a", "ok");
    for (int i = 0; i < RUNS_RETAINED + 1; i++) {
        snprintf(id, sizeof id, "r%04d", i);
        put_run(f, id, "\"a\"", ENDED);
    }
    uint32_t sent = f->lossy.sent + 2; /* those that make it the leader */
    lead(f);
    pass(f, 100);
    assert_int_equal(f->lossy.sent, sent + 1);
    assert_false(world_get(&f->world, key_of(f, KEY_RUN, "r0000", NULL)).there);
    assert_false(world_get(&f->world, key_of(f, KEY_RUN_NODE, "r0000", "a")).there);
    assert_true(world_get(&f->world, key_of(f, KEY_RUN, "r0001", NULL)).there);
    assert_true(world_get(&f->world, key_of(f, KEY_RUN_NODE, "r0001", "a")).there);
}

static void orders_that_are_large_together_are_written_in_several_steps(void **state)
{
    Fixture *f = *state;
    enum {
        NODES = 12,
        ARGUMENT = 130 << 10
    };
    Buf targets = buf_make_in(&f->world.arena, BUF_UNLIMITED);
    Buf run = buf_make_in(&f->world.arena, BUF_UNLIMITED);
    char name[16];
    for (int i = 0; i < NODES; i++) {
        snprintf(name, sizeof name, "n%02d", i);
        put_node(f, name);
        buf_put_format(&targets, "%s\"%s\"", i > 0 ? "," : "", name);
    }
    lead(f);
    char *argument = arena_alloc_zero(&f->world.arena, ARGUMENT + 1);
    memset(argument, 'x', ARGUMENT);
    buf_put_format(&run,
                   "{\"format\":\"eden.fleet-run/1\",\"id\":\"r1\",\"kind\":\"exec\","
                   "\"by\":\"ann\",\"targets\":[%s],\"command\":[\"%s\"],\"created_ms\":1," PENDING
                   "}",
                   buf_c(&targets), argument);
    uint32_t sent = f->lossy.sent;
    world_put(&f->world, key_of(f, KEY_RUN, "r1", NULL), buf_str(&run));
    pass(f, 100);
    assert_true(has_order(f, "r1", "n00"));
    assert_true(has_order(f, "r1", "n11"));
    assert_int_equal(f->lossy.sent, sent + 4); /* the run, two steps, its state */
}

static void it_can_be_freed_during_a_write(void **state)
{
    Fixture *f = *state;
    put_node(f, "a");
    lead(f);
    f->store->hangs = true;
    write_meanwhile(f, &(StoreOp){ .kind = STORE_PUT,
                                   .key = key_of(f, KEY_RUN, "r1", NULL),
                                   .value = run_text(f, "r1", "\"a\"", PENDING) });
    dispatcher_free(TAKE(f->dispatcher));
    failing_store_release(f->store);
    pass(f, 100);
    assert_true(has_order(f, "r1", "a"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_run_gets_its_orders_and_ends_with_its_results),
        TEST(each_step_is_written_once),
        TEST(a_deposed_leader_writes_nothing_and_stops),
        TEST(a_run_that_was_changed_meanwhile_is_planned_again),
        TEST(no_order_follows_a_result),
        TEST(a_canceled_order_is_not_written_again_after_its_result),
        TEST(canceling_reaches_the_orders),
        TEST(a_refused_write_is_repeated),
        TEST(nothing_is_written_from_an_outdated_state),
        TEST(a_run_waits_for_a_silent_target_that_comes_back),
        TEST(the_first_silent_target_is_given_up_first),
        TEST(a_target_without_a_session_is_given_up),
        TEST(a_target_that_was_silent_for_long_is_given_up_at_once),
        TEST(orders_of_versions_stay_until_the_next_version),
        TEST(a_run_that_is_too_old_is_deleted_with_its_results),
        TEST(orders_that_are_large_together_are_written_in_several_steps),
        TEST(it_can_be_freed_during_a_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
