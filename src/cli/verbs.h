/* The words that some commands take first: `eden nodes list`, `eden tokens create`. */
#pragma once

#include "cli/invocation.h"

typedef struct Verb {
    const char *name; /* NULL ends a list; the command's row has the same as its choices */
    const char *args; /* "NODE NAME=VALUE...", as the row tells them */
    uint32_t args_min;
    uint32_t args_max; /* UINT32_MAX: any number */
    int (*run)(Invocation *invocation);
} Verb;

/* EXIT_OK, or a usage error when an option was given that is for other verbs. */
int verbs_check_options(const Invocation *invocation, const char *verb);

/* Runs the one that is named, whose arguments are `args` from the second on; a wrong number of them
 * is a usage error. Without any it is the first one. Returns the exit code. */
int verbs_run(Invocation *invocation, const Verb *verbs);
