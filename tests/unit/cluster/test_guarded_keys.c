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

static void guarded_keys_are_rejected(void **state)
{
    static const char *const guarded[] = {
        "/eden/audit/00000000000000000001",
        "/eden/audit/",
        "/eden/audit/x",
        "/eden/audit_head",
        "/eden/internal/access-token/aaaaaaaa",
        "/eden/internal/user-certificate/00",
        "/eden/objects/role/web-team",
        "/eden/internal/grants/access-token",
        "/eden/browser/00",
        "/eden/idempotency/00",
        "/eden/internal/pki/revocations",
        "/eden/internal/pki/rotation",
        "/eden/internal/pki/trust",
        "/eden/internal/token/aaaaaaaa",
        "/eden/internal/joining/db1",
        "/eden/internal/store/moved",
        "/eden/internal/anything",
        "/eden/leader/controllers",
        "/eden/locks/reboot",
        "/eden/runs/1",
        "/eden/runs/1/nodes/web1",
        "/eden/runs/1/barrier/b/web1",
        "/eden/current_version",
        "/eden/running_version/1/web1",
        "/eden/secrets/db/password",
        "/eden/secrets/x",
    };
    static const char *const others[] = {
        "/eden/nodes/web1",
        "/eden/objects/config/x",
        "/eden/auditor",
        "/other",
        "/eden",
        "/eden/leaders",
        "/eden/run",
        "/eden/running",
        "/eden/audit",
        "/eden/audit0",
        "/eden/secrets",
        "/eden/secret/x",
        "/eden/objects/roles/x",
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

static void ranges_that_overlap_them_are_rejected_too(void **state)
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
                                           "/eden/i",
                                           "/eden/s",
                                           "/eden/secrets/" };
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
    assert_true(may(STR("/eden/nodes/a"), STR("/eden/objects/role")));
    assert_false(may(STR("/eden/nodes/a"), STR("/eden/objects/s")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(guarded_keys_are_rejected),
        cmocka_unit_test(ranges_that_overlap_them_are_rejected_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
