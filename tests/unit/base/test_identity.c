#include "base/identity.h"

#include "unit.h"

#define LONGEST "a23456789012345678901234567890123456789012345678901234567890123"

static void names_have_one_plain_spelling(void **state)
{
    static const char *const good[] = { "a",     "0",    "web1", "web-1", "web-1.rack2.example",
                                        "a.b.c", "x--y", LONGEST };
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        Error err;
        assert_true(node_name_check(str_from_c(good[i]), &err));
        bool fits = strchr(good[i], '.') == NULL && strlen(good[i]) <= CLUSTER_NAME_MAX;
        assert_int_equal(cluster_name_check(str_from_c(good[i]), &err), fits);
    }
}

/* CLUSTER H 2 and 4: effects of a name in a path, a key or an argument. */
static void deceptive_names_are_rejected(void **state)
{
    static const struct {
        Str name;
        const char *why;
    } bad[] = {
        { { "", 0 }, "invalid node name: it is empty" },
        { { LONGEST "4", 64 }, "64 bytes is too long (limit: 63)" },
        { { "web1\0", 5 }, "invalid node name: character 5 is U+0000; use a-z, 0-9, '-' and '.'" },
        { { "web1\0.evil", 10 },
          "invalid node name: character 5 is U+0000; use a-z, 0-9, '-' and '.'" },
        { { "Web1", 4 }, "invalid node name: character 1 is 'W'; use a-z, 0-9, '-' and '.'" },
        { { "web1.", 5 }, "invalid node name: character 5 is '.', which must be between" },
        { { ".web1", 5 }, "invalid node name: character 1 is '.', which must be between" },
        { { "..", 2 }, "invalid node name: character 1 is '.', which must be between" },
        { { ".", 1 }, "invalid node name: character 1 is '.', which must be between" },
        { { "a..b", 4 }, "invalid node name: character 2 is '.', which must be between" },
        { { "../../etc/shadow", 16 },
          "invalid node name: character 1 is '.', which must be between" },
        { { "a/b", 3 }, "invalid node name: character 2 is '/'; use a-z, 0-9, '-' and '.'" },
        { { "/etc", 4 }, "invalid node name: character 1 is '/'; use a-z, 0-9, '-' and '.'" },
        { { "a%2fb", 5 }, "invalid node name: character 2 is '%'; use a-z, 0-9, '-' and '.'" },
        { { "-oProxyCommand=x", 16 },
          "invalid node name: character 1 is '-', which must be between" },
        { { "web-", 4 }, "invalid node name: character 4 is '-', which must be between" },
        { { "a.-b", 4 }, "invalid node name: character 3 is '-', which must be between" },
        { { "a-.b", 4 }, "invalid node name: character 2 is '-', which must be between" },
        { { "a_b", 3 }, "invalid node name: character 2 is '_'; use a-z, 0-9, '-' and '.'" },
        { { "a b", 3 }, "invalid node name: character 2 is a space; use a-z, 0-9, '-' and '.'" },
        { { "a\nb", 3 }, "invalid node name: character 2 is U+000A; use a-z, 0-9, '-' and '.'" },
        { { "*", 1 }, "invalid node name: character 1 is '*'; use a-z, 0-9, '-' and '.'" },
        { { "w\xc4\x99"
            "b",
            4 },
          "invalid node name: character 2 is U+0119" },
        { { "\xd0\xb0"
            "b",
            3 },
          "invalid node name: character 1 is U+0430" }, /* Cyrillic a */
        { { "w\xff", 2 }, "invalid node name: character 2 is byte 0xFF" },
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        Error err = { 0 };
        assert_false(node_name_check(bad[i].name, &err));
        assert_int_equal(err.kind, ERROR_INVALID);
        if (strstr(err.text, bad[i].why) == NULL) {
            fail_msg("row %zu says: %s", i, err.text);
        }
        assert_false(cluster_name_check(bad[i].name, &err));
    }
}

static void identities_survive_a_round_trip(void **state)
{
    Identity made, read;
    Error err;
    char uri[IDENTITY_URI_MAX + 1];
    assert_true(identity_make(STR("home"), STR("web1.rack2"), &made, &err));
    identity_uri(&made, uri);
    assert_string_equal(uri, "eden://home/node/web1.rack2");
    assert_true(identity_parse(str_from_c(uri), &read, &err));
    assert_true(identity_equal(&made, &read));
    assert_true(
        identity_make(str_slice(STR(LONGEST), 0, CLUSTER_NAME_MAX), STR(LONGEST), &made, &err));
    identity_uri(&made, uri);
    assert_int_equal(strlen(uri), IDENTITY_URI_MAX);
    assert_true(identity_parse(str_from_c(uri), &read, &err));
    assert_true(identity_equal(&made, &read));
    assert_true(identity_make(STR("home"), STR("web2"), &read, &err));
    assert_false(identity_equal(&made, &read));
}

static void other_spellings_are_rejected(void **state)
{
    static const Str bad[] = {
        { "", 0 },
        { "eden://", 7 },
        { "eden://home", 11 },
        { "eden://home/node/", 17 },
        { "eden:///node/web1", 17 },
        { "eden://home/node/web1/", 22 },
        { "eden://home//node/web1", 22 },
        { "eden://home/Node/web1", 21 },
        { "EDEN://home/node/web1", 21 },
        { "eden://Home/node/web1", 21 },
        { "eden://home/node/WEB1", 21 },
        { "eden://home/node/web1.", 22 },
        { "eden://home/node/web1\0", 22 },
        { "eden://home/node/web1\0.evil", 27 },
        { "eden://home/node/web1 ", 22 },
        { " eden://home/node/web1", 22 },
        { "eden://home/node/web1\n", 22 },
        { "eden://home/node/../web1", 24 },
        { "eden://home/node/web1?x", 23 },
        { "eden://home/node/web1#x", 23 },
        { "eden://home/node/%77eb1", 23 },
        { "eden://home:1337/node/web1", 26 },
        { "eden://me@home/node/web1", 24 },
        { "eden://ho.me/node/web1", 22 },
        { "eden://home/server/web1", 23 },
        { "https://home/node/web1", 22 },
        { "spiffe://home/node/web1", 23 },
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        Error err = { 0 };
        Identity identity = { .node = "untouched" };
        if (identity_parse(bad[i], &identity, &err)) {
            fail_msg("row %zu is taken", i);
        }
        assert_int_equal(err.kind, ERROR_INVALID);
        assert_string_equal(identity.node, "untouched");
    }
}

/* A user is never a node, and a node never a user, whatever their names. */
static void users_have_separate_identities(void **state)
{
    UserIdentity made, user;
    Identity node;
    Error err;
    char uri[IDENTITY_URI_MAX + 1];
    assert_true(user_identity_make(STR("home"), STR("ann.lee"), &made, &err));
    user_identity_uri(&made, uri);
    assert_string_equal(uri, "eden://home/user/ann.lee");
    assert_true(user_identity_parse(str_from_c(uri), &user, &err));
    assert_string_equal(user.cluster, "home");
    assert_string_equal(user.user, "ann.lee");
    assert_false(identity_parse(str_from_c(uri), &node, &err));
    assert_non_null(strstr(err.text, "/node/"));
    assert_false(user_identity_parse(STR("eden://home/node/ann.lee"), &user, &err));
    assert_non_null(strstr(err.text, "/user/"));
    static const char *const bad[] = {
        "",
        "eden://home/user/",
        "eden://home/user/Ann",
        "eden://home/user/ann/",
        "eden://home/user/node/ann",
        "eden://home/node/user/ann",
        "eden://home//user/ann",
        "eden:///user/ann",
        "eden://home/users/ann",
        "EDEN://home/user/ann",
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_false(user_identity_parse(str_from_c(bad[i]), &user, &err));
        assert_false(identity_parse(str_from_c(bad[i]), &node, &err));
    }
    assert_true(user_identity_make(str_slice(STR(LONGEST), 0, CLUSTER_NAME_MAX), STR(LONGEST),
                                   &made, &err));
    user_identity_uri(&made, uri);
    assert_int_equal(strlen(uri), IDENTITY_URI_MAX);
    assert_true(user_identity_parse(str_from_c(uri), &user, &err));
    assert_false(user_name_check(STR("ann lee"), &err));
    assert_non_null(strstr(err.text, "invalid user name"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_have_one_plain_spelling),
        cmocka_unit_test(deceptive_names_are_rejected),
        cmocka_unit_test(identities_survive_a_round_trip),
        cmocka_unit_test(other_spellings_are_rejected),
        cmocka_unit_test(users_have_separate_identities),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
