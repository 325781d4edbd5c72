/* Runs git for steps: without prompts, hooks or remote helpers, and without secrets in its
 * arguments. */
#pragma once

#include "modules/call.h"

typedef struct Git {
    Call *call;
    Str directory; /* path of the clone; empty: run git outside of any clone */
    Account account;
    bool has_account;
    bool local; /* the repository is a path on the machine */
    Str server; /* the only server that receives the password; empty: none */
} Git;

/* Reads the parameters `user`, `key`, `known_hosts`, `username` and `password`. */
MUST_CHECK bool git_begin(Call *call, Git *git, Error *err);

/* Runs `git ARGS...` in the directory. `out` is its output without trailing whitespace. Fails with
 * git's last message if the exit code is not 0. */
MUST_CHECK bool git_run(Git *git, const char *const *args, Str *out, Error *err);
#define GIT_RUN(git, out, err, ...) \
    git_run(git, (const char *const[]){ __VA_ARGS__, NULL }, out, err)
/* Runs a query and sets `*yes` if git exits with code 0. */
MUST_CHECK bool git_query(Git *git, const char *const *args, bool *yes, Str *out, Error *err);
#define GIT_QUERY(git, yes, out, err, ...) \
    git_query(git, (const char *const[]){ __VA_ARGS__, NULL }, yes, out, err)
