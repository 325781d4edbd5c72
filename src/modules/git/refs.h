/* Names of repositories, branches, tags and commits, and what a repository says of them. Pure. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

/* Fails with ERROR_INVALID for what is no address of a repository, or one that would run programs
 * ("ext::...") or tell a password to everybody. */
MUST_CHECK bool git_check_address(Str address, Error *err);
/* A path of this machine, or file://. */
bool git_address_is_local(Str address);
/* "https://host:port", or the same with http; empty for other addresses. */
Str git_server_of(Arena *arena, Str address);

/* All 40 digits of a commit, or the 64 of a newer kind. */
bool git_is_commit(Str rev);
/* Fails with ERROR_INVALID for what cannot be the name of a branch, tag or commit. */
MUST_CHECK bool git_check_rev(Str rev, Error *err);

/* What a name stands for in a repository. */
typedef struct GitRef {
    Str commit;
    Str name; /* "refs/heads/main"; empty for a commit */
} GitRef;

/* Finds `rev` in what `git ls-remote --symref` wrote: a branch before a tag of the same name; an
 * empty one is the branch that the repository has as its own. Fails with ERROR_NOT_FOUND. */
MUST_CHECK bool git_find_ref(Str listed, Str rev, GitRef *out, Error *err);
/* "main" of "refs/heads/main"; empty for what is no branch. */
Str git_branch_of(Str name);
