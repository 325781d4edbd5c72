#include "source/git_default_branch.h"

#include "unit.h"

#define ID "9daeafb9864cf43055ae93beb0afd6c7d144bfa4"

static void expect_branch(const char *listed, const char *expected)
{
    AUTO_CLEAR(Arena) arena;
    Str branch;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    assert_true(git_default_branch(&arena, str_from_c(listed), &branch, &err));
    assert_true(str_eq_c(branch, expected));
}

static void expect_error(const char *listed, ErrorKind kind, const char *text)
{
    AUTO_CLEAR(Arena) arena;
    Str branch = STR("untouched");
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    assert_false(git_default_branch(&arena, str_from_c(listed), &branch, &err));
    assert_int_equal(err.kind, kind);
    assert_string_equal(err.text, text);
    assert_true(str_eq_c(branch, "untouched"));
}

static void it_is_what_head_refers_to(void **state)
{
    expect_branch("ref: refs/heads/main\tHEAD\n" ID "\tHEAD\n", "main");
    expect_branch("ref: refs/heads/team/next\tHEAD\n" ID "\tHEAD\n", "team/next");
    expect_branch("ref: refs/heads/other\trefs/remotes/origin/HEAD\n" ID
                  "\trefs/remotes/origin/HEAD\nref: refs/heads/main\tHEAD\n" ID "\tHEAD\n",
                  "main");
}

static void a_repository_without_commits_has_none(void **state)
{
    expect_error("", ERROR_NOT_FOUND, "the repository has no commits");
    expect_error("ref: refs/heads/main\tHEAD\n", ERROR_NOT_FOUND, "the repository has no commits");
}

static void a_head_that_is_not_a_branch_says_what_to_do(void **state)
{
    static const char text[] = "the repository's HEAD is not a branch: set the branch to follow";
    expect_error(ID "\tHEAD\n", ERROR_NOT_FOUND, text);
    expect_error("ref: refs/tags/v1\tHEAD\n" ID "\tHEAD\n", ERROR_NOT_FOUND, text);
}

static void a_hostile_name_is_refused(void **state)
{
    static const char text[] = "the default branch of the repository has an invalid name";
    expect_error("ref: refs/heads/a:refs/heads/b\tHEAD\n" ID "\tHEAD\n", ERROR_INVALID, text);
    expect_error("ref: refs/heads/../x\tHEAD\n" ID "\tHEAD\n", ERROR_INVALID, text);
    expect_error("ref: refs/heads/\tHEAD\n" ID "\tHEAD\n", ERROR_INVALID, text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_what_head_refers_to),
        cmocka_unit_test(a_repository_without_commits_has_none),
        cmocka_unit_test(a_head_that_is_not_a_branch_says_what_to_do),
        cmocka_unit_test(a_hostile_name_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
