#include "sys/file_identity.h"

#include "scratch.h"
#include "sys/file_commit.h"

static void a_mark_is_valid_for_the_same_file_only(void **state)
{
    Scratch *scratch = *state;
    FileIdentity mark;
    Error err;
    const char *path = scratch_place(scratch, "file"), *aside = scratch_place(scratch, "aside");
    assert_false(file_identity_get(path, &mark, &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    scratch_put(scratch, "file", "one");
    assert_true(file_identity_get(path, &mark, &err));
    assert_true(file_identity_matches(&mark, path));
    assert_true(file_commit(path, aside, &err));
    assert_false(file_identity_matches(&mark, path));
    scratch_put(scratch, "file", "one"); /* the same bytes */
    assert_false(file_identity_matches(&mark, path));
    assert_true(file_commit(aside, path, &err));
    assert_true(file_identity_matches(&mark, path));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_mark_is_valid_for_the_same_file_only, scratch_set_up,
                                        scratch_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
