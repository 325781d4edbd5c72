/* git's output becomes files, in chunks of any size; what a site cannot contain is rejected with a
 * reason. */
#include "source/git_tree.h"

#include <stdlib.h>

#include "unit.h"

#define ID_A                             "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define ID_B                             "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define ID_C                             "cccccccccccccccccccccccccccccccccccccccc"
#define LINE(mode, type, id, size, path) mode " " type " " id " " size "\t" path "\0"

typedef struct Fixture {
    Arena arena;
    GitTree *tree;
    GitContents contents;
    uint32_t puts;
    Error err;
} Fixture;

static int set_up(void **state)
{
    static Fixture fixture;
    fixture = (Fixture){ .tree = git_tree_new() };
    arena_init(&fixture.arena, ARENA_UNLIMITED);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    git_contents_clear(&f->contents);
    git_tree_unref(f->tree);
    arena_clear(&f->arena);
    return 0;
}

static bool count_put(void *context, Str id, Str data, Error *err)
{
    Fixture *f = context;
    char actual[BLOB_ID_TEXT + 1];
    blob_id_of(data, actual);
    assert_true(str_eq_c(id, actual));
    f->puts++;
    return true;
}

static Str start(Fixture *f, const GitTree *before)
{
    f->contents.put = count_put;
    f->contents.context = f;
    return git_contents_start(&f->arena, f->tree, before, &f->contents);
}

static void expect_rejection(Fixture *f, Str listing, const char *why)
{
    assert_false(git_tree_read_listing(f->tree, listing, &f->err));
    if (strstr(f->err.text, why) == NULL) {
        fail_msg("%s", f->err.text);
    }
}

static void test_a_commit_message_becomes_one_safe_line(void **state)
{
    Fixture *f = *state;
    assert_true(git_tree_read_commit(
        f->tree, STR(ID_A "\0Ann <ann@example.org>\0greet \x1b[31mall\xff\n"), &f->err));
    assert_true(str_eq_c(f->tree->commit, ID_A));
    assert_true(str_eq_c(f->tree->author, "Ann <ann@example.org>"));
    assert_true(str_eq_c(f->tree->subject, "greet  [31mall\xef\xbf\xbd"));
    assert_false(git_tree_read_commit(f->tree, STR("fatal: bad revision"), &f->err));
    assert_false(git_tree_read_commit(f->tree, STR(""), &f->err));
}

#define LISTING                                                                                  \
    STR(LINE("100755", "blob", ID_A, "      5", "bin/run")                                       \
            LINE("100644", "blob", ID_B, "0", "empty") LINE("120000", "blob", ID_C, "7", "link") \
                LINE("100644", "blob", ID_A, "5", "same"))
#define OUTPUT STR(ID_A " blob 5\nhello\n" ID_B " blob 0\n\n" ID_C " blob 7\nbin/run\n")

static void test_contents_are_read_in_chunks_of_any_size(void **state)
{
    for (size_t size = 1; size < OUTPUT.len; size += 3) {
        tear_down(state);
        assert_int_equal(set_up(state), 0);
        Fixture *f = *state;
        bool is_complete;
        assert_true(git_tree_read_listing(f->tree, LISTING, &f->err));
        assert_true(str_eq_c(start(f, NULL), ID_A "\n" ID_B "\n" ID_C "\n"));
        for (size_t at = 0; at < OUTPUT.len; at += size) {
            assert_true(git_contents_add(&f->contents, str_slice(OUTPUT, at, at + size), &f->err));
        }
        assert_true(git_contents_end(&f->contents, &is_complete, &f->err));
        const Manifest *files = &f->tree->files;
        assert_int_equal(f->puts, 1);
        assert_int_equal(files->file_count, 4);
        assert_string_equal(files->files[0].mode, "0755");
        assert_int_equal(files->files[1].blob_count, 0);
        assert_true(str_eq_c(files->files[2].link, "bin/run"));
        assert_true(str_eq(files->files[3].blobs[0], files->files[0].blobs[0]));
    }
}

static bool has_none(void *context, Str id)
{
    return false;
}

static bool has_all(void *context, Str id)
{
    return true;
}

static void test_known_contents_that_were_lost_are_read_again(void **state)
{
    Fixture *f = *state;
    bool is_complete;
    assert_true(git_tree_read_listing(f->tree, LISTING, &f->err));
    start(f, NULL);
    assert_true(git_contents_add(&f->contents, OUTPUT, &f->err));
    assert_true(git_contents_end(&f->contents, &is_complete, &f->err));
    git_contents_clear(&f->contents);
    GitTree *before = f->tree;
    f->tree = git_tree_new();
    assert_true(git_tree_read_listing(f->tree, LISTING, &f->err));
    f->contents.has = has_all;
    assert_true(git_contents_exist(&f->contents, before));
    assert_int_equal(start(f, before).len, 0);
    git_contents_clear(&f->contents);
    git_tree_unref(f->tree);
    f->tree = git_tree_new();
    assert_true(git_tree_read_listing(f->tree, LISTING, &f->err));
    f->contents.has = has_none;
    assert_false(git_contents_exist(&f->contents, before));
    assert_true(str_eq_c(start(f, before), ID_A "\n")); /* the others have no blobs */
    git_tree_unref(before);
}

static void test_known_contents_are_not_read_again(void **state)
{
    Fixture *f = *state;
    bool is_complete;
    assert_true(git_tree_read_listing(f->tree, LISTING, &f->err));
    start(f, NULL);
    assert_true(git_contents_add(&f->contents, OUTPUT, &f->err));
    assert_true(git_contents_end(&f->contents, &is_complete, &f->err));
    git_contents_clear(&f->contents);
    GitTree *before = f->tree;
    f->tree = git_tree_new();
    assert_true(git_tree_read_listing(f->tree, LISTING, &f->err));
    assert_int_equal(start(f, before).len, 0);
    assert_true(git_contents_end(&f->contents, &is_complete, &f->err));
    assert_true(str_eq(f->tree->files.files[0].blobs[0], before->files.files[0].blobs[0]));
    assert_true(str_eq_c(f->tree->files.files[2].link, "bin/run"));
    git_tree_unref(before);
}

static void test_a_large_file_has_several_blobs(void **state)
{
    Fixture *f = *state;
    bool is_complete;
    char *zeros = calloc(1, BLOB_MAX);
    assert_true(git_tree_read_listing(
        f->tree, STR(LINE("100644", "blob", ID_A, "2097153", "large")), &f->err));
    start(f, NULL);
    assert_true(git_contents_add(&f->contents, STR(ID_A " blob 2097153\n"), &f->err));
    for (int i = 0; i < 2; i++) {
        assert_true(git_contents_add(&f->contents, str_from(zeros, BLOB_MAX), &f->err));
    }
    assert_true(git_contents_add(&f->contents, STR("x\n"), &f->err));
    assert_true(git_contents_end(&f->contents, &is_complete, &f->err));
    assert_int_equal(f->tree->files.files[0].blob_count, 3);
    free(zeros);
}

static void test_output_that_was_not_requested_is_an_error(void **state)
{
    static const char *const wrong[] = {
        ID_B " blob 5\nhello\n",
        ID_A " blob 6\nhello!\n",
        ID_A " tree 5\nhello\n",
        ID_A " blob 5\nhello!",
        ID_A " missing\n",
        "fatal: not a repository\n",
        ID_A " blob 5\nhello\n" ID_A " blob 5\nhello\n",
    };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        tear_down(state);
        assert_int_equal(set_up(state), 0);
        Fixture *f = *state;
        assert_true(
            git_tree_read_listing(f->tree, STR(LINE("100644", "blob", ID_A, "5", "a")), &f->err));
        start(f, NULL);
        if (git_contents_add(&f->contents, str_from_c(wrong[i]), &f->err)) {
            fail_msg("accepted: %s", wrong[i]);
        }
    }
    tear_down(state);
    assert_int_equal(set_up(state), 0);
    Fixture *f = *state;
    bool is_complete = true;
    assert_true(
        git_tree_read_listing(f->tree, STR(LINE("100644", "blob", ID_A, "5", "a")), &f->err));
    start(f, NULL);
    assert_true(git_contents_add(&f->contents, STR(ID_A " blob 5\nhel"), &f->err));
    assert_false(git_contents_end(&f->contents, &is_complete, &f->err));
    assert_false(is_complete);
}

static void test_a_commit_with_a_submodule_is_rejected(void **state)
{
    expect_rejection(*state, STR(LINE("160000", "commit", ID_A, "-", "vendor/lib")),
                     "vendor/lib: is a submodule");
}

static void test_paths_stay_in_the_tree(void **state)
{
    expect_rejection(*state, STR(LINE("100644", "blob", ID_A, "5", "../x")), "'..'");
    expect_rejection(*state, STR(LINE("100644", "blob", ID_A, "5", "a/.git/config")), "'.git'");
    expect_rejection(*state, STR(LINE("100644", "blob", ID_A, "5", "/etc/x")), "empty component");
    expect_rejection(*state, STR(LINE("100644", "blob", ID_A, "5", "a\nb")), "control characters");
}

static void test_too_large_files_are_rejected_before_they_are_read(void **state)
{
    expect_rejection(*state, STR(LINE("100644", "blob", ID_A, "1073741825", "image")),
                     "image: with this file of 1024 MiB the site is larger than 1 GiB");
    expect_rejection(
        *state,
        STR(LINE("100644", "blob", ID_A, "1073741824", "a") LINE("100644", "blob", ID_B, "1", "b")),
        "b: with this file");
    expect_rejection(*state, STR(LINE("120000", "blob", ID_A, "5000", "link")), "too long");
}

static void test_a_link_out_of_the_tree_is_rejected(void **state)
{
    Fixture *f = *state;
    bool is_complete = false;
    assert_true(
        git_tree_read_listing(f->tree, STR(LINE("120000", "blob", ID_A, "11", "link")), &f->err));
    start(f, NULL);
    assert_true(git_contents_add(&f->contents, STR(ID_A " blob 11\n../../e/pwd\n"), &f->err));
    assert_false(git_contents_end(&f->contents, &is_complete, &f->err));
    assert_true(is_complete);
    assert_non_null(strstr(f->err.text, "link: the link points outside the site"));
}

static void test_an_lfs_pointer_is_rejected(void **state)
{
    Fixture *f = *state;
    bool is_complete = false;
    assert_true(
        git_tree_read_listing(f->tree, STR(LINE("100644", "blob", ID_A, "42", "image")), &f->err));
    start(f, NULL);
    assert_true(git_contents_add(
        &f->contents, STR(ID_A " blob 42\nversion https://git-lfs.github.com/spec/v1\n"), &f->err));
    assert_false(git_contents_end(&f->contents, &is_complete, &f->err));
    assert_true(is_complete);
    assert_non_null(strstr(f->err.text, "image: is stored in Git LFS"));
}

int main(void)
{
#define WITH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH(test_a_commit_message_becomes_one_safe_line),
        WITH(test_contents_are_read_in_chunks_of_any_size),
        WITH(test_known_contents_are_not_read_again),
        WITH(test_known_contents_that_were_lost_are_read_again),
        WITH(test_a_large_file_has_several_blobs),
        WITH(test_output_that_was_not_requested_is_an_error),
        WITH(test_a_commit_with_a_submodule_is_rejected),
        WITH(test_paths_stay_in_the_tree),
        WITH(test_too_large_files_are_rejected_before_they_are_read),
        WITH(test_a_link_out_of_the_tree_is_rejected),
        WITH(test_an_lfs_pointer_is_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
