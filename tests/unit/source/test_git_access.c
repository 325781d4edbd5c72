/* What git prints: signatures, reasons, and nothing of a credential. */
#include "source/git_access.h"

#include "unit.h"

#define TOKEN "ghp_0123456789abcdef"

static const GitSource https = { .name = { "site", 4 },
                                 .url = { "https://git.example.net/site.git", 32 } };
static const GitSource ssh = { .name = { "site", 4 },
                               .url = { "git@git.example.net:site.git", 28 } };
static const GitCredentials token = { .token = { TOKEN, sizeof TOKEN - 1 } };
static const GitCredentials none;

static bool is_signed(const char *text, size_t len, Error *err)
{
    *err = (Error){ 0 };
    return git_access_check_signature(str_from(text, len), err);
}

#define IS_SIGNED(text, err) is_signed(text, sizeof(text) - 1, err)

static void test_only_a_good_signature_of_a_signer_counts(void **state)
{
    Error err;
    assert_true(IS_SIGNED("G\0ann@example.org\0SHA256:abc\0\n", &err));
    assert_false(IS_SIGNED("U\0\0SHA256:abc\0\n", &err));
    assert_non_null(strstr(err.text, "SHA256:abc, which is not one of the 'signers'"));
    assert_false(IS_SIGNED("N\0\0\0\n", &err));
    assert_non_null(strstr(err.text, "not signed"));
    assert_false(IS_SIGNED("B\0\0\0\n", &err));
    assert_false(IS_SIGNED("X\0\0\0\n", &err));
    assert_non_null(strstr(err.text, "expired"));
    assert_false(IS_SIGNED("E\0\0\0\n", &err));
    assert_false(IS_SIGNED("R\0\0\0\n", &err));
    assert_false(IS_SIGNED("", &err));
    assert_false(IS_SIGNED("GG\0\0\0\n", &err));
    assert_false(IS_SIGNED("G", &err));
    assert_int_equal(err.kind, ERROR_DENIED);
}

static const char *scrub(const GitCredentials *credentials, const char *text, Error *err)
{
    error_set(err, ERROR_UNAVAILABLE, "%s", text);
    git_access_scrub(credentials, err);
    assert_int_equal(err->kind, ERROR_UNAVAILABLE);
    return err->text;
}

static void test_credentials_are_removed_from_errors(void **state)
{
    Error err;
    assert_string_equal(scrub(&none, "cannot fetch https://host/x", &err),
                        "cannot fetch https://host/x");
    assert_string_equal(scrub(&none, "cannot fetch 'https://ann:secret@host/x': 404", &err),
                        "cannot fetch 'https://host/x': 404");
    assert_string_equal(scrub(&none, "https://a:b@c@host/x and ssh://git@h/@ x", &err),
                        "https://host/x and ssh://h/@ x");
    assert_string_equal(scrub(&token, "remote: " TOKEN " is revoked", &err),
                        "remote: (secret) is revoked");
    assert_string_equal(scrub(&token, "https://x:" TOKEN "@host/", &err), "https://host/");
    /* as in an Authorization header */
    assert_null(
        strstr(scrub(&token, "got Basic eC1hY2Nlc3MtdG9rZW46Z2hwXzAxMjM0NTY3ODlhYmNkZWY=", &err),
               "Z2hwXzAxMjM0NTY3"));
}

static void test_reasons_leave_out_what_git_always_prints(void **state)
{
    static const struct {
        const char *output, *reason;
    } rows[] = {
        { "fatal: '/x' does not appear to be a git repository\n"
          "fatal: Could not read from remote repository.\n\n"
          "Please make sure you have the correct access rights\nand the repository exists.\n",
          "'/x' does not appear to be a git repository" },
        { "ssh: connect to host h port 22: Connection refused\r\n"
          "fatal: Could not read from remote repository.\n",
          "ssh: connect to host h port 22: Connection refused" },
        { "fatal: unable to access 'https://h/': Could not resolve host: h\n",
          "unable to access 'https://h/': Could not resolve host: h" },
        { "remote: \x1b[31mred\n", "remote: \\x1b[31mred" },
        { "", "" },
    };
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_str(git_access_reason(&arena, str_from_c(rows[i].output)), rows[i].reason);
    }
}

static void test_failed_logins_say_what_to_do(void **state)
{
    static const struct {
        const GitSource *source;
        const GitCredentials *credentials;
        const char *output, *words;
    } rows[] = {
        { &ssh, &none, "git@git.example.net: Permission denied (publickey).",
          "git.example.net rejected the SSH key of this source; run 'eden sources key "
          "site'" },
        { &ssh, &none, "Host key verification failed.", "none of the host keys of this source" },
        { &ssh, &none, "REMOTE HOST IDENTIFICATION HAS CHANGED!", "intercepting the connection" },
        { &https, &none, "fatal: could not read Username for 'https://git.example.net'",
          "requires a token to read this repository" },
        { &https, &token, "fatal: Authentication failed for 'https://git.example.net/'",
          "rejected the token of this source" },
        { &https, &none, "server certificate verification failed.",
          "certificate of git.example.net" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        Error err = { 0 };
        assert_true(git_access_explain(rows[i].source, rows[i].credentials,
                                       str_from_c(rows[i].output), &err));
        if (strstr(err.text, rows[i].words) == NULL) {
            fail_msg("%s", err.text);
        }
    }
    Error err;
    assert_false(git_access_explain(&https, &none, STR("Permission denied"), &err));
    assert_false(git_access_explain(&ssh, &none, STR("Connection refused"), &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_a_good_signature_of_a_signer_counts),
        cmocka_unit_test(test_credentials_are_removed_from_errors),
        cmocka_unit_test(test_reasons_leave_out_what_git_always_prints),
        cmocka_unit_test(test_failed_logins_say_what_to_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
