#include "source/git_default_branch.h"

#include "source/git_proposal.h"

#define REFERENCE STR("ref: ")
#define BRANCHES  STR("refs/heads/")

/* "ref: refs/heads/main\tHEAD", and "<hash>\tHEAD" if the branch has commits. */
bool git_default_branch(Arena *arena, Str listed, Str *out, Error *err)
{
    Str rest = listed, line, reference = STR_EMPTY;
    bool has_head = false;
    while (rest.len > 0 && str_split_next(&rest, '\n', &line)) {
        Str value;
        if (!str_split_next(&line, '\t', &value) || !str_eq(line, STR("HEAD"))) {
            continue; /* "refs/remotes/origin/HEAD" */
        }
        if (str_starts(value, REFERENCE)) {
            reference = str_from_offset(value, REFERENCE.len);
        } else {
            has_head = true;
        }
    }
    if (!has_head) {
        return error_set(err, ERROR_NOT_FOUND, "the repository has no commits");
    }
    if (!str_starts(reference, BRANCHES)) {
        return error_set(err, ERROR_NOT_FOUND,
                         "the repository's HEAD is not a branch: set the branch to follow");
    }
    Str branch = str_from_offset(reference, BRANCHES.len);
    if (branch.len > GIT_BRANCH_MAX || !git_branch_check(branch, err)) {
        return error_set(err, ERROR_INVALID,
                         "the default branch of the repository has an invalid name");
    }
    *out = arena_copy(arena, branch);
    return true;
}
