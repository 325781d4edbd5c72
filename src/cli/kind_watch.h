/* Objects as they are, and then as they change: `--watch` of verbs that list. */
#pragma once

#include "cli/kind_print.h"

/* Of verbs that list. */
#define WATCH_OPTION                                                                              \
    {                                                                                             \
        .name = "watch", .letter = 'w', .help = "then print changes as they happen, until Ctrl-C" \
    }

/* Prints the list, then a line for every change; with -o json a line of JSON for each object, too. A
 * server that was away is asked again, which is told on standard error, and the list printed anew; one
 * that refuses or is not trusted any more ends it. `selector` may be NULL. Returns the exit code. */
int kind_watch(Invocation *invocation, const Kind *kind, const char *selector);
