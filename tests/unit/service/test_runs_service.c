/* Which logs of runs a server deletes, also while it cannot read its store. */
#include "service/runs_service.h"

#include <unistd.h>

#include "cluster/cluster_keys.h"
#include "cluster/stored_object.h"
#include "failing_store.h"
#include "scratch.h"
#include "store_world.h"
#include "sys/file.h"

typedef struct Fixture {
    StoreWorld world;
    Scratch *scratch;
    FailingStore *store;
    FleetRuns *runs;
    RunLogs *logs;
    NodeBudgets *budgets;
    RunsService *service;
} Fixture;

static void put_run(Fixture *f, const char *id)
{
    world_put(&f->world, key_make(&f->world.arena, PREFIX, KEY_RUN, (Str[]){ str_from_c(id) }, 1),
              arena_format(&f->world.arena,
                           "{\"format\":\"eden.fleet-run/1\",\"id\":\"%s\",\"kind\":\"exec\","
                           "\"cause\":\"caller\",\"state\":\"ended\",\"by\":\"ann\","
                           "\"targets\":[\"a\"],\"command\":[\"true\"],\"created_ms\":1}",
                           id));
}

static int set_up(void **state)
{
    scratch_set_up(state);
    Fixture *f = calloc(1, sizeof *f);
    Error err;
    f->scratch = *state;
    *state = f;
    world_open(&f->world);
    store_close(f->world.cluster_store.store);
    f->store = failing_store_open(f->world.cluster_store.loop);
    f->world.cluster_store.store = &f->store->base;
    assert_true(run_logs_open(f->world.cluster_store.loop, scratch_place(f->scratch, "logs"),
                              &f->logs, &err));
    put_run(f, "r1");
    scratch_put(f->scratch, "logs/r1.ndjson", "");
    scratch_put(f->scratch, "logs/r2.ndjson", "");
    scratch_put(f->scratch, "logs/notes", "");
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    *state = f->scratch;
    runs_service_free(f->service);
    node_budgets_free(f->budgets);
    fleet_runs_free(f->runs);
    run_logs_close(f->logs);
    world_close(&f->world);
    free(f);
    return scratch_tear_down(state);
}

static void start(Fixture *f)
{
    const NodeLimits limits = NODE_LIMITS_DEFAULT;
    f->world.cluster_store.state = new_state(&f->world.cluster_store, NULL);
    f->world.cluster_store.roster = roster_new(f->world.cluster_store.state, PREFIX,
                                               &(RosterEvents){ .changed = ready_state_ignore });
    f->runs = fleet_runs_new(f->world.cluster_store.state, PREFIX);
    f->budgets = node_budgets_new(f->world.cluster_store.loop, f->world.cluster_store.store, PREFIX,
                                  &limits);
    f->service = runs_service_new(&f->world.cluster_store, f->runs, f->logs, f->budgets);
}

static void pass_minutes(Fixture *f, int64_t minutes)
{
    loop_run_virtual_until(f->world.cluster_store.loop,
                           loop_now_ms(f->world.cluster_store.loop) + minutes * 60 * 1000);
}

static bool has(Fixture *f, const char *name)
{
    return access(scratch_place(f->scratch, name), F_OK) == 0;
}

static void logs_of_unknown_runs_are_deleted(void **state)
{
    Fixture *f = *state;
    start(f);
    pass_minutes(f, 2);
    assert_true(has(f, "logs/r1.ndjson"));
    assert_false(has(f, "logs/r2.ndjson"));
    assert_true(has(f, "logs/notes"));
    scratch_put(f->scratch, "logs/r3.ndjson", "");
    pass_minutes(f, 65);
    assert_false(has(f, "logs/r3.ndjson"));
}

static void nothing_is_deleted_until_the_runs_are_known(void **state)
{
    Fixture *f = *state;
    f->store->hangs = true;
    start(f);
    pass_minutes(f, 5);
    assert_true(has(f, "logs/r1.ndjson"));
    assert_true(has(f, "logs/r2.ndjson"));
    failing_store_release(f->store);
    pass_minutes(f, 5);
    assert_true(has(f, "logs/r1.ndjson"));
    assert_false(has(f, "logs/r2.ndjson"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static void put_limit(Fixture *f, int64_t mib)
{
    Map *spec = map_new(&f->world.arena, 1);
    Buf text = buf_make_in(&f->world.arena, BUF_UNLIMITED);
    map_set_str(&f->world.arena, spec, STR("run_logs_mib"), value_int(mib));
    StoredObject config = { .uuid = "00000000-0000-4000-8000-000000000000",
                            .created_ms = 1,
                            .labels = value_missing(),
                            .annotations = value_missing(),
                            .spec = value_map(spec),
                            .unknown = value_missing() };
    stored_object_print(&config, &text);
    world_put(&f->world, cluster_key_object(&f->world.arena, PREFIX, STR("config"), STR("cluster")),
              buf_str(&text));
}

static void logs_beyond_the_configured_size_are_removed(void **state)
{
    Fixture *f = *state;
    Str text;
    Error err;
    Buf big = buf_make_in(&f->scratch->arena, BUF_UNLIMITED);
    buf_put_repeat(&big, ' ', 700 << 10);
    put_run(f, "r2");
    put_limit(f, 1);
    scratch_put(f->scratch, "logs/r1.ndjson", buf_c(&big));
    scratch_put(f->scratch, "logs/r2.ndjson", buf_c(&big));
    start(f);
    pass_minutes(f, 2);
    assert_true(file_read(&f->scratch->arena, scratch_place(f->scratch, "logs/r1.ndjson"), 1 << 20,
                          &text, &err));
    assert_true(str_starts(text, STR(RUN_LOG_REMOVED)));
    assert_true(file_read(&f->scratch->arena, scratch_place(f->scratch, "logs/r2.ndjson"), 1 << 20,
                          &text, &err));
    assert_int_equal(text.len, 700 << 10);
    RunLogUsage usage = runs_service_log_usage(f->service);
    assert_int_equal(usage.limit, 1 << 20);
    assert_int_equal(usage.removed, 1);
    assert_true(usage.bytes > 700 << 10 && usage.bytes < 701 << 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(logs_of_unknown_runs_are_deleted),
        TEST(nothing_is_deleted_until_the_runs_are_known),
        TEST(logs_beyond_the_configured_size_are_removed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
