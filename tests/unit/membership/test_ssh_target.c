#include "membership/ssh_target.h"

#include "unit.h"

#define BLOB     "AAAAC3NzaC1lZDI1NTE5AAAAIBcXFxcXFxcXFxcXFxcXFxcXFxcXFxcXFxcXFxcXFxcX"
#define HOST_KEY "ssh-ed25519 " BLOB

typedef struct Fixture {
    Arena arena;
    SshTrust trust;
} Fixture;

static int set_up(void **state)
{
    static Fixture fixture;
    fixture = (Fixture){ 0 };
    arena_init(&fixture.arena, ARENA_UNLIMITED);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    arena_clear(&f->arena);
    return 0;
}

static SshTarget target_of(const char *text)
{
    SshTarget target;
    Error err;
    if (!ssh_target_parse(str_from_c(text), &target, &err)) {
        fail_msg("%s", err.text);
    }
    return target;
}

static void target_is_user_host_and_port(void **state)
{
    SshTarget target = target_of("web1.example.net");
    assert_string_equal(target.user, "root");
    assert_string_equal(target.address.host, "web1.example.net");
    assert_int_equal(target.address.port, 22);
    target = target_of("admin-2@10.0.0.7:2222");
    assert_string_equal(target.user, "admin-2");
    assert_string_equal(target.address.host, "10.0.0.7");
    assert_int_equal(target.address.port, 2222);
    target = target_of("_u@[2001:db8::1]:2200");
    assert_string_equal(target.address.host, "2001:db8::1");
    assert_int_equal(target.address.port, 2200);
}

/* CVE-2020-16846, CVE-2021-3148, CVE-2021-3197: user input is a name or rejected. */
static void hostile_hosts_and_users_are_rejected(void **state)
{
    static const char *const texts[] = {
        "",
        "-oProxyCommand=touch /tmp/x",
        "root@-oProxyCommand=touch",
        "-l@web1",
        "--@web1",
        "-root@web1",
        "ro ot@web1",
        "root;id@web1",
        "root$(id)@web1",
        "root\n@web1",
        "r%u@web1",
        "@web1",
        "a@b@web1",
        "root@",
        "root@web1 id",
        "root@web1;id",
        "root@`id`",
        "root@$(id)",
        "root@web1\nProxyCommand x",
        "root@web1\x1b[31m",
        "root@\xe2\x80\xaeweb1",
        "root@web1:",
        "root@web1:0",
        "root@web1:65536",
        "root@web1:22x",
        "root@web1:-1",
        "root@/tmp/socket",
        "root@unix:/tmp/socket",
        "root@[::1",
        "root@%h",
        "root@1.2.3",
        "root@ssh://web1",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa@web1",
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        SshTarget target;
        Error err = { 0 };
        if (ssh_target_parse(str_from_c(texts[i]), &target, &err)) {
            fail_msg("taken: %s", texts[i]);
        }
        assert_int_equal(err.kind, ERROR_INVALID);
        for (const char *c = err.text; *c != '\0'; c++) {
            assert_true((unsigned char)*c >= ' ');
        }
    }
    SshTarget target;
    Error err;
    assert_false(ssh_target_parse(STR("@web1"), &target, &err));
    assert_true(str_starts(str_from_c(err.text), STR("invalid user name before '@'")));
    assert_false(ssh_target_parse(str_from("web\0.de", 7), &target, &err));
}

static void add(Fixture *f, const char *line)
{
    Error err;
    if (!ssh_trust_add(&f->arena, &f->trust, str_from_c(line), &err)) {
        fail_msg("%s: %s", line, err.text);
    }
}

static void host_keys_are_accepted_in_file_format(void **state)
{
    Fixture *f = *state;
    add(f, HOST_KEY);
    add(f, HOST_KEY " root@web1\n");
    add(f, "web1.example.net " HOST_KEY);
    add(f, "  [web1]:2222 " HOST_KEY " comment");
    assert_str(ssh_trust_known_hosts(&f->arena, &f->trust),
               (SSH_HOST_ALIAS " " HOST_KEY "\n" SSH_HOST_ALIAS " " HOST_KEY "\n" SSH_HOST_ALIAS
                               " " HOST_KEY "\n" SSH_HOST_ALIAS " " HOST_KEY "\n"));
    assert_str(ssh_trust_text(&f->arena, &(SshTrust){ { f->trust.keys[0] }, 1, false }),
               "ssh-ed25519 SHA256:865cUsOZmfAiNo2lb6E2RDGMbFAIove1wmhVt1IK93w");
    for (int i = 4; i < SSH_HOST_KEYS_MAX; i++) {
        add(f, HOST_KEY);
    }
    Error err;
    assert_false(ssh_trust_add(&f->arena, &f->trust, STR(HOST_KEY), &err));
    assert_int_equal(err.kind, ERROR_LIMIT);
}

static void hostile_host_keys_are_rejected(void **state)
{
    Fixture *f = *state;
    static const char *const texts[] = {
        "",
        "ssh-ed25519",
        "ssh-ed25519 AAAA",
        "ssh-ed25519 -oProxyCommand=x",
        "-oProxyCommand=x " BLOB,
        "ssh-rsa " BLOB,
        "ssh-dss " BLOB,
        "@cert-authority * " HOST_KEY,
        "@revoked " HOST_KEY,
        "* ssh-ed25519-cert-v01@openssh.com " BLOB,
        HOST_KEY "\n* " HOST_KEY,
        "ssh-ed25519\n" BLOB,
        "-----BEGIN OPENSSH PRIVATE KEY-----",
        "ssh-ed25519 " BLOB "\x01",
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        Error err = { 0 };
        if (ssh_trust_add(&f->arena, &f->trust, str_from_c(texts[i]), &err)) {
            fail_msg("taken: %s", texts[i]);
        }
        assert_int_equal(err.kind, ERROR_INVALID);
    }
    assert_int_equal(f->trust.count, 0);
}

static const SshFiles places = { "ssh", "ssh_key", "known_hosts-0" };

static bool has_option(const char *const *argv, const char *option)
{
    for (; *argv != NULL; argv++) {
        if (strcmp(argv[0], "-o") == 0 && strcmp(argv[1], option) == 0) {
            return true;
        }
    }
    return false;
}

/* The end of the command line: the target, and a command that is always the same. */
static void expect_end(const char *const *argv, const char *const *wanted, size_t count)
{
    size_t len = 0;
    while (argv[len] != NULL) {
        len++;
    }
    assert_true(len > count);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(argv[len - count + i], wanted[i]);
    }
}

static void command_line_trusts_only_the_given_keys(void **state)
{
    Fixture *f = *state;
    SshTarget target = target_of("web1:2222");
    add(f, HOST_KEY);
    const char *const *argv = ssh_target_argv(&f->arena, &target, &f->trust, &places);
    assert_string_equal(argv[0], "ssh");
    assert_string_equal(argv[1], "-F");
    assert_string_equal(argv[2], "none");
    assert_true(has_option(argv, "BatchMode=yes"));
    assert_true(has_option(argv, "StrictHostKeyChecking=yes"));
    assert_true(has_option(argv, "UserKnownHostsFile=known_hosts-0"));
    assert_true(has_option(argv, "GlobalKnownHostsFile=/dev/null"));
    assert_true(has_option(argv, "HostKeyAlgorithms=ssh-ed25519"));
    assert_true(has_option(argv, "IdentitiesOnly=yes"));
    assert_true(has_option(argv, "IdentityAgent=none"));
    assert_true(has_option(argv, "ForwardAgent=no"));
    const char *const end[] = { "-i",   "ssh_key",           "-l", "root", "-p", "2222", "--",
                                "web1", "eden join --answer" };
    expect_end(argv, end, COUNT_OF(end));
}

static void other_users_answer_through_sudo(void **state)
{
    Fixture *f = *state;
    SshTarget target = target_of("admin@::1");
    add(f, HOST_KEY);
    const char *const end[] = {
        "-l", "admin", "-p", "22", "--", "::1", "sudo -n eden join --answer"
    };
    expect_end(ssh_target_argv(&f->arena, &target, &f->trust, &places), end, COUNT_OF(end));
}

static void new_key_is_accepted_only_on_request(void **state)
{
    Fixture *f = *state;
    SshTarget target = target_of("web1");
    SshKey learned;
    Error err;
    f->trust.accept_new = true;
    const char *const *argv = ssh_target_argv(&f->arena, &target, &f->trust, &places);
    assert_true(has_option(argv, "StrictHostKeyChecking=accept-new"));
    assert_false(has_option(argv, "StrictHostKeyChecking=yes"));
    assert_true(ssh_trust_found(&f->arena, STR(SSH_HOST_ALIAS " " HOST_KEY "\n"), &learned, &err));
    assert_str(learned.blob, BLOB);
    assert_false(ssh_trust_found(&f->arena, STR_EMPTY, &learned, &err));
    assert_false(ssh_trust_found(&f->arena, STR("web1 " HOST_KEY "\n"), &learned, &err));
}

static void the_servers_key_permits_nothing_else(void **state)
{
    Fixture *f = *state;
    assert_str(ssh_authorized_line(&f->arena, STR(HOST_KEY " eden@blue"), false),
               "restrict,command=\"eden join --answer\" " HOST_KEY " eden@blue");
    assert_str(ssh_authorized_line(&f->arena, STR(HOST_KEY " eden@blue"), true),
               "restrict,command=\"sudo -n eden join --answer\" " HOST_KEY " eden@blue");
}

static void failures_include_a_remedy(void **state)
{
    Fixture *f = *state;
    SshTarget target = target_of("admin@web1");
    add(f, HOST_KEY);
    static const struct {
        int exit_code;
        const char *sent;
        ErrorKind kind;
        const char *chunk;
    } rows[] = {
        { 255,
          ("@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\n"
           "The fingerprint for the ED25519 key sent by the remote host is\n"
           "SHA256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.\n"
           "Host key verification failed.\n"),
          ERROR_DENIED, "SHA256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, but" },
        { 255, "Host key verification failed.\n", ERROR_DENIED,
          "SHA256:865cUsOZmfAiNo2lb6E2RDGMbFAIove1wmhVt1IK93w" },
        { 255,
          ("Unable to negotiate with 10.0.0.1 port 22: no matching host key type found. "
           "Their offer: rsa-sha2-512\n"),
          ERROR_DENIED, "of another type" },
        { 255, "admin@web1: Permission denied (publickey).\n", ERROR_DENIED, "eden nodes ssh-key" },
        { 255, "ssh: connect to host web1 port 22: Connection refused\n", ERROR_UNAVAILABLE,
          "Connection refused" },
        { 127, "bash: line 1: eden: command not found\n", ERROR_UNAVAILABLE,
          "eden not found on web1" },
        { 1, "sudo: a password is required\n", ERROR_DENIED, "with sudo" },
        { 3, "\x1b[2Jboom\n", ERROR_UNAVAILABLE, "\\x1b[2Jboom" },
        { 3, "", ERROR_UNAVAILABLE, "no output" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        Error err = { 0 };
        assert_false(ssh_explain(&f->arena, &target, &f->trust, rows[i].exit_code,
                                 str_from_c(rows[i].sent), &err));
        assert_int_equal(err.kind, rows[i].kind);
        if (strstr(err.text, rows[i].chunk) == NULL) {
            fail_msg("\"%s\" is not in \"%s\"", rows[i].chunk, err.text);
        }
    }
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(target_is_user_host_and_port),
        ROW(hostile_hosts_and_users_are_rejected),
        ROW(host_keys_are_accepted_in_file_format),
        ROW(hostile_host_keys_are_rejected),
        ROW(command_line_trusts_only_the_given_keys),
        ROW(other_users_answer_through_sudo),
        ROW(new_key_is_accepted_only_on_request),
        ROW(the_servers_key_permits_nothing_else),
        ROW(failures_include_a_remedy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
