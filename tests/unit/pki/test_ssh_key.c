#include "pki/ssh_key.h"

#include "pki/pem.h"
#include "scratch.h"
#include "sys/file.h"
#include "sys/process.h"

/* The private file as ssh-keygen writes it. */
static Str keygen(Scratch *scratch, const char *option, const char *name)
{
    ProcessResult result;
    Error err;
    const char *argv[] = {
        "ssh-keygen", option, "-P", "", "-f", scratch_place(scratch, name), NULL
    };
    ProcessSpec spec = { .argv = argv, .timeout_ms = 20000, .output_max = 4096 };
    if (!process_run(&scratch->arena, &spec, &result, &err)) {
        fail_msg("%s", err.text);
    }
    if (result.exit_code != 0) {
        fail_msg("ssh-keygen: %" STR_FMT, STR_ARG(result.error_out));
    }
    return str_trim(result.out);
}

static Str provide(Scratch *scratch)
{
    AUTO_CLEAR(Directory) own = { .descriptor = -1 };
    Str line = STR_EMPTY;
    Error err;
    assert_true(directory_open(scratch->path, &own, &err));
    if (!ssh_key_ensure(&own, "key", STR("eden@blue"), &scratch->arena, &line, &err)) {
        fail_msg("%s", err.text);
    }
    return line;
}

static void openssh_reads_the_key(void **state)
{
    Scratch *scratch = *state;
    Str line = provide(scratch);
    assert_true(str_starts(line, STR("ssh-ed25519 AAAA")));
    assert_true(str_ends(line, STR(" eden@blue")));
    assert_true(str_eq(keygen(scratch, "-y", "key"), line));
}

/* The check number that reveals a wrong passphrase is there twice, and random. */
static void numbers_of_two_keys_differ(void **state)
{
    enum {
        AT = 98, /* after what is public */
        LEN = 4
    };
    Scratch *scratch = *state;
    Str numbers[2];
    for (int i = 0; i < 2; i++) {
        PemBlock block;
        Str text, bytes;
        Error err;
        provide(scratch);
        assert_true(file_read(&scratch->arena, scratch_place(scratch, "key"), 4096, &text, &err));
        assert_true(pem_read_single(text, "OPENSSH PRIVATE KEY", &block, &err));
        assert_true(pem_bytes_in(&scratch->arena, &block, &bytes, &err));
        numbers[i] = str_slice(bytes, AT, AT + LEN);
        assert_true(str_eq(numbers[i], str_slice(bytes, AT + LEN, AT + 2 * LEN)));
        assert_int_equal(unlink(scratch_place(scratch, "key")), 0);
        assert_int_equal(unlink(scratch_place(scratch, "key.pub")), 0);
    }
    assert_false(str_eq(numbers[0], numbers[1]));
}

static void the_key_is_private_and_stable(void **state)
{
    Scratch *scratch = *state;
    struct stat status;
    Str line = provide(scratch);
    assert_int_equal(stat(scratch_place(scratch, "key"), &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_true(str_eq(provide(scratch), line));
    /* The public half is derived from the private one. */
    assert_int_equal(unlink(scratch_place(scratch, "key.pub")), 0);
    assert_true(str_eq(provide(scratch), line));
    assert_int_equal(stat(scratch_place(scratch, "key.pub"), &status), 0);
}

static void refuse(Scratch *scratch, ErrorKind kind)
{
    AUTO_CLEAR(Directory) own = { .descriptor = -1 };
    Str line;
    Error err = { 0 };
    assert_true(directory_open(scratch->path, &own, &err));
    assert_false(ssh_key_ensure(&own, "key", STR("eden@blue"), &scratch->arena, &line, &err));
    assert_int_equal(err.kind, kind);
}

static void foreign_key_files_are_not_touched(void **state)
{
    Scratch *scratch = *state;
    scratch_put(scratch, "key", "something");
    chmod(scratch_place(scratch, "key"), 0644);
    refuse(scratch, ERROR_DENIED);
    chmod(scratch_place(scratch, "key"), 0600);
    refuse(scratch, ERROR_INVALID);
    scratch_put(scratch, "key",
                "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n");
    refuse(scratch, ERROR_INVALID);
    assert_int_not_equal(access(scratch_place(scratch, "key.pub"), F_OK), 0);
}

static void fingerprint_matches_openssh(void **state)
{
    Scratch *scratch = *state;
    Str line = provide(scratch), rest = line, word, blob;
    char fingerprint[SSH_FINGERPRINT_TEXT + 1];
    assert_true(str_split_next(&rest, ' ', &word));
    assert_true(str_split_next(&rest, ' ', &blob));
    assert_true(ssh_fingerprint(blob, fingerprint));
    const char *reported = arena_copy_c(&scratch->arena, keygen(scratch, "-l", "key"));
    if (strstr(reported, fingerprint) == NULL) {
        fail_msg("%s is not in %s", fingerprint, reported);
    }
    assert_false(ssh_fingerprint(STR_EMPTY, fingerprint));
    assert_false(ssh_fingerprint(STR("%%"), fingerprint));
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, scratch_set_up, scratch_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(openssh_reads_the_key),         ROW(numbers_of_two_keys_differ),
        ROW(the_key_is_private_and_stable), ROW(foreign_key_files_are_not_touched),
        ROW(fingerprint_matches_openssh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
