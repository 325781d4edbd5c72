/* The pure functions of module service, and what works in a root. The rest is tested with
 * systemd itself, in tests/system. */
#include "modules/service/ensure.h"
#include "modules/service/journal.h"
#include "modules/service/unit_name.h"

#include "module_fixture.h"

/* --- Names ----------------------------------------------------------------------------------- */

static void names_are_completed(void **state)
{
    static const struct {
        const char *given, *name; /* NULL: none */
        bool template;
        const char *base, *of;
    } rows[] = {
        { "ssh", "ssh.service", false, "ssh", "" },
        { "ssh.service", "ssh.service", false, "ssh", "" },
        { "ssh.socket", "ssh.socket", false, "ssh", "" },
        { "my.app", "my.app.service", false, "my.app", "" },
        { "srv-data.mount", "srv-data.mount", false, "srv-data", "" },
        { "-.mount", "-.mount", false, "-", "" },
        { "getty@tty1", "getty@tty1.service", false, "getty", "getty@.service" },
        { "getty@tty1.service", "getty@tty1.service", false, "getty", "getty@.service" },
        { "getty@", "getty@.service", true, "getty", "" },
        { "a@b.timer", "a@b.timer", false, "a", "a@.timer" },
        { "a@b.c", "a@b.c.service", false, "a", "a@.service" },
        { "dev-sda\\x2d1.swap", "dev-sda\\x2d1.swap", false, "dev-sda\\x2d1", "" },
        { "", NULL },
        { ".service", NULL },
        { "@a", NULL },
        { "/srv/data", NULL },
        { "a b", NULL },
        { "a*", NULL },
        { "a\n", NULL },
        { "../a", NULL },
        { "\xc3\xa4", NULL },
    };
    Fixture *fixture = *state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        Str name = STR_EMPTY;
        bool ok =
            unit_name_complete(&fixture->arena, str_from_c(rows[i].given), &name, &fixture->err);
        assert_int_equal(ok, rows[i].name != NULL);
        if (ok) {
            assert_str(name, rows[i].name);
            assert_int_equal(unit_name_is_template(name), rows[i].template);
            assert_str(unit_name_base(name), rows[i].base);
            assert_str(unit_name_template(&fixture->arena, name), rows[i].of);
        } else {
            assert_int_equal(fixture->err.kind, ERROR_INVALID);
        }
    }
}

static void names_have_a_maximum_length(void **state)
{
    Fixture *fixture = *state;
    Str name;
    char text[300];
    memset(text, 'a', sizeof text);
    assert_true(unit_name_complete(&fixture->arena, str_from(text, 247), &name, &fixture->err));
    assert_int_equal(name.len, UNIT_NAME_MAX);
    assert_false(unit_name_complete(&fixture->arena, str_from(text, 248), &name, &fixture->err));
}

static void drop_ins_have_paths(void **state)
{
    Fixture *fixture = *state;
    Str path;
    Arena *arena = &fixture->arena;
    assert_true(unit_file_path(arena, STR("a.service"), STR_EMPTY, &path, &fixture->err));
    assert_str(path, "/etc/systemd/system/a.service");
    assert_true(unit_file_path(arena, STR("a.service"), STR("limits"), &path, &fixture->err));
    assert_str(path, "/etc/systemd/system/a.service.d/limits.conf");
    assert_true(unit_file_path(arena, STR("a.service"), STR("10.conf"), &path, &fixture->err));
    assert_str(path, "/etc/systemd/system/a.service.d/10.conf");
    assert_false(unit_file_path(arena, STR("a.service"), STR("../x"), &path, &fixture->err));
    assert_false(unit_file_path(arena, STR("a.service"), STR(".x"), &path, &fixture->err));
    assert_false(unit_file_path(arena, STR("a.service"), STR("a b"), &path, &fixture->err));
}

/* --- Deciding -------------------------------------------------------------------------------- */

#define ANY   -1
#define FAILS "!"

/* The actions to take, as letters: + enable, - disable, M mask, U unmask, r at run time, d reload;
 * s start, p stop, R restart, L reload. */
static const char *decide(const ServiceRequest *wanted, const ServiceState *found, bool planning,
                          Error *err)
{
    static char letters[16];
    static const char *const files[] = { "+", "-", "r-", "M", "U", "rU" };
    static const char jobs[] = "spRL";
    ServicePlan todo;
    letters[0] = '\0';
    if (!ensure_decide(wanted, found, planning, &todo, err)) {
        return FAILS;
    }
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        strcat(letters, todo.changes_file[i] ? files[i] : "");
    }
    strcat(letters, todo.reloads ? "d" : "");
    if (todo.has_job) {
        strncat(letters, &jobs[todo.job], 1);
    }
    assert_int_equal(service_plan_is_empty(&todo), letters[0] == '\0');
    return letters;
}

static void actions_follow_from_the_current_state(void **state)
{
    static const struct {
        DesiredState state;
        int enabled, masked;
        const char *load, *active, *sub, *file, *todo;
    } rows[] = {
        { DESIRED_STARTED, ANY, ANY, "loaded", "active", "running", "enabled", "" },
        { DESIRED_STARTED, ANY, ANY, "loaded", "reloading", "reload", "enabled", "" },
        { DESIRED_STARTED, ANY, ANY, "loaded", "inactive", "dead", "enabled", "s" },
        { DESIRED_STARTED, ANY, ANY, "loaded", "failed", "failed", "enabled", "s" },
        { DESIRED_STARTED, ANY, ANY, "loaded", "activating", "start-pre", "enabled", "s" },
        { DESIRED_STARTED, ANY, ANY, "loaded", "activating", "auto-restart", "enabled", "s" },
        { DESIRED_STARTED, ANY, ANY, "loaded", "deactivating", "stop", "enabled", "s" },
        { DESIRED_STARTED, ANY, ANY, "masked", "inactive", "dead", "masked", FAILS },
        { DESIRED_STARTED, ANY, 0, "masked", "inactive", "dead", "masked", "Us" },
        { DESIRED_STARTED, ANY, 0, "masked", "inactive", "dead", "masked-runtime", "rUs" },
        { DESIRED_STARTED, ANY, ANY, "bad-setting", "inactive", "dead", "disabled", FAILS },
        { DESIRED_STARTED, ANY, ANY, "not-found", "inactive", "dead", "", FAILS },
        { DESIRED_STOPPED, ANY, ANY, "loaded", "inactive", "dead", "", "" },
        { DESIRED_STOPPED, ANY, ANY, "loaded", "failed", "failed", "", "" },
        { DESIRED_STOPPED, ANY, ANY, "loaded", "active", "running", "", "p" },
        { DESIRED_STOPPED, ANY, ANY, "loaded", "activating", "auto-restart", "", "p" },
        { DESIRED_STOPPED, ANY, ANY, "loaded", "deactivating", "stop", "", "p" },
        { DESIRED_STOPPED, ANY, 1, "masked", "active", "running", "masked", "p" },
        { DESIRED_STOPPED, 0, ANY, "not-found", "inactive", "dead", "", "" },
        /* Its file is gone, but it runs. */
        { DESIRED_STOPPED, 0, ANY, "not-found", "active", "running", "", "p" },
        { DESIRED_STOPPED, ANY, 1, "not-found", "inactive", "dead", "", "M" },
        { DESIRED_RESTARTED, ANY, ANY, "loaded", "active", "running", "", "R" },
        { DESIRED_RELOADED, ANY, ANY, "loaded", "inactive", "dead", "", "L" },
        { DESIRED_ANY, 1, ANY, "loaded", "inactive", "dead", "enabled", "" },
        { DESIRED_ANY, 1, ANY, "loaded", "inactive", "dead", "alias", "" },
        { DESIRED_ANY, 1, ANY, "loaded", "inactive", "dead", "disabled", "+" },
        { DESIRED_ANY, 1, ANY, "loaded", "inactive", "dead", "enabled-runtime", "+" },
        { DESIRED_ANY, 1, ANY, "loaded", "inactive", "dead", "linked", "+" },
        { DESIRED_ANY, 1, ANY, "loaded", "inactive", "dead", "static", FAILS },
        { DESIRED_ANY, 1, ANY, "loaded", "inactive", "dead", "indirect", FAILS },
        { DESIRED_ANY, 1, ANY, "loaded", "inactive", "dead", "generated", FAILS },
        { DESIRED_ANY, 1, ANY, "masked", "inactive", "dead", "masked", FAILS },
        { DESIRED_ANY, 1, 0, "masked", "inactive", "dead", "masked", "+U" },
        { DESIRED_ANY, 1, ANY, "not-found", "inactive", "dead", "", FAILS },
        { DESIRED_ANY, 0, ANY, "loaded", "inactive", "dead", "enabled", "-" },
        { DESIRED_ANY, 0, ANY, "loaded", "inactive", "dead", "enabled-runtime", "r-" },
        { DESIRED_ANY, 0, ANY, "loaded", "inactive", "dead", "disabled", "" },
        { DESIRED_ANY, 0, ANY, "loaded", "inactive", "dead", "static", "" },
        { DESIRED_ANY, 0, ANY, "loaded", "inactive", "dead", "indirect", "" },
        { DESIRED_ANY, 0, ANY, "masked", "inactive", "dead", "masked", "" },
        { DESIRED_ANY, ANY, 1, "loaded", "inactive", "dead", "enabled", "M" },
        { DESIRED_ANY, ANY, 1, "loaded", "inactive", "dead", "masked-runtime", "M" },
        { DESIRED_ANY, ANY, 1, "masked", "inactive", "dead", "masked", "" },
        { DESIRED_ANY, ANY, 0, "loaded", "inactive", "dead", "disabled", "" },
        { DESIRED_ANY, ANY, 1, "loaded", "inactive", "dead", "masked", "d" },
        { DESIRED_STARTED, ANY, 0, "masked", "inactive", "dead", "disabled", "ds" },
        { DESIRED_ANY, ANY, ANY, "not-found", "inactive", "dead", "", "" },
        /* In another root, or for a template, there are only files. */
        { DESIRED_ANY, 1, ANY, "", "", "", "disabled", "+" },
        { DESIRED_ANY, 1, ANY, "", "", "", "", FAILS },
    };
    Fixture *fixture = *state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        ServiceRequest wanted = { .name = STR("a.service"),
                                  .state = rows[i].state,
                                  .has_enabled = rows[i].enabled != ANY,
                                  .enabled = rows[i].enabled == 1,
                                  .has_masked = rows[i].masked != ANY,
                                  .masked = rows[i].masked == 1 };
        ServiceState found = { .unit = { .name = wanted.name,
                                         .load = str_from_c(rows[i].load),
                                         .active = str_from_c(rows[i].active),
                                         .sub = str_from_c(rows[i].sub) },
                               .file_state = str_from_c(rows[i].file) };
        const char *todo = decide(&wanted, &found, false, &fixture->err);
        if (strcmp(todo, rows[i].todo) != 0) {
            fail_msg("row %zu: \"%s\", not \"%s\"", i, todo, rows[i].todo);
        }
    }
}

static void a_unit_can_be_missing_in_a_plan(void **state)
{
    Fixture *fixture = *state;
    ServiceRequest wanted = {
        .name = STR("a.service"), .state = DESIRED_STARTED, .has_enabled = true, .enabled = true
    };
    ServiceState found = { .unit = { .name = wanted.name,
                                     .load = STR("not-found"),
                                     .active = STR("inactive"),
                                     .sub = STR("dead") } };
    assert_string_equal(decide(&wanted, &found, true, &fixture->err), "+s");
    assert_string_equal(decide(&wanted, &found, false, &fixture->err), FAILS);
    assert_int_equal(fixture->err.kind, ERROR_NOT_FOUND);
}

static void contradicting_parameters_are_rejected(void **state)
{
    Fixture *fixture = *state;
    use_action(fixture, "service.ensure");
    set_text(fixture, "name", "a");
    set_param(fixture, "masked", value_bool(true));
    set_text(fixture, "state", "started");
    assert_false(check(fixture));
    assert_int_equal(fixture->err.kind, ERROR_INVALID);
    set_param(fixture, "state", value_missing());
    set_param(fixture, "enabled", value_bool(true));
    assert_false(check(fixture));
    assert_int_equal(fixture->err.kind, ERROR_INVALID);
    use_action(fixture, "service.ensure");
    set_text(fixture, "name", "a@");
    set_text(fixture, "state", "started");
    assert_false(check(fixture));
    assert_non_null(strstr(fixture->err.text, "template"));
}

/* --- In a root ---------------------------------------------------------------------------- */

static void running_state_is_not_available_below_a_root(void **state)
{
    Fixture *fixture = *state;
    use_action(fixture, "service.ensure");
    set_text(fixture, "name", "a");
    set_text(fixture, "state", "started");
    assert_false(check(fixture));
    assert_int_equal(fixture->err.kind, ERROR_UNAVAILABLE);
    assert_non_null(strstr(fixture->err.text, "--root"));
    use_action(fixture, "service.status");
    set_text(fixture, "name", "a");
    assert_false(check(fixture));
    assert_int_equal(fixture->err.kind, ERROR_UNAVAILABLE);
    assert_non_null(strstr(fixture->err.text, "--root"));
}

static void enabling_below_a_root_uses_its_systemctl(void **state)
{
    Fixture *fixture = *state;
    use_action(fixture, "service.ensure");
    set_text(fixture, "name", "a");
    set_param(fixture, "enabled", value_bool(true));
    assert_false(check(fixture));
    assert_int_equal(fixture->err.kind, ERROR_UNAVAILABLE);
    assert_non_null(strstr(fixture->err.text, "systemctl"));
    assert_true(plan(fixture)); /* a package may provide it */
    assert_true(fixture->outcome.changed);
}

static Str read_file(Fixture *fixture, const char *path)
{
    Str text;
    if (!host_read(fixture->host, &fixture->arena, str_from_c(path), 1000, &text, &fixture->err)) {
        return STR("(none)");
    }
    return text;
}

static void a_unit_is_written_and_removed(void **state)
{
    Fixture *fixture = *state;
    use_action(fixture, "service.unit");
    set_text(fixture, "name", "app");
    set_text(fixture, "content", "[Service]\nExecStart=/bin/true\n");
    assert_true(plan(fixture));
    assert_true(fixture->outcome.changed);
    assert_str(read_file(fixture, "/etc/systemd/system/app.service"), "(none)");
    assert_true(run(fixture));
    assert_true(fixture->outcome.changed);
    assert_str(read_file(fixture, "/etc/systemd/system/app.service"),
               "[Service]\nExecStart=/bin/true\n");
    assert_true(check(fixture));
    assert_false(fixture->outcome.changed);
    use_action(fixture, "service.unit");
    set_text(fixture, "name", "app");
    set_param(fixture, "absent", value_bool(true));
    fixture->kept = 0;
    assert_true(run(fixture));
    assert_true(fixture->outcome.changed);
    assert_int_equal(fixture->kept, 1);
    assert_str(read_file(fixture, "/etc/systemd/system/app.service"), "(none)");
    assert_true(check(fixture));
    assert_false(fixture->outcome.changed);
}

static void removing_the_last_drop_in_removes_its_directory(void **state)
{
    static const char *const names[] = { "one", "two" };
    Fixture *fixture = *state;
    FileInfo info;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        use_action(fixture, "service.unit");
        set_text(fixture, "name", "app");
        set_text(fixture, "dropin", names[i]);
        set_text(fixture, "content", "[Service]\nNice=5\n");
        assert_true(run(fixture));
    }
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        use_action(fixture, "service.unit");
        set_text(fixture, "name", "app");
        set_text(fixture, "dropin", names[i]);
        set_param(fixture, "absent", value_bool(true));
        assert_true(run(fixture));
        assert_true(host_stat(fixture->host, STR("/etc/systemd/system/app.service.d"), &info,
                              &fixture->err));
        assert_int_equal(info.kind, i == 0 ? FILE_DIRECTORY : FILE_ABSENT);
    }
}

static void only_root_can_read_a_secret_unit(void **state)
{
    Fixture *fixture = *state;
    FileInfo info;
    use_action(fixture, "service.unit");
    set_text(fixture, "name", "app");
    set_param(fixture, "content",
              value_with_secret(value_string(STR("[Service]\nEnvironment=KEY=1234\n"))));
    assert_true(run(fixture));
    assert_true(
        host_stat(fixture->host, STR("/etc/systemd/system/app.service"), &info, &fixture->err));
    assert_int_equal(info.mode, 0600);
    assert_int_equal(str_find(fixture->outcome.diff, STR("1234"), 0), STR_NOT_FOUND);
}

static void a_unit_needs_one_content(void **state)
{
    Fixture *fixture = *state;
    use_action(fixture, "service.unit");
    set_text(fixture, "name", "app");
    assert_false(check(fixture));
    assert_int_equal(fixture->err.kind, ERROR_INVALID);
    set_text(fixture, "content", "a");
    set_text(fixture, "source", "b");
    assert_false(check(fixture));
    set_param(fixture, "source", value_missing());
    set_param(fixture, "absent", value_bool(true));
    assert_false(check(fixture));
    use_action(fixture, "service.unit");
    set_text(fixture, "name", "app");
    set_text(fixture, "content", "a");
    set_text(fixture, "dropin", "b");
    set_param(fixture, "verify", value_bool(true));
    assert_false(check(fixture));
    assert_int_equal(fixture->err.kind, ERROR_INVALID);
}

/* --- Claims ---------------------------------------------------------------------------------- */

static bool claims(Fixture *fixture, const char *wanted)
{
    List *list = list_new(&fixture->arena, 4);
    fixture->call.action->claims(&fixture->arena, fixture->params, list);
    for (uint32_t i = 0; i < list->len; i++) {
        if (str_eq_c(value_str(list->items[i]), wanted)) {
            return true;
        }
    }
    return false;
}

static void units_follow_their_files_and_packages(void **state)
{
    Fixture *fixture = *state;
    use_action(fixture, "service.ensure");
    set_text(fixture, "name", "getty@tty1");
    assert_true(claims(fixture, "unit:getty@tty1.service"));
    assert_true(claims(fixture, "needs:unit-dropin:getty@.service"));
    assert_true(claims(fixture, "needs:path:/etc/systemd/system/getty@.service"));
    assert_true(claims(fixture, "needs:pkg:getty"));
    use_action(fixture, "service.unit");
    set_text(fixture, "name", "app");
    set_text(fixture, "dropin", "limits");
    set_text(fixture, "owner", "web");
    assert_true(claims(fixture, "unit-dropin:app.service"));
    assert_true(claims(fixture, "path:/etc/systemd/system/app.service.d/limits.conf"));
    assert_true(claims(fixture, "needs:user:web"));
    set_param(fixture, "absent", value_bool(true));
    assert_true(claims(fixture, "drops:unit-dropin:app.service"));
    use_action(fixture, "service.ensure");
    set_text(fixture, "name", "a/b"); /* the check will report the error */
    assert_false(claims(fixture, "unit:a/b.service"));
}

/* --- The journal ----------------------------------------------------------------------------- */

static void an_error_ends_with_the_last_output_of_the_unit(void **state)
{
    Fixture *fixture = *state;
    const Str units[] = { STR("app.service") };
    Outcome outcome = { 0 };
    Str tail = STR("Starting app.service...\n"
                   "one\ntwo\nthree\nfour\n"
                   "app.service: Failed with result 'exit-code'.\n"
                   "Failed to start app.service.\n");
    error_set(&fixture->err, ERROR_OS, "it failed");
    journal_add_to_error(&fixture->call, tail, units, 1, &outcome, &fixture->err);
    assert_string_equal(fixture->err.text, "it failed; its journal ends with: two | three | four");
    assert_str(outcome.error_out, tail.data);
    /* Without output of its own, the messages of systemd. */
    tail = STR("app.service: Failed at step EXEC\n");
    error_set(&fixture->err, ERROR_OS, "it failed");
    journal_add_to_error(&fixture->call, tail, units, 1, &outcome, &fixture->err);
    assert_string_equal(fixture->err.text,
                        "it failed; its journal ends with: app.service: Failed at step EXEC");
    /* Warnings about a unit file are repeated whenever it is read. */
    tail = STR("/etc/systemd/system/app.service:2: Unknown key\n"
               "app.service: Service has no ExecStart=\n"
               "/etc/systemd/system/app.service:2: Unknown key\n"
               "app.service: Service has no ExecStart=\n");
    error_set(&fixture->err, ERROR_OS, "it failed");
    journal_add_to_error(&fixture->call, tail, units, 1, &outcome, &fixture->err);
    assert_string_equal(fixture->err.text,
                        "it failed; its journal ends with: /etc/systemd/system/app.service:2: "
                        "Unknown key | app.service: Service has no ExecStart=");
    error_set(&fixture->err, ERROR_OS, "it failed");
    journal_add_to_error(&fixture->call, STR_EMPTY, units, 1, &outcome, &fixture->err);
    assert_string_equal(fixture->err.text, "it failed");
}

static void long_output_is_truncated(void **state)
{
    Fixture *fixture = *state;
    const Str units[] = { STR("app.service") };
    Outcome outcome = { 0 };
    char line[2000];
    memset(line, 'x', sizeof line);
    line[sizeof line - 1] = '\n';
    error_set(&fixture->err, ERROR_OS, "it failed");
    journal_add_to_error(&fixture->call, str_from(line, sizeof line), units, 1, &outcome,
                         &fixture->err);
    assert_true(strlen(fixture->err.text) < 200);
    assert_non_null(strstr(fixture->err.text, "xxx..."));
    error_set(&fixture->err, ERROR_OS, "it failed");
    journal_add_to_error(&fixture->call, STR("a\x1b[31mb\xff\n"), units, 1, &outcome,
                         &fixture->err);
    assert_non_null(strstr(fixture->err.text, "a\\x1b[31mb\\xff"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_ROOT(names_are_completed),
        IN_ROOT(names_have_a_maximum_length),
        IN_ROOT(drop_ins_have_paths),
        IN_ROOT(actions_follow_from_the_current_state),
        IN_ROOT(a_unit_can_be_missing_in_a_plan),
        IN_ROOT(contradicting_parameters_are_rejected),
        IN_ROOT(running_state_is_not_available_below_a_root),
        IN_ROOT(enabling_below_a_root_uses_its_systemctl),
        IN_ROOT(a_unit_is_written_and_removed),
        IN_ROOT(removing_the_last_drop_in_removes_its_directory),
        IN_ROOT(only_root_can_read_a_secret_unit),
        IN_ROOT(a_unit_needs_one_content),
        IN_ROOT(units_follow_their_files_and_packages),
        IN_ROOT(an_error_ends_with_the_last_output_of_the_unit),
        IN_ROOT(long_output_is_truncated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
