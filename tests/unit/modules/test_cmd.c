#include "module_fixture.h"

/* Commands run on this machine, in a directory of the test. */
static int set_up_live(void **state)
{
    if (set_up(state) != 0) {
        return -1;
    }
    Fixture *fixture = *state;
    host_close(fixture->host);
    fixture->host = NULL;
    if (!host_open("/", &fixture->host, &fixture->err)) {
        return -1;
    }
    fixture->call.host = fixture->host;
    return 0;
}

static void use_run(Fixture *fixture, const char *text)
{
    use_action(fixture, "cmd.run");
    set_text(fixture, "cmd", text);
    set_text(fixture, "cwd", fixture->root);
}

static Value texts(Fixture *fixture, const char *first, const char *second)
{
    List *list = list_new(&fixture->arena, 2);
    list_push(&fixture->arena, list, value_string(str_from_c(first)));
    if (second != NULL) {
        list_push(&fixture->arena, list, value_string(str_from_c(second)));
    }
    return value_list(list);
}

static const char *path_in_root(Fixture *fixture, const char *name)
{
    return arena_copy_c(&fixture->arena,
                        arena_format(&fixture->arena, "%s/%s", fixture->root, name));
}

static void a_command_that_ran_has_changed(void **state)
{
    Fixture *fixture = *state;
    use_run(fixture, "echo hello; echo there >&2");
    assert_true(run(fixture));
    assert_true(fixture->outcome.changed);
    assert_str(fixture->outcome.out, "hello\n");
    assert_str(fixture->outcome.error_out, "there\n");
    assert_int_equal(fixture->outcome.exit_code, 0);
    assert_true(fixture->outcome.has_exit_code);
}

static void a_plan_runs_nothing(void **state)
{
    Fixture *fixture = *state;
    use_run(fixture, "touch made");
    assert_true(plan(fixture));
    assert_true(fixture->outcome.changed);
    assert_int_equal(access(path_in_root(fixture, "made"), F_OK), -1);
}

static void a_failed_command_shows_the_end_of_its_output(void **state)
{
    Fixture *fixture = *state;
    use_run(fixture, "echo one >&2; echo 'no such table' >&2; exit 3");
    assert_false(run(fixture));
    assert_string_equal(fixture->err.text, "exited with 3: no such table");
    assert_int_equal(fixture->outcome.exit_code, 3);
    assert_true(fixture->outcome.changed);
    set_param(fixture, "success_codes", texts(fixture, "0", "3"));
    assert_true(run(fixture));
    use_run(fixture, "kill -TERM $$");
    assert_false(run(fixture));
    assert_string_equal(fixture->err.text, "was killed by SIGTERM");
    use_run(fixture, "sleep 1000");
    set_param(fixture, "timeout", value_int(20));
    assert_false(run(fixture));
    assert_int_equal(fixture->err.kind, ERROR_TIMEOUT);
    assert_string_equal(fixture->err.text, "timed out after 0.02 s and was killed");
}

static void guards_prevent_it_from_running(void **state)
{
    Fixture *fixture = *state;
    use_run(fixture, "touch made");
    set_param(fixture, "creates", texts(fixture, path_in_root(fixture, "made"), NULL));
    assert_true(run(fixture));
    assert_true(fixture->outcome.changed);
    assert_true(run(fixture));
    assert_false(fixture->outcome.changed);
    assert_str(fixture->outcome.comment, "not run because of 'creates'");
    /* All of them must exist. */
    set_param(fixture, "creates",
              texts(fixture, path_in_root(fixture, "made"), path_in_root(fixture, "other")));
    assert_true(run(fixture));
    assert_true(fixture->outcome.changed);
    use_run(fixture, "echo ran");
    set_text(fixture, "unless", "test -e made");
    assert_true(plan(fixture));
    assert_false(fixture->outcome.changed);
    set_text(fixture, "unless", "test -e other");
    assert_true(run(fixture));
    assert_true(fixture->outcome.changed);
    set_text(fixture, "onlyif", "test -e other");
    assert_true(run(fixture));
    assert_false(fixture->outcome.changed);
}

static void a_guard_that_cannot_be_evaluated_is_unknown_in_a_plan(void **state)
{
    Fixture *fixture = *state;
    use_run(fixture, "true");
    set_text(fixture, "unless", "true");
    set_text(fixture, "user", "no-such-user-here");
    assert_true(plan(fixture));
    assert_true(fixture->outcome.unknown);
    assert_false(run(fixture));
    assert_string_equal(fixture->err.text, "unless: user 'no-such-user-here' not found");
}

static void a_reaction_ignores_guards(void **state)
{
    Fixture *fixture = *state;
    use_run(fixture, "echo reacted");
    set_text(fixture, "onlyif", "false");
    assert_true(react(fixture));
    assert_str(fixture->outcome.out, "reacted\n");
}

static void a_list_needs_no_shell(void **state)
{
    Fixture *fixture = *state;
    use_action(fixture, "cmd.run");
    set_param(fixture, "cmd", texts(fixture, "echo", "$HOME; *"));
    assert_true(run(fixture));
    assert_str(fixture->outcome.out, "$HOME; *\n");
    set_param(fixture, "cmd", texts(fixture, "no-such-program", NULL));
    fixture->services.may_be_provided = nothing_comes;
    assert_false(plan(fixture));
    assert_string_equal(fixture->err.text, "program 'no-such-program' not found in PATH");
    assert_false(run(fixture));
    assert_false(fixture->outcome.changed);
    assert_int_equal(fixture->err.kind, ERROR_NOT_FOUND);
}

/* But only with shells whose syntax is known. */
static void a_missing_program_is_found_in_the_text_of_a_command(void **state)
{
    static const char *const shells[] = { NULL, "/bin/sh", "/usr/bin/bash" };
    Fixture *fixture = *state;
    fixture->services.may_be_provided = nothing_comes;
    for (size_t i = 0; i < COUNT_OF(shells); i++) {
        use_run(fixture, "no-such-program --help");
        if (shells[i] != NULL) {
            set_text(fixture, "shell", shells[i]);
        }
        assert_false(plan(fixture));
        assert_string_equal(fixture->err.text, "program 'no-such-program' not found in PATH");
    }
    use_run(fixture, "no-such-program --help");
    set_text(fixture, "shell", "/usr/bin/env");
    assert_true(plan(fixture));
}

static void gets_environment_input_umask_and_shell(void **state)
{
    Fixture *fixture = *state;
    use_run(fixture, "echo $A $B $C; cat; umask");
    Map *env = map_new(&fixture->arena, 3);
    map_set_str(&fixture->arena, env, STR("A"), value_string(STR("text")));
    map_set_str(&fixture->arena, env, STR("B"), value_int(42));
    map_set_str(&fixture->arena, env, STR("C"), value_bool(true));
    set_param(fixture, "env", value_map(env));
    set_text(fixture, "stdin", "typed\n");
    set_param(fixture, "umask", value_int(077));
    assert_true(run(fixture));
    assert_str(fixture->outcome.out, "text 42 true\ntyped\n0077\n");
    use_run(fixture, "-e");
    set_text(fixture, "shell", "/bin/echo");
    assert_true(run(fixture));
    assert_str(fixture->outcome.out, "-c -e\n");
}

static void an_environment_variable_is_one_string(void **state)
{
    Fixture *fixture = *state;
    const Value several[] = { texts(fixture, "a", "b"), value_map(map_new(&fixture->arena, 1)) };
    for (size_t i = 0; i < COUNT_OF(several); i++) {
        Map *env = map_new(&fixture->arena, 1);
        map_set_str(&fixture->arena, env, STR("A"), several[i]);
        use_run(fixture, "echo $A");
        set_param(fixture, "env", value_map(env));
        assert_false(run(fixture));
        assert_non_null(strstr(fixture->err.text, "must be a string, not a "));
    }
}

static void a_macro_returns_the_output(void **state)
{
    Fixture *fixture = *state;
    use_run(fixture, "printf 'two\\nlines\\n'");
    assert_true(fixture->call.action->query(&fixture->call, &fixture->outcome, &fixture->err));
    assert_str(value_str(fixture->outcome.value), "two\nlines");
}

static void a_script_runs_and_is_removed(void **state)
{
    Fixture *fixture = *state;
    use_action(fixture, "cmd.script");
    assert_false(check(fixture));
    set_text(fixture, "content", "echo $0 $1\n");
    set_param(fixture, "args", texts(fixture, "first", NULL));
    assert_true(run(fixture));
    Str out = fixture->outcome.out;
    assert_true(str_starts(out, STR("/tmp/.eden-call-")));
    assert_true(str_ends(out, STR(" first\n")));
    const char *path = arena_copy_c(&fixture->arena, str_slice(out, 0, str_find(out, STR(" "), 0)));
    assert_int_equal(access(path, F_OK), -1);
    set_text(fixture, "content", "#!/usr/bin/env cat\nmyself\n");
    assert_false(run(fixture)); /* there is no file "first" */
    assert_str(fixture->outcome.out, "#!/usr/bin/env cat\nmyself\n");
    set_text(fixture, "user", "no-such-user");
    assert_false(run(fixture));
    assert_true(str_starts(str_from_c(fixture->err.text), STR("cannot write the script: ")));
    set_text(fixture, "source", "other.sh");
    assert_false(check(fixture));
    assert_string_equal(fixture->err.text, "'content' and 'source' are mutually exclusive");
}

static void claims_list_what_it_manages_and_needs(void **state)
{
    Fixture *fixture = *state;
    List *claims = list_new(&fixture->arena, 4);
    use_run(fixture, "./set-up");
    set_param(fixture, "creates", texts(fixture, "/a", "/b"));
    set_text(fixture, "user", "web");
    set_text(fixture, "cwd", "/srv");
    fixture->call.action->claims(&fixture->arena, fixture->params, claims);
    static const char *const expected[] = {
        "path:/a",          "path:/b",           "needs:user:web",   "needs:path:/srv",
        "provides:path:/a", "provides:path:/a/", "provides:path:/b", "provides:path:/b/",
    };
    assert_int_equal(claims->len, COUNT_OF(expected));
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        assert_str(value_str(claims->items[i]), expected[i]);
    }
}

/* What root may not follow, another user may, but nobody can enter a symlink to itself. */
static void a_directory_that_cannot_be_entered_is_reported_for_any_user(void **state)
{
    Fixture *fixture = *state;
    FileWrite users = { .content = STR("web:x:1234:1234::/:/bin/sh\n"),
                        .mode = 0644,
                        .uid = HOST_KEEP_ID,
                        .gid = HOST_KEEP_ID };
    assert_true(host_make_directory(fixture->host, STR("/etc"), 0755, true, &fixture->err));
    assert_true(host_write(fixture->host, STR("/etc/passwd"), &users, &fixture->err));
    assert_int_equal(symlink("loop", path_in_root(fixture, "loop")), 0);
    use_action(fixture, "cmd.run");
    set_text(fixture, "cmd", "true");
    set_text(fixture, "cwd", "/loop");
    set_text(fixture, "user", "web");
    assert_false(plan(fixture));
    assert_non_null(strstr(fixture->err.text, "/loop"));
    assert_non_null(fixture->call.blamed);
    assert_string_equal(fixture->call.blamed, "cwd");
}

static void another_root_is_used_as_root(void **state)
{
    Fixture *fixture = *state;
    use_action(fixture, "cmd.run");
    set_text(fixture, "cmd", "echo outside > /tmp/never-there");
    assert_false(run(fixture));
    assert_non_null(strstr(fixture->err.text, "in '/tmp/test_module."));
}

#define LIVE(test) cmocka_unit_test_setup_teardown(test, set_up_live, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LIVE(a_command_that_ran_has_changed),
        LIVE(a_plan_runs_nothing),
        LIVE(a_failed_command_shows_the_end_of_its_output),
        LIVE(guards_prevent_it_from_running),
        LIVE(a_guard_that_cannot_be_evaluated_is_unknown_in_a_plan),
        LIVE(a_reaction_ignores_guards),
        LIVE(a_list_needs_no_shell),
        LIVE(a_missing_program_is_found_in_the_text_of_a_command),
        LIVE(gets_environment_input_umask_and_shell),
        LIVE(an_environment_variable_is_one_string),
        LIVE(a_macro_returns_the_output),
        LIVE(a_script_runs_and_is_removed),
        LIVE(claims_list_what_it_manages_and_needs),
        IN_ROOT(a_directory_that_cannot_be_entered_is_reported_for_any_user),
        IN_ROOT(another_root_is_used_as_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
