/* The program git, as steps may use it: it asks nobody, runs no hooks, takes no helper programs as
 * addresses, and sees no secrets in its arguments. */
#pragma once

#include "modules/call.h"

typedef struct Git {
    Call *call;
    Str directory; /* of the clone; empty: none */
    Account account;
    bool has_account;
    bool local; /* the repository is a path of the machine */
    Str server; /* the only one that gets the password; empty: none does */
} Git;

/* By the parameters `user`, `key`, `known_hosts`, `username` and `password`. */
MUST_CHECK bool git_begin(Call *call, Git *git, Error *err);

/* Runs `git ARGS...` in the directory; what it wrote, without white space at its end. Anything but
 * exit code 0 is a failure with its last words. */
MUST_CHECK bool git_run(Git *git, const char *const *args, Str *out, Error *err);
#define GIT_RUN(git, out, err, ...) \
    git_run(git, (const char *const[]){ __VA_ARGS__, NULL }, out, err)
/* The same for a question: `*yes` is whether it exits with 0. */
MUST_CHECK bool git_ask(Git *git, const char *const *args, bool *yes, Str *out, Error *err);
#define GIT_ASK(git, yes, out, err, ...) \
    git_ask(git, (const char *const[]){ __VA_ARGS__, NULL }, yes, out, err)
