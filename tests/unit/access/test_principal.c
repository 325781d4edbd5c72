#include "access/principal.h"

#include "unit.h"

static void role_names_are_joined(void **state)
{
    RoleNames names;
    Error err;
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    assert_true(role_names_make((Str[]){ STR("viewer"), STR("web-team") }, 2, &names, &err));
    assert_string_equal(names.text, "viewer web-team");
    role_names_print(names.text, &out);
    assert_str(buf_str(&out), "[\"viewer\",\"web-team\"]");
    Str rest = str_from_c(names.text), one;
    assert_true(role_names_next(&rest, &one));
    assert_str(one, "viewer");
    assert_true(role_names_next(&rest, &one));
    assert_str(one, "web-team");
    assert_false(role_names_next(&rest, &one));
}

static void the_longest_role_names_fit(void **state)
{
    char long_names[ROLES_MAX + 1][ROLE_NAME_MAX + 1];
    Str all[ROLES_MAX + 1];
    RoleNames names;
    Error err;
    for (size_t i = 0; i <= ROLES_MAX; i++) {
        memset(long_names[i], 'a' + (int)i, ROLE_NAME_MAX);
        all[i] = str_from(long_names[i], ROLE_NAME_MAX);
    }
    assert_true(role_names_make(all, ROLES_MAX, &names, &err));
    assert_int_equal(strlen(names.text), ROLE_NAMES_TEXT);
    assert_false(role_names_make(all, ROLES_MAX + 1, &names, &err));
}

static void invalid_principals_are_rejected(void **state)
{
    RoleNames names;
    Error err;
    assert_false(role_names_make(NULL, 0, &names, &err));
    assert_false(role_names_make((Str[]){ STR("a b") }, 1, &names, &err));
    assert_false(role_names_make((Str[]){ STR("a"), STR("a") }, 2, &names, &err));
    assert_non_null(strstr(err.text, "twice"));
    assert_false(role_names_read(value_int(7), &names, &err));
}

static void local_callers_are_named_for_the_audit(void **state)
{
    Principal principal;
    principal_local(STR("root"), 0, &principal);
    assert_string_equal(principal.who, "user:root (uid 0)");
    assert_string_equal(principal.credential, "local:0");
    assert_string_equal(principal.roles, "admin");
    principal_local(STR_EMPTY, 1000, &principal);
    assert_string_equal(principal.who, "user:uid 1000");
    assert_string_equal(principal_kind_name(principal.kind), "local");
}

/* Whatever the name of a token, it is recognizable as one. */
static void names_cannot_be_forged(void **state)
{
    Principal principal = { 0 };
    principal_set_label("token", "4l2ygazs", "root (uid 0)", &principal);
    assert_string_equal(principal.who, "token:4l2ygazs \"root (uid 0)\"");
    principal_set_label("token", "4l2ygazs", "a\" user:root (uid 0)\n", &principal);
    assert_string_equal(principal.who, "token:4l2ygazs \"a\\\" user:root (uid 0)\\n\"");
    principal_set_label("token", "4l2ygazs", "", &principal);
    assert_string_equal(principal.who, "token:4l2ygazs");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(role_names_are_joined),
        cmocka_unit_test(the_longest_role_names_fit),
        cmocka_unit_test(invalid_principals_are_rejected),
        cmocka_unit_test(local_callers_are_named_for_the_audit),
        cmocka_unit_test(names_cannot_be_forged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
