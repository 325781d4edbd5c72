/* `--watch` of verbs that list: prints objects, then their changes. */
#pragma once

#include "cli/kind_print.h"

/* Option of verbs that list objects. */
#define WATCH_OPTION                                                                 \
    {                                                                                \
        .name = "watch", .letter = 'w', .help = "keep printing changes until Ctrl-C" \
    }

/* Prints the list, then a line for every change; with -o json one line of JSON per object and
 * change. If the server was unreachable, reports it on standard error, reconnects and prints the
 * list again. Ends if the server denies the request or is no longer trusted. `selector` may be
 * NULL. Returns the exit code. */
int kind_watch(Invocation *invocation, const Kind *kind, const char *selector);
