#include "sys/file_commit.h"

#include "scratch.h"
#include "sys/file.h"

static void a_draft_replaces_the_file(void **state)
{
    Scratch *scratch = *state;
    Error err;
    scratch_put(scratch, "draft", "new");
    scratch_put(scratch, "file", "old");
    const char *draft = scratch_place(scratch, "draft"), *path = scratch_place(scratch, "file");
    assert_true(file_commit(draft, path, &err));
    Str text;
    assert_true(file_read(&scratch->arena, path, 100, &text, &err));
    assert_str(text, "new");
    assert_false(file_exists(draft));
    assert_false(file_commit(draft, path, &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    file_remove(path);
    file_remove(path);
    assert_false(file_exists(path));
}

static void a_digest_covers_all_bytes(void **state)
{
    Scratch *scratch = *state;
    Error err;
    size_t size = 200000;
    char *text = arena_alloc(&scratch->arena, size + 1);
    memset(text, 'y', size);
    text[size] = '\0';
    scratch_put(scratch, "file", text);
    char digest[SHA256_HEX + 1], expected[SHA256_HEX + 1];
    int64_t bytes;
    assert_true(file_digest(scratch_place(scratch, "file"), digest, &bytes, &err));
    sha256_hex(str_from(text, size), expected);
    assert_string_equal(digest, expected);
    assert_int_equal(bytes, size);
    assert_false(file_digest(scratch->path, digest, &bytes, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_draft_replaces_the_file, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(a_digest_covers_all_bytes, scratch_set_up,
                                        scratch_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
