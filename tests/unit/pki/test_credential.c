#include "pki/credential.h"

#include <sys/stat.h>

#include "authority.h"
#include "scratch.h"

typedef struct Home {
    Scratch *scratch;
    Authority *authority;
    Directory directory;
} Home;

static int home_set_up(void **state)
{
    Home *home = calloc(1, sizeof *home);
    Error err;
    if (scratch_set_up((void **)&home->scratch) != 0 ||
        authority_set_up((void **)&home->authority) != 0 ||
        !directory_make(scratch_place(home->scratch, "pki"), &home->directory, &err)) {
        return -1;
    }
    *state = home;
    return 0;
}

static int home_tear_down(void **state)
{
    Home *home = *state;
    directory_close(&home->directory);
    int failed = authority_tear_down((void **)&home->authority);
    failed |= scratch_tear_down((void **)&home->scratch);
    free(home);
    return failed;
}

static void credential_survives_a_round_trip(void **state)
{
    Home *home = *state;
    Authority *authority = home->authority;
    AUTO_CLEAR(Credential) read = { 0 };
    assert_succeeds(
        credential_save(&home->directory, "ca.pem", authority->ca.key, authority->ca.chain, &err));
    assert_succeeds(credential_load(&home->directory, "ca.pem", &authority->arena, &read, &err));
    assert_int_equal(read.chain.count, 1);
    assert_true(str_eq(read.chain.items[0].der, authority->ca.chain.items[0].der));
    /* And it still signs. */
    NodeCertificateSpec grant = node_grant(authority, "web1");
    Certificate made;
    assert_succeeds(ca_issue_node(&authority->arena, &read, &grant, &made, &err));
    assert_succeeds(certificate_verify(one(&made), authority->ca.chain, USE_CLIENT, NOW_MS, &err));
}

static void only_the_owner_can_read_the_key_file(void **state)
{
    Home *home = *state;
    Authority *authority = home->authority;
    const char *path = scratch_place(home->scratch, "pki/ca.pem");
    mode_t before = umask(0);
    assert_succeeds(
        credential_save(&home->directory, "ca.pem", authority->ca.key, authority->ca.chain, &err));
    umask(before);
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    static const mode_t open_modes[] = { 0640, 0604, 0620, 0777 };
    for (size_t i = 0; i < COUNT_OF(open_modes); i++) {
        Credential read = { 0 };
        assert_int_equal(chmod(path, open_modes[i]), 0);
        assert_fails(credential_load(&home->directory, "ca.pem", &authority->arena, &read, &err),
                     ERROR_DENIED, "pki/ca.pem: readable by users other than its owner");
        assert_null(read.key);
    }
}

static void file_that_is_a_link_is_rejected(void **state)
{
    Home *home = *state;
    Authority *authority = home->authority;
    Credential read = { 0 };
    assert_succeeds(
        credential_save(&home->directory, "real", authority->ca.key, authority->ca.chain, &err));
    scratch_link(home->scratch, "pki/ca.pem", "real");
    assert_fails(credential_load(&home->directory, "ca.pem", &authority->arena, &read, &err),
                 ERROR_OS, "pki/ca.pem");
    assert_fails(credential_load(&home->directory, "none", &authority->arena, &read, &err),
                 ERROR_NOT_FOUND, "pki/none");
}

static void key_and_certificate_belong_together(void **state)
{
    Home *home = *state;
    Authority *authority = home->authority;
    Credential read = { 0 };
    assert_fails(
        credential_save(&home->directory, "node.pem", authority->key, authority->ca.chain, &err),
        ERROR_INVALID, "the private key does not match the certificate");
    AUTO_CLEAR(KeyText) key = { 0 };
    assert_succeeds(p256_private_text(authority->key, &key, &err));
    Str mixed =
        arena_join(&authority->arena, str_from(key.text, key.len),
                   certificate_pem(&authority->arena, &authority->ca.chain.items[0]), STR_EMPTY);
    assert_succeeds(directory_write(&home->directory, "node.pem", mixed, false, &err));
    assert_fails(credential_load(&home->directory, "node.pem", &authority->arena, &read, &err),
                 ERROR_INVALID, "the private key does not match the certificate");
    assert_null(read.key);
}

/* Truncated anywhere: an error, never half a credential. */
static void truncated_file_is_reported(void **state)
{
    Home *home = *state;
    Authority *authority = home->authority;
    Str whole;
    assert_succeeds(
        credential_save(&home->directory, "ca.pem", authority->ca.key, authority->ca.chain, &err));
    assert_succeeds(
        directory_read(&home->directory, &authority->arena, "ca.pem", 1 << 16, &whole, &err));
    for (size_t len = 0; len + 1 < whole.len; len += 7) {
        Credential read = { 0 };
        assert_succeeds(
            directory_write(&home->directory, "ca.pem", str_slice(whole, 0, len), false, &err));
        assert_fails(credential_load(&home->directory, "ca.pem", &authority->arena, &read, &err),
                     ERROR_INVALID, "pki/ca.pem: ");
        assert_null(read.key);
    }
    char *large = arena_alloc_zero(&authority->arena, (64 << 10) + 1);
    Credential read = { 0 };
    assert_succeeds(
        directory_write(&home->directory, "ca.pem", str_from(large, (64 << 10) + 1), false, &err));
    assert_fails(credential_load(&home->directory, "ca.pem", &authority->arena, &read, &err),
                 ERROR_LIMIT, "larger than");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(credential_survives_a_round_trip, home_set_up,
                                        home_tear_down),
        cmocka_unit_test_setup_teardown(only_the_owner_can_read_the_key_file, home_set_up,
                                        home_tear_down),
        cmocka_unit_test_setup_teardown(file_that_is_a_link_is_rejected, home_set_up,
                                        home_tear_down),
        cmocka_unit_test_setup_teardown(key_and_certificate_belong_together, home_set_up,
                                        home_tear_down),
        cmocka_unit_test_setup_teardown(truncated_file_is_reported, home_set_up, home_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
