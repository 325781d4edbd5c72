/* A directory as a manifest and blobs, and created again from them. */
#include "source/site_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "scratch.h"
#include "sys/file_tree.h"

/* The disk. */
static int tree_syncs;
static bool tree_sync_fails;

int syncfs(int fd)
{
    tree_syncs++;
    if (tree_sync_fails) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_syncfs, fd);
}

static BlobStore *open_store(Scratch *scratch)
{
    BlobStore *store;
    Error err;
    assert_true(blob_store_open(scratch_place(scratch, "blobs"), &store, &err));
    return store;
}

static Manifest scan(Scratch *scratch, BlobStore *blobs)
{
    Manifest manifest;
    Error err;
    if (!site_tree_scan(&scratch->arena, scratch_place(scratch, "site"), blobs, &manifest, &err)) {
        fail_msg("%s", err.text);
    }
    return manifest;
}

static void put_site(Scratch *scratch)
{
    scratch_put(scratch, "site/config.yaml", "name: shop\n");
    scratch_put(scratch, "site/files/empty", "");
    scratch_put(scratch, "site/files/run.sh", "#!/bin/sh\n");
    assert_int_equal(chmod(scratch_place(scratch, "site/files/run.sh"), 0700), 0);
    scratch_link(scratch, "site/files/link", "../config.yaml");
    scratch_put(scratch, "site/.git/config", "[core]\n");
    scratch_put(scratch, "site/.gitignore", "*.o\n");
    FILE *file = fopen(scratch_reach(scratch, "site/files/big"), "w");
    for (int i = 0; i < (BLOB_MAX + 4) / 4; i++) {
        fwrite(&i, 4, 1, file);
    }
    fclose(file);
}

static Str text_of(Scratch *scratch, const Manifest *manifest)
{
    Buf text = buf_make_in(&scratch->arena, BUF_UNLIMITED);
    manifest_print(manifest, &text);
    return buf_str(&text);
}

static void test_a_site_is_scanned_and_created_again(void **state)
{
    Scratch *scratch = *state;
    AUTO(BlobStore) *store = open_store(scratch);
    put_site(scratch);
    Manifest manifest = scan(scratch, store), again;
    const char *copy = scratch_place(scratch, "copy");
    Error err;
    Str *missing;
    assert_int_equal(manifest.file_count, 6);
    assert_null(manifest_find(&manifest, STR(".git/config")));
    assert_int_equal(manifest_find(&manifest, STR("files/big"))->blob_count, 2);
    assert_string_equal(manifest_find(&manifest, STR("files/run.sh"))->mode, "0755");
    assert_true(str_eq_c(manifest_find(&manifest, STR("files/link"))->link, "../config.yaml"));
    assert_int_equal(site_tree_missing(&scratch->arena, &manifest, store, &missing), 0);
    assert_true(site_tree_create(&manifest, store, copy, true, &err));
    assert_true(site_tree_verify(&manifest, copy, &err));
    assert_true(site_tree_scan(&scratch->arena, copy, NULL, &again, &err));
    assert_true(str_eq(text_of(scratch, &manifest), text_of(scratch, &again)));
    assert_false(site_tree_create(&manifest, store, copy, true, &err));
    assert_int_equal(err.kind, ERROR_CONFLICT);
}

static void test_modes_do_not_depend_on_the_umask(void **state)
{
    Scratch *scratch = *state;
    AUTO(BlobStore) *store = open_store(scratch);
    put_site(scratch);
    Manifest manifest = scan(scratch, store);
    const char *copy = scratch_place(scratch, "copy");
    struct stat status;
    Error err;
    mode_t old = umask(0077);
    bool ok = site_tree_create(&manifest, store, copy, false, &err);
    umask(old);
    assert_true(ok);
    assert_int_equal(stat(scratch_place(scratch, "copy/files/run.sh"), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0755);
    assert_int_equal(stat(scratch_place(scratch, "copy/config.yaml"), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0644);
    assert_int_equal(stat(copy, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
}

static void test_a_durable_tree_is_on_disk(void **state)
{
    Scratch *scratch = *state;
    AUTO(BlobStore) *store = open_store(scratch);
    put_site(scratch);
    Manifest manifest = scan(scratch, store);
    Error err;
    tree_syncs = 0;
    assert_true(site_tree_create(&manifest, store, scratch_place(scratch, "draft"), false, &err));
    assert_int_equal(tree_syncs, 0);
    assert_true(site_tree_create(&manifest, store, scratch_place(scratch, "copy"), true, &err));
    assert_int_equal(tree_syncs, 1);
    const char *other = scratch_place(scratch, "other");
    tree_sync_fails = true;
    assert_false(site_tree_create(&manifest, store, other, true, &err));
    tree_sync_fails = false;
    assert_int_equal(access(other, F_OK), -1);
}

/* A blob of another size, whose hash is right, belongs to a manifest that lies. */
static void test_a_blob_of_another_size_leaves_nothing(void **state)
{
    Scratch *scratch = *state;
    AUTO(BlobStore) *store = open_store(scratch);
    put_site(scratch);
    Manifest manifest = scan(scratch, store);
    const char *copy = scratch_place(scratch, "copy");
    Error err;
    for (uint32_t i = 0; i < manifest.file_count; i++) {
        if (str_eq_c(manifest.files[i].path, "config.yaml")) {
            manifest.files[i].size--;
        }
    }
    assert_false(site_tree_create(&manifest, store, copy, false, &err));
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_non_null(strstr(err.text, "config.yaml"));
    assert_int_equal(access(copy, F_OK), -1);
}

static void test_a_missing_blob_leaves_nothing(void **state)
{
    Scratch *scratch = *state;
    AUTO(BlobStore) *store = open_store(scratch);
    put_site(scratch);
    Manifest manifest = scan(scratch, NULL);
    Str *missing;
    Error err;
    assert_int_equal(site_tree_missing(&scratch->arena, &manifest, store, &missing), 5);
    assert_false(site_tree_create(&manifest, store, scratch_place(scratch, "copy"), true, &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    assert_int_equal(access(scratch_place(scratch, "copy"), F_OK), -1);
}

static void rejects(Scratch *scratch, const char *problem)
{
    Manifest manifest;
    Error err;
    assert_false(
        site_tree_scan(&scratch->arena, scratch_place(scratch, "site"), NULL, &manifest, &err));
    if (strstr(err.text, problem) == NULL) {
        fail_msg("%s", err.text);
    }
}

static void test_a_link_out_of_the_site_is_rejected(void **state)
{
    Scratch *scratch = *state;
    scratch_link(scratch, "site/files/passwd", "../../etc/passwd");
    rejects(scratch, "files/passwd: the link points outside the site");
}

static void test_a_pipe_is_rejected(void **state)
{
    Scratch *scratch = *state;
    assert_int_equal(mkfifo(scratch_reach(scratch, "site/files/pipe"), 0600), 0);
    rejects(scratch, "files/pipe: a site cannot contain devices, pipes or sockets");
}

static void test_a_huge_file_is_rejected_before_it_is_read(void **state)
{
    Scratch *scratch = *state;
    scratch_put(scratch, "site/a", "");
    assert_int_equal(truncate(scratch_place(scratch, "site/a"), MANIFEST_BYTES_MAX + 1), 0);
    rejects(scratch, "larger than 1 GiB");
}

static void test_a_file_that_has_changed_is_not_read(void **state)
{
    Scratch *scratch = *state;
    scratch_put(scratch, "site/a", "one");
    Manifest manifest = scan(scratch, NULL);
    char *buffer = ARENA_ARRAY(&scratch->arena, char, BLOB_MAX);
    const char *site = scratch_place(scratch, "site");
    Error err;
    Str data;
    assert_true(site_tree_read_blob(site, &manifest.files[0], 0, buffer, &data, &err));
    assert_true(str_eq_c(data, "one"));
    scratch_put(scratch, "site/a", "two");
    assert_false(site_tree_read_blob(site, &manifest.files[0], 0, buffer, &data, &err));
    assert_int_equal(err.kind, ERROR_CONFLICT);
}

static void test_damage_of_a_created_tree_is_detected(void **state)
{
    Scratch *scratch = *state;
    AUTO(BlobStore) *store = open_store(scratch);
    put_site(scratch);
    Manifest manifest = scan(scratch, store);
    const char *copy = scratch_place(scratch, "copy");
    Error err;
    assert_true(site_tree_create(&manifest, store, copy, true, &err));
    scratch_put(scratch, "copy/config.yaml", "name: sho2\n");
    assert_false(site_tree_verify(&manifest, copy, &err));
    assert_non_null(strstr(err.text, "config.yaml"));
    scratch_put(scratch, "copy/config.yaml", "");
    assert_false(site_tree_verify(&manifest, copy, &err));
    scratch_put(scratch, "copy/config.yaml", "name: shop\n");
    assert_true(site_tree_verify(&manifest, copy, &err));
    assert_int_equal(chmod(scratch_place(scratch, "copy/config.yaml"), 0755), 0);
    assert_false(site_tree_verify(&manifest, copy, &err));
    assert_int_equal(chmod(scratch_place(scratch, "copy/config.yaml"), 0644), 0);
    assert_int_equal(chmod(scratch_place(scratch, "copy/files/run.sh"), 0644), 0);
    assert_false(site_tree_verify(&manifest, copy, &err));
    assert_int_equal(err.kind, ERROR_CONFLICT);
    assert_int_equal(chmod(scratch_place(scratch, "copy/files/run.sh"), 0755), 0);
    assert_true(site_tree_verify(&manifest, copy, &err));
    unlink(scratch_place(scratch, "copy/files/link"));
    assert_false(site_tree_verify(&manifest, copy, &err));
    scratch_link(scratch, "copy/files/link", "/etc/passwd");
    assert_false(site_tree_verify(&manifest, copy, &err));
}

static void test_a_tree_is_never_written_through_a_link(void **state)
{
    Scratch *scratch = *state;
    AUTO(FileTreeWriter) *writer = NULL;
    Error err;
    assert_true(file_tree_create(scratch_place(scratch, "copy"), &writer, &err));
    assert_true(file_tree_add_link(writer, STR("out"), str_from_c(scratch->path), &err));
    assert_false(file_tree_add_file(writer, STR("out/escaped"), false, &err));
    assert_false(file_tree_add_file(writer, STR("../escaped"), false, &err));
    assert_int_equal(access(scratch_place(scratch, "escaped"), F_OK), -1);
    FileTreeFile file;
    assert_false(file_tree_open(scratch->path, STR("copy/out/copy/out"), &file, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_site_is_scanned_and_created_again, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(test_a_durable_tree_is_on_disk, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(test_a_blob_of_another_size_leaves_nothing, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(test_modes_do_not_depend_on_the_umask, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(test_a_missing_blob_leaves_nothing, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(test_a_link_out_of_the_site_is_rejected, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(test_a_pipe_is_rejected, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(test_a_huge_file_is_rejected_before_it_is_read,
                                        scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(test_a_file_that_has_changed_is_not_read, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(test_damage_of_a_created_tree_is_detected, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(test_a_tree_is_never_written_through_a_link, scratch_set_up,
                                        scratch_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
