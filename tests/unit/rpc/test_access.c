/* Every method of methods.def with every kind of caller. */
#include "unit.h"

#include "rpc/access.h"

typedef struct Case {
    const char *who;
    Caller caller;
    unsigned may; /* call methods for these */
    const char *reason;
} Case;

#define NODE_OF(cluster_name) .has_identity = true, .identity = { cluster_name, "web1" }

static const Case cases[] = {
    { "nobody", { 0 }, 0, "only nodes with a certificate may call" },
    { "local stranger", { .is_local = true }, 0, "only root and members of the group" },
    { "local stranger who says to be a server",
      { .is_local = true,
        NODE_OF("home"),
        .is_member = true,
        .is_approved = true,
        .is_server = true },
      0,
      "only root and members of the group" },
    { "operator", { .is_local = true, .is_operator = true }, CALLER_LOCAL, "only nodes may call" },
    { "operator elsewhere", { .is_operator = true }, 0, "only nodes with a certificate may call" },
    { "server of another cluster",
      { NODE_OF("other"), .is_approved = true, .is_server = true },
      0,
      "belongs to cluster 'other'" },
    { "pending node", { NODE_OF("home"), .is_member = true }, 0, "is not approved" },
    { "pending server",
      { NODE_OF("home"), .is_member = true, .is_server = true },
      0,
      "is not approved" },
    { "revoked server",
      { NODE_OF("home"), .is_member = true, .is_approved = true, .is_revoked = true,
        .is_server = true },
      0,
      "is revoked" },
    { "node",
      { NODE_OF("home"), .is_member = true, .is_approved = true },
      CALLER_NODE | CALLER_SELF,
      "not node 'web1'" },
    { "server",
      { NODE_OF("home"), .is_member = true, .is_approved = true, .is_server = true },
      CALLER_NODE | CALLER_SELF | CALLER_SERVER,
      "only operators may call" },
};

static void check_one(const MethodRow *row, const Case *one)
{
    Error err = { 0 };
    bool only_self;
    bool expected = (row->callers & one->may) != 0;
    if (access_check(row, &one->caller, &only_self, &err) != expected) {
        fail_msg("%s: %s should be %s", row->path, one->who, expected ? "allowed" : "refused");
    }
    if (!expected) {
        assert_int_equal(err.kind, ERROR_DENIED);
        assert_non_null(strstr(err.text, one->reason));
    }
}

static void test_every_method_with_every_caller(void **state)
{
    for (unsigned method = 0; method < METHOD_COUNT; method++) {
        const MethodRow *row = &method_rows[method];
        assert_true(str_starts(str_from_c(row->path), STR("/eden.v1.")));
        assert_true(row->callers != 0 && row->request_max > 0 && strlen(row->help) > 10);
        for (size_t i = 0; i < COUNT_OF(cases); i++) {
            check_one(row, &cases[i]);
        }
    }
    for (unsigned callers = 1; callers < 16; callers++) {
        MethodRow row = { .path = "/made.up/Method", .callers = callers };
        for (size_t i = 0; i < COUNT_OF(cases); i++) {
            check_one(&row, &cases[i]);
        }
    }
}

/* Permissions that must not change by accident. */
static void test_the_store_is_limited_to_operators_and_servers(void **state)
{
    for (unsigned method = METHOD_STORE_TXN; method <= METHOD_STORE_STATUS; method++) {
        assert_int_equal(method_rows[method].callers, CALLER_LOCAL | CALLER_SERVER);
    }
    assert_int_equal(method_rows[METHOD_SESSION].callers, CALLER_NODE);
}

static void test_unknown_methods_are_reported_to_authorized_callers(void **state)
{
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Error err;
        bool only_self;
        assert_int_equal(access_check(NULL, &cases[i].caller, &only_self, &err), cases[i].may != 0);
    }
}

static void test_only_self(void **state)
{
    MethodRow row = { .callers = CALLER_LOCAL | CALLER_SELF | CALLER_SERVER };
    Caller node = { NODE_OF("home"), .is_member = true, .is_approved = true };
    Error err;
    bool only_self;
    assert_true(access_check(&row, &node, &only_self, &err) && only_self);
    node.is_server = true;
    assert_true(access_check(&row, &node, &only_self, &err) && !only_self);
    Caller root = { .is_local = true, .is_operator = true };
    assert_true(access_check(&row, &root, &only_self, &err) && !only_self);
}

static void test_messages_about_oneself(void **state)
{
    Error err;
    assert_true(access_check_self(STR(""), "web1", &err));
    assert_true(access_check_self(STR("\x0a\x04web1"), "web1", &err));
    assert_true(access_check_self(STR("\x0a\x00\x12\x01x"), "web1", &err));
    assert_true(access_check_self(STR("\x10\x05\x19"
                                      "12345678\x25"
                                      "1234"),
                                  "web1", &err));
    const Str others[] = {
        STR("\x0a\x04web2"),
        STR("\x0a\x05web1x"),
        STR("\x0a\x04web1\x0a\x04web2"),
        STR("\x0a\x04web2\x0a\x04web1"),
        STR("\x08\x01"),
        STR("\x8a\x00\x04web2"), /* the same field, encoded in more bytes */
    };
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        assert_false(access_check_self(others[i], "web1", &err));
        assert_int_equal(err.kind, ERROR_DENIED);
    }
    const Str broken[] = { STR("\x0a"), STR("\x0a\x05web1"), STR("\x0b"), STR("\xff\xff"),
                           STR("\x19"
                               "1234567") };
    for (size_t i = 0; i < COUNT_OF(broken); i++) {
        assert_false(access_check_self(broken[i], "web1", &err));
        assert_int_equal(err.kind, ERROR_INVALID);
    }
}

static void test_protocols(void **state)
{
    Error err;
    assert_true(access_check_protocol(STR("1"), &err));
    assert_false(access_check_protocol(STR("0"), &err));
    assert_string_equal(err.text, "the caller uses protocol 0, but this version supports 1");
    assert_false(access_check_protocol(STR("2"), &err));
    assert_false(access_check_protocol(STR(""), &err));
    assert_non_null(strstr(err.text, "this version supports protocol 1"));
    assert_false(access_check_protocol(STR("1 "), &err));
    assert_false(access_check_protocol(STR("4294967297"), &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_method_with_every_caller),
        cmocka_unit_test(test_the_store_is_limited_to_operators_and_servers),
        cmocka_unit_test(test_unknown_methods_are_reported_to_authorized_callers),
        cmocka_unit_test(test_only_self),
        cmocka_unit_test(test_messages_about_oneself),
        cmocka_unit_test(test_protocols),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
