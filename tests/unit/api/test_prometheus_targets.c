/* Nodes as Prometheus targets. */
#include "api/prometheus_targets.h"

#include "unit.h"

static void nodes_are_targets_with_labels(void **state)
{
    AUTO_CLEAR(Arena) arena;
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    arena_init(&arena, ARENA_UNLIMITED);
    Map *labels = map_new(&arena, 4), *none = map_new(&arena, 4);
    map_set_str(&arena, labels, STR("role"), value_string(STR("we\"b")));
    map_set_str(&arena, labels, STR("example.org/rack"), value_string(STR("7")));
    map_set_str(&arena, labels, STR("example_org_rack"), value_string(STR("8")));
    const RosterNode known[] = {
        { .record = { .name = "web1", .address = "10.0.0.1:4242", .labels = value_map(labels) },
          .is_alive = true },
        { .record = { .name = "s1", .is_server = true, .labels = value_map(none) } },
        { .record = { .name = "web2", .address = "[2001:db8::1]:5", .labels = value_map(none) } },
        { .record = { .name = "web3", .address = "unix", .labels = value_map(none) } },
        { .record = { .name = "web4", .labels = value_missing() }, .error = STR("unreadable") },
    };
    NodeEntry nodes[COUNT_OF(known)] = { 0 };
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        nodes[i].node = &known[i];
    }
    NodesListing listing = { .nodes = nodes, .node_count = COUNT_OF(nodes) };
    TargetsSpec spec = { .cluster = STR("blue"), .port = 9100 };
    prometheus_targets_put(&out, &spec, &listing);
#define META "\"labels\":{\"__meta_eden_cluster\":\"blue\",\"__meta_eden_node\":"
    assert_str(buf_str(&out),
               "[{\"targets\":[\"10.0.0.1:9100\"]," META
               "\"web1\",\"__meta_eden_alive\":\"true\",\"__meta_eden_server\":\"false\","
               "\"__meta_eden_label_role\":\"we\\\"b\","
               "\"__meta_eden_label_example_org_rack\":\"7\"}},"
               "{\"targets\":[\"s1:9100\"]," META
               "\"s1\",\"__meta_eden_alive\":\"false\",\"__meta_eden_server\":\"true\"}},"
               "{\"targets\":[\"[2001:db8::1]:9100\"]," META
               "\"web2\",\"__meta_eden_alive\":\"false\",\"__meta_eden_server\":\"false\"}},"
               "{\"targets\":[\"unix:9100\"]," META
               "\"web3\",\"__meta_eden_alive\":\"false\",\"__meta_eden_server\":\"false\"}},"
               "{\"targets\":[\"web4:9100\"]," META
               "\"web4\",\"__meta_eden_alive\":\"false\",\"__meta_eden_server\":\"false\"}}]");
}

static void only_selected_nodes_are_listed(void **state)
{
    AUTO_CLEAR(Arena) arena;
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    Sources none;
    Problems problems;
    const Selector *selector;
    arena_init(&arena, ARENA_UNLIMITED);
    sources_init(&none, &arena);
    problems_init(&problems, &arena);
    Map *web = map_new(&arena, 1), *other = map_new(&arena, 1);
    map_set_str(&arena, web, STR("role"), value_string(STR("web")));
    const RosterNode known[] = {
        { .record = { .name = "db1", .labels = value_map(other) } },
        { .record = { .name = "web1", .labels = value_map(web) } },
    };
    NodeEntry nodes[COUNT_OF(known)] = { 0 };
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        nodes[i].node = &known[i];
    }
    NodesListing listing = { .nodes = nodes, .node_count = COUNT_OF(nodes) };
    assert_true(
        selector_parse(&arena, NULL, &none, value_string(STR("role=web")), &selector, &problems));
    TargetsSpec spec = { .cluster = STR("blue"), .port = 80, .selector = selector };
    prometheus_targets_put(&out, &spec, &listing);
    assert_true(str_starts(buf_str(&out), STR("[{\"targets\":[\"web1:80\"]")));
    assert_true(str_find(buf_str(&out), STR("db1"), 0) == STR_NOT_FOUND);
    buf_reset(&out);
    listing.node_count = 0;
    prometheus_targets_put(&out, &spec, &listing);
    assert_str(buf_str(&out), "[]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_are_targets_with_labels),
        cmocka_unit_test(only_selected_nodes_are_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
