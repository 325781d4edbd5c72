#include "membership/node_state.h"

#include "membership/watched_image.h"
#include "scratch.h"

static const NodeServer servers[] = {
    { .node = "s1", .rpc = { "10.0.0.1:1337", 13 }, .api = { "10.0.0.1:1338", 13 } },
    { .node = "s2.blue", .rpc = { "[::1]:1337", 10 }, .api = { "s2.blue:1338", 12 } },
};

static const NodeState known = {
    .cluster = "blue", .node = "web1", .servers = servers, .server_count = 2
};

static void it_survives_a_round_trip(void **state)
{
    Scratch *scratch = *state;
    AUTO_CLEAR(Directory) agent = { .descriptor = -1 };
    NodeState read;
    Error err;
    assert_true(directory_make(scratch_place(scratch, "agent"), &agent, &err));
    assert_false(node_state_load(&agent, &scratch->arena, &read, &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    assert_true(node_state_save(&agent, &known, &err));
    assert_true(node_state_load(&agent, &scratch->arena, &read, &err));
    assert_string_equal(read.cluster, "blue");
    assert_string_equal(read.node, "web1");
    assert_int_equal(read.server_count, 2);
    assert_string_equal(read.servers[1].node, "s2.blue");
    assert_true(str_eq(read.servers[1].rpc, STR("[::1]:1337")));
    assert_true(str_eq(read.servers[0].api, STR("10.0.0.1:1338")));
}

static void invalid_states_are_rejected(void **state)
{
    Scratch *scratch = *state;
#define HEAD "{\"format\":\"eden.agent/1\",\"cluster\":\"blue\",\"node\":\"web1\",\"servers\":"
    static const struct {
        const char *text, *sent;
    } rows[] = {
        { "", "node.json" },
        { "{\"format\":\"eden.agent/2\"}", "eden.agent/1" },
        { HEAD "[]}", "servers" },
        { HEAD "[1]}", "'servers/0': must be an object" },
        { HEAD "[{\"node\":\"S1\",\"rpc\":\"a:1\",\"api\":\"a:2\"}]}", "'servers/0/node'" },
        { HEAD "[{\"node\":\"s1\",\"rpc\":\"a:b\",\"api\":\"a:2\"}]}", "'servers/0/rpc'" },
        { HEAD "[{\"node\":\"s1\",\"rpc\":\"a:1\"}]}", "api" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        NodeState read;
        Error err = { 0 };
        assert_false(node_state_read(&scratch->arena, str_from_c(rows[i].text), &read, &err));
        assert_int_equal(err.kind, ERROR_INVALID);
        if (strstr(err.text, rows[i].sent) == NULL) {
            fail_msg("row %zu: %s", i, err.text);
        }
    }
}

static void fields_of_a_newer_eden_are_preserved(void **state)
{
    Scratch *scratch = *state;
    NodeState read;
    Error err;
    Str text = STR(HEAD "[{\"node\":\"s1\",\"rpc\":\"a:1\",\"api\":\"a:2\",\"zone\":7}],"
                        "\"later\":{\"deep\":[1]}}");
    Buf file = buf_make_in(&scratch->arena, BUF_UNLIMITED);
    assert_true(node_state_read(&scratch->arena, text, &read, &err));
    node_state_print(&read, &file);
    assert_true(node_state_read(&scratch->arena, buf_str(&file), &read, &err));
    const Value *zone = value_get(read.servers[0].unknown, STR("zone"));
    const Value *later = value_get(read.unknown, STR("later"));
    assert_non_null(zone);
    assert_int_equal(zone->integer, 7);
    assert_non_null(later);
    assert_int_equal(value_get_list(*later, "deep")->len, 1);
}

static void put_watched(Scratch *scratch, Str record)
{
    WatchedImage image;
    Buf file = buf_make_in(&scratch->arena, BUF_UNLIMITED);
    watched_image_init(&image);
    if (record.len > 0) {
        watched_image_add(&image, &(WatchedEntry){ .key = STR("k"), .value = record });
    }
    watched_image_print(&image, &file);
    watched_image_clear(&image);
    scratch_put(scratch, "agent/" WATCHED_NODE_FILE, arena_copy_c(&scratch->arena, buf_str(&file)));
}

static void check_record(Scratch *scratch, ErrorKind kind, const char *why)
{
    NodeRecord record;
    Error err = { 0 };
    const char *path = scratch_place(scratch, "");
    assert_false(node_state_load_record(path, &scratch->arena, &record, &err));
    assert_int_equal(err.kind, kind);
    if (strstr(err.text, why) == NULL) {
        fail_msg("%s", err.text);
    }
}

/* A run must not use labels that it could not read. */
static void without_a_readable_record_there_are_no_labels(void **state)
{
    Scratch *scratch = *state;
    NodeRecord record = { .name = "web1", .labels = value_missing() }, read;
    Buf text = buf_make_in(&scratch->arena, BUF_UNLIMITED);
    Error err;
    node_record_print(&record, &text);
    check_record(scratch, ERROR_NOT_FOUND, "");
    scratch_put(scratch, "agent/" AGENT_STATE, "{}");
    check_record(scratch, ERROR_NOT_FOUND, WATCHED_NODE_FILE);
    scratch_put(scratch, "agent/" WATCHED_NODE_FILE, "{");
    check_record(scratch, ERROR_INVALID, WATCHED_NODE_FILE);
    put_watched(scratch, STR_EMPTY);
    check_record(scratch, ERROR_NOT_FOUND, "no record of this node");
    put_watched(scratch, STR("{}"));
    check_record(scratch, ERROR_INVALID, WATCHED_NODE_FILE);
    put_watched(scratch, buf_str(&text));
    assert_true(node_state_load_record(scratch_place(scratch, ""), &scratch->arena, &read, &err));
    assert_string_equal(read.name, "web1");
    assert_int_equal(remove(scratch_place(scratch, "agent/" AGENT_STATE)), 0);
    check_record(scratch, ERROR_NOT_FOUND, "not a node");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_survives_a_round_trip, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(fields_of_a_newer_eden_are_preserved, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(invalid_states_are_rejected, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(without_a_readable_record_there_are_no_labels,
                                        scratch_set_up, scratch_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
