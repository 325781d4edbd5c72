/* The version of the site that a node has, from the runs of the cluster. */
#include "fleet/node_site.h"

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

static void put_run(Fixture *f, const char *id, const char *state, const char *fields)
{
    Str key = str_from_c(id);
    world_put(&f->world, key_make(&f->world.arena, PREFIX, KEY_RUN, &key, 1),
              arena_format(&f->world.arena,
                           "{\"format\":\"eden.fleet-run/1\",\"id\":\"%s\",\"cause\":\"version\","
                           "\"state\":\"%s\",\"by\":\"ann\",\"targets\":[\"web1\",\"web2\"],"
                           "\"created_ms\":1,%s}",
                           id, state, fields));
}

static void apply(Fixture *f, const char *id, const char *version)
{
    put_run(f, id, "running",
            arena_format(&f->world.arena, "\"kind\":\"apply\",\"version\":\"%s\"", version).data);
}

static void put_result(Fixture *f, const char *id, const char *outcome)
{
    world_put(
        &f->world,
        key_make(&f->world.arena, PREFIX, KEY_RUN_NODE, (Str[]){ str_from_c(id), STR("web1") }, 2),
        arena_format(&f->world.arena,
                     "{\"format\":\"eden.node-result/1\",\"outcome\":\"%s\",\"since_ms\":1}",
                     outcome));
}

static void expect(Fixture *f, const char *current, NodeSiteState state, const char *version)
{
    NodeSite site = node_site_find(f->runs, STR("web1"), str_from_c(current));
    assert_string_equal(node_site_state_name(site.state), node_site_state_name(state));
    assert_str(site.version, version);
}

static void the_newest_run_of_the_site_decides(void **state)
{
    Fixture *f = *state;
    expect(f, "", NODE_SITE_NONE, "");
    apply(f, "1", "aaa");
    expect(f, "aaa", NODE_SITE_PENDING, "");
    put_result(f, "1", "changed");
    expect(f, "aaa", NODE_SITE_CURRENT, "aaa");
    expect(f, "bbb", NODE_SITE_OUTDATED, "aaa");
    apply(f, "2", "bbb");
    expect(f, "bbb", NODE_SITE_PENDING, "aaa");
    put_result(f, "2", "running");
    expect(f, "bbb", NODE_SITE_PENDING, "aaa");
    put_result(f, "2", "failed");
    expect(f, "bbb", NODE_SITE_FAILED, "aaa");
    put_result(f, "2", "skipped");
    expect(f, "bbb", NODE_SITE_SKIPPED, "aaa");
    put_result(f, "2", "ok");
    expect(f, "bbb", NODE_SITE_CURRENT, "bbb");
    NodeSite other = node_site_find(f->runs, STR("db1"), STR("bbb"));
    assert_int_equal(other.state, NODE_SITE_NONE);
}

static void other_runs_say_nothing(void **state)
{
    Fixture *f = *state;
    apply(f, "1", "aaa");
    put_result(f, "1", "ok");
    put_run(f, "2", "running", "\"kind\":\"plan\",\"version\":\"bbb\"");
    put_result(f, "2", "changed");
    put_run(f, "3", "running", "\"kind\":\"exec\",\"command\":[\"true\"]");
    put_result(f, "3", "ok");
    put_run(f, "4", "running", "\"kind\":\"apply\",\"version\":\"bbb\",\"jobs\":[\"web\"]");
    put_result(f, "4", "ok");
    apply(f, "5", "bbb");
    put_result(f, "5", "canceled");
    put_run(f, "6", "ended", "\"kind\":\"apply\",\"version\":\"bbb\"");
    expect(f, "aaa", NODE_SITE_CURRENT, "aaa");
}

static void a_run_that_has_ended_without_the_node_is_still_applied(void **state)
{
    Fixture *f = *state;
    apply(f, "1", "aaa");
    put_result(f, "1", "ok");
    put_run(f, "2", "ended", "\"kind\":\"apply\",\"version\":\"bbb\"");
    expect(f, "bbb", NODE_SITE_OUTDATED, "aaa");
    world_put(&f->world,
              key_make(&f->world.arena, PREFIX, KEY_ORDER, (Str[]){ STR("web1"), STR("2") }, 2),
              STR("{}")); /* the node will get it when it returns */
    expect(f, "bbb", NODE_SITE_PENDING, "aaa");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_newest_run_of_the_site_decides, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_runs_say_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_run_that_has_ended_without_the_node_is_still_applied,
                                        set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
