/* Parsing the output of rpm, dnf, zypper and pacman. */
#include <stdlib.h>

#include "base/buf.h"
#include "lang/json.h"
#include "modules/pkg/backend.h"
#include "modules/pkg/blame.h"
#include "modules/pkg/pacman_parse.h"
#include "modules/pkg/rpm_parse.h"
#include "unit.h"

static int set_up(void **state)
{
    Arena *arena = calloc(1, sizeof *arena);
    arena_init(arena, ARENA_UNLIMITED);
    *state = arena;
    return 0;
}

static int tear_down(void **state)
{
    arena_clear(*state);
    free(*state);
    return 0;
}

static void check_json(Arena *arena, Map *map, const char *expected)
{
    Buf out = buf_make_in(arena, BUF_UNLIMITED);
    Error err;
    assert_true(json_print(&out, value_map(map), &(JsonStyle){ 0 }, &err));
    assert_str(buf_str(&out), expected);
}

/* --- rpm ------------------------------------------------------------------------------------ */

static void rpm_lists_packages(void **state)
{
    AUTO(PackageDatabase) *database = database_new();
    rpm_list_read(database, STR("vim\t2\t9.0-1\tx86_64\n"
                                "bash\t0\t5.2-1\tx86_64\n"
                                "glibc\t0\t2.36-1\ti686\n"
                                "tzdata\t0\t2024a-1\tnoarch\n"
                                "kernel\t0\t6.1-1\tx86_64\n"
                                "kernel\t0\t6.10-1\tx86_64\n"
                                "kernel\t0\t6.2-1\tx86_64\n"
                                "gpg-pubkey\t0\taaaa-bbbb\t(none)\n"
                                "\nnonsense\n\t\t\t\nx\t1\n"));
    assert_int_equal(database->packages.count, 5);
    assert_str(database_find(database, STR("vim"))->version, "2:9.0-1");
    assert_str(database_find(database, STR("vim.x86_64"))->version, "2:9.0-1");
    assert_str(database_find(database, STR("glibc.i686"))->version, "2.36-1");
    assert_null(database_find(database, STR("glibc")));
    assert_str(database_find(database, STR("tzdata"))->version, "2024a-1");
    assert_str(database_find(database, STR("kernel"))->version, "6.10-1");
}

static void offers_are_sorted_and_the_newest_is_the_candidate(void **state)
{
    PackageOffer offers[] = { { .name = STR("vim") },
                              { .name = STR("glibc.i686") },
                              { .name = STR("none") } };
    rpm_offers_read(*state,
                    STR("vim\t0\t1.0-1\tnoarch\n\nvim\t0\t1.10-1\tnoarch\nvim\t0\t1.2-1\tnoarch\n"
                        "vim\t0\t1.2-1\tnoarch\nglibc\t0\t2-1\ti686\nglibc\t0\t3-1\tx86_64\n"),
                    offers, COUNT_OF(offers));
    assert_int_equal(offers[0].version_count, 3);
    assert_str(offers[0].candidate, "1.10-1");
    assert_str(offers[0].versions[0], "1.10-1");
    assert_str(offers[0].versions[1], "1.2-1");
    assert_str(offers[0].versions[2], "1.0-1");
    assert_str(offers[1].candidate, "2-1");
    assert_false(offers[2].known);
}

static void upgrades_show_the_old_version(void **state)
{
    AUTO(PackageDatabase) *database = database_new();
    Map *changes = map_new(*state, 2);
    rpm_list_read(database, STR("vim\t0\t1.0-1\tnoarch\n"));
    rpm_upgrades_read(*state, STR("vim\t1\t0.5-1\tnoarch\nnew\t0\t2-1\tnoarch\n"), database,
                      changes);
    check_json(*state, changes,
               "{\"vim\":{\"old\":\"1.0-1\",\"new\":\"1:0.5-1\"},\"new\":{\"new\":\"2-1\"}}");
}

static void failed_scripts_are_a_warning(void **state)
{
    Str words;
    Str output = STR("Installing: lab-broken\nthe moon is in the wrong phase\n"
                     "warning: %post(lab-broken-1.0-1.noarch) scriptlet failed, exit status 1\n");
    assert_true(rpm_find_warning(*state, output, STR("lab-broken"), &words));
    assert_str(words, "the moon is in the wrong phase; warning: %post(lab-broken-1.0-1.noarch) "
                      "scriptlet failed, exit status 1");
    assert_false(rpm_find_warning(*state, output, STR("lab"), &words));
}

/* --- zypper --------------------------------------------------------------------------------- */

static void zypper_finds_versions(void **state)
{
    PackageOffer offers[] = { { .name = STR("vim") },
                              { .name = STR("local") },
                              { .name = STR("none") } };
    zypper_search_read(
        *state,
        STR("<?xml version='1.0'?>\n<stream>\n<solvable-list>\n"
            "<solvable status=\"other-version\" name=\"vim\" kind=\"package\" edition=\"1.0-1\" "
            "arch=\"noarch\" repository=\"lab\"/>\n"
            "<solvable status=\"installed\" name=\"vim\" kind=\"package\" edition=\"2.0-1\" "
            "arch=\"noarch\" repository=\"lab\"/>\n"
            "<solvable status=\"installed\" name=\"local\" kind=\"package\" edition=\"7-1\" "
            "arch=\"noarch\" repository=\"(System Packages)\"/>\n"
            "<solvable name=\"vim\" edition=\""),
        offers, COUNT_OF(offers));
    assert_int_equal(offers[0].version_count, 2);
    assert_str(offers[0].candidate, "2.0-1");
    assert_true(offers[1].known);
    assert_str(offers[1].candidate, "");
    assert_false(offers[2].known);
}

static void zypper_lists_updates(void **state)
{
    Map *changes = map_new(*state, 2);
    zypper_updates_read(*state,
                        STR("<update-status version=\"0.6\">\n<update-list>\n<update "
                            "kind=\"package\" name=\"vim\" edition=\"2-1\" arch=\"noarch\" "
                            "edition-old=\"1-1\"><summary>x</summary></update><update name=\"b\" "
                            "edition=\"3\"/><update name=\"c\"/><updat"),
                        changes);
    check_json(*state, changes,
               "{\"vim\":{\"old\":\"1-1\",\"new\":\"2-1\"},\"b\":{\"new\":\"3\"}}");
}

static void zypper_locks_hold(void **state)
{
    AUTO(PackageDatabase) *database = database_new();
    rpm_list_read(database, STR("vim\t0\t1\tnoarch\nkernel-a\t0\t1\tnoarch\nbash\t0\t1\tnoarch\n"));
    zypper_locks_read(database, STR("\ntype: package\nmatch_type: glob\nsolvable_name: vim\n\n"
                                    "type: package\nsolvable_name: kernel*\n\ntype: package\n"));
    assert_true(database_find(database, STR("vim"))->held);
    assert_true(database_find(database, STR("kernel-a"))->held);
    assert_false(database_find(database, STR("bash"))->held);
}

/* --- pacman --------------------------------------------------------------------------------- */

static void pacman_has_an_entry_for_each(void **state)
{
    AUTO(PackageDatabase) *database = database_new();
    pacman_entry_read(database, STR("vim-any-2:9.0-1"),
                      STR("%NAME%\nvim-any\n\n%REASON%\n1\n\n%PROVIDES%\neditor=9\nvi\n\n"
                          "%DEPENDS%\nglibc>=2\n"));
    pacman_entry_read(database, STR("half-1-1"), STR_EMPTY);
    pacman_entry_read(database, STR("ALPM_DB_VERSION"), STR("9\n"));
    pacman_entry_read(database, STR("-1-1"), STR_EMPTY);
    assert_int_equal(database->packages.count, 2);
    const Package *package = database_find(database, STR("vim-any"));
    assert_str(package->version, "2:9.0-1");
    assert_true(package->automatic);
    assert_ptr_equal(database_find_installed(database, STR("editor")), package);
    assert_ptr_equal(database_find_installed(database, STR("vi")), package);
    assert_int_equal(database_find(database, STR("half"))->condition, PACKAGE_INCOMPLETE);
}

static void pacman_lists_one_version_of_each(void **state)
{
    PackageOffer offers[] = { { .name = STR("vim") }, { .name = STR("none") } };
    pacman_info_read(*state,
                     STR("Repository      : core\nName            : vim\nVersion         : 9.1-1\n"
                         "Description     : Name : x\n\n"
                         "Repository      : extra\nName            : vim\nVersion         : 8-1\n\n"
                         "Name            : other\nVersion         : 1\nVersion : 2\n"),
                     offers, COUNT_OF(offers));
    assert_str(offers[0].candidate, "9.1-1");
    assert_int_equal(offers[0].version_count, 1);
    assert_false(offers[1].known);
    Map *changes = map_new(*state, 2);
    pacman_upgrades_read(*state, STR("vim 9.0-1 -> 9.1-1\nheld 1 -> 2 [ignored]\nodd\n"), changes);
    check_json(*state, changes, "{\"vim\":{\"old\":\"9.0-1\",\"new\":\"9.1-1\"}}");
}

static void pacman_ignores_held_packages(void **state)
{
    Str config = STR("# head\n[options]\n#IgnorePkg = z\nIgnorePkg = a b\n IgnorePkg=c\n[core]\n");
    List *names = list_new(*state, 4);
    pacman_ignored_read(*state, config, names);
    assert_int_equal(names->len, 3);
    assert_str(value_str(names->items[2]), "c");
    assert_str(pacman_ignored_write(*state, config, STR("d"), true),
               "# head\n[options]\nIgnorePkg = d\n#IgnorePkg = z\nIgnorePkg = a b\n IgnorePkg=c\n"
               "[core]\n");
    assert_str(pacman_ignored_write(*state, config, STR("a"), false),
               "# head\n[options]\n#IgnorePkg = z\nIgnorePkg = b\n IgnorePkg=c\n[core]\n");
    assert_str(pacman_ignored_write(*state, config, STR("c"), false),
               "# head\n[options]\n#IgnorePkg = z\nIgnorePkg = a b\n[core]\n");
    assert_str(pacman_ignored_write(*state, STR_EMPTY, STR("a"), true),
               "[options]\nIgnorePkg = a\n");
}

/* --- Attribution of errors ------------------------------------------------------------------ */

static void complaints_are_assigned_to_named_packages(void **state)
{
    Str words;
    Str output = STR("Loading repository data...\n"
                     "Problem: nothing provides x needed by lab-a-1.0-1.noarch\n"
                     " Solution 1: do not install lab-b-1.0-1.noarch\n"
                     "Error: Unable to find a match: lab-c lab-d\n");
    assert_true(blame_by_lines(*state, output, STR("lab-a"), &words));
    assert_str(words, "Problem: nothing provides x needed by lab-a-1.0-1.noarch");
    assert_true(blame_by_lines(*state, output, STR("lab-d"), &words));
    assert_false(blame_by_lines(*state, output, STR("lab-b"), &words));
    assert_false(blame_by_lines(*state, output, STR("lab"), &words));
    assert_str(words, "Problem: nothing provides x needed by lab-a-1.0-1.noarch; Error: Unable to "
                      "find a match: lab-c lab-d");
    assert_false(blame_by_lines(*state, STR("a\nb\n\n"), STR("lab"), &words));
    assert_str(words, "b");
    assert_false(blame_by_lines(*state, STR_EMPTY, STR("lab"), &words));
    assert_str(words, "");
}

static void long_messages_are_truncated(void **state)
{
    char line[BLAME_MAX];
    memset(line, 'x', sizeof line);
    Str lines[] = { str_from(line, BLAME_MAX - 1), str_from(line, BLAME_MAX),
                    str_from(line, BLAME_MAX) };
    assert_true(blame_join(*state, lines, COUNT_OF(lines)).len <= BLAME_MAX + 2);
}

static const PackageBackend *backend_of(const char *name)
{
    const PackageBackend *const *backend = package_backends;
    while (*backend != NULL && strcmp((*backend)->name, name) != 0) {
        backend++;
    }
    assert_non_null(*backend);
    return *backend;
}

/* The output of every program while another one holds its lock, and other output. */
static void a_lock_is_recognized_by_its_message(void **state)
{
    static const struct {
        const char *backend, *output;
        bool was_locked;
    } rows[] = {
        { "apt", "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 7",
          true },
        { "apt", "E: Could not get lock /var/lib/dpkg/lock - open (13: Permission denied)", false },
        { "apt", "E: Unable to locate package nothing", false },
        { "dnf", "error: can't create transaction lock on /var/lib/rpm/.rpm.lock", true },
        { "dnf", "Waiting for process with pid 7 to finish.", true },
        { "dnf", "Error: Unable to find a match: nothing", false },
        { "zypper", "System management is locked by the application with pid 7 (zypper).", true },
        { "zypper", "error: can't create transaction lock on /usr/lib/sysimage/rpm/.rpm.lock",
          true },
        { "zypper", "No provider of 'nothing' found.", false },
        { "pacman", "error: failed to init transaction (unable to lock database)", true },
        { "pacman", "error: target not found: nothing", false },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const PackageBackend *backend = backend_of(rows[i].backend);
        if (backend->was_locked(str_from_c(rows[i].output)) != rows[i].was_locked) {
            fail_msg("%s: %s", rows[i].backend, rows[i].output);
        }
    }
}

static void names_of_packages_are_neither_options_nor_expressions(void **state)
{
    static const char *const backends[] = { "apt", "dnf", "zypper", "pacman" };
    static const char *const good[] = { "vim", "lib32-glibc", "gtk3.0", "libstdc++6" };
    static const char *const bad[] = { "",      "-vim",  "--root", "vim git", "vim;id", "vim|id",
                                       "vim=1", "vim\n", "vim>1",  "$vim",    "vim*",   "vim&" };
    Error err;
    for (size_t i = 0; i < COUNT_OF(backends); i++) {
        const PackageBackend *backend = backend_of(backends[i]);
        for (size_t j = 0; j < COUNT_OF(good); j++) {
            if (!backend->check_name(str_from_c(good[j]), &err)) {
                fail_msg("%s: %s", backends[i], err.text);
            }
        }
        for (size_t j = 0; j < COUNT_OF(bad); j++) {
            if (backend->check_name(str_from_c(bad[j]), &err)) {
                fail_msg("%s: '%s'", backends[i], bad[j]);
            }
        }
    }
}

#define IN_ARENA(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_ARENA(rpm_lists_packages),
        IN_ARENA(offers_are_sorted_and_the_newest_is_the_candidate),
        IN_ARENA(upgrades_show_the_old_version),
        IN_ARENA(failed_scripts_are_a_warning),
        IN_ARENA(zypper_finds_versions),
        IN_ARENA(zypper_lists_updates),
        IN_ARENA(zypper_locks_hold),
        IN_ARENA(pacman_has_an_entry_for_each),
        IN_ARENA(pacman_lists_one_version_of_each),
        IN_ARENA(pacman_ignores_held_packages),
        IN_ARENA(complaints_are_assigned_to_named_packages),
        IN_ARENA(long_messages_are_truncated),
        IN_ARENA(a_lock_is_recognized_by_its_message),
        IN_ARENA(names_of_packages_are_neither_options_nor_expressions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
