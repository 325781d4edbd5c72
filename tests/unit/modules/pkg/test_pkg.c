/* The actions in a root that has dpkg's files but no apt: everything that only needs reading. */
#include "modules/module_fixture.h"

static const char status[] =
    "Package: dpkg\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1.21\n\n"
    "Package: vim\nStatus: install ok installed\nArchitecture: amd64\nVersion: 2:9.0\n"
    "Provides: editor\n\n"
    "Package: kernel\nStatus: hold ok installed\nArchitecture: amd64\nVersion: 6.1\n\n"
    "Package: old\nStatus: deinstall ok config-files\nArchitecture: all\nVersion: 1\n\n";

static void put(Fixture *fixture, const char *path, const char *text)
{
    FileWrite write = {
        .content = str_from_c(text), .mode = 0644, .uid = HOST_KEEP_ID, .gid = HOST_KEEP_ID
    };
    Str name = str_from_c(path);
    Str directory = str_slice(name, 0, str_find_last(name, STR("/")));
    assert_true(host_make_directory(fixture->host, directory, 0755, true, &fixture->err));
    assert_true(host_write(fixture->host, name, &write, &fixture->err));
}

static int set_up_dpkg(void **state)
{
    if (set_up(state) != 0) {
        return -1;
    }
    put(*state, "/var/lib/dpkg/status", status);
    return 0;
}

/* Without a package manager in the root, a check that finds something to do reports that. */
static void put_program(Fixture *fixture)
{
    put(fixture, "/usr/bin/apt-get", "");
}

static void use(Fixture *fixture, const char *action, const char *name)
{
    use_action(fixture, action);
    set_text(fixture, "name", name);
}

static void set_packages(Fixture *fixture, const char *name, const char *version)
{
    Map *map = map_new(&fixture->arena, 1);
    map_set_str(&fixture->arena, map, str_from_c(name),
                version == NULL ? value_null() : value_string(str_from_c(version)));
    set_param(fixture, "pkgs", value_map(map));
}

static const Value *change(const Fixture *fixture, const char *name, const char *side)
{
    const Map *changes = fixture->outcome.changes;
    const MapEntry *entry = changes == NULL ? NULL : map_find_str(changes, str_from_c(name));
    return entry == NULL ? NULL : value_get(entry->value, str_from_c(side));
}

static void installed_packages_need_nothing(void **state)
{
    Fixture *fixture = *state;
    static const struct {
        const char *name, *version;
    } cases[] = { { "vim", NULL },    { "vim:amd64", NULL }, { "editor", NULL },
                  { "vim", "2:9.0" }, { "vim", "2:9*" },     { "vim", ">=2:8, <2:10" },
                  { "kernel", "6.1" } };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        use(fixture, "pkg.installed", cases[i].name);
        if (cases[i].version != NULL) {
            set_text(fixture, "version", cases[i].version);
        }
        assert_true(check(fixture));
        assert_false(fixture->outcome.changed);
        assert_str(fixture->outcome.state, "installed");
    }
    use(fixture, "pkg.removed", "old");
    assert_true(check(fixture));
    assert_false(fixture->outcome.changed);
    assert_str(fixture->outcome.state, "absent");
}

static void a_missing_package_is_a_change(void **state)
{
    Fixture *fixture = *state;
    put_program(fixture);
    static const struct {
        const char *name, *version;
    } cases[] = { { "nano", NULL },     { "old", NULL },     { "vim", "2:9.1" },
                  { "vim:i386", NULL }, { "editor", ">=1" }, { "vim", "3*" } };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        use(fixture, "pkg.installed", cases[i].name);
        if (cases[i].version != NULL) {
            set_text(fixture, "version", cases[i].version);
        }
        assert_true(check(fixture));
        assert_true(fixture->outcome.changed);
        assert_non_null(change(fixture, cases[i].name, "new"));
    }
    use(fixture, "pkg.removed", "vim");
    assert_true(check(fixture));
    assert_str(value_str(*change(fixture, "vim", "old")), "2:9.0");
    assert_null(change(fixture, "vim", "new"));
    use(fixture, "pkg.removed", "old");
    set_param(fixture, "purge", value_bool(true));
    assert_true(check(fixture));
    assert_true(fixture->outcome.changed);
}

static void an_older_or_held_one_is_not_touched(void **state)
{
    Fixture *fixture = *state;
    put_program(fixture);
    use(fixture, "pkg.installed", "vim");
    set_text(fixture, "version", "2:8.0");
    assert_false(check(fixture));
    assert_string_equal(fixture->err.text, "'vim' is installed in version 2:9.0, newer than 2:8.0; "
                                           "set 'allow_downgrade: true' to allow a downgrade");
    set_param(fixture, "allow_downgrade", value_bool(true));
    assert_true(check(fixture));
    assert_true(fixture->outcome.changed);
    use(fixture, "pkg.removed", "kernel");
    assert_false(check(fixture));
    assert_string_equal(
        fixture->err.text,
        "'kernel' is held at version 6.1; use 'pkg.held' with 'hold: false' to release it");
}

static void invalid_parameters_are_reported(void **state)
{
    Fixture *fixture = *state;
    use_action(fixture, "pkg.installed");
    assert_false(check(fixture));
    assert_string_equal(fixture->err.text, "'name' or 'pkgs' is required");
    set_text(fixture, "name", "vim");
    set_packages(fixture, "nano", NULL);
    assert_false(check(fixture));
    assert_string_equal(fixture->err.text, "'name' and 'pkgs' are mutually exclusive");
    use_action(fixture, "pkg.installed");
    set_packages(fixture, "nano", NULL);
    set_text(fixture, "version", "1");
    assert_false(check(fixture));
    assert_string_equal(fixture->err.text,
                        "'version' applies to 'name'; in 'pkgs' use '- NAME: VERSION'");
    use_action(fixture, "pkg.removed");
    set_packages(fixture, "vim", "1");
    assert_false(check(fixture));
    assert_string_equal(fixture->err.text, "'vim' cannot have a version here");
    static const char *const wrong[] = { "-y",  "Vim", "a",    "vim*", "vim=1", "vim/stable",
                                         "v m", "^vi", "vim:", "vi:A", "vim\n", "../x" };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        use(fixture, "pkg.installed", wrong[i]);
        assert_false(check(fixture));
        assert_int_equal(fixture->err.kind, ERROR_INVALID);
    }
}

static void a_changed_list_is_read_again(void **state)
{
    Fixture *fixture = *state;
    put_program(fixture);
    use(fixture, "pkg.installed", "nano");
    assert_true(check(fixture));
    assert_true(fixture->outcome.changed);
    put(fixture, "/var/lib/dpkg/status",
        "Package: nano\nStatus: install ok installed\nArchitecture: amd64\nVersion: 7\n");
    assert_true(check(fixture));
    assert_false(fixture->outcome.changed);
    put(fixture, "/var/lib/apt/extended_states",
        "Package: nano\nArchitecture: amd64\nAuto-Installed: 1\n");
    assert_true(check(fixture));
    assert_str(value_str(*change(fixture, "nano", "old")), "automatic");
    use(fixture, "pkg.removed", "other");
    assert_true(check(fixture));
    assert_false(fixture->outcome.changed);
}

static void an_interrupted_dpkg_needs_repair(void **state)
{
    Fixture *fixture = *state;
    put_program(fixture);
    put(fixture, "/var/lib/dpkg/updates/0001",
        "Package: vim\nStatus: install ok unpacked\nArchitecture: amd64\nVersion: 2:9.0\n");
    use(fixture, "pkg.installed", "vim");
    assert_true(check(fixture));
    assert_true(fixture->outcome.changed);
    assert_str(value_str(*change(fixture, "vim", "old")), "2:9.0 (unpacked)");
    assert_str(value_str(*change(fixture, "apt", "old")), "dpkg was interrupted");
    use(fixture, "pkg.installed", "kernel");
    assert_true(check(fixture));
    assert_true(fixture->outcome.changed);
}

static void without_a_package_manager_it_is_rejected(void **state)
{
    Fixture *fixture = *state;
    use(fixture, "pkg.installed", "nano");
    assert_false(check(fixture));
    assert_int_equal(fixture->err.kind, ERROR_UNAVAILABLE);
    assert_non_null(
        strstr(fixture->err.text, "this requires 'apt-get', which is not installed in the root"));
    assert_false(plan(fixture));
    assert_true(host_remove(fixture->host, STR("/var/lib/dpkg/status"), &fixture->err));
    assert_false(check(fixture));
    assert_int_equal(fixture->err.kind, ERROR_UNAVAILABLE);
    assert_non_null(strstr(fixture->err.text, "no package manager found in the root"));
}

static void holding_requires_an_installed_package(void **state)
{
    Fixture *fixture = *state;
    use(fixture, "pkg.held", "kernel");
    set_param(fixture, "hold", value_bool(true));
    assert_true(check(fixture));
    assert_false(fixture->outcome.changed);
    use(fixture, "pkg.held", "vim");
    set_param(fixture, "hold", value_bool(true));
    assert_true(check(fixture));
    assert_str(value_str(*change(fixture, "vim", "new")), "held");
    use(fixture, "pkg.held", "nano");
    set_param(fixture, "hold", value_bool(true));
    assert_false(check(fixture));
    assert_string_equal(fixture->err.text,
                        "'nano' is not installed, so there is no version to hold");
    assert_true(plan(fixture));
    assert_true(fixture->outcome.changed);
    set_param(fixture, "hold", value_bool(false));
    assert_true(check(fixture));
    assert_false(fixture->outcome.changed);
}

static void packages_are_claimed_by_name(void **state)
{
    Fixture *fixture = *state;
    List *claims = list_new(&fixture->arena, 2);
    use(fixture, "pkg.installed", "vim");
    fixture->call.action->claims(&fixture->arena, fixture->params, claims);
    use_action(fixture, "pkg.removed");
    set_packages(fixture, "nano", NULL);
    assert_str(value_str(claims->items[0]), "pkg:vim");
    assert_true(str_starts(value_str(claims->items[1]), STR("provides:")));
    claims = list_new(&fixture->arena, 2);
    fixture->call.action->claims(&fixture->arena, fixture->params, claims);
    assert_int_equal(claims->len, 1);
    assert_str(value_str(claims->items[0]), "drops:pkg:nano");
}

static bool provides(Fixture *fixture, const char *name, const char *class)
{
    use(fixture, "pkg.installed", name);
    List *claims = list_new(&fixture->arena, 2);
    fixture->call.action->claims(&fixture->arena, fixture->params, claims);
    for (uint32_t i = 0; i < claims->len; i++) {
        if (str_eq_c(value_str(claims->items[i]), class)) {
            return true;
        }
    }
    return false;
}

static void ordinary_packages_do_not_extend_the_kernel(void **state)
{
    Fixture *fixture = *state;
    assert_true(provides(fixture, "nfs-common", "provides:filesystem"));
    assert_true(provides(fixture, "acme-base", "provides:kmod"));
    assert_false(provides(fixture, "nginx-full", "provides:filesystem"));
    assert_false(provides(fixture, "postgresql-15", "provides:kmod"));
    assert_true(provides(fixture, "nginx", "provides:user"));
}

#define WITH_DPKG(test) cmocka_unit_test_setup_teardown(test, set_up_dpkg, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_DPKG(installed_packages_need_nothing),
        WITH_DPKG(a_missing_package_is_a_change),
        WITH_DPKG(an_older_or_held_one_is_not_touched),
        WITH_DPKG(invalid_parameters_are_reported),
        WITH_DPKG(a_changed_list_is_read_again),
        WITH_DPKG(an_interrupted_dpkg_needs_repair),
        WITH_DPKG(without_a_package_manager_it_is_rejected),
        WITH_DPKG(holding_requires_an_installed_package),
        WITH_DPKG(packages_are_claimed_by_name),
        WITH_DPKG(ordinary_packages_do_not_extend_the_kernel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
