/* What `eden login` says when all went well: who one is now, and what was there before. */
#pragma once

#include "cli/contexts.h"
#include "cli/invocation.h"

typedef struct LoginDone {
    const Context *now;
    const Context *was; /* NULL: there was none of that name */
    Str cluster;
    Str directory; /* of the contexts: paths in them start there */
} LoginDone;

/* Returns the exit code. */
int login_print(const Invocation *invocation, const LoginDone *done);
