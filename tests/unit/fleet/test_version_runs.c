/* The run that applies a version: created once, by the leader. */
#include "fleet/version_runs.h"

#include "failing_store.h"
#include "fleet/records.h"
#include "lossy_store.h"
#include "source/version.h"
#include "store_world.h"

#define MANIFEST "12cd456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

typedef struct Fixture {
    StoreWorld world;
    LossyStore lossy;
    FailingStore *store; /* below the other one */
    VersionRuns *runs;
} Fixture;

static void put_node(Fixture *f, const char *name)
{
    Buf text = buf_make_in(&f->world.arena, BUF_UNLIMITED);
    NodeRecord record = { .labels = value_missing() };
    snprintf(record.name, sizeof record.name, "%s", name);
    snprintf(record.enrollment, sizeof record.enrollment, "%s", "0123456789abcdef");
    node_record_print(&record, &text);
    world_put(&f->world, cluster_key_node(&f->world.arena, PREFIX, str_from_c(name)),
              buf_str(&text));
}

static int set_up(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    world_open(&f->world);
    store_close(f->world.cluster_store.store);
    f->store = failing_store_open(f->world.cluster_store.loop);
    f->world.cluster_store.store =
        lossy_open(&f->lossy, f->world.cluster_store.loop, &f->store->base, NULL, 0);
    world_follow(&f->world);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    version_runs_free(f->runs);
    world_close(&f->world);
    free(f);
    return 0;
}

static void lead(Fixture *f)
{
    StoreCompare fence = world_lead(&f->world);
    f->runs = version_runs_new(&f->world.cluster_store, &fence);
}

static Str current_text(Fixture *f, int64_t since_ms, bool is_applied)
{
    Buf text = buf_make_in(&f->world.arena, BUF_UNLIMITED);
    CurrentVersion current = { .version = "12cd456789ab",
                               .manifest = MANIFEST,
                               .is_applied = is_applied,
                               .since_ms = since_ms,
                               .requested_by = STR("user:ann"),
                               .reason = STR("why") };
    current_version_print(&current, &text);
    return buf_str(&text);
}

static void make_current(Fixture *f, int64_t since_ms, bool is_applied)
{
    world_put(&f->world, cluster_key_current_version(&f->world.arena, PREFIX),
              current_text(f, since_ms, is_applied));
    world_pass(&f->world);
}

/* While responses are held back: what another client of the store does meanwhile. */
static void put_meanwhile(Fixture *f, Str key, Str value)
{
    StoreOp put = { .kind = STORE_PUT, .key = key, .value = value };
    StoreTxn txn = { .success = &put, .success_count = 1 };
    Error err;
    assert_true(store_txn(f->store->inner, &txn, world_stored, &f->world, &err));
    world_expect(&f->world, ERROR_NONE, NULL);
}

static uint32_t run_count(Fixture *f)
{
    StateRange range =
        state_range(f->world.cluster_store.state,
                    key_make_prefix(&f->world.arena, PREFIX, KEY_RUN, NULL, 0), STR_EMPTY);
    uint32_t count = 0;
    while (state_next(&range) != NULL) {
        count++;
    }
    return count;
}

static FleetRun first_run(Fixture *f)
{
    StateRange range =
        state_range(f->world.cluster_store.state,
                    key_make_prefix(&f->world.arena, PREFIX, KEY_RUN, NULL, 0), STR_EMPTY);
    const StateEntry *entry = state_next(&range);
    FleetRun run;
    Error err;
    assert_non_null(entry);
    assert_true(
        fleet_run_read(&f->world.arena, arena_copy(&f->world.arena, entry->value), &run, &err));
    return run;
}

static void a_version_is_applied_on_all_nodes(void **state)
{
    Fixture *f = *state;
    put_node(f, "web1");
    put_node(f, "db1");
    world_put(&f->world, cluster_key_node(&f->world.arena, PREFIX, STR("bad1")), STR("nonsense"));
    lead(f);
    make_current(f, 1800000000000, true);
    FleetRun run = first_run(f);
    assert_int_equal(run.kind, RUN_KIND_APPLY);
    assert_int_equal(run.cause, RUN_BY_VERSION);
    assert_int_equal(run.state, RUN_PENDING);
    assert_int_equal(run.target_count, 2);
    assert_str(run.targets[0], "db1");
    assert_str(run.targets[1], "web1");
    assert_string_equal(run.version, "12cd456789ab");
    assert_string_equal(run.manifest, MANIFEST);
    assert_str(run.requested_by, "user:ann");
    assert_str(run.reason, "why");
    assert_true(str_ends(str_from_c(run.id), STR("12cd")));
    assert_int_equal(run.created_ms, 1800000000000);
}

static void a_version_is_applied_only_if_requested(void **state)
{
    Fixture *f = *state;
    lead(f);
    make_current(f, 1800000000000, false);
    assert_int_equal(run_count(f), 0);
    make_current(f, 1800000000001, true);
    assert_int_equal(run_count(f), 1);
}

static void each_activation_has_one_run(void **state)
{
    Fixture *f = *state;
    lead(f);
    make_current(f, 1800000000000, true);
    make_current(f, 1800000000000, true);
    assert_int_equal(run_count(f), 1);
    make_current(f, 1800000060000, true); /* the same version again */
    assert_int_equal(run_count(f), 2);
    version_runs_free(TAKE(f->runs));
    lead(f); /* another server */
    world_pass(&f->world);
    make_current(f, 1800000060000, true);
    assert_int_equal(run_count(f), 2);
}

static void a_new_leader_finds_the_current_version(void **state)
{
    Fixture *f = *state;
    make_current(f, 1800000000000, true);
    assert_int_equal(run_count(f), 0);
    lead(f);
    world_pass(&f->world);
    assert_int_equal(run_count(f), 1);
}

static void a_deposed_leader_creates_nothing(void **state)
{
    Fixture *f = *state;
    lead(f);
    (void)world_lead(&f->world);
    make_current(f, 1800000000000, true);
    assert_int_equal(run_count(f), 0);
    uint32_t sent = f->lossy.sent;
    loop_run_virtual_until(f->world.cluster_store.loop,
                           loop_now_ms(f->world.cluster_store.loop) + 10000);
    assert_int_equal(f->lossy.sent, sent); /* it has stopped */
    make_current(f, 1800000000001, true);
    assert_int_equal(run_count(f), 0);
}

static void a_failing_store_is_retried(void **state)
{
    static const Fate fates[] = { FATE_WELL, FATE_REFUSED, FATE_REFUSED };
    Fixture *f = *state;
    lead(f);
    lossy_set_fates(&f->lossy, fates, COUNT_OF(fates));
    make_current(f, 1800000000000, true);
    assert_int_equal(run_count(f), 0);
    loop_run_virtual_until(f->world.cluster_store.loop,
                           loop_now_ms(f->world.cluster_store.loop) + 10000);
    assert_int_equal(run_count(f), 1);
}

static void a_version_activated_meanwhile_is_applied_next(void **state)
{
    static const Fate fates[] = { FATE_WELL, FATE_REFUSED };
    Fixture *f = *state;
    lead(f);
    lossy_set_fates(&f->lossy, fates, COUNT_OF(fates));
    make_current(f, 1800000000000, true);
    make_current(f, 1800000000001, true);
    loop_run_virtual_until(f->world.cluster_store.loop,
                           loop_now_ms(f->world.cluster_store.loop) + 10000);
    assert_int_equal(run_count(f), 1);
    assert_int_equal(first_run(f).created_ms, 1800000000001);
}

static void a_version_activated_during_a_write_gets_its_run(void **state)
{
    static const Fate fates[] = { FATE_WELL, FATE_REQUEST_LOST };
    Fixture *f = *state;
    lead(f);
    lossy_set_fates(&f->lossy, fates, COUNT_OF(fates));
    make_current(f, 1800000000000, true); /* its run is written again later */
    assert_int_equal(run_count(f), 0);
    make_current(f, 1800000000001, true);
    loop_run_virtual_until(f->world.cluster_store.loop,
                           loop_now_ms(f->world.cluster_store.loop) + 60000);
    assert_int_equal(run_count(f), 2);
}

static void nothing_is_created_from_an_outdated_state(void **state)
{
    Fixture *f = *state;
    Error broken;
    make_current(f, 1800000000000, true);
    error_set(&broken, ERROR_OS, "disk I/O error");
    f->store->reads = &broken;
    failing_store_break_watch(f->store, &broken);
    lead(f);
    uint32_t calls = f->lossy.calls;
    world_pass(&f->world);
    assert_int_equal(f->lossy.calls, calls);
    f->store->reads = NULL;
    loop_run_virtual_until(f->world.cluster_store.loop,
                           loop_now_ms(f->world.cluster_store.loop) + 60000);
    assert_int_equal(run_count(f), 1);
}

static void a_run_that_exists_is_not_replaced(void **state)
{
    Fixture *f = *state;
    put_node(f, "web1");
    make_current(f, 1800000000000, true);
    lead(f);
    world_pass(&f->world);
    FleetRun run = first_run(f);
    Str id = str_from_c(run.id), key = key_make(&f->world.arena, PREFIX, KEY_RUN, &id, 1);
    version_runs_free(TAKE(f->runs));
    Buf text = buf_make_in(&f->world.arena, BUF_UNLIMITED);
    run.state = RUN_ENDED;
    fleet_run_print(&run, &text);
    StoreCompare fence = world_lead(&f->world);
    Error err;
    assert_true(store_delete(f->world.cluster_store.store, key, world_stored, &f->world, &err));
    world_expect(&f->world, ERROR_NONE, NULL);
    f->store->hangs = true;
    f->runs = version_runs_new(&f->world.cluster_store, &fence);
    put_meanwhile(f, cluster_key_current_version(&f->world.arena, PREFIX),
                  current_text(f, 1800000000000, true));
    put_meanwhile(f, key, buf_str(&text)); /* the former leader has written it already */
    failing_store_release(f->store);
    world_pass(&f->world);
    assert_int_equal(first_run(f).state, RUN_ENDED);
}

static void a_run_has_as_many_targets_as_fit(void **state)
{
    Fixture *f = *state;
    char name[16];
    for (int i = 0; i <= FLEET_TARGETS_MAX; i++) {
        snprintf(name, sizeof name, "n%05d", i);
        put_node(f, name);
    }
    lead(f);
    make_current(f, 1800000000000, true);
    assert_int_equal(first_run(f).target_count, FLEET_TARGETS_MAX);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_version_is_applied_on_all_nodes),
        TEST(a_version_is_applied_only_if_requested),
        TEST(each_activation_has_one_run),
        TEST(a_new_leader_finds_the_current_version),
        TEST(a_deposed_leader_creates_nothing),
        TEST(a_failing_store_is_retried),
        TEST(a_version_activated_meanwhile_is_applied_next),
        TEST(a_version_activated_during_a_write_gets_its_run),
        TEST(nothing_is_created_from_an_outdated_state),
        TEST(a_run_that_exists_is_not_replaced),
        TEST(a_run_has_as_many_targets_as_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
