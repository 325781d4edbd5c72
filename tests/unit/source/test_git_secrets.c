/* Secrets of sources: sealed for one source and one host, with a key that is a file. */
#include "source/git_secrets.h"

#include "scratch.h"
#include "syncs.h"
#include "sys/directory.h"

#define URL STR("https://git.example.net/site.git")

typedef struct Fixture {
    Scratch *scratch;
    SourceVault *vault;
    GitSecrets secrets;
    Error err;
} Fixture;

static int set_up(void **state)
{
    static Fixture fixture;
    fixture = (Fixture){ 0 };
    assert_int_equal(scratch_set_up(state), 0);
    fixture.scratch = *state;
    fixture.vault = source_vault_new(fixture.scratch->path);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    source_vault_free(f->vault);
    *state = f->scratch;
    return scratch_tear_down(state);
}

static Arena *arena_of(Fixture *f)
{
    return &f->scratch->arena;
}

static void restart(Fixture *f)
{
    source_vault_free(f->vault);
    f->vault = source_vault_new(f->scratch->path);
}

static GitSource source_at(Str name, Str url)
{
    return (GitSource){ .name = name, .url = url };
}

static bool opens(Fixture *f, Str name, Str url, GitCredentials *out)
{
    GitSource source = source_at(name, url);
    f->err = (Error){ 0 };
    return git_secrets_open(f->vault, arena_of(f), &source, &f->secrets, out, &f->err);
}

static void give_token(Fixture *f, Str token)
{
    assert_true(git_secrets_set_token(f->vault, arena_of(f), STR("site"), URL, token, &f->secrets,
                                      &f->err));
}

static void test_a_token_is_sealed(void **state)
{
    Fixture *f = *state;
    GitCredentials credentials;
    give_token(f, STR("ghp_secret"));
    Buf text = buf_make_in(arena_of(f), BUF_UNLIMITED);
    git_secrets_print(&f->secrets, &text);
    assert_int_equal(str_find(buf_str(&text), STR("ghp_secret"), 0), STR_NOT_FOUND);
    assert_true(git_secrets_read(arena_of(f), buf_str(&text), &f->secrets, &f->err));
    restart(f);
    assert_true(opens(f, STR("site"), URL, &credentials));
    assert_str(credentials.token, "ghp_secret");
    assert_int_equal(credentials.ssh_key.len, 0);
    git_credentials_clear(&credentials);
}

/* A secret that was sealed with a key that is lost cannot be opened again. */
static void test_the_key_is_on_disk_before_anything_is_sealed(void **state)
{
    Fixture *f = *state;
    syncs_fail = true;
    assert_false(git_secrets_set_token(f->vault, arena_of(f), STR("site"), URL, STR("ghp_secret"),
                                       &f->secrets, &f->err));
    syncs_fail = false;
    assert_int_equal(f->secrets.token.len, 0);
    syncs_forget();
    give_token(f, STR("ghp_secret"));
    assert_true(is_synced(scratch_place(f->scratch, SOURCE_KEY)));
    assert_true(is_synced(f->scratch->path));
    restart(f);
    GitCredentials credentials;
    assert_true(opens(f, STR("site"), URL, &credentials));
    git_credentials_clear(&credentials);
}

static void test_a_token_is_for_one_source_and_one_host(void **state)
{
    Fixture *f = *state;
    GitCredentials credentials;
    give_token(f, STR("ghp_secret"));
    assert_true(opens(f, STR("site"), STR("https://git.example.net/other.git"), &credentials));
    assert_true(opens(f, STR("site"), STR("https://GIT.example.net:443/x"), &credentials));
    static const char *const others[] = { "https://git.example.org/site.git",
                                          "https://git.example.net:444/site.git",
                                          "https://git.example.net.evil.org/site.git" };
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        assert_false(opens(f, STR("site"), str_from_c(others[i]), &credentials));
        assert_non_null(strstr(f->err.text, "a different host"));
        assert_int_equal(credentials.token.len, 0);
    }
    assert_false(opens(f, STR("site2"), URL, &credentials));
    assert_true(opens(f, STR("site"), STR("/srv/site.git"), &credentials));
    assert_int_equal(credentials.token.len, 0);
    give_token(f, STR_EMPTY);
    assert_true(opens(f, STR("site"), URL, &credentials));
    assert_int_equal(credentials.token.len, 0);
}

static void test_a_key_is_made_for_ssh(void **state)
{
    Fixture *f = *state;
    GitCredentials credentials;
    assert_true(git_secrets_make_key(f->vault, arena_of(f), STR("site"), &f->secrets, &f->err));
    assert_true(str_starts(f->secrets.public_key, STR("ssh-ed25519 AAAA")));
    assert_true(str_ends(f->secrets.public_key, STR(" eden-site")));
    Str former = f->secrets.public_key;
    assert_true(opens(f, STR("site"), STR("git@git.example.net:x"), &credentials));
    assert_true(str_starts(credentials.ssh_key, STR("-----BEGIN OPENSSH PRIVATE KEY-----\n")));
    assert_true(git_secrets_make_key(f->vault, arena_of(f), STR("site"), &f->secrets, &f->err));
    assert_false(str_eq(f->secrets.public_key, former));
    char name[GIT_SOURCE_NAME_MAX];
    memset(name, 'n', sizeof name);
    assert_true(git_secrets_make_key(f->vault, arena_of(f), str_from(name, sizeof name),
                                     &f->secrets, &f->err));
}

static void test_a_webhook_secret_is_for_one_source(void **state)
{
    Fixture *f = *state;
    Str made, opened;
    assert_false(
        git_secrets_open_webhook(f->vault, arena_of(f), STR("site"), &f->secrets, &opened));
    assert_true(
        git_secrets_make_webhook(f->vault, arena_of(f), STR("site"), &f->secrets, &made, &f->err));
    assert_int_equal(made.len, GIT_WEBHOOK_SECRET);
    assert_true(git_secrets_open_webhook(f->vault, arena_of(f), STR("site"), &f->secrets, &opened));
    assert_true(str_eq(opened, made));
    assert_false(
        git_secrets_open_webhook(f->vault, arena_of(f), STR("pages"), &f->secrets, &opened));
}

static void test_a_lost_key_is_written_again_and_a_new_one_opens_nothing(void **state)
{
    Fixture *f = *state;
    GitCredentials credentials;
    const char *path = scratch_place(f->scratch, SOURCE_KEY);
    struct stat status;
    give_token(f, STR("ghp_secret"));
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_int_equal(unlink(path), 0);
    assert_true(source_vault_save(f->vault, &f->err));
    restart(f);
    assert_true(opens(f, STR("site"), URL, &credentials));
    assert_int_equal(unlink(path), 0);
    restart(f);
    assert_true(source_vault_save(f->vault, &f->err));
    assert_false(opens(f, STR("site"), URL, &credentials));
    assert_true(stat(path, &status) != 0);
    Str former = f->secrets.token;
    give_token(f, STR("ghp_secret"));
    assert_true(opens(f, STR("site"), URL, &credentials));
    assert_false(str_eq(f->secrets.token, former));
}

static void test_a_damaged_or_exposed_key_is_not_used(void **state)
{
    Fixture *f = *state;
    GitCredentials credentials;
    const char *path = scratch_place(f->scratch, SOURCE_KEY);
    give_token(f, STR("ghp_secret"));
    restart(f);
    assert_int_equal(chmod(path, 0644), 0);
    assert_false(opens(f, STR("site"), URL, &credentials));
    assert_int_equal(chmod(path, 0600), 0);
    scratch_put(f->scratch, SOURCE_KEY, "not a key\n");
    chmod(path, 0600);
    assert_false(opens(f, STR("site"), URL, &credentials));
    assert_false(git_secrets_set_token(f->vault, arena_of(f), STR("site"), URL, STR("x"),
                                       &f->secrets, &f->err));
    assert_non_null(strstr(f->err.text, "damaged"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_token_is_sealed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_key_is_on_disk_before_anything_is_sealed, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_token_is_for_one_source_and_one_host, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_key_is_made_for_ssh, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_webhook_secret_is_for_one_source, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            test_a_lost_key_is_written_again_and_a_new_one_opens_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_damaged_or_exposed_key_is_not_used, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
