/* Modules that manage lines in system files: host, limits, cron, hostname, timezone, sysctl,
 * mount. */
#include "base/buf.h"
#include "module_fixture.h"

static void put(Fixture *fixture, const char *path, const char *text)
{
    Str name = str_from_c(path);
    FileWrite write = {
        .content = str_from_c(text), .mode = 0644, .uid = HOST_KEEP_ID, .gid = HOST_KEEP_ID
    };
    assert_true(host_make_directory(fixture->host,
                                    str_slice(name, 0, str_find_last(name, STR("/"))), 0755, true,
                                    &fixture->err));
    assert_true(host_write(fixture->host, name, &write, &fixture->err));
}

static Str content(Fixture *fixture, const char *path)
{
    Str text = STR_EMPTY;
    assert_true(
        host_read(fixture->host, &fixture->arena, str_from_c(path), 10000, &text, &fixture->err));
    return text;
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

/* Applies, and checks again: nothing may be left to do. */
static void settle(Fixture *fixture, bool changes)
{
    if (!run(fixture)) {
        fail_msg("%s", fixture->err.text);
    }
    assert_int_equal(fixture->outcome.changed, changes);
    assert_true(check(fixture));
    assert_false(fixture->outcome.changed);
}

static void hosts_are_found_by_name_and_family(void **state)
{
    Fixture *fixture = *state;
    static const struct {
        const char *before, *name, *address, *alias, *state, *after;
    } cases[] = {
        { "", "db", "192.0.2.7", NULL, "present", "192.0.2.7\tdb\n" },
        { "127.0.0.1 localhost", "db", "192.0.2.7", "d", "present",
          "127.0.0.1 localhost\n192.0.2.7\tdb d\n" },
        { "192.0.2.7 old # keep\n", "db", "192.0.2.7", NULL, "present",
          "192.0.2.7\told db # keep\n" },
        { "192.0.2.1 db other\n::1 db\n", "db", "192.0.2.7", NULL, "present",
          "192.0.2.1\tother\n::1 db\n192.0.2.7\tdb\n" },
        { "192.0.2.1 db\n", "db", "192.0.2.7", NULL, "present", "192.0.2.7\tdb\n" },
        { "192.0.2.7 db d\n192.0.2.7 db\n", "db", "192.0.2.7", NULL, "present",
          "192.0.2.7 db d\n" },
        { "#192.0.2.7 db\n", "db", "192.0.2.7", NULL, "present", "#192.0.2.7 db\n192.0.2.7\tdb\n" },
        { "192.0.2.7 db d\n::1 db\n", "db", NULL, NULL, "absent", "192.0.2.7\td\n" },
        { "192.0.2.7 db d\n::1 db\n", "db", "::1", NULL, "absent", "192.0.2.7 db d\n" },
        { "192.0.2.7 x\n", "db", NULL, NULL, "absent", "192.0.2.7 x\n" },
        { "192.0.2.7 DB\n", "db", "192.0.2.7", NULL, "present", "192.0.2.7 DB\n" },
        { "127.0.0.1 a\r\n192.0.2.7 db\r\n", "db", "192.0.2.7", "d", "present",
          "127.0.0.1 a\r\n192.0.2.7\tdb d\r\n" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        put(fixture, "/etc/hosts", cases[i].before);
        use_action(fixture, "host.entry");
        set_text(fixture, "name", cases[i].name);
        set_text(fixture, "state", cases[i].state);
        if (cases[i].address != NULL) {
            set_text(fixture, "address", cases[i].address);
        }
        if (cases[i].alias != NULL) {
            set_param(fixture, "aliases", texts(fixture, cases[i].alias, NULL));
        }
        settle(fixture, strcmp(cases[i].before, cases[i].after) != 0);
        assert_str(content(fixture, "/etc/hosts"), cases[i].after);
    }
}

static void a_long_line_keeps_all_its_names(void **state)
{
    Fixture *fixture = *state;
    Buf line = buf_make_in(&fixture->arena, BUF_UNLIMITED);
    buf_put_c(&line, "192.0.2.7\tdb");
    for (int i = 0; i < 100; i++) {
        buf_put_format(&line, " n%d", i);
    }
    Str before = buf_str(&line);
    Str after = arena_format(&fixture->arena, "%" STR_FMT " db2\n", STR_ARG(before));
    put(fixture, "/etc/hosts", arena_copy_c(&fixture->arena, before));
    use_action(fixture, "host.entry");
    set_text(fixture, "name", "db2");
    set_text(fixture, "address", "192.0.2.7");
    set_text(fixture, "state", "present");
    settle(fixture, true);
    assert_str(content(fixture, "/etc/hosts"), arena_copy_c(&fixture->arena, after));
    set_text(fixture, "state", "absent");
    settle(fixture, true);
    assert_int_equal(content(fixture, "/etc/hosts").len, before.len + 1);
}

static void a_host_without_a_valid_name_or_address_is_rejected(void **state)
{
    Fixture *fixture = *state;
    static const struct {
        const char *name, *address;
    } cases[] = { { "a b", "192.0.2.7" },  { "db\n127.0.0.1 bank", "192.0.2.7" },
                  { "db", "192.0.2.777" }, { "db", "db" },
                  { "", "192.0.2.7" },     { "db", NULL } };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        use_action(fixture, "host.entry");
        set_text(fixture, "name", cases[i].name);
        set_text(fixture, "state", "present");
        if (cases[i].address != NULL) {
            set_text(fixture, "address", cases[i].address);
        }
        assert_false(check(fixture));
    }
}

static void a_limit_is_one_line(void **state)
{
    Fixture *fixture = *state;
    const char *path = "/etc/security/limits.d/eden.conf";
    put(fixture, path, "# mine\nweb - nofile 10\nweb soft nofile 5\nweb - nofile 11\n");
    use_action(fixture, "limits.present");
    set_text(fixture, "domain", "web");
    set_text(fixture, "item", "nofile");
    set_text(fixture, "type", "-");
    set_text(fixture, "value", "99");
    set_text(fixture, "state", "present");
    settle(fixture, true);
    assert_str(content(fixture, path), "# mine\nweb - nofile 99\nweb soft nofile 5\n");
    set_text(fixture, "state", "absent");
    settle(fixture, true);
    assert_str(content(fixture, path), "# mine\nweb soft nofile 5\n");
    set_text(fixture, "state", "present");
    set_text(fixture, "value", "many");
    assert_false(check(fixture));
    static const char *const values[] = { "unlimited", "infinity", "-1", "0" };
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        set_text(fixture, "value", values[i]);
        assert_true(check(fixture));
    }
    set_text(fixture, "domain", "web x");
    assert_false(check(fixture));
}

static void use_cron(Fixture *fixture, const char *command)
{
    static const char *const fields[] = { "minute", "hour", "day", "month", "weekday" };
    use_action(fixture, "cron.present");
    set_text(fixture, "name", "backup");
    set_text(fixture, "user", "root");
    set_text(fixture, "cmd", command);
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        set_text(fixture, fields[i], "*");
    }
}

static void a_cron_job_is_a_file(void **state)
{
    Fixture *fixture = *state;
    use_cron(fixture, "date +%Y-\\%m");
    set_text(fixture, "minute", "*/5");
    settle(fixture, true);
    assert_str(content(fixture, "/etc/cron.d/backup"),
               "# by eden\n*/5 * * * * root date +\\%Y-\\%m\n");
    set_text(fixture, "minute", "*");
    set_text(fixture, "every", "daily");
    settle(fixture, true);
    assert_str(content(fixture, "/etc/cron.d/backup"), "# by eden\n@daily root date +\\%Y-\\%m\n");
    use_action(fixture, "cron.absent");
    set_text(fixture, "name", "backup");
    settle(fixture, true);
}

static void variables_of_a_cron_job_are_separate_lines(void **state)
{
    Fixture *fixture = *state;
    static const struct {
        const char *name, *value;
        bool taken;
    } cases[] = {
        { "MAILTO", "root", true },
        { "MAILTO", "", true },
        { "MAILTO", "a\n* * * * * root id", false },
        { "MAILTO", "a\n", false },
        { "A=b\nC", "x", false },
        { "A B", "x", false },
        { "1A", "x", false },
        { "", "x", false },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        use_cron(fixture, "true");
        Map *env = map_new(&fixture->arena, 1);
        map_set_str(&fixture->arena, env, str_from_c(cases[i].name),
                    value_string(str_from_c(cases[i].value)));
        set_param(fixture, "env", value_map(env));
        assert_int_equal(run(fixture), cases[i].taken);
        if (cases[i].taken) {
            assert_str(content(fixture, "/etc/cron.d/backup"),
                       arena_format(&fixture->arena, "# by eden\n%s=%s\n* * * * * root true\n%c",
                                    cases[i].name, cases[i].value, '\0')
                           .data);
        }
    }
}

static void a_time_that_cron_would_ignore_is_rejected(void **state)
{
    Fixture *fixture = *state;
    static const struct {
        const char *param, *text;
        bool good;
    } cases[] = {
        { "minute", "0", true },
        { "minute", "*/15", true },
        { "minute", "1,2,30-40/5", true },
        { "minute", "0~30", true },
        { "minute", "~", true },
        { "hour", "08", true },
        { "month", "jan,Dec", true },
        { "weekday", "mon-fri", true },
        { "weekday", "7", true },
        { "minute", "60", false },
        { "hour", "24", false },
        { "day", "0", false },
        { "month", "13", false },
        { "weekday", "8", false },
        { "weekday", "friday", false },
        { "hour", "jan", false },
        { "minute", "5-1", false },
        { "minute", "*/0", false },
        { "minute", "1,", false },
        { "minute", ",1", false },
        { "minute", "1-", false },
        { "minute", "-1", false },
        { "minute", "*/", false },
        { "minute", "+1", false },
        { "minute", "**", false },
        { "minute", "1 2", false },
        { "minute", "99999999999999999999", false },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        use_cron(fixture, "true");
        set_text(fixture, cases[i].param, cases[i].text);
        if (check(fixture) != cases[i].good) {
            fail_msg("%s: %s", cases[i].param, cases[i].text);
        }
    }
    use_cron(fixture, "true");
    set_param(fixture, "minute", value_string(str_from("*\0", 2)));
    assert_false(check(fixture));
}

static void secrets_of_a_cron_job_are_not_shown(void **state)
{
    Fixture *fixture = *state;
    static const char *const params[] = { "cmd", "env" };
    for (size_t i = 0; i < COUNT_OF(params); i++) {
        Value secret = value_with_secret(value_string(STR("hunter2")));
        Map *env = map_new(&fixture->arena, 1);
        map_set_str(&fixture->arena, env, STR("TOKEN"), secret);
        use_cron(fixture, "true");
        set_param(fixture, params[i], i == 0 ? secret : value_map(env));
        assert_true(plan(fixture));
        assert_str(fixture->outcome.diff, "/etc/cron.d/backup: changed (secret)\n");
        settle(fixture, true);
        FileInfo info;
        assert_true(host_stat(fixture->host, STR("/etc/cron.d/backup"), &info, &fixture->err));
        assert_int_equal(info.mode, 0600);
        use_action(fixture, "cron.absent");
        set_text(fixture, "name", "backup");
        settle(fixture, true);
    }
}

static void a_cron_job_of_a_missing_user_waits_for_it(void **state)
{
    Fixture *fixture = *state;
    use_cron(fixture, "true");
    set_text(fixture, "user", "nobody-at-all");
    assert_false(check(fixture));
    assert_string_equal(fixture->call.blamed, "user");
    assert_true(plan(fixture)); /* what provides the user is not known here */
}

static void a_cron_job_cannot_contain_another(void **state)
{
    Fixture *fixture = *state;
    use_cron(fixture, "true\n* * * * * root evil");
    assert_false(check(fixture));
    static const struct {
        const char *param, *text;
    } cases[] = { { "name", "../evil" },       { "name", "a.sh" }, { "user", "root evil" },
                  { "minute", "* * * * * x" }, { "hour", "" },     { "hour", "1;2" } };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        use_cron(fixture, "true");
        set_text(fixture, cases[i].param, cases[i].text);
        assert_false(check(fixture));
    }
    use_cron(fixture, "true");
    set_text(fixture, "every", "daily");
    set_text(fixture, "hour", "3");
    assert_false(check(fixture));
}

static void the_host_name_of_another_root_is_its_file(void **state)
{
    Fixture *fixture = *state;
    use_action(fixture, "hostname.set");
    set_text(fixture, "name", "web1.example.net");
    settle(fixture, true);
    assert_str(content(fixture, "/etc/hostname"), "web1.example.net\n");
    static const char *const bad[] = { "", "-web", "web-", "a..b", "a_b", "web 1", "w\n" };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        set_text(fixture, "name", bad[i]);
        assert_false(check(fixture));
        const char *at = NULL;
        const Action *action = fixture->call.action;
        assert_false(
            action->verify_all(&fixture->arena, action, fixture->params, &at, &fixture->err));
        assert_non_null(at);
        assert_string_equal(at, "name");
    }
    /* The kernel takes 64 bytes. */
    char name[] = "a234567890123456789012345678901.b234567890123456789012345678901234";
    set_text(fixture, "name", name);
    assert_int_equal(strlen(name), 66);
    assert_false(check(fixture));
    name[65] = '\0';
    assert_false(check(fixture));
    name[64] = '\0';
    set_text(fixture, "name", name);
    settle(fixture, true);
}

static void a_time_zone_is_a_link(void **state)
{
    Fixture *fixture = *state;
    put(fixture, "/usr/share/zoneinfo/Europe/Berlin", "TZif");
    put(fixture, "/etc/localtime", "TZif");
    put(fixture, "/etc/timezone", "Etc/UTC\n");
    use_action(fixture, "timezone.set");
    set_text(fixture, "name", "Europe/Berlin");
    settle(fixture, true);
    Str link;
    assert_true(host_read_link(fixture->host, &fixture->arena, STR("/etc/localtime"), &link,
                               &fixture->err));
    assert_str(link, "/usr/share/zoneinfo/Europe/Berlin");
    assert_str(content(fixture, "/etc/timezone"), "Europe/Berlin\n");
    static const char *const bad[] = { "", "/etc/passwd", "../../etc/passwd", "Europe/",
                                       "No/Where" };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        set_text(fixture, "name", bad[i]);
        assert_false(check(fixture));
    }
}

static void a_setting_is_one_line(void **state)
{
    Fixture *fixture = *state;
    const char *path = "/etc/sysctl.d/90-eden.conf";
    put(fixture, path, "# mine\nnet.a=1\n; net.b = 2\nnet.b = 1   2\nnet.a = 3\n");
    use_action(fixture, "sysctl.present");
    set_text(fixture, "file", path);
    set_text(fixture, "name", "net.a");
    set_text(fixture, "value", "5");
    set_text(fixture, "state", "present");
    settle(fixture, true);
    assert_str(content(fixture, path), "# mine\nnet.a = 5\n; net.b = 2\nnet.b = 1   2\n");
    set_text(fixture, "name", "net.b");
    set_text(fixture, "value", "1 2");
    settle(fixture, false);
    set_text(fixture, "state", "absent");
    settle(fixture, true);
    assert_str(content(fixture, path), "# mine\nnet.a = 5\n; net.b = 2\n");
    set_text(fixture, "state", "present");
    static const char *const bad[] = { "", ".a", "a.", "a..b", "../../etc/passwd", "a b", "a\nb" };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        set_text(fixture, "name", bad[i]);
        assert_false(check(fixture));
    }
    set_param(fixture, "name", value_string(str_from("net.a\0", 6)));
    assert_false(check(fixture));
    set_text(fixture, "name", "net.a");
    set_text(fixture, "value", "1\nkernel.x = 2");
    assert_false(check(fixture));
    set_text(fixture, "value", "|/bin/a #1");
    settle(fixture, true);
    set_text(fixture, "value", "|/bin/a #2");
    settle(fixture, true);
    assert_str(content(fixture, path), "# mine\nnet.a = |/bin/a #2\n; net.b = 2\n");
}

static void a_secret_setting_is_private(void **state)
{
    Fixture *fixture = *state;
    const char *path = "/etc/sysctl.d/90-eden.conf";
    FileInfo info;
    put(fixture, path, "net.a = 1\n");
    use_action(fixture, "sysctl.present");
    set_text(fixture, "file", path);
    set_text(fixture, "name", "net.ipv4.tcp_fastopen_key");
    set_param(fixture, "value", value_with_secret(value_string(STR("1-2-3-4"))));
    set_text(fixture, "state", "present");
    settle(fixture, true);
    assert_true(host_stat(fixture->host, str_from_c(path), &info, &fixture->err));
    assert_int_equal(info.mode, 0600);
    use_action(fixture, "mount.mounted");
    set_text(fixture, "name", "/srv/x");
    set_text(fixture, "device", "//h/x");
    set_text(fixture, "type", "cifs");
    set_param(fixture, "options", value_with_secret(value_string(STR("password=x"))));
    assert_false(check(fixture));
    assert_non_null(strstr(fixture->err.text, "credentials="));
}

static void a_mount_below_another_root_is_its_fstab_line(void **state)
{
    Fixture *fixture = *state;
    put(fixture, "/etc/fstab",
        "# mine\nUUID=1 / ext4 defaults 0 1\ntmpfs   /srv/a\\040b tmpfs defaults 0 0\n");
    use_action(fixture, "mount.mounted");
    set_text(fixture, "name", "/srv/a b");
    set_text(fixture, "device", "tmpfs");
    set_text(fixture, "type", "tmpfs");
    set_text(fixture, "options", "defaults");
    set_param(fixture, "persist", value_bool(true));
    settle(fixture, false);
    set_text(fixture, "options", "size=8m");
    settle(fixture, true);
    assert_str(content(fixture, "/etc/fstab"), "# mine\nUUID=1 / ext4 defaults 0 1\n"
                                               "tmpfs\t/srv/a\\040b\ttmpfs\tsize=8m\t0 0\n");
    set_text(fixture, "device", "-o");
    assert_false(check(fixture));
    /* What would produce other fields in a line, which may prevent a machine from booting. */
    set_text(fixture, "device", "tmpfs");
    static const char *const bad[] = { "ro, noatime", "ro\tnoatime", "ro\nx", "", "ro#", "-o" };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        set_text(fixture, "options", bad[i]);
        assert_false(check(fixture));
    }
    set_text(fixture, "options", "ro");
    set_text(fixture, "type", "tmpfs ro");
    assert_false(check(fixture));
    use_action(fixture, "mount.unmounted");
    set_text(fixture, "name", "/srv/a b");
    set_param(fixture, "persist", value_bool(true));
    settle(fixture, true);
    assert_str(content(fixture, "/etc/fstab"), "# mine\nUUID=1 / ext4 defaults 0 1\n");
}

/* Reads the running kernel, and changes nothing. */
static void a_kernel_parameter_has_two_spellings(void **state)
{
    static const struct {
        const char *name;
        bool ok;
    } cases[] = {
        { "kernel.ostype", true },   { "kernel/ostype", true },     { "kernel.ostype/x", false },
        { "/kernel/ostype", false }, { "kernel/../ostype", false }, { "kernel/ostype/", false },
    };
    Fixture *fixture = *state;
    Host *own = fixture->call.host, *live;
    assert_true(host_open("/", &live, &fixture->err));
    fixture->call.host = live;
    fixture->services.may_be_provided = nothing_comes;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        use_action(fixture, "sysctl.present");
        set_text(fixture, "file", "/etc/sysctl.d/90-eden.conf");
        set_text(fixture, "name", cases[i].name);
        set_text(fixture, "value", "Linux");
        set_text(fixture, "state", "present");
        if (plan(fixture) != cases[i].ok) {
            fail_msg("%s: %s", cases[i].name, fixture->err.text);
        }
    }
    fixture->call.host = own;
    host_close(live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_ROOT(hosts_are_found_by_name_and_family),
        IN_ROOT(a_long_line_keeps_all_its_names),
        IN_ROOT(a_host_without_a_valid_name_or_address_is_rejected),
        IN_ROOT(a_limit_is_one_line),
        IN_ROOT(a_cron_job_is_a_file),
        IN_ROOT(variables_of_a_cron_job_are_separate_lines),
        IN_ROOT(a_time_that_cron_would_ignore_is_rejected),
        IN_ROOT(secrets_of_a_cron_job_are_not_shown),
        IN_ROOT(a_cron_job_of_a_missing_user_waits_for_it),
        IN_ROOT(a_cron_job_cannot_contain_another),
        IN_ROOT(the_host_name_of_another_root_is_its_file),
        IN_ROOT(a_time_zone_is_a_link),
        IN_ROOT(a_setting_is_one_line),
        IN_ROOT(a_secret_setting_is_private),
        IN_ROOT(a_mount_below_another_root_is_its_fstab_line),
        IN_ROOT(a_kernel_parameter_has_two_spellings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
