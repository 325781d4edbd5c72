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

static void what_is_printed_is_read(void **state)
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
                                .node_life_ms = 12000,
                                .serving_life_ms = 90000 },
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
    assert_int_equal(read.node_life_ms, 12000);
    assert_int_equal(read.serving_life_ms, 90000);
}

static void what_makes_no_sense_is_refused(void **state)
{
    static const struct {
        const char *text, *piece; /* NULL: it is taken */
    } cases[] = {
        { START "}", NULL },
        { START ",\"node_life_s\":10}", NULL },
        { START ",\"node_life_s\":9}", "'node_life_s' is 10 to" },
        { START ",\"node_life_s\":-1}", "'node_life_s'" },
        { START ",\"serving_life_s\":9999999999}", "'serving_life_s'" },
        { START ",\"serving_life_s\":\"1d\"}", "serving_life_s" },
        { START ",\"connections_per_address\":0}", "connections_per_address" },
        { START ",\"more\":1}", "is not known" },
        { NAMED("[\"10.0.0.1\",\"::1\",\"s1.example.org\"]"), NULL },
        { NAMED("[\"s1\",\"no host\"]"), "'names': 'no host' is neither" },
        { NAMED("[\"\"]"), "'names'" },
        { NAMED("[]"), "'names' is empty" },
        { LISTENING("0.0.0.0"), NULL },
        { LISTENING("[::]:65535"), NULL },
        { LISTENING("0.0.0.0:1337x"), "server.json: line 2: 'rpc': '1337x' is no port" },
        { LISTENING("0.0.0.0:70000"), "line 2: 'rpc': '70000' is no port" },
        { LISTENING("0.0.0.0:-1"), "line 2: 'rpc'" },
        { LISTENING("0.0.0.0:"), "line 2: 'rpc': '' is no port" },
        { LISTENING("no host:1337"), "line 2: 'rpc'" },
        { "{}", "format" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_CLEAR(Arena) arena;
        arena_init(&arena, ARENA_UNLIMITED);
        ServerSettings settings;
        Error err = { 0 };
        bool ok = server_settings_read(&arena, str_from_c(cases[i].text), &settings, &err);
        if (ok != (cases[i].piece == NULL) || (!ok && strstr(err.text, cases[i].piece) == NULL)) {
            fail_msg("%s: %s", cases[i].text, err.text);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_printed_is_read),
        cmocka_unit_test(what_makes_no_sense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
