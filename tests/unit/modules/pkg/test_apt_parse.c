#include "modules/pkg/apt_parse.h"

#include <stdlib.h>

#include "base/buf.h"
#include "lang/json.h"
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

/* --- Installed packages --------------------------------------------------------------------- */

static const char status[] =
    "Package: dpkg\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1.21\n\n"
    "Package: vim\nStatus: hold ok installed\nArchitecture: amd64\nVersion: 2:9.0\n"
    "Provides: editor, vim-any (= 9)\nDepends: libc6 (>= 2.3), vim-common | vim-tiny\n"
    "Recommends: ctags\n\n"
    "Package: libc6\nStatus: install ok installed\nArchitecture: i386\nVersion: 2.36\n\n"
    "Package: old\nStatus: deinstall ok config-files\nArchitecture: all\nVersion: 1\n\n"
    "Package: half\nStatus: install ok half-configured\nArchitecture: all\nVersion: 3\n\n"
    "Package: again\nStatus: install reinstreq installed\nArchitecture: all\nVersion: 3\n\n"
    "Package: none\nStatus: purge ok not-installed\nArchitecture: all\n\n"
    "Status: install ok installed\nVersion: nobody\n";

static void check_package(const PackageDatabase *database, const char *name,
                          PackageCondition condition, const char *version)
{
    const Package *package = database_find(database, str_from_c(name));
    assert_non_null(package);
    assert_int_equal(package->condition, condition);
    assert_str(package->version, version);
}

static void packages_are_read_with_their_states(void **state)
{
    AUTO(PackageDatabase) *database = database_new();
    dpkg_status_read(database, str_from_c(status), NULL, 0);
    check_package(database, "vim", PACKAGE_INSTALLED, "2:9.0");
    check_package(database, "vim:amd64", PACKAGE_INSTALLED, "2:9.0");
    check_package(database, "libc6:i386", PACKAGE_INSTALLED, "2.36");
    check_package(database, "old", PACKAGE_CONFIG, "1");
    check_package(database, "half", PACKAGE_INCOMPLETE, "3");
    check_package(database, "again", PACKAGE_INCOMPLETE, "3");
    check_package(database, "none", PACKAGE_ABSENT, "");
    assert_true(database_find(database, STR("vim"))->held);
    assert_null(database_find(database, STR("libc6")));
    assert_null(database_find(database, STR("vim:i386")));
    assert_str(database_find_installed(database, STR("editor"))->name, "vim");
    assert_str(database_find_installed(database, STR("vim-any"))->name, "vim");
    assert_null(database_find_installed(database, STR("old")));
    assert_true(database->interrupted);
    assert_str(database->interruption, "dpkg left 'half' half-configured");
}

static void unfinished_dpkg_states_count_last(void **state)
{
    AUTO(PackageDatabase) *database = database_new();
    const Str updates[] = {
        STR("Package: vim\nStatus: install ok unpacked\nArchitecture: amd64\nVersion: 2:9.1\n"),
        STR("Package: vim\nStatus: install ok half-configured\nArchitecture: amd64\n"
            "Version: 2:9.1\n"),
    };
    dpkg_status_read(database, str_from_c(status), updates, COUNT_OF(updates));
    check_package(database, "vim", PACKAGE_INCOMPLETE, "2:9.1");
    assert_str(database_find(database, STR("vim"))->detail, "half-configured");
    assert_null(database_find_installed(database, STR("editor")));
    assert_str(database->interruption, "dpkg was interrupted");
}

static void automatic_packages_were_not_requested(void **state)
{
    AUTO(PackageDatabase) *database = database_new();
    dpkg_status_read(database, str_from_c(status), NULL, 0);
    apt_states_read(database, STR("Package: vim\nArchitecture: amd64\nAuto-Installed: 1\n\n"
                                  "Package: libc6\nArchitecture: i386\nAuto-Installed: 1\n\n"
                                  "Package: dpkg\nArchitecture: amd64\nAuto-Installed: 0\n\n"
                                  "Package: unknown\nArchitecture: amd64\nAuto-Installed: 1\n\n"
                                  "Auto-Installed: 1\n"));
    assert_true(database_find(database, STR("vim"))->automatic);
    assert_true(database_find(database, STR("libc6:i386"))->automatic);
    assert_false(database_find(database, STR("dpkg"))->automatic);
}

static void truncated_lists_are_read_as_far_as_possible(void **state)
{
    static const char *const texts[] = { "",
                                         "\n\n",
                                         "Package:",
                                         "Package: a",
                                         "Package: a\nStatus: install",
                                         "Package: a\nStatus:  x  ",
                                         "\0\0",
                                         ":::\n :\nPackage: b\nStatus: a b c d e\n" };
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        AUTO(PackageDatabase) *database = database_new();
        dpkg_status_read(database, str_from_c(texts[i]), NULL, 0);
        apt_states_read(database, str_from_c(texts[i]));
        assert_null(database_find_installed(database, STR("a")));
    }
}

/* --- Available packages --------------------------------------------------------------------- */

static void the_policy_names_candidates_and_versions(void **state)
{
    Arena *arena = *state;
    PackageOffer offers[] = { { .name = STR("vim") },
                              { .name = STR("local") },
                              { .name = STR("virtual") },
                              { .name = STR("unknown") } };
    apt_policy_read(arena,
                    STR("N: Unable to locate package unknown\n"
                        "vim:\n"
                        "  Installed: 2:9.0\n"
                        "  Candidate: 2:9.1\n"
                        "  Version table:\n"
                        "     2:9.1 500\n"
                        "        500 http://deb.debian.org/debian bookworm/main amd64 Packages\n"
                        "        500 http://other.example bookworm/main amd64 Packages\n"
                        " *** 2:9.0 100\n"
                        "        100 /var/lib/dpkg/status\n"
                        "     2:8.2 -1\n"
                        "         -1 http://deb.debian.org/debian bullseye/main amd64 Packages\n"
                        "other:\n"
                        "  Candidate: 7\n"
                        "local:\n"
                        "  Installed: 1\n"
                        "  Candidate: 1\n"
                        "  Version table:\n"
                        " *** 1 100\n"
                        "        100 /var/lib/dpkg/status\n"
                        "virtual:\n"
                        "  Installed: (none)\n"
                        "  Candidate: (none)\n"
                        "  Version table:\n"),
                    offers, COUNT_OF(offers));
    assert_true(offers[0].known);
    assert_str(offers[0].candidate, "2:9.1");
    assert_int_equal(offers[0].version_count, 2);
    assert_str(offers[0].versions[0], "2:9.1");
    assert_str(offers[0].versions[1], "2:8.2");
    assert_str(offers[1].candidate, "1");
    assert_int_equal(offers[1].version_count, 0);
    assert_true(offers[2].known);
    assert_str(offers[2].candidate, "");
    assert_false(offers[3].known);
}

static void a_simulation_shows_old_and_new_versions(void **state)
{
    Arena *arena = *state;
    Map *changes = map_new(arena, 4);
    Buf out = buf_make_in(arena, BUF_UNLIMITED);
    Error err;
    apt_simulation_read(arena,
                        STR("NOTE: This is only a simulation!\n"
                            "Inst vim [2:9.0] (2:9.1 Debian:12.5/stable [amd64])\n"
                            "Inst new (1.0 lab:lab [all]) []\n"
                            "Remv gone [3.1]\n"
                            "Conf vim (2:9.1 Debian:12.5/stable [amd64])\n"
                            "Inst \nInst odd\n"),
                        changes);
    assert_true(json_print(&out, value_map(changes), &(JsonStyle){ 0 }, &err));
    assert_str(buf_str(&out), "{\"vim\":{\"old\":\"2:9.0\",\"new\":\"2:9.1\"},"
                              "\"new\":{\"new\":\"1.0\"},\"gone\":{\"old\":\"3.1\"},\"odd\":{}}");
}

/* --- Errors --------------------------------------------------------------------------------- */

static void check_blame(void **state, const char *output, const char *name, bool about,
                        const char *words)
{
    Str reported;
    assert_int_equal(apt_blame(*state, str_from_c(output), str_from_c(name), &reported), about);
    assert_str(reported, words);
}

static const char script_failed[] =
    "Setting up good (1.0) ...\n"
    "no problems found\n"
    "Setting up bad (1.0) ...\n"
    "opening the database\n"
    "cannot open it\n"
    "dpkg: error processing package bad (--configure):\n"
    " installed bad package post-installation script subprocess returned error exit status 3\n"
    "dpkg: dependency problems prevent configuration of after:\n"
    " after depends on bad; however:\n"
    "  Package bad is not configured yet.\n"
    "\n"
    "dpkg: error processing package after (--configure):\n"
    " dependency problems - leaving unconfigured\n"
    "Errors were encountered while processing:\n bad\n after\n"
    "E: Sub-process /usr/bin/dpkg returned an error code (1)\n";

static void scripts_are_quoted(void **state)
{
    check_blame(state, script_failed, "bad", true,
                "installed bad package post-installation script subprocess returned error exit "
                "status 3: opening the database; cannot open it");
    check_blame(state, script_failed, "after", true,
                "after depends on bad; however: Package bad is not configured yet.");
    check_blame(state, script_failed, "good", false,
                "E: Sub-process /usr/bin/dpkg returned an error code (1)");
    check_blame(state,
                "Preparing to unpack .../big_1%3a1.0_all.deb ...\n"
                "Unpacking big (1:1.0) ...\n"
                "dpkg: error processing archive /var/cache/apt/archives/big_1%3a1.0_all.deb "
                "(--unpack):\n"
                " cannot copy extracted data for './x' to '/x.dpkg-new': failed to write (No space "
                "left on device)\n",
                "big", true,
                "cannot copy extracted data for './x' to '/x.dpkg-new': failed to write (No space "
                "left on device)");
}

static void packages_to_be_removed_are_named(void **state)
{
    Str names = STR_EMPTY;
    assert_true(apt_find_removals(*state,
                                  STR("The following packages will be REMOVED:\n"
                                      "  a* b:i386\n  c\n"
                                      "The following NEW packages will be installed:\n  d\n"
                                      "E: Packages need to be removed but remove is disabled.\n"),
                                  &names));
    assert_str(names, "'a*', 'b:i386', 'c'");
    assert_false(
        apt_find_removals(*state, STR("The following packages will be REMOVED:\n  a\n"), &names));
    assert_true(apt_find_removals(*state, STR("but remove is disabled"), &names));
    assert_str(names, "something");
}

static void unmet_dependencies_name_their_package(void **state)
{
    static const char output[] = "Some packages could not be installed.\n"
                                 "The following packages have unmet dependencies:\n"
                                 " p1 : Depends: x (>= 2) but it is not installable\n"
                                 "      Depends: y but it is not going to be installed\n"
                                 " p10 : Conflicts: p1\n"
                                 "E: Unable to correct problems, you have held broken packages.\n";
    check_blame(state, output, "p1", true,
                "Depends: x (>= 2) but it is not installable; Depends: y but it is not going to be "
                "installed");
    check_blame(state, output, "p10", true, "Conflicts: p1");
    check_blame(state, output, "p", false,
                "Unable to correct problems, you have held broken packages.");
}

static void essential_packages_are_named(void **state)
{
    static const char output[] =
        "The following packages will be REMOVED:\n"
        "  dash libc6 vim\n"
        "WARNING: The following essential packages will be removed.\n"
        "This should NOT be done unless you know exactly what you are doing!\n"
        "  dash (due to libc6) hostname\n"
        "0 upgraded, 0 newly installed, 3 to remove and 125 not upgraded.\n"
        "E: Essential packages were removed and -y was used without --allow-remove-essential.\n";
    static const char sent[] = "essential packages would be removed: 'dash', 'hostname'";
    check_blame(state, output, "hostname", true, sent);
    check_blame(state, output, "libc6", true, sent);
    check_blame(state, output, "vim", false, sent);
}

static void errors_are_assigned_to_named_packages(void **state)
{
    static const char output[] = "E: Failed to fetch http://lab/p10_1.0_all.deb  404  Not Found\n"
                                 "E: Unable to fetch some archives, maybe run apt-get update?\n";
    check_blame(state, output, "p10", true,
                "Failed to fetch http://lab/p10_1.0_all.deb  404  Not Found");
    check_blame(state, output, "p1", false,
                "Failed to fetch http://lab/p10_1.0_all.deb  404  Not Found; Unable to fetch some "
                "archives, maybe run apt-get update?");
    check_blame(state, "", "p1", false, "");
    check_blame(state, "one\n\ntwo\n\n", "p1", false, "two");
}

#define IN_ARENA(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packages_are_read_with_their_states),
        cmocka_unit_test(unfinished_dpkg_states_count_last),
        cmocka_unit_test(automatic_packages_were_not_requested),
        cmocka_unit_test(truncated_lists_are_read_as_far_as_possible),
        IN_ARENA(the_policy_names_candidates_and_versions),
        IN_ARENA(a_simulation_shows_old_and_new_versions),
        IN_ARENA(scripts_are_quoted),
        IN_ARENA(packages_to_be_removed_are_named),
        IN_ARENA(unmet_dependencies_name_their_package),
        IN_ARENA(essential_packages_are_named),
        IN_ARENA(errors_are_assigned_to_named_packages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
