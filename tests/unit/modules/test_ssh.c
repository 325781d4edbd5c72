/* Login keys, in a root: parsers and edits. */
#include "module_fixture.h"
#include "modules/ssh/key.h"

#define KEY   "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBcXFxcXFxcXFxcXFxcXFxcXFxcXFxcXFxcXFxcXFxcX"
#define OTHER "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBgYGBgYGBgYGBgYGBgYGBgYGBgYGBgYGBgYGBgYGBgY"
#define KNOWN "/etc/ssh/ssh_known_hosts"

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

static Str content(Fixture *fixture, const char *path)
{
    Str text = STR_EMPTY;
    assert_true(
        host_read(fixture->host, &fixture->arena, str_from_c(path), 10000, &text, &fixture->err));
    return text;
}

static void keys_must_be_complete(void **state)
{
    Fixture *fixture = *state;
    static const struct {
        const char *given, *type;
        bool ok;
    } cases[] = {
        { KEY, "", true },
        { "  " KEY " ann@x \n", "", true },
        { KEY, "ssh-ed25519", true },
        { "AAAAC3NzaC1lZDI1NTE5AAAAIBcXFxcXFxcXFxcXFxcXFxcXFxcXFxcXFxcXFxcXFxcX", "ssh-ed25519",
          true },
        { KEY, "ssh-rsa", false },
        { "ssh-rsa AAAAC3NzaC1lZDI1NTE5AAAAIBcX", "", false },
        { "ssh-ed25519", "", false },
        { "ssh-ed25519 AAAA", "", false },
        { "ssh-ed25519 ////", "", false },
        { "ssh-ed25519 $(reboot)", "", false },
        { KEY "\n" OTHER, "", false },
        { "restrict " KEY, "", false },
        { "-----BEGIN OPENSSH PRIVATE KEY-----\nx", "", false },
        { "", "", false },
        { "", "ssh-ed25519", false },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        SshKey key;
        bool ok = ssh_key_read(&fixture->arena, str_from_c(cases[i].given),
                               str_from_c(cases[i].type), &key, &fixture->err);
        assert_int_equal(ok, cases[i].ok);
    }
}

/* Before anything is applied. */
static void keys_are_verified_when_the_site_is_loaded(void **state)
{
    Fixture *fixture = *state;
    static const struct {
        const char *key, *type;
        bool ok;
    } cases[] = {
        { KEY, NULL, true },
        { "AAAAC3NzaC1lZDI1NTE5AAAAIBcXFxcXFxcXFxcXFxcXFxcXFxcXFxcXFxcXFxcXFxcX", NULL, true },
        { KEY, "ssh-rsa", false },
        { "restrict " KEY, NULL, false },
        { "AAAA", "ssh-ed25519", false },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *at = NULL;
        use_action(fixture, "ssh.authorized_key");
        const Action *action = fixture->call.action;
        set_text(fixture, "key", cases[i].key);
        if (cases[i].type != NULL) {
            set_text(fixture, "type", cases[i].type);
        }
        assert_int_equal(
            ssh_key_verify(&fixture->arena, action, fixture->params, &at, &fixture->err),
            cases[i].ok);
        assert_string_equal(at, "key");
    }
}

static void lines_have_options_before_the_key(void **state)
{
    static const struct {
        const char *line, *options, *comment;
    } cases[] = {
        { KEY, "", "" },
        { "\t" KEY "  a b ", "", "a b" },
        { "restrict,command=\"a \\\" b\" " KEY " c", "restrict,command=\"a \\\" b\"", "c" },
        { "# " KEY, NULL, NULL },
        { "a b " KEY, NULL, NULL },
        { "command=\"open " KEY, NULL, NULL },
        { "", NULL, NULL },
        { "ssh-ed25519", NULL, NULL },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        SshKey key;
        bool ok = ssh_key_parse(str_from_c(cases[i].line), &key);
        assert_int_equal(ok, cases[i].options != NULL);
        if (ok) {
            assert_str(key.options, cases[i].options);
            assert_str(key.comment, cases[i].comment);
        }
    }
}

/* The hash is that of "h", as made by ssh-keygen -H. */
static void a_host_has_one_key_of_a_type(void **state)
{
    Fixture *fixture = *state;
    static const struct {
        const char *before, *state, *key, *after;
    } cases[] = {
        { "", "present", KEY, "h " KEY "\n" },
        { "h " KEY "\n", "present", KEY, "h " KEY "\n" },
        { "x,H " KEY " c", "present", KEY, "x,H " KEY " c" },
        { "h " OTHER "\n", "present", KEY, "h " KEY "\n" },
        { "x,h,y " OTHER " c\n", "present", KEY, "x,y " OTHER " c\nh " KEY "\n" },
        { "h ssh-rsa AAAA\n# h\n", "present", KEY, "h ssh-rsa AAAA\n# h\nh " KEY "\n" },
        { "@revoked h " OTHER "\n", "present", KEY, "@revoked h " OTHER "\nh " KEY "\n" },
        { "[h]:2222 " OTHER "\n", "present", KEY, "[h]:2222 " OTHER "\nh " KEY "\n" },
        { "|1|AAECAwQFBgcICQoLDA0ODxAREhM=|P52femGmyhHsNXzeKdYpm86Fs/c= " OTHER "\n", "absent",
          NULL, "" },
        { "|1|!|? " KEY "\n|1|\n|2|x|y z\n", "absent", NULL, "|1|!|? " KEY "\n|1|\n|2|x|y z\n" },
        { "h " KEY "\nx,h " OTHER "\n", "absent", OTHER, "h " KEY "\nx " OTHER "\n" },
        { "h " KEY "\nh " OTHER "\n", "absent", NULL, "" },
        { "h " OTHER "\n#", "present", KEY, "#\nh " KEY "\n" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        put(fixture, KNOWN, cases[i].before);
        use_action(fixture, "ssh.known_host");
        set_text(fixture, "name", "h");
        set_text(fixture, "state", cases[i].state);
        if (cases[i].key != NULL) {
            set_text(fixture, "key", cases[i].key);
        }
        if (!run(fixture)) {
            fail_msg("%s", fixture->err.text);
        }
        assert_str(content(fixture, KNOWN), cases[i].after);
        assert_int_equal(fixture->outcome.changed, strcmp(cases[i].before, cases[i].after) != 0);
        assert_true(check(fixture));
        assert_false(fixture->outcome.changed);
    }
}

static void use_key(Fixture *fixture, const char *option)
{
    List *options = list_new(&fixture->arena, 1);
    list_push(&fixture->arena, options, value_string(str_from_c(option)));
    use_action(fixture, "ssh.authorized_key");
    set_text(fixture, "user", "web");
    set_text(fixture, "key", KEY);
    set_text(fixture, "state", "present");
    set_param(fixture, "options", value_list(options));
}

static void a_line_cannot_be_smuggled_in(void **state)
{
    Fixture *fixture = *state;
    static const char *const options[] = { "a b", ("restrict\n" OTHER), "command=\"x", OTHER };
    for (size_t i = 0; i < COUNT_OF(options); i++) {
        use_key(fixture, options[i]);
        assert_false(plan(fixture));
        assert_int_equal(fixture->err.kind, ERROR_INVALID);
    }
    use_key(fixture, "restrict");
    set_text(fixture, "comment", "x\n" OTHER);
    assert_false(plan(fixture));
    set_text(fixture, "comment", "x");
    set_text(fixture, "user", "../root");
    assert_false(plan(fixture));
}

static void a_user_can_still_be_missing_in_a_plan(void **state)
{
    Fixture *fixture = *state;
    put(fixture, "/etc/passwd", "root:x:0:0::/root:/bin/sh\n");
    use_key(fixture, "restrict");
    assert_true(plan(fixture));
    assert_true(fixture->outcome.changed);
    assert_false(check(fixture));
    set_text(fixture, "state", "absent");
    assert_true(check(fixture));
    assert_false(fixture->outcome.changed);
}

static void a_key_is_shown_by_its_end_and_comment(void **state)
{
    Fixture *fixture = *state;
    static const struct {
        const char *key, *shown;
    } cases[] = {
        { KEY, "ssh-ed25519 ...FxcXFxcXFxcX" },
        { KEY " ann@x", "ssh-ed25519 ...FxcXFxcXFxcX ann@x" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        SshKey key;
        assert_true(ssh_key_read(&fixture->arena, str_from_c(cases[i].key), STR_EMPTY, &key,
                                 &fixture->err));
        assert_str(ssh_key_words(&fixture->call, &key), cases[i].shown);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_ROOT(keys_must_be_complete),
        IN_ROOT(keys_are_verified_when_the_site_is_loaded),
        IN_ROOT(lines_have_options_before_the_key),
        IN_ROOT(a_host_has_one_key_of_a_type),
        IN_ROOT(a_line_cannot_be_smuggled_in),
        IN_ROOT(a_user_can_still_be_missing_in_a_plan),
        IN_ROOT(a_key_is_shown_by_its_end_and_comment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
