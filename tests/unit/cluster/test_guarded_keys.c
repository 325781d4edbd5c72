#include "cluster/guarded_keys.h"

#include "store/store.h"
#include "unit.h"

#define PREFIX STR("/eden")

static bool may(Str key, Str end)
{
    Error err = { 0 };
    bool ok = guarded_keys_check(PREFIX, key, end, &err);
    assert_int_equal(err.kind, ok ? ERROR_NONE : ERROR_DENIED);
    return ok;
}

static void keys_of_their_own_ways_are_refused(void **state)
{
    static const char *const guarded[] = {
        "/eden/audit/00000000000000000001",
        "/eden/audit/",
        "/eden/audit/x",
        "/eden/audit_head",
        "/eden/objects/access-token/aaaaaaaa",
        "/eden/objects/user-certificate/00",
        "/eden/objects/role/web-team",
        "/eden/objects/grants/access-token",
        "/eden/browser/00",
        "/eden/idempotency/00",
        "/eden/objects/pki/revocations",
        "/eden/objects/pki/rotation",
        "/eden/objects/pki/trust",
        "/eden/objects/token/aaaaaaaa",
    };
    static const char *const others[] = {
        "/eden/nodes/web1", "/eden/objects/config/x", "/eden/auditor",         "/other", "/eden",
        "/eden/audit",      "/eden/audit0",           "/eden/objects/roles/x",
    };
    for (size_t i = 0; i < COUNT_OF(guarded); i++) {
        assert_false(may(str_from_c(guarded[i]), STR_EMPTY));
    }
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        if (!may(str_from_c(others[i]), STR_EMPTY)) {
            fail_msg("%s is refused", others[i]);
        }
    }
}

static void ranges_that_meet_them_are_refused_too(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    static const char *const refused[] = { "/",
                                           "/eden",
                                           "/eden/",
                                           "/eden/a",
                                           "/eden/audit/0",
                                           "/eden/objects/",
                                           "/eden/objects/role/web",
                                           "/eden/b",
                                           "/eden/i" };
    static const char *const fine[] = { "/eden/nodes/", "/eden/objects/config/", "/eden/events/",
                                        "/f", "/eden/objects/config/a" };
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        Str prefix = str_from_c(refused[i]);
        assert_false(may(prefix, store_prefix_end(&arena, prefix)));
        assert_false(may(prefix, STORE_ALL));
    }
    for (size_t i = 0; i < COUNT_OF(fine); i++) {
        Str prefix = str_from_c(fine[i]);
        assert_true(may(prefix, store_prefix_end(&arena, prefix)));
    }
    assert_false(may(STR("\0"), STORE_ALL));
    assert_true(may(STR("/f"), STORE_ALL));
    assert_true(may(STR("/eden/nodes/a"), STR("/eden/objects/access")));
    assert_false(may(STR("/eden/nodes/a"), STR("/eden/objects/b")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_of_their_own_ways_are_refused),
        cmocka_unit_test(ranges_that_meet_them_are_refused_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
