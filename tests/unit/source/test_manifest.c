/* Manifests: one form, and nothing that could lead out of the tree. */
#include "source/manifest.h"

#include <stdlib.h>

#include "unit.h"

#define BLOB  "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
#define OTHER "60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752"

#define FILES(items) "{\"format\":\"eden.manifest/1\",\"files\":[" items "]}"
#define FILE_AT(path) \
    "{\"path\":\"" path "\",\"mode\":\"0644\",\"size\":4,\"blobs\":[\"" BLOB "\"]}"
#define LINK_AT(path, link) "{\"path\":\"" path "\",\"link\":\"" link "\"}"

static bool can_read(const char *text, const char *problem)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Manifest manifest;
    Error err = { 0 };
    bool ok = manifest_read(&arena, str_from_c(text), &manifest, &err);
    if (!ok && (problem == NULL || strstr(err.text, problem) == NULL)) {
        fail_msg("%s: %s", text, err.text);
    }
    return ok;
}

static void test_a_manifest_survives_a_round_trip(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Buf text = buf_make_in(&arena, BUF_UNLIMITED), again = buf_make_in(&arena, BUF_UNLIMITED);
    Str blobs[] = { STR(BLOB), STR(OTHER) };
    ManifestFile files[] = {
        { .path = STR("config.yaml"), .mode = "0644" },
        { .path = STR("files/image"),
          .mode = "0755",
          .size = BLOB_MAX + 7,
          .blobs = blobs,
          .blob_count = 2 },
        { .path = STR("files/latest"), .link = STR("image") },
    };
    Manifest manifest = { files, COUNT_OF(files) }, read;
    Error err;
    assert_true(manifest_check(&manifest, &err));
    manifest_print(&manifest, &text);
    assert_true(manifest_read(&arena, buf_str(&text), &read, &err));
    manifest_print(&read, &again);
    assert_true(str_eq(buf_str(&text), buf_str(&again)));
    assert_int_equal(manifest_bytes(&read), BLOB_MAX + 7);
    const ManifestFile *image = manifest_find(&read, STR("files/image"));
    assert_int_equal(manifest_blob_size(image, 0), BLOB_MAX);
    assert_int_equal(manifest_blob_size(image, 1), 7);
    assert_null(manifest_find(&read, STR("files")));
}

static void test_a_manifest_has_one_canonical_form(void **state)
{
    assert_true(can_read(FILES(""), NULL));
    assert_true(can_read(FILES(FILE_AT("a") "," FILE_AT("b")), NULL));
    assert_false(can_read(FILES(FILE_AT("b") "," FILE_AT("a")), "sorted"));
    assert_false(can_read(FILES(FILE_AT("a") "," FILE_AT("a")), "sorted"));
    assert_false(can_read(FILES(" " FILE_AT("a")), "canonical"));
    assert_false(can_read(FILES("{\"mode\":\"0644\",\"path\":\"a\"}"), "canonical"));
    assert_false(can_read(FILES("{\"path\":\"a\",\"mode\":\"0644\",\"owner\":\"root\"}"), "owner"));
}

static void test_paths_stay_in_the_tree(void **state)
{
    static const char *const bad[] = { "/etc/passwd", "../a",  "a/../b", "a//b",     "a/",
                                       ".",           "a/./b", ".git/x", "a/.git/x", ".git" };
    Error err;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_false(manifest_path_check(str_from_c(bad[i]), &err));
    }
    assert_false(manifest_path_check(STR(""), &err));
    assert_false(manifest_path_check(STR("a\nb"), &err));
    assert_null(strchr(err.text, '\n'));
    assert_false(manifest_path_check(STR("a\0b"), &err));
    assert_false(manifest_path_check(STR("a\xff"), &err));
    assert_true(manifest_path_check(STR(".gitignore"), &err));
    assert_true(manifest_path_check(STR("a..b/..c/\xc3\xa4 b"), &err));
    assert_false(can_read(FILES(FILE_AT("../a")), ".."));
}

static void test_long_and_deep_paths_are_rejected(void **state)
{
    char path[MANIFEST_PATH_MAX + 2];
    Error err;
    memset(path, 'a', sizeof path);
    assert_false(manifest_path_check(str_from(path, MANIFEST_NAME_MAX + 1), &err));
    assert_int_equal(err.kind, ERROR_LIMIT);
    assert_true(manifest_path_check(str_from(path, MANIFEST_NAME_MAX), &err));
    for (size_t i = 1; i < sizeof path; i += 2) {
        path[i] = '/';
    }
    assert_true(manifest_path_check(str_from(path, 2 * MANIFEST_DEPTH_MAX - 1), &err));
    assert_false(manifest_path_check(str_from(path, 2 * MANIFEST_DEPTH_MAX + 1), &err));
    assert_int_equal(err.kind, ERROR_LIMIT);
    assert_false(manifest_path_check(str_from(path, sizeof path), &err));
}

static void test_links_stay_in_the_tree(void **state)
{
    Error err;
    assert_true(manifest_link_check(STR("a"), STR("b"), &err));
    assert_true(manifest_link_check(STR("a/b"), STR("../c"), &err));
    assert_true(manifest_link_check(STR("a/b"), STR(".././c//d"), &err));
    assert_true(manifest_link_check(STR("a/b"), STR(".."), &err));
    assert_false(manifest_link_check(STR("a"), STR(".."), &err));
    assert_false(manifest_link_check(STR("a/b"), STR("../../c"), &err));
    assert_non_null(strstr(err.text, "points outside the site"));
    assert_false(manifest_link_check(STR("a/b"), STR("./../../c"), &err));
    assert_false(manifest_link_check(STR("a"), STR("/etc/passwd"), &err));
    assert_false(manifest_link_check(STR("a"), STR(""), &err));
    /* "b" could be a link to "..", and then this leaves the tree. */
    assert_false(manifest_link_check(STR("a"), STR("b/../c"), &err));
}

static void test_a_link_is_not_a_directory(void **state)
{
    assert_false(can_read(FILES(LINK_AT("a", "b") "," FILE_AT("a/c")), "also a file"));
    assert_false(
        can_read(FILES(FILE_AT("a") "," FILE_AT("a-b") "," FILE_AT("a/c")), "also a file"));
    assert_true(can_read(FILES(LINK_AT("a", "b") "," FILE_AT("b/c")), NULL));
}

static void test_sizes_match_blobs(void **state)
{
    assert_false(can_read(FILES("{\"path\":\"a\",\"mode\":\"0644\",\"size\":4}"), "its blobs"));
    assert_false(can_read(
        FILES("{\"path\":\"a\",\"mode\":\"0644\",\"size\":1048577,\"blobs\":[\"" BLOB "\"]}"),
        "its blobs"));
    assert_false(can_read(FILES("{\"path\":\"a\",\"mode\":\"0644\",\"blobs\":[\"" BLOB "\"]}"),
                          "its blobs"));
    assert_false(can_read(FILES("{\"path\":\"a\",\"mode\":\"0644\",\"size\":-4}"), "size"));
    assert_false(can_read(FILES("{\"path\":\"a\",\"mode\":\"0600\"}"), "mode"));
    assert_false(can_read(FILES("{\"path\":\"a\"}"), "mode"));
    assert_false(can_read(FILES("{\"path\":\"a\",\"mode\":\"0644\",\"link\":\"b\"}"), "no mode"));
    assert_false(can_read(
        FILES("{\"path\":\"a\",\"mode\":\"0644\",\"size\":4,\"blobs\":[\"../x\"]}"), "SHA-256"));
}

static void test_a_site_has_at_most_1_gib(void **state)
{
    Str *blobs = calloc(MANIFEST_FILE_BLOBS_MAX, sizeof(Str));
    for (size_t i = 0; i < MANIFEST_FILE_BLOBS_MAX; i++) {
        blobs[i] = STR(BLOB);
    }
    ManifestFile files[] = {
        { .path = STR("a"),
          .mode = "0644",
          .size = MANIFEST_BYTES_MAX,
          .blobs = blobs,
          .blob_count = MANIFEST_FILE_BLOBS_MAX },
        { .path = STR("b"), .mode = "0644", .size = 1, .blobs = blobs, .blob_count = 1 },
    };
    Manifest manifest = { files, 1 };
    Error err;
    assert_true(manifest_check(&manifest, &err));
    manifest.file_count = 2;
    assert_false(manifest_check(&manifest, &err));
    assert_int_equal(err.kind, ERROR_LIMIT);
    free(blobs);
}

static void test_two_manifests_are_compared(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Manifest before, after;
    ManifestChange *changes;
    Error err;
    assert_true(manifest_read(
        &arena, STR(FILES(FILE_AT("a") "," FILE_AT("b") "," LINK_AT("c", "a"))), &before, &err));
    assert_true(manifest_read(
        &arena, STR(FILES(FILE_AT("b") "," LINK_AT("c", "b") "," FILE_AT("d"))), &after, &err));
    assert_int_equal(manifest_compare(&arena, &before, &after, &changes), 3);
    assert_int_equal(changes[0].kind, MANIFEST_REMOVED);
    assert_true(str_eq_c(changes[0].before->path, "a"));
    assert_int_equal(changes[1].kind, MANIFEST_CHANGED);
    assert_true(str_eq_c(changes[1].after->path, "c"));
    assert_int_equal(changes[2].kind, MANIFEST_ADDED);
    assert_true(str_eq_c(changes[2].after->path, "d"));
    assert_int_equal(manifest_compare(&arena, &before, &before, &changes), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_manifest_survives_a_round_trip),
        cmocka_unit_test(test_a_manifest_has_one_canonical_form),
        cmocka_unit_test(test_paths_stay_in_the_tree),
        cmocka_unit_test(test_long_and_deep_paths_are_rejected),
        cmocka_unit_test(test_links_stay_in_the_tree),
        cmocka_unit_test(test_a_link_is_not_a_directory),
        cmocka_unit_test(test_sizes_match_blobs),
        cmocka_unit_test(test_a_site_has_at_most_1_gib),
        cmocka_unit_test(test_two_manifests_are_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
