#include "service/session_range.h"

#include "store/keys.h"
#include "unit.h"

static void check(Arena *arena, const char *name, const char *key, const char *end)
{
    SessionRange range;
    Error err;
    assert_true(session_range(arena, KEYS_PREFIX, STR("web1"), str_from_c(name), &range, &err));
    assert_str(range.key, key);
    assert_str(range.end, end);
}

static void test_ranges_a_node_can_read(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    check(&arena, "node", "/eden/nodes/web1", "");
    check(&arena, "orders", "/eden/orders/web1/", "/eden/orders/web10");
    check(&arena, "version", "/eden/current_version", "");
    check(&arena, "trust", "/eden/internal/pki/trust", "");
    check(&arena, "servers", "/eden/servers/", "/eden/servers0");
}

static void test_nothing_else(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    static const char *const names[] = { "",        "nodes",      "node/",     "Node",
                                         "node ",   "facts",      "/eden",     "orders/*",
                                         "objects", "nodes/web2", "trust/web1" };
    for (unsigned i = 0; i < COUNT_OF(names); i++) {
        SessionRange range;
        Error err;
        assert_false(
            session_range(&arena, KEYS_PREFIX, STR("web1"), str_from_c(names[i]), &range, &err));
        assert_int_equal(err.kind, ERROR_DENIED);
    }
    SessionRange range;
    Error err;
    assert_false(session_range(&arena, KEYS_PREFIX, STR("web1"), STR("node\0x"), &range, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranges_a_node_can_read),
        cmocka_unit_test(test_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
