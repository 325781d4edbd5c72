/* The default branch of a repository: reads what `git ls-remote --symref` prints. Pure. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

/* The branch that HEAD refers to. Fails with ERROR_NOT_FOUND if the repository has no commits or
 * its HEAD is not a branch, ERROR_INVALID if the name cannot be that of a branch. */
MUST_CHECK bool git_default_branch(Arena *arena, Str listed, Str *out, Error *err);
