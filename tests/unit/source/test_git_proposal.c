#include "source/git_proposal.h"

#include "unit.h"

static void only_full_hashes_are_commits(void **state)
{
    static const char *const bad[] = { "",
                                       "4e5a",
                                       "HEAD",
                                       "+4e5a",
                                       "main:refs/heads/main",
                                       "0123456789ABCDEF0123456789abcdef01234567",
                                       "0123456789abcdef0123456789abcdef0123456",
                                       "0123456789abcdef0123456789abcdef012345678",
                                       "0123456789abcdef0123456789abcdef0123456g" };
    Error err;
    assert_true(git_commit_check(STR("0123456789abcdef0123456789abcdef01234567"), &err));
    assert_true(git_commit_check(STR("0123456789abcdef0123456789abcdef"
                                     "0123456789abcdef0123456789abcdef"),
                                 &err));
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_false(git_commit_check(str_from_c(bad[i]), &err));
        assert_int_equal(err.kind, ERROR_INVALID);
    }
}

static void check_copy(const GitProposal *proposal)
{
    AUTO_CLEAR(Arena) arena;
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    GitProposal copy;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    git_proposal_print(proposal, &text);
    if (!git_proposal_read(&arena, buf_str(&text), &copy, &err)) {
        fail_msg("%s: %s", buf_c(&text), err.text);
    }
    assert_int_equal(copy.time_ms, proposal->time_ms);
    assert_int_equal(copy.request, proposal->request);
    assert_true(str_eq(copy.branch, proposal->branch));
    assert_true(str_eq(copy.version, proposal->version));
    assert_string_equal(git_proposal_state(&copy), git_proposal_state(proposal));
}

static void a_record_is_read_as_it_was_written(void **state)
{
    check_copy(&(GitProposal){ .time_ms = 5, .requested_by = STR("ann") });
    check_copy(&(GitProposal){ .time_ms = 5,
                               .requested_by = STR("ann"),
                               .branch = STR("next"),
                               .request = 9,
                               .version = STR("250bbac72e10") });
}

static void a_result_says_what_became_of_it(void **state)
{
    GitProposal proposal = { .time_ms = 1000 };
    assert_string_equal(git_proposal_state(&proposal), "pending");
    assert_true(git_proposal_is_busy(&proposal, 1000 + GIT_PROPOSAL_MAX_MS - 1));
    assert_false(git_proposal_is_busy(&proposal, 1000 + GIT_PROPOSAL_MAX_MS));
    proposal.request = 7;
    assert_false(git_proposal_is_busy(&proposal, 1000));
    assert_string_equal(git_proposal_state(&proposal), "ok");
    proposal.rejection = STR("no");
    assert_string_equal(git_proposal_state(&proposal), "rejected");
    proposal.error = STR("gone");
    assert_string_equal(git_proposal_state(&proposal), "failed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_full_hashes_are_commits),
        cmocka_unit_test(a_record_is_read_as_it_was_written),
        cmocka_unit_test(a_result_says_what_became_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
