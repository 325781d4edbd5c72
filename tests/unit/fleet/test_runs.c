/* Runs of the cluster and the reports of their targets, in any order of their keys. */
#include "fleet/runs.h"

#include "failing_store.h"
#include "store_world.h"

typedef struct Fixture {
    StoreWorld world;
    FleetRuns *runs;
} Fixture;

static int set_up(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    world_open(&f->world);
    world_follow(&f->world);
    f->runs = fleet_runs_new(f->world.cluster_store.state, PREFIX);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    fleet_runs_free(f->runs);
    world_close(&f->world);
    free(f);
    return 0;
}

static Str key_of(Fixture *f, KeyKind kind, const char *first, const char *second)
{
    return key_make(&f->world.arena, PREFIX, kind,
                    (Str[]){ str_from_c(first), second == NULL ? STR_EMPTY : str_from_c(second) },
                    second == NULL ? 1 : 2);
}

static void put_run(Fixture *f, const char *id, const char *targets)
{
    world_put(&f->world, key_of(f, KEY_RUN, id, NULL),
              arena_format(&f->world.arena,
                           "{\"format\":\"eden.fleet-run/1\",\"id\":\"%s\",\"kind\":\"exec\","
                           "\"cause\":\"caller\",\"state\":\"running\",\"by\":\"ann\","
                           "\"targets\":[%s],\"command\":[\"true\"],\"created_ms\":1}",
                           id, targets));
}

static void put_result(Fixture *f, const char *id, const char *node, const char *outcome)
{
    world_put(&f->world, key_of(f, KEY_RUN_NODE, id, node),
              arena_format(&f->world.arena,
                           "{\"format\":\"eden.node-result/1\",\"outcome\":\"%s\",\"since_ms\":1}",
                           outcome));
}

static void put_order(Fixture *f, const char *id, const char *node)
{
    world_put(&f->world, key_of(f, KEY_ORDER, node, id), STR("{}"));
}

static void drop(Fixture *f, Str key)
{
    Error err;
    assert_true(store_delete(f->world.cluster_store.store, key, world_stored, &f->world, &err));
    world_expect(&f->world, ERROR_NONE, NULL);
}

static const RunEntry *find(Fixture *f, const char *id)
{
    const RunEntry *entry = fleet_runs_find(f->runs, str_from_c(id));
    assert_non_null(entry);
    return entry;
}

static void reports_are_counted_whenever_they_arrive(void **state)
{
    Fixture *f = *state;
    put_result(f, "r1", "a", "ok"); /* before the run */
    put_order(f, "r1", "b");
    put_run(f, "r1", "\"a\",\"b\",\"c\"");
    const RunEntry *run = find(f, "r1");
    assert_int_equal(run->counts[NODE_OK], 1);
    assert_int_equal(run->unreported, 2);
    assert_int_equal(run->order_count, 1);
    assert_true(run->targets[1].order_revision > 0);
    put_result(f, "r1", "b", "running");
    put_result(f, "r1", "b", "failed");
    put_result(f, "r1", "c", "changed");
    put_result(f, "r1", "x", "failed"); /* not a target */
    put_order(f, "r1", "x");
    put_result(f, "r9", "a", "failed"); /* of an unknown run */
    run = find(f, "r1");
    assert_int_equal(run->counts[NODE_RUNNING], 0);
    assert_int_equal(run->counts[NODE_FAILED], 1);
    assert_int_equal(run->counts[NODE_CHANGED], 1);
    assert_int_equal(run->unreported, 0);
    assert_int_equal(run->order_count, 1);
    drop(f, key_of(f, KEY_ORDER, "b", "r1"));
    drop(f, key_of(f, KEY_RUN_NODE, "r1", "b"));
    run = find(f, "r1");
    assert_int_equal(run->counts[NODE_FAILED], 0);
    assert_int_equal(run->unreported, 1);
    assert_int_equal(run->order_count, 0);
    assert_false(run->targets[1].has_result);
}

static void a_changed_run_keeps_its_reports(void **state)
{
    Fixture *f = *state;
    put_run(f, "r1", "\"a\",\"b\"");
    put_result(f, "r1", "b", "changed");
    int64_t revision = find(f, "r1")->revision;
    put_run(f, "r1", "\"a\",\"b\"");
    const RunEntry *run = find(f, "r1");
    assert_true(run->revision > revision);
    assert_int_equal(run->counts[NODE_CHANGED], 1);
    assert_int_equal(run->unreported, 1);
    assert_int_equal(fleet_runs_count(f->runs), 1);
}

static void unreadable_records_are_shown(void **state)
{
    Fixture *f = *state;
    uint32_t index;
    world_put(&f->world, key_of(f, KEY_RUN, "r1", NULL), STR("nonsense"));
    const RunEntry *run = find(f, "r1");
    assert_true(run->error.len > 0);
    assert_int_equal(run->record.state, RUN_ENDED);
    assert_false(run_entry_target(run, STR("a"), &index));
    put_run(f, "r2", "\"a\"");
    world_put(&f->world, key_of(f, KEY_RUN_NODE, "r2", "a"), STR("nonsense"));
    assert_int_equal(find(f, "r2")->counts[NODE_FAILED], 1);
    put_run(f, "r1", "\"a\"");
    assert_str(find(f, "r1")->error, "");
}

static void targets_are_found(void **state)
{
    Fixture *f = *state;
    static const char *const names[] = { "a", "b", "c", "d", "e" };
    uint32_t index = 9;
    put_run(f, "r1", "\"a\",\"b\",\"c\",\"d\",\"e\"");
    for (uint32_t i = 0; i < COUNT_OF(names); i++) {
        assert_true(run_entry_target(find(f, "r1"), str_from_c(names[i]), &index));
        assert_int_equal(index, i);
    }
    assert_false(run_entry_target(find(f, "r1"), STR("0"), &index));
    assert_false(run_entry_target(find(f, "r1"), STR("bb"), &index));
    assert_false(run_entry_target(find(f, "r1"), STR("f"), &index));
}

static void runs_are_sorted_from_the_newest(void **state)
{
    Fixture *f = *state;
    put_run(f, "2027-2", "\"a\"");
    put_run(f, "2027-1", "\"a\"");
    put_run(f, "2027-3", "\"a\"");
    assert_int_equal(fleet_runs_count(f->runs), 3);
    assert_str(fleet_runs_at(f->runs, 0)->id, "2027-3");
    assert_str(fleet_runs_at(f->runs, 2)->id, "2027-1");
    assert_int_equal(fleet_runs_after(f->runs, STR("2027-3")), 1);
    assert_int_equal(fleet_runs_after(f->runs, STR("2027-25")), 1);
    assert_int_equal(fleet_runs_after(f->runs, STR("2027-1")), 3);
    assert_int_equal(fleet_runs_after(f->runs, STR("9")), 0);
    drop(f, key_of(f, KEY_RUN, "2027-2", NULL));
    assert_int_equal(fleet_runs_count(f->runs), 2);
    assert_null(fleet_runs_find(f->runs, STR("2027-2")));
    assert_str(fleet_runs_at(f->runs, 1)->id, "2027-1");
}

static void many_runs_fit(void **state)
{
    Fixture *f = *state;
    char id[8];
    for (int i = 0; i < 130; i++) {
        snprintf(id, sizeof id, "r%03d", (i * 37) % 130);
        put_run(f, id, "\"a\"");
    }
    assert_int_equal(fleet_runs_count(f->runs), 130);
    assert_str(fleet_runs_at(f->runs, 0)->id, "r129");
    assert_str(fleet_runs_at(f->runs, 129)->id, "r000");
}

static void expect_resolved(Fixture *f, const char *prefix, const char *id, ErrorKind kind)
{
    const RunEntry *run;
    Error err = { 0 };
    assert_int_equal(fleet_runs_resolve(f->runs, str_from_c(prefix), &run, &err), id != NULL);
    if (id != NULL) {
        assert_str(run->id, id);
    } else {
        assert_int_equal(err.kind, kind);
    }
}

static void a_prefix_selects_one_run(void **state)
{
    Fixture *f = *state;
    expect_resolved(f, "a", NULL, ERROR_NOT_FOUND);
    put_run(f, "ab", "\"a\"");
    put_run(f, "abc", "\"a\"");
    put_run(f, "b1", "\"a\"");
    expect_resolved(f, "", NULL, ERROR_NOT_FOUND);
    expect_resolved(f, "a", NULL, ERROR_CONFLICT);
    expect_resolved(f, "ab", "ab", ERROR_NONE);
    expect_resolved(f, "abc", "abc", ERROR_NONE);
    expect_resolved(f, "abcd", NULL, ERROR_NOT_FOUND);
    expect_resolved(f, "b", "b1", ERROR_NONE);
    expect_resolved(f, "c", NULL, ERROR_NOT_FOUND);
}

static void put_run_of(Fixture *f, const char *id, const char *run_state, const char *version)
{
    world_put(&f->world, key_of(f, KEY_RUN, id, NULL),
              arena_format(&f->world.arena,
                           "{\"format\":\"eden.fleet-run/1\",\"id\":\"%s\",\"kind\":\"apply\","
                           "\"cause\":\"caller\",\"state\":\"%s\",\"by\":\"ann\","
                           "\"targets\":[\"a\"],\"version\":\"%s\",\"created_ms\":1}",
                           id, run_state, version));
}

static void runs_need_their_versions_until_they_have_ended(void **state)
{
    Fixture *f = *state;
    StrMap needed;
    str_map_init(&needed, &f->world.arena);
    put_run_of(f, "r1", "pending", "aaaaaaaaaaaa");
    put_run_of(f, "r2", "running", "bbbbbbbbbbbb");
    put_run_of(f, "r3", "ended", "cccccccccccc");
    put_run_of(f, "r4", "ended", "dddddddddddd");
    put_order(f, "r4", "a");
    put_run(f, "r5", "\"a\"");
    fleet_runs_add_versions(f->runs, &needed);
    assert_int_equal(needed.count, 3);
    assert_true(str_map_has(&needed, STR("aaaaaaaaaaaa")));
    assert_true(str_map_has(&needed, STR("bbbbbbbbbbbb")));
    assert_true(str_map_has(&needed, STR("dddddddddddd")));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* --- Limits ---------------------------------------------------------------------------------- */

static void put_state(Fixture *f, int number, const char *state, const char *by)
{
    char id[16];
    snprintf(id, sizeof id, "r%04d", number);
    world_put(&f->world, key_of(f, KEY_RUN, id, NULL),
              arena_format(&f->world.arena,
                           "{\"format\":\"eden.fleet-run/1\",\"id\":\"%s\",\"kind\":\"exec\","
                           "\"cause\":\"caller\",\"state\":\"%s\",\"by\":\"%s\","
                           "\"targets\":[\"a\"],\"command\":[\"true\"],\"created_ms\":1}",
                           id, state, by));
}

static bool allows(Fixture *f, const char *by, size_t bytes, uint32_t target_count)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Buf argument = buf_make_in(&arena, BUF_UNLIMITED);
    buf_put_repeat(&argument, 'x', bytes);
    Str command = buf_str(&argument), *targets = ARENA_ARRAY(&arena, Str, target_count);
    for (uint32_t i = 0; i < target_count; i++) {
        targets[i] = arena_format(&arena, "node-%05u", i);
    }
    FleetRun run = { .id = "new",
                     .kind = RUN_KIND_EXEC,
                     .requested_by = str_from_c(by),
                     .targets = targets,
                     .target_count = target_count,
                     .command = &command,
                     .command_count = 1 };
    Error err;
    bool ok = fleet_runs_allow(f->runs, &run, &err);
    assert_true(ok || err.kind == ERROR_LIMIT);
    return ok;
}

/* Servers keep all runs in memory, and an order for each target. */
static void runs_have_limits(void **state)
{
    Fixture *f = *state;
    int number = 0;
    assert_true(allows(f, "ann", 100, 10000));
    assert_false(allows(f, "ann", 60 << 10, 10000));
    while (number < RUNS_PER_CALLER_MAX) {
        assert_true(allows(f, "ann", 100, 1));
        put_state(f, number++, "running", "ann");
    }
    assert_false(allows(f, "ann", 100, 1));
    assert_true(allows(f, "bob", 100, 1));
    put_state(f, 0, "ended", "ann");
    assert_true(allows(f, "ann", 100, 1));
    while (number < RUNS_MAX) {
        put_state(f, number++, "ended", "bob");
    }
    assert_false(allows(f, "bob", 100, 1));
}

/* A node that never reports a result keeps its run open. */
static void runs_in_progress_keep_no_others(void **state)
{
    Fixture *f = *state;
    put_state(f, 0, "running", "ann");
    for (int number = 1; number < RUNS_RETAINED; number++) {
        put_state(f, number, "ended", "ann");
    }
    assert_null(fleet_runs_excess(f->runs));
    put_state(f, RUNS_RETAINED, "ended", "ann");
    assert_str(fleet_runs_excess(f->runs)->id, "r0001");
}

/* The newest run shows that there was one; one with orders is still needed by its nodes. */
static void the_newest_run_and_runs_with_orders_are_kept(void **state)
{
    Fixture *f = *state;
    for (int number = 0; number < RUNS_RETAINED; number++) {
        put_state(f, number, "running", "ann");
    }
    put_state(f, RUNS_RETAINED, "ended", "ann");
    assert_null(fleet_runs_excess(f->runs));
    put_state(f, RUNS_RETAINED + 1, "running", "ann");
    assert_str(fleet_runs_excess(f->runs)->id, "r1000");
    put_order(f, "r1000", "a");
    assert_null(fleet_runs_excess(f->runs));
}

/* Each with as many targets as are allowed, and a command of this size. */
static void put_large(Fixture *f, const char *id, const char *run_state, const char *by,
                      size_t bytes)
{
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    buf_put_format(&text,
                   "{\"format\":\"eden.fleet-run/1\",\"id\":\"%s\",\"kind\":\"exec\","
                   "\"cause\":\"caller\",\"state\":\"%s\",\"by\":\"%s\",\"created_ms\":1,"
                   "\"command\":[\"",
                   id, run_state, by);
    buf_put_repeat(&text, 'x', bytes);
    buf_put(&text, STR("\"],\"targets\":["));
    for (int i = 0; i < FLEET_TARGETS_MAX; i++) {
        buf_put_format(&text, "%s\"n%05d\"", i > 0 ? "," : "", i);
    }
    buf_put(&text, STR("]}"));
    world_put(&f->world, key_of(f, KEY_RUN, id, NULL), buf_str(&text));
    assert_str(find(f, id)->error, "");
}

static void runs_with_too_many_targets_are_superfluous(void **state)
{
    Fixture *f = *state;
    char id[16];
    for (int i = 0; i < RUN_TARGETS_RETAINED / FLEET_TARGETS_MAX; i++) {
        snprintf(id, sizeof id, "r%02d", i);
        put_large(f, id, "ended", "ann", 1);
    }
    assert_null(fleet_runs_excess(f->runs));
    put_run(f, "r99", "\"a\"");
    assert_str(fleet_runs_excess(f->runs)->id, "r00");
}

enum {
    LARGE =
        4096, /* bytes of an order; those for all nodes together are more than a caller's part */
};

/* Also before they are written. */
static void orders_count_as_their_size(void **state)
{
    Fixture *f = *state;
    put_state(f, 1, "ended", "ann");
    put_state(f, 2, "ended", "ann");
    assert_null(fleet_runs_excess(f->runs));
    put_large(f, "r9001", "running", "ann", LARGE); /* its nodes have reported */
    assert_null(fleet_runs_excess(f->runs));
    assert_true(allows(f, "ann", 100, 1));
    put_large(f, "r9001", "pending", "ann", LARGE);
    assert_str(fleet_runs_excess(f->runs)->id, "r0001");
    assert_false(allows(f, "ann", 100, 1));
    assert_true(allows(f, "bob", 100, 1));
    put_large(f, "r9002", "pending", "carl", LARGE);
    assert_false(allows(f, "bob", 100, 1));
}

static void runs_are_current_if_the_state_is(void **state)
{
    Fixture *f = *state;
    FailingStore *store = failing_store_open(f->world.cluster_store.loop);
    ClusterStore cluster_store = { f->world.cluster_store.loop, &store->base, PREFIX };
    State *follows = new_state(&cluster_store, NULL);
    FleetRuns *runs = fleet_runs_new(follows, PREFIX);
    Error broken;
    assert_false(fleet_runs_are_current(runs)); /* not read yet */
    world_pass(&f->world);
    assert_true(fleet_runs_are_current(runs));
    error_set(&broken, ERROR_OS, "disk I/O error");
    store->reads = &broken;
    failing_store_break_watch(store, &broken);
    assert_false(fleet_runs_are_current(runs));
    fleet_runs_free(runs);
    state_stop(follows);
    store_close(&store->base);
    state_free(follows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(reports_are_counted_whenever_they_arrive),
        TEST(a_changed_run_keeps_its_reports),
        TEST(unreadable_records_are_shown),
        TEST(targets_are_found),
        TEST(runs_are_sorted_from_the_newest),
        TEST(many_runs_fit),
        TEST(a_prefix_selects_one_run),
        TEST(runs_need_their_versions_until_they_have_ended),
        TEST(runs_have_limits),
        TEST(runs_in_progress_keep_no_others),
        TEST(the_newest_run_and_runs_with_orders_are_kept),
        TEST(runs_with_too_many_targets_are_superfluous),
        TEST(orders_count_as_their_size),
        TEST(runs_are_current_if_the_state_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
