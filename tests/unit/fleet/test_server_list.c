/* The list of all nodes for templates: created on demand, with what every node may know. */
#include "fleet/server_list.h"

#include "lang/json.h"
#include "source/manifest.h"
#include "store_world.h"

typedef struct Fixture {
    StoreWorld world;
    ServerList *list;
    char manifest[BLOB_ID_TEXT + 1];
} Fixture;

static int set_up(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    world_open(&f->world);
    world_follow(&f->world);
    f->list = server_list_new(&f->world.cluster_store);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    server_list_free(f->list);
    world_close(&f->world);
    free(f);
    return 0;
}

static void put_node(Fixture *f, const char *name, const char *role)
{
    Buf text = buf_make_in(&f->world.arena, BUF_UNLIMITED);
    Map *labels = map_new(&f->world.arena, 1);
    NodeRecord record = { .labels = value_map(labels) };
    map_set_str(&f->world.arena, labels, STR("role"), value_string(str_from_c(role)));
    snprintf(record.name, sizeof record.name, "%s", name);
    snprintf(record.enrollment, sizeof record.enrollment, "%s", "0123456789abcdef");
    node_record_print(&record, &text);
    world_put(&f->world, cluster_key_node(&f->world.arena, PREFIX, str_from_c(name)),
              buf_str(&text));
}

static void put_facts(Fixture *f, const char *name, const char *facts)
{
    world_put(&f->world, cluster_key_facts(&f->world.arena, PREFIX, str_from_c(name)),
              str_from_c(facts));
}

static void make(Fixture *f)
{
    Error err;
    world_pass(&f->world);
    assert_true(server_list_make(f->list, f->manifest, &err));
}

/* The files of the list, and their combined contents. */
static Manifest read_list(Fixture *f, Map **out)
{
    Arena *arena = &f->world.arena;
    Manifest manifest;
    Error err;
    Str text;
    Str id = str_from_c(f->manifest);
    assert_true(server_list_has(f->list, id));
    assert_true(server_list_find(f->list, id, id, &text));
    char actual[BLOB_ID_TEXT + 1];
    blob_id_of(text, actual);
    assert_string_equal(actual, f->manifest);
    assert_true(manifest_read(arena, arena_copy(arena, text), &manifest, &err));
    *out = map_new(arena, 4);
    for (uint32_t i = 0; i < manifest.file_count; i++) {
        Buf whole = buf_make_in(arena, BUF_UNLIMITED);
        Value servers;
        for (uint32_t k = 0; k < manifest.files[i].blob_count; k++) {
            assert_true(server_list_find(f->list, id, manifest.files[i].blobs[k], &text));
            blob_id_of(text, actual);
            assert_str(manifest.files[i].blobs[k], actual);
            buf_put(&whole, text);
        }
        assert_int_equal(whole.len, manifest.files[i].size);
        if (!json_parse_text(arena, buf_str(&whole), NULL, &servers, &err)) {
            fail_msg("%s", err.text);
        }
        for (uint32_t k = 0; k < servers.map->len; k++) {
            map_set(arena, *out, servers.map->entries[k].key, servers.map->entries[k].value);
        }
    }
    return manifest;
}

static Str json_of(Fixture *f, const Map *all, const char *name)
{
    Buf text = buf_make_in(&f->world.arena, BUF_UNLIMITED);
    Error err;
    const MapEntry *entry = map_find_str(all, str_from_c(name));
    assert_non_null(entry);
    assert_true(json_print(&text, entry->value, NULL, &err));
    return buf_str(&text);
}

static void it_has_labels_and_few_facts(void **state)
{
    Fixture *f = *state;
    Map *all;
    assert_false(server_list_has(f->list, STR_EMPTY));
    put_node(f, "web1", "web");
    put_node(f, "db1", "db");
    put_facts(f, "web1",
              "{\"os\":\"debian\",\"ipv4\":\"10.0.0.5\",\"machine_id\":\"secret\","
              "\"users\":{\"root\":{\"uid\":0}},\"disks\":{}}");
    make(f);
    read_list(f, &all);
    assert_int_equal(all->len, 2);
    assert_str(
        json_of(f, all, "web1"),
        "{\"labels\":{\"role\":\"web\"},\"facts\":{\"os\":\"debian\",\"ipv4\":\"10.0.0.5\"}}");
    assert_str(json_of(f, all, "db1"), "{\"labels\":{\"role\":\"db\"},\"facts\":{}}");
}

static void what_one_node_reports_cannot_change_what_others_say(void **state)
{
    static const char *const hostile[] = {
        "{\"os\":\"x\"}},\"web1\":{\"labels\":{\"role\":\"root\"}",
        "{\"os\":\"x",
        "[1]",
        "",
        "{\"os\":\"a\\\",\"arch\":\"b\"}",
        "{\"os\":\"\xff\"}",
        "{\"os\":\"a\",\"os\":\"b\"}",
    };
    Fixture *f = *state;
    put_node(f, "web1", "web");
    put_node(f, "bad", "bad");
    for (size_t i = 0; i < COUNT_OF(hostile); i++) {
        Map *all;
        put_facts(f, "bad", hostile[i]);
        make(f);
        read_list(f, &all);
        assert_int_equal(all->len, 2);
        assert_str(json_of(f, all, "web1"), "{\"labels\":{\"role\":\"web\"},\"facts\":{}}");
    }
}

static void only_files_in_which_something_changed_are_other_ones(void **state)
{
    Fixture *f = *state;
    Map *all;
    char name[20];
    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof name, "node-%03d", i);
        put_node(f, name, "web");
    }
    make(f);
    Manifest before = read_list(f, &all);
    assert_int_equal(all->len, 200);
    char first[BLOB_ID_TEXT + 1];
    memcpy(first, f->manifest, sizeof first);
    make(f);
    assert_string_equal(f->manifest, first);
    put_facts(f, "node-007", "{\"users\":{}}"); /* nothing that is in the list */
    make(f);
    assert_string_equal(f->manifest, first);
    put_node(f, "node-007", "db");
    make(f);
    assert_string_not_equal(f->manifest, first);
    Manifest after = read_list(f, &all);
    ManifestChange *changes;
    assert_int_equal(manifest_compare(&f->world.arena, &before, &after, &changes), 1);
    assert_true(server_list_has(f->list, str_from_c(first)));
}

static void removed_and_unreadable_nodes_are_not_listed(void **state)
{
    Fixture *f = *state;
    Map *all;
    Error err;
    Str key = cluster_key_node(&f->world.arena, PREFIX, STR("old1"));
    put_node(f, "web1", "web");
    put_node(f, "old1", "web");
    world_put(&f->world, cluster_key_node(&f->world.arena, PREFIX, STR("bad1")), STR("nonsense"));
    make(f);
    read_list(f, &all);
    assert_int_equal(all->len, 2);
    assert_true(store_delete(f->world.cluster_store.store, key, world_stored, &f->world, &err));
    world_expect(&f->world, ERROR_NONE, NULL);
    make(f);
    read_list(f, &all);
    assert_int_equal(all->len, 1);
    assert_non_null(map_find_str(all, STR("web1")));
}

static void lists_are_kept_for_a_while(void **state)
{
    Fixture *f = *state;
    char first[BLOB_ID_TEXT + 1], role[20];
    put_node(f, "web1", "web");
    make(f);
    memcpy(first, f->manifest, sizeof first);
    for (int i = 0; i < SERVER_LISTS_RETAINED; i++) {
        assert_true(server_list_has(f->list, str_from_c(first)));
        snprintf(role, sizeof role, "r%d", i);
        put_node(f, "web1", role);
        make(f);
    }
    assert_true(server_list_has(f->list, str_from_c(first)));
    put_node(f, "web1", "last");
    make(f);
    assert_false(server_list_has(f->list, str_from_c(first)));
    Str ignored;
    assert_false(server_list_find(f->list, str_from_c(first), str_from_c(first), &ignored));
    assert_false(server_list_has(f->list, STR_EMPTY));
}

static void a_large_list_is_made_less_often(void **state)
{
    Fixture *f = *state;
    char name[20];
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "node-%04d", i);
        put_node(f, name, "web");
    }
    assert_int_equal(server_list_delay_ms(f->list), 0);
    make(f);
    assert_int_equal(server_list_delay_ms(f->list), 0); /* nothing has changed */
    put_node(f, "node-0007", "db");                     /* takes 10 ms here */
    int64_t delay_ms = server_list_delay_ms(f->list);
    assert_true(delay_ms > 50 && delay_ms <= 100);
    loop_run_virtual_until(f->world.cluster_store.loop,
                           loop_now_ms(f->world.cluster_store.loop) + delay_ms);
    assert_int_equal(server_list_delay_ms(f->list), 0);
}

static void the_largest_list_is_made_once_a_second(void **state)
{
    Fixture *f = *state;
    char name[20];
    for (int i = 0; i < 10200; i++) {
        snprintf(name, sizeof name, "node-%05d", i);
        put_node(f, name, "web");
    }
    make(f);
    put_node(f, "node-00007", "db");
    assert_in_range(server_list_delay_ms(f->list), SERVER_LIST_MS - 20, SERVER_LIST_MS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(it_has_labels_and_few_facts),
        TEST(what_one_node_reports_cannot_change_what_others_say),
        TEST(only_files_in_which_something_changed_are_other_ones),
        TEST(removed_and_unreadable_nodes_are_not_listed),
        TEST(lists_are_kept_for_a_while),
        TEST(a_large_list_is_made_less_often),
        TEST(the_largest_list_is_made_once_a_second),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
