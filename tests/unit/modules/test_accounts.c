#include "modules/accounts.h"

#include "module_fixture.h"

static void put(Fixture *fixture, const char *path, const char *text)
{
    FileWrite write = {
        .content = str_from_c(text), .mode = 0644, .uid = HOST_KEEP_ID, .gid = HOST_KEEP_ID
    };
    assert_true(host_make_directory(fixture->host, STR("/etc"), 0755, true, &fixture->err));
    assert_true(host_write(fixture->host, str_from_c(path), &write, &fixture->err));
}

static void rows_are_found_by_a_field(void **state)
{
    Fixture *fixture = *state;
    AccountRow row;
    put(fixture, "/etc/passwd", "root:x:0:0:root:/root:/bin/sh\nweb\n+::::::\nweb2:x:5\n");
    assert_true(accounts_find(&fixture->call, STR("/etc/passwd"), ACCOUNT_NAME, STR("root"), &row,
                              &fixture->err));
    assert_true(row.found);
    assert_str(row.fields[5], "/root");
    assert_str(row.fields[8], "");
    assert_true(accounts_find(&fixture->call, STR("/etc/passwd"), ACCOUNT_NAME, STR("web2"), &row,
                              &fixture->err));
    assert_true(row.found);
    assert_str(row.fields[2], "5");
    assert_true(accounts_find(&fixture->call, STR("/etc/passwd"), ACCOUNT_NAME, STR("we"), &row,
                              &fixture->err));
    assert_false(row.found);
    assert_true(accounts_find(&fixture->call, STR("/etc/passwd"), ACCOUNT_ID, STR("5"), &row,
                              &fixture->err));
    assert_str(row.fields[ACCOUNT_NAME], "web2");
    assert_true(accounts_find(&fixture->call, STR("/etc/nowhere"), ACCOUNT_NAME, STR("web"), &row,
                              &fixture->err));
    assert_false(row.found);
}

static void groups_of_a_user_are_sorted(void **state)
{
    Fixture *fixture = *state;
    List *groups;
    put(fixture, "/etc/group", "sudo:x:27:db,web\nadm:x:4:web\nweb:x:99:\nwebs:x:98:webs,,web2\n");
    assert_true(accounts_groups_of(&fixture->call, STR("web"), &groups, &fixture->err));
    assert_str(accounts_join_names(&fixture->arena, groups), "adm,sudo");
    assert_true(accounts_groups_of(&fixture->call, STR("web2"), &groups, &fixture->err));
    assert_str(accounts_join_names(&fixture->arena, groups), "webs");
}

static void names_are_compared_as_sets(void **state)
{
    Fixture *fixture = *state;
    Arena *arena = &fixture->arena;
    List *some = accounts_split_names(arena, STR("web,db,,web"));
    assert_str(accounts_join_names(arena, some), "db,web");
    assert_true(accounts_same_names(some, accounts_split_names(arena, STR("db,web"))));
    assert_false(accounts_same_names(some, accounts_split_names(arena, STR("db"))));
    assert_str(accounts_join_names(arena, accounts_split_names(arena, STR(""))), "");
}

static void ambiguous_names_are_rejected(void **state)
{
    Fixture *fixture = *state;
    static const char *const good[] = { "web", "_apt", "systemd-network", "host$", "a.b", "A9" };
    static const char *const bad[] = { "",
                                       "-r",
                                       "9lives",
                                       "a b",
                                       "a:b",
                                       "a,b",
                                       "a\nb",
                                       "a$b",
                                       "..x/",
                                       "\xc3\xa4",
                                       "abcdefghijklmnopqrstuvwxyzabcdefg" };
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        assert_true(account_check_name(str_from_c(good[i]), "a user", &fixture->err));
    }
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_false(account_check_name(str_from_c(bad[i]), "a user", &fixture->err));
    }
    assert_false(account_check_id(-1, &fixture->err));
    assert_false(account_check_id(UINT32_MAX, &fixture->err));
    assert_true(account_check_id(0, &fixture->err));
}

static void a_user_in_the_desired_state_is_unchanged(void **state)
{
    Fixture *fixture = *state;
    put(fixture, "/etc/passwd", "web:x:99:99:The Web:/srv/web:/bin/sh\n");
    put(fixture, "/etc/group", "web:x:99:\nadm:x:4:web\n");
    put(fixture, "/etc/shadow", "web:$6$a$b:1:::::\n");
    use_action(fixture, "user.present");
    set_text(fixture, "name", "web");
    set_text(fixture, "group", "web");
    set_text(fixture, "home", "/srv/web");
    set_text(fixture, "password", "$6$a$b");
    assert_true(check(fixture));
    assert_false(fixture->outcome.changed);
    set_text(fixture, "shell", "/etc/bash");
    assert_false(check(fixture));
    assert_string_equal(fixture->err.text, "shell '/etc/bash' not found");
    put(fixture, "/etc/bash", "");
    assert_false(check(fixture));
    assert_string_equal(fixture->err.text, "shell '/etc/bash' is not a program");
    assert_true(host_set_mode(fixture->host, STR("/etc/bash"), 0755, &fixture->err));
    assert_true(check(fixture));
    assert_true(fixture->outcome.changed);
    assert_int_equal(fixture->outcome.changes->len, 1);
}

static void a_password_is_a_hash(void **state)
{
    Fixture *fixture = *state;
    use_action(fixture, "user.present");
    set_text(fixture, "name", "web");
    static const char *const bad[] = { "hunter2", "$6$a:b", "$6$a b" };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        set_text(fixture, "password", bad[i]);
        assert_false(check(fixture));
        assert_null(strstr(fixture->err.text, bad[i]));
    }
    set_text(fixture, "password", "");
    assert_false(check(fixture));
    assert_non_null(strstr(fixture->err.text, "would allow logins without a password"));
    static const char *const good[] = { "$6$a$b", "!", "!$6$a$b", "*" };
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        set_text(fixture, "password", good[i]);
        assert_true(check(fixture));
        assert_true(fixture->outcome.changed);
    }
}

static void a_missing_group_is_an_error_outside_of_plans(void **state)
{
    Fixture *fixture = *state;
    use_action(fixture, "user.present");
    set_text(fixture, "name", "web");
    set_text(fixture, "group", "nobodys");
    assert_false(check(fixture));
    assert_true(plan(fixture));
}

static void no_home_is_created_below_a_directory_of_another_user(void **state)
{
    Fixture *fixture = *state;
    Error *err = &fixture->err;
    if (geteuid() != 0) {
        fail_msg("this test gives a directory to another user, which takes root privileges");
    }
    put(fixture, "/etc/passwd", "bob:x:1234:1234::/home/bob:/bin/sh\nweb:x:77:77::/srv:/bin/sh\n");
    assert_true(host_make_directory(fixture->host, STR("/home/bob/deep"), 0755, true, err));
    assert_true(host_set_owner(fixture->host, STR("/home/bob"), 1234, 1234, err));
    use_action(fixture, "user.present");
    set_text(fixture, "name", "carl");
    set_text(fixture, "home", "/home/bob/deep/carl/");
    set_param(fixture, "create_home", value_bool(true));
    assert_false(check(fixture));
    assert_int_equal(err->kind, ERROR_DENIED);
    assert_non_null(strstr(err->text, "the directory '/home/bob' is owned by user"));
    set_param(fixture, "create_home", value_bool(false));
    assert_true(check(fixture));
    set_param(fixture, "create_home", value_bool(true));
    set_text(fixture, "home", "/home/carl");
    assert_true(check(fixture));
    set_text(fixture, "home", "/home/bob"); /* the home directory itself may exist already */
    assert_true(check(fixture));
    set_text(fixture, "name", "web");
    set_text(fixture, "home", "/home/bob/web");
    assert_true(check(fixture));
    set_param(fixture, "move_home", value_bool(true));
    assert_false(check(fixture));
}

static void root_cannot_be_removed(void **state)
{
    Fixture *fixture = *state;
    put(fixture, "/etc/passwd", "toor:x:0:0::/:/bin/sh\n");
    use_action(fixture, "user.absent");
    set_text(fixture, "name", "toor");
    assert_false(check(fixture));
    assert_int_equal(fixture->err.kind, ERROR_DENIED);
}

/* The parameter that is wrong; NULL: none. */
static const char *wrong(Fixture *fixture)
{
    const Action *action = fixture->call.action;
    const char *at = NULL;
    ActionVerify verify = action->verify_all != NULL ? action->verify_all : action->verify;
    bool ok = verify(&fixture->arena, action, fixture->params, &at, &fixture->err);
    assert_int_equal(ok, at == NULL);
    return at;
}

/* Programs would take them for options, or for several columns of a file. */
static void invalid_groups_are_rejected(void **state)
{
    static const char *const actions[] = { "group.present", "group.absent" };
    static const char *const invalid[] = { "", "-x", "a b", "a:b", "a,b", "a\nb" };
    Fixture *fixture = *state;
    for (size_t i = 0; i < COUNT_OF(actions); i++) {
        use_action(fixture, actions[i]);
        set_text(fixture, "name", "web-1");
        assert_null(wrong(fixture));
        for (size_t k = 0; k < COUNT_OF(invalid); k++) {
            set_text(fixture, "name", invalid[k]);
            const char *at = wrong(fixture);
            if (at == NULL || strcmp(at, "name") != 0) {
                fail_msg("%s of '%s'", actions[i], invalid[k]);
            }
        }
    }
    use_action(fixture, "group.present");
    set_text(fixture, "name", "web");
    set_param(fixture, "gid", value_int(1000));
    assert_null(wrong(fixture));
    set_param(fixture, "gid", value_int(-1));
    assert_string_equal(wrong(fixture), "gid");
    set_param(fixture, "gid", value_missing());
    List *members = list_new(&fixture->arena, 1);
    list_push(&fixture->arena, members, value_string(STR("ann,bob")));
    set_param(fixture, "members", value_list(members));
    assert_string_equal(wrong(fixture), "members");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_ROOT(rows_are_found_by_a_field),
        IN_ROOT(groups_of_a_user_are_sorted),
        IN_ROOT(names_are_compared_as_sets),
        IN_ROOT(ambiguous_names_are_rejected),
        IN_ROOT(a_user_in_the_desired_state_is_unchanged),
        IN_ROOT(a_password_is_a_hash),
        IN_ROOT(a_missing_group_is_an_error_outside_of_plans),
        IN_ROOT(no_home_is_created_below_a_directory_of_another_user),
        IN_ROOT(root_cannot_be_removed),
        IN_ROOT(invalid_groups_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
