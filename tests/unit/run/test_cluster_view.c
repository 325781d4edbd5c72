/* All nodes as the cluster lists them, and events, from files. */
#include "run/cluster_view.h"

#include "run/test_dir.h"

static Node own_node(TestDir *dir)
{
    Arena *arena = &dir->arena;
    Map *labels = map_new(arena, 1), *facts = map_new(arena, 1);
    map_set_str(arena, labels, STR("role"), value_string(STR("own")));
    map_set_str(arena, facts, STR("users"), value_int(3));
    Node own = { .name = STR("web1"), .fqdn = STR("web1.local"), .labels = labels };
    own.server = node_server(arena, &own, value_map(facts));
    return own;
}

static Str get(TestDir *dir, const Map *servers, const char *name, const char *field)
{
    const MapEntry *entry = map_find_str(servers, str_from_c(name));
    assert_non_null(entry);
    const Value *value = value_get(entry->value, str_from_c(field));
    return value == NULL ? STR("none") : test_dir_json(dir, *value);
}

static void without_a_cluster_a_node_sees_itself(void **state)
{
    TestDir *dir = *state;
    Node own = own_node(dir);
    Map *servers;
    Error err;
    assert_true(cluster_view_servers(&dir->arena, NULL, &own, &servers, &err));
    assert_int_equal(servers->len, 1);
    assert_str(get(dir, servers, "web1", "users"), "3");
}

static void all_nodes_are_sorted_and_the_own_one_knows_more(void **state)
{
    TestDir *dir = *state;
    Node own = own_node(dir);
    Map *servers;
    Error err;
    test_dir_put(dir, "list/servers/07.json",
                 "{\"web2\":{\"labels\":{\"role\":\"web\"},\"facts\":{\"os\":\"debian\","
                 "\"fqdn\":\"web2.example.com\",\"name\":\"other\"}},"
                 "\"web1\":{\"labels\":{\"role\":\"old\"},\"facts\":{}}}");
    test_dir_put(dir, "list/servers/61.json", "{\"db1\":{},\"odd\":1}");
    test_dir_put(dir, "list/else", "nonsense");
    assert_true(
        cluster_view_servers(&dir->arena, test_dir_path(dir, "list"), &own, &servers, &err));
    assert_int_equal(servers->len, 3);
    assert_true(servers->frozen);
    assert_str(value_str(servers->entries[0].key), "db1");
    assert_str(value_str(servers->entries[2].key), "web2");
    assert_str(get(dir, servers, "web1", "labels"), "{\"role\":\"own\"}");
    assert_str(get(dir, servers, "web1", "users"), "3");
    assert_str(get(dir, servers, "web2", "name"), "\"web2\"");
    assert_str(get(dir, servers, "web2", "os"), "\"debian\"");
    assert_str(get(dir, servers, "web2", "Spec"),
               "{\"FQDN\":\"web2.example.com\",\"fqdn\":\"web2.example.com\"}");
    assert_str(get(dir, servers, "db1", "fqdn"), "\"db1\"");
    assert_str(get(dir, servers, "db1", "labels"), "{}");
}

static void a_damaged_list_is_an_error(void **state)
{
    TestDir *dir = *state;
    Node own = own_node(dir);
    Map *servers;
    Error err;
    assert_false(
        cluster_view_servers(&dir->arena, test_dir_path(dir, "missing"), &own, &servers, &err));
    test_dir_put(dir, "list/servers/07.json", "{\"web2\":");
    assert_false(
        cluster_view_servers(&dir->arena, test_dir_path(dir, "list"), &own, &servers, &err));
    assert_non_null(strstr(err.text, "07.json"));
    test_dir_put(dir, "list/servers/07.json", "[]");
    assert_false(
        cluster_view_servers(&dir->arena, test_dir_path(dir, "list"), &own, &servers, &err));
}

static void the_newest_event_is_the_last_one(void **state)
{
    TestDir *dir = *state;
    Value event, events;
    Error err;
    const char *path = test_dir_path(dir, "event.json");
    test_dir_put(dir, "event.json", "{\"name\":\"down\"}");
    assert_true(cluster_view_events(&dir->arena, path, &event, &events, &err));
    assert_str(test_dir_json(dir, event), "{\"name\":\"down\"}");
    assert_str(test_dir_json(dir, events), "[{\"name\":\"down\"}]");
    test_dir_put(dir, "event.json", "[{\"n\":1},{\"n\":2}]");
    assert_true(cluster_view_events(&dir->arena, path, &event, &events, &err));
    assert_str(test_dir_json(dir, event), "{\"n\":2}");
    assert_str(test_dir_json(dir, events), "[{\"n\":1},{\"n\":2}]");
    test_dir_put(dir, "event.json", "[]");
    assert_false(cluster_view_events(&dir->arena, path, &event, &events, &err));
    assert_false(cluster_view_events(&dir->arena, "/nonexistent", &event, &events, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_IN_DIR(without_a_cluster_a_node_sees_itself),
        TEST_IN_DIR(all_nodes_are_sorted_and_the_own_one_knows_more),
        TEST_IN_DIR(a_damaged_list_is_an_error),
        TEST_IN_DIR(the_newest_event_is_the_last_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
