/* Output of a successful `eden login`: the current identity, and what it replaced. */
#pragma once

#include "cli/contexts.h"
#include "cli/invocation.h"

typedef struct LoginDone {
    const Context *now;
    const Context *was; /* NULL: the name is new */
    Str cluster;
    Str directory; /* directory that relative paths in contexts refer to */
} LoginDone;

/* Returns the exit code. */
int login_print(const Invocation *invocation, const LoginDone *done);
