#include "server/server_settings.h"

#include "unit.h"

#define START                                                                         \
    "{\"format\":\"eden.server/"                                                      \
    "1\",\"cluster\":\"blue\",\"node\":\"s1\",\"store\":\"x\",\"rpc\":\"0.0.0.0:1\"," \
    "\"api\":\"0.0.0.0:2\",\"names\":[\"s1\"]"
#define NAMED(names)                                                                  \
    "{\"format\":\"eden.server/"                                                      \
    "1\",\"cluster\":\"blue\",\"node\":\"s1\",\"store\":\"x\",\"rpc\":\"0.0.0.0:1\"," \
    "\"api\":\"0.0.0.0:2\",\"names\":" names "}"

#define LISTENING(rpc)                                                          \
    "{\"format\":\"eden.server/"                                                \
    "1\",\"cluster\":\"blue\",\"node\":\"s1\",\"store\":\"x\",\n\"rpc\":\"" rpc \
    "\",\"api\":\"0.0.0.0:2\",\"names\":[\"s1\"]}"

#define ETCD(endpoint)                                                                             \
    START ",\"etcd_endpoints\":[\"" endpoint "\"],\"etcd_ca\":\"/c\",\"etcd_certificate\":\"/d\"," \
          "\"etcd_key\":\"/k\"}"

static void settings_survive_a_round_trip(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    const Str names[] = { STR("s1"), STR("10.0.0.1") };
    ServerSettings settings = { .cluster = "blue",
                                .node = "s1",
                                .store_id = "id",
                                .rpc = STR("0.0.0.0:1337"),
                                .api = STR("[::]:1338"),
                                .names = names,
                                .name_count = 2,
                                .per_address_max = 7,
                                .node_lifetime_ms = 12000,
                                .serving_lifetime_ms = 90000 },
                   read;
    Buf text = buf_make_in(&arena, BUF_UNLIMITED);
    Error err;
    server_settings_print(&settings, &text);
    assert_true(server_settings_read(&arena, buf_str(&text), &read, &err));
    assert_string_equal(read.cluster, "blue");
    assert_string_equal(read.store_id, "id");
    assert_str(read.api, "[::]:1338");
    assert_str(read.names[1], "10.0.0.1");
    assert_int_equal(read.per_address_max, 7);
    assert_int_equal(read.node_lifetime_ms, 12000);
    assert_int_equal(read.serving_lifetime_ms, 90000);
}

static void endpoints_of_etcd_have_a_default_port(void **state)
{
    Address address;
    Error err;
    assert_true(etcd_endpoint_parse(STR("etcd1"), &address, &err));
    assert_string_equal(address.host, "etcd1");
    assert_int_equal(address.port, 2379);
    assert_true(etcd_endpoint_parse(STR("https://[::1]:4001"), &address, &err));
    assert_string_equal(address.host, "::1");
    assert_int_equal(address.port, 4001);
    assert_false(etcd_endpoint_parse(STR(""), &address, &err));
    assert_false(etcd_endpoint_parse(STR("https://"), &address, &err));
}

static void invalid_settings_are_rejected(void **state)
{
    static const struct {
        const char *text, *chunk; /* NULL: accepted */
    } cases[] = {
        { START "}", NULL },
        { START ",\"node_life_s\":10}", NULL },
        { START ",\"node_life_s\":9}", "'node_life_s': must be from 10 to" },
        { START ",\"node_life_s\":-1}", "'node_life_s'" },
        { START ",\"serving_life_s\":9999999999}", "'serving_life_s'" },
        { START ",\"serving_life_s\":\"1d\"}", "serving_life_s" },
        { START ",\"connections_per_address\":0}", "connections_per_address" },
        { START ",\"more\":1}", "'more': unknown field" },
        { NAMED("[\"10.0.0.1\",\"::1\",\"s1.example.org\"]"), NULL },
        { NAMED("[\"s1\",\"no host\"]"), "'names/1': 'no host' is neither" },
        { NAMED("[\"\"]"), "'names/0'" },
        { NAMED("[]"), "'names': must not be empty" },
        { LISTENING("0.0.0.0"), NULL },
        { LISTENING("[::]:65535"), NULL },
        { LISTENING("0.0.0.0:1337x"), "server.json: line 2: 'rpc': '1337x' is not a valid port" },
        { LISTENING("0.0.0.0:70000"), "line 2: 'rpc': '70000' is not a valid port" },
        { LISTENING("0.0.0.0:-1"), "line 2: 'rpc'" },
        { LISTENING("0.0.0.0:"), "line 2: 'rpc': '' is not a valid port" },
        { LISTENING("no host:1337"), "line 2: 'rpc'" },
        { ETCD("10.0.0.5:2379"), NULL },
        { ETCD("https://etcd1.example.org:2379/"), NULL },
        { ETCD("http://10.0.0.5:2379"),
          "'etcd_endpoints/0': 'http://10.0.0.5:2379': etcd is only" },
        { ETCD("/run/etcd.sock"), "'/run/etcd.sock' is not an endpoint" },
        { ETCD("10.0.0.5:0"), "'10.0.0.5:0' is not an endpoint" },
        { START ",\"etcd_endpoints\":[\"etcd1\"]}", "requires 'etcd_ca'" },
        { START ",\"etcd_address\":\"fd00::5\"}", NULL },
        { START ",\"etcd_address\":\"s1\"}", "'s1' is not an IP address" },
        { START ",\"etcd_address\":\"0.0.0.0\"}", "'0.0.0.0' is not an IP address" },
        { START ",\"etcd_address\":\"10.0.0.5:2379\"}", "is not an IP address" },
        { START ",\"etcd_address\":\"10.0.0.5\",\"etcd_endpoints\":[\"etcd1\"]}",
          "cannot be used together" },
        { "{}", "format" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_CLEAR(Arena) arena;
        arena_init(&arena, ARENA_UNLIMITED);
        ServerSettings settings;
        Error err = { 0 };
        bool ok = server_settings_read(&arena, str_from_c(cases[i].text), &settings, &err);
        if (ok != (cases[i].chunk == NULL) || (!ok && strstr(err.text, cases[i].chunk) == NULL)) {
            fail_msg("%s: %s", cases[i].text, err.text);
        }
    }
}

static void every_limit_of_nodes_can_be_set(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    ServerSettings settings;
    Error err;
    assert_true(server_settings_read(
        &arena,
        STR(START ",\"node_sessions_per_second\":1001,\"node_sessions_burst\":1002,"
                  "\"node_bytes_per_second\":1003,\"node_bytes_burst\":1004,"
                  "\"node_records_per_second\":1005,\"node_records_burst\":1006,"
                  "\"node_results_bytes\":1007}"),
        &settings, &err));
    assert_int_equal(settings.node_limits.sessions.per_second, 1001);
    assert_int_equal(settings.node_limits.records.burst, 1006);
    assert_int_equal(settings.node_limits.results_bytes, 1007);
    assert_true(
        server_settings_read(&arena, STR(START ",\"node_bytes_burst\":7}"), &settings, &err));
    assert_int_equal(settings.node_limits.bytes.burst, 7);
    NodeLimits usual = NODE_LIMITS_DEFAULT;
    assert_int_equal(settings.node_limits.results_bytes, usual.results_bytes);
    Buf text = buf_make_in(&arena, BUF_UNLIMITED);
    server_settings_print(&settings, &text);
    assert_true(str_find(buf_str(&text), STR("\"node_bytes_burst\": 7\n}"), 0) != STR_NOT_FOUND);
    assert_true(str_find(buf_str(&text), STR("node_results_bytes"), 0) == STR_NOT_FOUND);
}

static void endpoints_of_an_own_etcd_follow_from_its_address(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    ServerSettings settings;
    Error err;
    const Str text = STR(START ",\"etcd_address\":\"fd00::5\"}");
    assert_true(server_settings_read(&arena, text, &settings, &err));
    assert_true(server_settings_own_etcd(&settings) && server_settings_use_etcd(&settings));
    assert_int_equal(settings.etcd_count, 1);
    assert_str(settings.etcd[0], "[fd00::5]:2379");
    Buf printed = buf_make_in(&arena, BUF_UNLIMITED);
    server_settings_print(&settings, &printed);
    assert_true(str_find(buf_str(&printed), STR("etcd_endpoints"), 0) == STR_NOT_FOUND);
    assert_true(server_settings_read(&arena, buf_str(&printed), &settings, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_survive_a_round_trip),
        cmocka_unit_test(endpoints_of_etcd_have_a_default_port),
        cmocka_unit_test(endpoints_of_an_own_etcd_follow_from_its_address),
        cmocka_unit_test(invalid_settings_are_rejected),
        cmocka_unit_test(every_limit_of_nodes_can_be_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
