#include "run/node.h"

#include "membership/node_record.h"
#include "membership/watched_image.h"
#include "run/folder.h"

static Value facts(Folder *folder)
{
    Map *map = map_new(&folder->arena, 4);
    map_set_str(&folder->arena, map, STR("name"), value_string(STR("web01")));
    map_set_str(&folder->arena, map, STR("fqdn"), value_string(STR("web01.example.com")));
    map_set_str(&folder->arena, map, STR("os"), value_string(STR("debian")));
    return value_map(map);
}

static bool load(Folder *folder, const NodeOptions *options, Node *node)
{
    return node_load(&folder->arena, &folder->sources, options, node, &folder->problems);
}

static void without_settings_a_node_is_its_facts(void **state)
{
    Folder *folder = *state;
    NodeOptions options = { .etc = folder->path, .facts = facts(folder) };
    Node node;
    assert_true(load(folder, &options, &node));
    assert_str(node.name, "web01");
    assert_str(node.fqdn, "web01.example.com");
    assert_int_equal(node.labels->len, 0);
    assert_true(node.server.map->frozen); /* shared by all templates */
    assert_str(folder_json(folder, *value_get(node.server, STR("os"))), "\"debian\"");
    assert_str(folder_json(folder, *value_get(node.server, STR("Spec"))),
               "{\"FQDN\":\"web01.example.com\",\"fqdn\":\"web01.example.com\"}");
}

static void labels_are_read_from_the_file_and_the_command_line_wins(void **state)
{
    Folder *folder = *state;
    folder_put(folder, "node.yaml", "name: db7\nlabels: {role: db, rack: 7, master: , on: yes}\n");
    const char *const labels[] = { "role=web", "new=", "a=b=c" };
    NodeOptions options = {
        .etc = folder->path, .labels = labels, .label_count = 3, .facts = facts(folder)
    };
    Node node;
    assert_true(load(folder, &options, &node));
    assert_str(node.name, "db7");
    assert_str(node.fqdn, "db7");
    assert_str(folder_json(folder, value_map(node.labels)),
               "{\"role\":\"web\",\"rack\":\"7\",\"master\":\"\",\"on\":\"yes\",\"new\":\"\","
               "\"a\":\"b=c\"}");
    const Value *metadata = value_get(node.server, STR("ObjectMetadata"));
    assert_str(folder_json(folder, *value_get(*metadata, STR("Name"))), "\"db7\"");
    assert_non_null(value_get(*value_get(*metadata, STR("Labels")), STR("master")));
    options.name = "x";
    assert_true(load(folder, &options, &node));
    assert_str(node.name, "x");
}

static void the_file_can_be_wrapped(void **state)
{
    Folder *folder = *state;
    folder_put(folder, "node.yaml",
               "metadata: {apiVersion: v1alpha, kind: Node, name: db7, labels: {a: b}}\n"
               "spec: {labels: {c: d}}\n");
    NodeOptions options = { .etc = folder->path };
    Node node;
    assert_true(load(folder, &options, &node));
    assert_str(node.name, "db7");
    assert_str(folder_json(folder, value_map(node.labels)), "{\"a\":\"b\",\"c\":\"d\"}");
}

static void all_problems_are_reported(void **state)
{
    Folder *folder = *state;
    folder_put(folder, "node.yaml", "nam: db7\nlabels:\n  a: [1]\n  b: {}\n");
    const char *const labels[] = { "role", "=x" };
    NodeOptions options = { .etc = folder->path, .labels = labels, .label_count = 2 };
    Node node;
    assert_false(load(folder, &options, &node));
    assert_str(
        folder_problems(folder),
        "node.yaml:1:1 unknown key in node.yaml; it can have 'name' and 'labels' (did you mean "
        "'name'?)\n"
        "node.yaml:3:6 the value of a label must be a string\n"
        "node.yaml:4:6 the value of a label must be a string\n"
        "--label:1:1 a label must be NAME=VALUE\n"
        "--label:1:1 a label must be NAME=VALUE\n");
}

static void the_cluster_record_ranks_between_file_and_command_line(void **state)
{
    Folder *folder = *state;
    NodeRecord record = { .name = "node1",
                          .enrollment = "0123456789abcdef",
                          .address = "127.0.0.1" };
    Map *given = map_new(&folder->arena, 2);
    map_set_str(&folder->arena, given, STR("role"), value_string(STR("web")));
    map_set_str(&folder->arena, given, STR("zone"), value_string(STR("eu")));
    record.labels = value_map(given);
    Buf text = buf_make_in(&folder->arena, BUF_UNLIMITED);
    node_record_print(&record, &text);
    WatchedImage image;
    watched_image_init(&image);
    watched_image_add(&image, &(WatchedEntry){ .key = STR("k"), .value = buf_str(&text) });
    Buf file = buf_make_in(&folder->arena, BUF_UNLIMITED);
    watched_image_print(&image, &file);
    watched_image_clear(&image);
    folder_put(folder, "node.yaml", "name: db7\nlabels: {role: db, rack: 7}\n");
    folder_put(folder, "agent/" WATCHED_NODE_FILE, arena_copy_c(&folder->arena, buf_str(&file)));
    const char *const labels[] = { "zone=us" };
    NodeOptions options = { .etc = folder->path,
                            .state = folder->path,
                            .labels = labels,
                            .label_count = 1,
                            .facts = facts(folder) };
    Node node;
    assert_true(load(folder, &options, &node));
    assert_str(node.name, "db7"); /* without node.json there is no membership */
    folder_put(folder, "agent/node.json", "{}");
    assert_true(load(folder, &options, &node));
    assert_str(node.name, "node1");
    assert_str(node.fqdn, "web01.example.com");
    assert_str(folder_json(folder, value_map(node.labels)),
               "{\"role\":\"web\",\"rack\":\"7\",\"zone\":\"us\"}");
    options.name = "other";
    assert_true(load(folder, &options, &node));
    assert_str(folder_json(folder, value_map(node.labels)),
               "{\"role\":\"db\",\"rack\":\"7\",\"zone\":\"us\"}");
    folder_put(folder, "agent/" WATCHED_NODE_FILE, "{}");
    assert_false(load(folder, &options, &node));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FOLDER_TEST(without_settings_a_node_is_its_facts),
        FOLDER_TEST(labels_are_read_from_the_file_and_the_command_line_wins),
        FOLDER_TEST(the_file_can_be_wrapped),
        FOLDER_TEST(all_problems_are_reported),
        FOLDER_TEST(the_cluster_record_ranks_between_file_and_command_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
