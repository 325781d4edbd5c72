/* Addresses of repositories, names of branches, tags and commits, and parsing of remote refs.
 * Pure. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

/* Fails with ERROR_INVALID if it is not the address of a repository, would run programs
 * ("ext::..."), or contains a password. */
MUST_CHECK bool git_check_address(Str address, Error *err);
/* Returns true for a path on this machine, or file://. */
bool git_address_is_local(Str address);
/* Returns "https://host:port" or "http://host:port"; empty for other addresses. */
Str git_server_of(Arena *arena, Str address);

/* Returns true for a full hash of 40 (SHA-1) or 64 (SHA-256) digits. */
bool git_is_commit(Str rev);
/* Fails with ERROR_INVALID if it cannot be the name of a branch, tag or commit. */
MUST_CHECK bool git_check_rev(Str rev, Error *err);

/* A resolved name. */
typedef struct GitRef {
    Str commit;
    Str name; /* "refs/heads/main"; empty for a commit */
} GitRef;

/* Finds `rev` in the output of `git ls-remote --symref`. A branch takes precedence over a tag of
 * the same name; empty means the default branch. Fails with ERROR_NOT_FOUND. */
MUST_CHECK bool git_find_ref(Str listed, Str rev, GitRef *out, Error *err);
/* "main" for "refs/heads/main"; empty if it is not a branch. */
Str git_branch_of(Str name);
