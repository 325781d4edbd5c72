#include "run/node.h"

#include "membership/node_record.h"
#include "membership/watched_image.h"
#include "run/test_dir.h"

static Value facts(TestDir *dir)
{
    Map *map = map_new(&dir->arena, 4);
    map_set_str(&dir->arena, map, STR("name"), value_string(STR("web01")));
    map_set_str(&dir->arena, map, STR("fqdn"), value_string(STR("web01.example.com")));
    map_set_str(&dir->arena, map, STR("os"), value_string(STR("debian")));
    return value_map(map);
}

static bool load(TestDir *dir, const NodeOptions *options, Node *node)
{
    return node_load(&dir->arena, &dir->sources, options, node, &dir->problems);
}

static void without_settings_a_node_is_its_facts(void **state)
{
    TestDir *dir = *state;
    NodeOptions options = { .etc = dir->path, .facts = facts(dir) };
    Node node;
    assert_true(load(dir, &options, &node));
    assert_str(node.name, "web01");
    assert_str(node.fqdn, "web01.example.com");
    assert_int_equal(node.labels->len, 0);
    assert_true(node.server.map->frozen); /* shared by all templates */
    assert_str(test_dir_json(dir, *value_get(node.server, STR("os"))), "\"debian\"");
    assert_str(test_dir_json(dir, *value_get(node.server, STR("Spec"))),
               "{\"FQDN\":\"web01.example.com\",\"fqdn\":\"web01.example.com\"}");
}

static void labels_are_read_from_the_file_and_the_command_line_wins(void **state)
{
    TestDir *dir = *state;
    test_dir_put(dir, "node.yaml", "name: db7\nlabels: {role: db, rack: 7, master: , on: yes}\n");
    const char *const labels[] = { "role=web", "new=", "a=b=c" };
    NodeOptions options = {
        .etc = dir->path, .labels = labels, .label_count = 3, .facts = facts(dir)
    };
    Node node;
    assert_true(load(dir, &options, &node));
    assert_str(node.name, "db7");
    assert_str(node.fqdn, "db7");
    assert_str(test_dir_json(dir, value_map(node.labels)),
               "{\"role\":\"web\",\"rack\":\"7\",\"master\":\"\",\"on\":\"yes\",\"new\":\"\","
               "\"a\":\"b=c\"}");
    const Value *metadata = value_get(node.server, STR("ObjectMetadata"));
    assert_str(test_dir_json(dir, *value_get(*metadata, STR("Name"))), "\"db7\"");
    assert_non_null(value_get(*value_get(*metadata, STR("Labels")), STR("master")));
    options.name = "x";
    assert_true(load(dir, &options, &node));
    assert_str(node.name, "x");
}

static void the_file_can_be_wrapped(void **state)
{
    TestDir *dir = *state;
    test_dir_put(dir, "node.yaml",
                 "metadata: {apiVersion: v1alpha, kind: Node, name: db7, labels: {a: b}}\n"
                 "spec: {labels: {c: d}}\n");
    NodeOptions options = { .etc = dir->path };
    Node node;
    assert_true(load(dir, &options, &node));
    assert_str(node.name, "db7");
    assert_str(test_dir_json(dir, value_map(node.labels)), "{\"a\":\"b\",\"c\":\"d\"}");
}

static void all_problems_are_reported(void **state)
{
    TestDir *dir = *state;
    test_dir_put(dir, "node.yaml", "nam: db7\nlabels:\n  a: [1]\n  b: {}\n");
    const char *const labels[] = { "role", "=x" };
    NodeOptions options = { .etc = dir->path, .labels = labels, .label_count = 2 };
    Node node;
    assert_false(load(dir, &options, &node));
    assert_str(
        test_dir_problems(dir),
        "node.yaml:1:1 unknown key in node.yaml; it can have 'name' and 'labels' (did you mean "
        "'name'?)\n"
        "node.yaml:3:6 the value of a label must be a string\n"
        "node.yaml:4:6 the value of a label must be a string\n"
        "--label:1:1 a label must be NAME=VALUE\n"
        "--label:1:1 a label must be NAME=VALUE\n");
}

static void the_cluster_record_ranks_between_file_and_command_line(void **state)
{
    TestDir *dir = *state;
    NodeRecord record = { .name = "node1",
                          .enrollment = "0123456789abcdef",
                          .address = "127.0.0.1" };
    Map *given = map_new(&dir->arena, 2);
    map_set_str(&dir->arena, given, STR("role"), value_string(STR("web")));
    map_set_str(&dir->arena, given, STR("zone"), value_string(STR("eu")));
    record.labels = value_map(given);
    Buf text = buf_make_in(&dir->arena, BUF_UNLIMITED);
    node_record_print(&record, &text);
    WatchedImage image;
    watched_image_init(&image);
    watched_image_add(&image, &(WatchedEntry){ .key = STR("k"), .value = buf_str(&text) });
    Buf file = buf_make_in(&dir->arena, BUF_UNLIMITED);
    watched_image_print(&image, &file);
    watched_image_clear(&image);
    test_dir_put(dir, "node.yaml", "name: db7\nlabels: {role: db, rack: 7}\n");
    test_dir_put(dir, "agent/" WATCHED_NODE_FILE, arena_copy_c(&dir->arena, buf_str(&file)));
    const char *const labels[] = { "zone=us" };
    NodeOptions options = { .etc = dir->path,
                            .state = dir->path,
                            .labels = labels,
                            .label_count = 1,
                            .facts = facts(dir) };
    Node node;
    assert_true(load(dir, &options, &node));
    assert_str(node.name, "db7"); /* without node.json there is no membership */
    test_dir_put(dir, "agent/node.json", "{}");
    assert_true(load(dir, &options, &node));
    assert_str(node.name, "node1");
    assert_str(node.fqdn, "web01.example.com");
    assert_str(test_dir_json(dir, value_map(node.labels)),
               "{\"role\":\"web\",\"rack\":\"7\",\"zone\":\"us\"}");
    options.name = "other";
    assert_true(load(dir, &options, &node));
    assert_str(test_dir_json(dir, value_map(node.labels)),
               "{\"role\":\"db\",\"rack\":\"7\",\"zone\":\"us\"}");
    test_dir_put(dir, "agent/" WATCHED_NODE_FILE, "{}");
    assert_false(load(dir, &options, &node));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_IN_DIR(without_settings_a_node_is_its_facts),
        TEST_IN_DIR(labels_are_read_from_the_file_and_the_command_line_wins),
        TEST_IN_DIR(the_file_can_be_wrapped),
        TEST_IN_DIR(all_problems_are_reported),
        TEST_IN_DIR(the_cluster_record_ranks_between_file_and_command_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
