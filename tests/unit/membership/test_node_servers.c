#include "membership/node_servers.h"

#include "unit.h"

static const Str rpc1[] = { { "10.0.0.1:1337", 13 }, { "eden1:1337", 10 } };
static const Str api1[] = { { "10.0.0.1:1338", 13 }, { "eden1:1338", 10 } };
static const Str rpc2[] = { { "10.0.0.2:1337", 13 } };
static const Str api2[] = { { "10.0.0.2:1338", 13 } };

static const ServerRecord s1 = {
    .name = "s1", .rpc = rpc1, .rpc_count = 2, .api = api1, .api_count = 2
};
static const ServerRecord s2 = {
    .name = "s2", .rpc = rpc2, .rpc_count = 1, .api = api2, .api_count = 1
};
static const ServerRecord never_started = { .name = "s3" };

/* Prints "name=rpc" of each server; "same" if nothing changes. */
static const char *merge(Arena *arena, const char *rpc, const char *api,
                         const ServerRecord *records, uint32_t count)
{
    NodeServer known = { .node = "s1", .rpc = str_from_c(rpc), .api = str_from_c(api) };
    NodeState state = { .servers = &known, .server_count = 1 }, out;
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    if (!node_servers_merge(arena, &state, records, count, &out)) {
        return "same";
    }
    for (uint32_t i = 0; i < out.server_count; i++) {
        buf_put_format(&text, "%s%s=%" STR_FMT, i > 0 ? " " : "", out.servers[i].node,
                       STR_ARG(out.servers[i].rpc));
    }
    return buf_c(&text);
}

static void servers_are_added_changed_and_dropped(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    const ServerRecord both[] = { s1, s2 }, other[] = { s2 }, first[] = { s1, never_started };
    /* a known address is kept, whichever of them it is */
    assert_string_equal(merge(&arena, "eden1:1337", "eden1:1338", both, 2),
                        "s1=eden1:1337 s2=10.0.0.2:1337");
    assert_string_equal(merge(&arena, "EDEN1:1337", "eden1:1338", first, 2), "same");
    /* also one of this machine */
    assert_string_equal(merge(&arena, "127.0.0.1:1337", "127.0.0.1:1338", first, 2), "same");
    /* the server has moved */
    assert_string_equal(merge(&arena, "10.0.0.9:1337", "10.0.0.9:1338", first, 2),
                        "s1=10.0.0.1:1337");
    assert_string_equal(merge(&arena, "127.0.0.1:9", "127.0.0.1:1338", first, 2),
                        "s1=10.0.0.1:1337");
    /* the server was removed */
    assert_string_equal(merge(&arena, "10.0.0.1:1337", "10.0.0.1:1338", other, 1),
                        "s2=10.0.0.2:1337");
}

static void a_node_never_loses_all_servers(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    const ServerRecord added = { .name = "s1" };
    assert_string_equal(merge(&arena, "eden1:1337", "eden1:1338", NULL, 0), "same");
    assert_string_equal(merge(&arena, "eden1:1337", "eden1:1338", &never_started, 1), "same");
    /* it is known, but its record says nothing yet */
    assert_string_equal(merge(&arena, "eden1:1337", "eden1:1338", &added, 1), "same");
}

static void the_number_of_servers_is_limited(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    ServerRecord records[NODE_SERVERS_MAX + 5];
    NodeServer known = { .node = "s1", .rpc = rpc1[0], .api = api1[0] };
    NodeState before = { .servers = &known, .server_count = 1 }, out;
    for (uint32_t i = 0; i < COUNT_OF(records); i++) {
        records[i] = s2;
        snprintf(records[i].name, sizeof records[i].name, "t%u", i);
    }
    assert_true(node_servers_merge(&arena, &before, records, COUNT_OF(records), &out));
    assert_int_equal(out.server_count, NODE_SERVERS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(servers_are_added_changed_and_dropped),
        cmocka_unit_test(a_node_never_loses_all_servers),
        cmocka_unit_test(the_number_of_servers_is_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
