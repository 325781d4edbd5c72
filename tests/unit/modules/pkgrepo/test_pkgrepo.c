/* The actions in a root: they only write files, so all of them work there. */
#include "modules/module_fixture.h"

#define BEGIN "-----BEGIN PGP PUBLIC KEY BLOCK-----"
#define END   "-----END PGP PUBLIC KEY BLOCK-----"
#define KEY   BEGIN "\n\nmDMEZVPx\n" END "\n"

static void set_words(Fixture *fixture, const char *name, const char *words)
{
    List *list = list_new(&fixture->arena, 2);
    Str rest = str_from_c(words), word;
    while (str_split_next(&rest, ' ', &word)) {
        list_push(&fixture->arena, list, value_string(word));
    }
    set_param(fixture, name, value_list(list));
}

static void use(Fixture *fixture, const char *provider)
{
    use_action(fixture, "pkgrepo.managed");
    set_text(fixture, "name", "lab");
    set_text(fixture, "format", "deb822");
    set_text(fixture, "provider", provider);
    set_words(fixture, "types", "deb");
    set_words(fixture, "uris", "http://lab/debian");
    set_param(fixture, "enabled", value_bool(true));
    if (strcmp(provider, "apt") == 0) {
        set_words(fixture, "suites", "bookworm bookworm-updates");
        set_words(fixture, "components", "main contrib");
    }
}

static Str content(Fixture *fixture, const char *path)
{
    Str text;
    if (!host_read(fixture->host, &fixture->arena, str_from_c(path), 1 << 16, &text,
                   &fixture->err)) {
        fail_msg("%s", fixture->err.text);
    }
    return text;
}

static bool exists(Fixture *fixture, const char *path)
{
    FileInfo info;
    assert_true(host_stat(fixture->host, str_from_c(path), &info, &fixture->err));
    return info.kind != FILE_ABSENT;
}

static void apply_once(Fixture *fixture)
{
    if (!run(fixture)) {
        fail_msg("%s", fixture->err.text);
    }
    assert_true(fixture->outcome.changed);
    assert_true(check(fixture));
    assert_false(fixture->outcome.changed);
}

#define SOURCES "/etc/apt/sources.list.d/lab.sources"
#define LIST    "/etc/apt/sources.list.d/lab.list"

static void apt_has_paragraphs_with_the_key_inside(void **state)
{
    Fixture *fixture = *state;
    use(fixture, "apt");
    set_text(fixture, "key", KEY);
    set_text(fixture, "description", "of the lab");
    set_words(fixture, "architectures", "amd64 arm64");
    apply_once(fixture);
    assert_str(content(fixture, SOURCES), "# of the lab\n"
                                          "Types: deb\n"
                                          "URIs: http://lab/debian\n"
                                          "Suites: bookworm bookworm-updates\n"
                                          "Components: main contrib\n"
                                          "Architectures: amd64 arm64\n"
                                          "Signed-By:\n"
                                          " " BEGIN "\n"
                                          " .\n"
                                          " mDMEZVPx\n"
                                          " " END "\n");
    assert_false(exists(fixture, "/etc/apt/keyrings"));
}

static void an_old_apt_gets_the_key_as_a_file(void **state)
{
    Fixture *fixture = *state;
    FileWrite write = { .content = STR("Package: apt\nStatus: install ok installed\n"
                                       "Architecture: amd64\nVersion: 2.2.4\n"),
                        .mode = 0644,
                        .uid = HOST_KEEP_ID,
                        .gid = HOST_KEEP_ID };
    assert_true(
        host_make_directory(fixture->host, STR("/var/lib/dpkg"), 0755, true, &fixture->err));
    assert_true(host_write(fixture->host, STR("/var/lib/dpkg/status"), &write, &fixture->err));
    use(fixture, "apt");
    set_text(fixture, "key", KEY);
    apply_once(fixture);
    assert_str(content(fixture, "/etc/apt/keyrings/lab.asc"), KEY);
}

static void a_file_of_the_site_becomes_a_keyring(void **state)
{
    Fixture *fixture = *state;
    use(fixture, "apt");
    set_text(fixture, "key_file", KEY);
    apply_once(fixture);
    assert_str(content(fixture, "/etc/apt/keyrings/lab.asc"), KEY);
    assert_non_null(
        strstr(content(fixture, SOURCES).data, "Signed-By: /etc/apt/keyrings/lab.asc\n"));
    set_text(fixture, "key_file", "mDMEZVPxABYJKwYBBAHaRw8BAQdA");
    apply_once(fixture);
    assert_int_equal(content(fixture, "/etc/apt/keyrings/lab.gpg").len, 21);
}

static void one_line_each_replaces_the_paragraphs(void **state)
{
    Fixture *fixture = *state;
    use(fixture, "apt");
    apply_once(fixture);
    set_text(fixture, "format", "oneline");
    set_text(fixture, "key", KEY);
    set_words(fixture, "types", "deb deb-src");
    set_words(fixture, "architectures", "amd64 arm64");
    set_param(fixture, "enabled", value_bool(false));
    apply_once(fixture);
    assert_false(exists(fixture, SOURCES));
    assert_true(fixture->kept > 1);
#define OPTIONS "[arch=amd64,arm64 signed-by=/etc/apt/keyrings/lab.asc]"
    assert_str(content(fixture, LIST),
               "# deb " OPTIONS " http://lab/debian bookworm main contrib\n"
               "# deb " OPTIONS " http://lab/debian bookworm-updates main contrib\n"
               "# deb-src " OPTIONS " http://lab/debian bookworm main contrib\n"
               "# deb-src " OPTIONS " http://lab/debian bookworm-updates main contrib\n");
}

static void a_path_is_a_suite_without_components(void **state)
{
    Fixture *fixture = *state;
    use(fixture, "apt");
    set_words(fixture, "suites", "./");
    assert_false(check(fixture));
    assert_string_equal(fixture->err.text,
                        "a suite that ends with '/' is a path and cannot have components");
    set_param(fixture, "components", value_missing());
    set_param(fixture, "trusted", value_bool(true));
    set_text(fixture, "format", "oneline");
    apply_once(fixture);
    assert_str(content(fixture, LIST), "deb [trusted=yes] http://lab/debian ./\n");
}

static void dnf_and_zypper_have_sections(void **state)
{
    Fixture *fixture = *state;
    use(fixture, "dnf");
    set_text(fixture, "key", KEY);
    set_param(fixture, "priority", value_int(10));
    Map *options = map_new(&fixture->arena, 1);
    map_set_str(&fixture->arena, options, STR("module_hotfixes"), value_bool(true));
    set_param(fixture, "options", value_map(options));
    apply_once(fixture);
    assert_str(content(fixture, "/etc/yum.repos.d/lab.repo"),
               "[lab]\nname=lab\nbaseurl=http://lab/debian\nenabled=1\ngpgcheck=1\n"
               "gpgkey=file:///etc/pki/rpm-gpg/RPM-GPG-KEY-lab\npriority=10\n"
               "module_hotfixes=true\n");
    assert_str(content(fixture, "/etc/pki/rpm-gpg/RPM-GPG-KEY-lab"), KEY);
    use(fixture, "zypper");
    set_param(fixture, "uris", value_missing());
    set_text(fixture, "mirrorlist", "http://lab/mirrors");
    set_param(fixture, "trusted", value_bool(true));
    apply_once(fixture);
    assert_str(content(fixture, "/etc/zypp/repos.d/lab.repo"),
               "[lab]\nname=lab\nmirrorlist=http://lab/mirrors\nenabled=1\ngpgcheck=0\n"
               "autorefresh=1\n");
}

static void unrepresentable_values_are_rejected(void **state)
{
    Fixture *fixture = *state;
    static const struct {
        const char *name, *value, *message;
    } cases[] = {
        { "name", "../x",
          "'../x' is not a repository name: only letters, digits, '.', '_' and '-' are allowed" },
        { "name", ".x",
          "'.x' is not a repository name: only letters, digits, '.', '_' and '-' are allowed" },
        { "description", "a\nb", "'description' cannot contain '\n'" },
        { "mirrorlist", "http://x", "'mirrorlist' is for dnf and zypper only" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        use(fixture, "apt");
        set_text(fixture, cases[i].name, cases[i].value);
        assert_false(check(fixture));
        assert_string_equal(fixture->err.text, cases[i].message);
    }
    use(fixture, "apt");
    List *list = list_new(&fixture->arena, 1);
    list_push(&fixture->arena, list, value_string(STR("http://a b")));
    set_param(fixture, "uris", value_list(list));
    assert_false(check(fixture));
    assert_string_equal(fixture->err.text,
                        "'uris' cannot contain ' '; encode a space in an address as %20");
    use(fixture, "apt");
    set_text(fixture, "key", KEY);
    set_text(fixture, "key_path", "/x");
    assert_false(check(fixture));
    assert_string_equal(fixture->err.text,
                        "'key', 'key_file' and 'key_path' are mutually exclusive");
    use(fixture, "apt");
    Map *options = map_new(&fixture->arena, 1);
    map_set_str(&fixture->arena, options, STR_EMPTY, value_string(STR("x")));
    set_param(fixture, "options", value_map(options));
    assert_false(check(fixture));
    assert_string_equal(fixture->err.text, "'' is not an option name");
    use(fixture, "dnf");
    set_words(fixture, "suites", "bookworm");
    assert_false(check(fixture));
    assert_string_equal(fixture->err.text,
                        "'suites', 'components' and 'architectures' are for apt only");
}

static void secrets_are_not_shown_nor_readable(void **state)
{
    Fixture *fixture = *state;
    use(fixture, "apt");
    List *list = list_new(&fixture->arena, 1);
    list_push(&fixture->arena, list, value_with_secret(value_string(STR("http://me:pw@lab/"))));
    set_param(fixture, "uris", value_list(list));
    apply_once(fixture);
    FileInfo info;
    assert_true(host_stat(fixture->host, STR(SOURCES), &info, &fixture->err));
    assert_int_equal(info.mode, 0600);
    assert_true(host_remove(fixture->host, STR(SOURCES), &fixture->err));
    assert_true(check(fixture));
    assert_int_equal(str_find(fixture->outcome.diff, STR("pw@"), 0), STR_NOT_FOUND);
}

static void removing_one_keeps_keys_used_by_others(void **state)
{
    Fixture *fixture = *state;
    use(fixture, "apt");
    set_text(fixture, "key_file", KEY);
    apply_once(fixture);
    use(fixture, "apt");
    set_text(fixture, "name", "other");
    set_text(fixture, "key_path", "/etc/apt/keyrings/lab.asc");
    apply_once(fixture);
    use_action(fixture, "pkgrepo.absent");
    set_text(fixture, "name", "lab");
    set_text(fixture, "provider", "apt");
    apply_once(fixture);
    assert_false(exists(fixture, SOURCES));
    assert_true(exists(fixture, "/etc/apt/keyrings/lab.asc"));
    set_text(fixture, "name", "other");
    apply_once(fixture);
    set_text(fixture, "name", "lab");
    apply_once(fixture);
    assert_false(exists(fixture, "/etc/apt/keyrings/lab.asc"));
}

static void without_a_package_manager_the_format_must_be_given(void **state)
{
    Fixture *fixture = *state;
    use(fixture, "apt");
    set_param(fixture, "provider", value_missing());
    assert_false(check(fixture));
    assert_int_equal(fixture->err.kind, ERROR_UNAVAILABLE);
    assert_non_null(strstr(fixture->err.text, "no package manager found in the root "));
}

/* Which file it writes depends on the package manager of the machine and on the format. */
static void a_repository_claims_every_file_it_may_write(void **state)
{
    static const struct {
        const char *provider, *paths;
    } cases[] = {
        { "apt", "/etc/apt/sources.list.d/lab.sources /etc/apt/sources.list.d/lab.list "
                 "/etc/apt/keyrings/lab.asc /etc/apt/keyrings/lab.gpg" },
        { "zypper", "/etc/zypp/repos.d/lab.repo /etc/pki/rpm-gpg/RPM-GPG-KEY-lab" },
        { NULL, "/etc/apt/sources.list.d/lab.sources /etc/apt/keyrings/lab.asc "
                "/etc/yum.repos.d/lab.repo /etc/zypp/repos.d/lab.repo" },
    };
    Fixture *fixture = *state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        List *claims = list_new(&fixture->arena, 4);
        Str rest = str_from_c(cases[i].paths), path;
        use(fixture, "apt");
        set_param(fixture, "provider",
                  cases[i].provider == NULL ? value_missing()
                                            : value_string(str_from_c(cases[i].provider)));
        fixture->call.action->claims(&fixture->arena, fixture->params, claims);
        while (str_split_next(&rest, ' ', &path)) {
            Str wanted = arena_join(&fixture->arena, STR("path:"), path, STR_EMPTY);
            uint32_t at = 0;
            while (at < claims->len && !str_eq(value_str(claims->items[at]), wanted)) {
                at++;
            }
            if (at == claims->len) {
                fail_msg("%.*s", (int)wanted.len, wanted.data);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_ROOT(apt_has_paragraphs_with_the_key_inside),
        IN_ROOT(an_old_apt_gets_the_key_as_a_file),
        IN_ROOT(a_file_of_the_site_becomes_a_keyring),
        IN_ROOT(one_line_each_replaces_the_paragraphs),
        IN_ROOT(a_path_is_a_suite_without_components),
        IN_ROOT(dnf_and_zypper_have_sections),
        IN_ROOT(unrepresentable_values_are_rejected),
        IN_ROOT(secrets_are_not_shown_nor_readable),
        IN_ROOT(removing_one_keeps_keys_used_by_others),
        IN_ROOT(without_a_package_manager_the_format_must_be_given),
        IN_ROOT(a_repository_claims_every_file_it_may_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
