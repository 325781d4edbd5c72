/* Output of a successful `eden login`: the current identity, and what it replaced. */
#pragma once

#include "cli/contexts.h"
#include "cli/invocation.h"

typedef struct LoginResult {
    const Context *context;
    const Context *previous; /* NULL: the name is new */
    Str cluster;
    Str directory; /* directory that relative paths in contexts refer to */
} LoginResult;

/* Returns the exit code. */
int login_print(const Invocation *invocation, const LoginResult *result);
