/* `eden audit tail --follow`: prints the audit log as it grows. */
#pragma once

#include "cli/cluster_client.h"

enum {
    AUDIT_PAGE = 500,           /* entries per request */
    AUDIT_CATCH_UP_MAX = 10000, /* maximum number of entries printed after a reconnect */
};

/* Reverses the order: the server returns the newest entry first, output ends with it. */
List *audit_turn(Arena *arena, const List *entries);

/* Prints one entry on one line, in the format that -o selects. */
void audit_print_entry(const Invocation *invocation, Value entry);

/* Prints every entry after the last one of `shown` (oldest first, may be empty) as it is written,
 * one per line, and reconnects when the server was unreachable. Returns the exit code when the log
 * is not the same any more, when the server refuses the request, or when stdout is closed. */
int audit_follow(Invocation *invocation, const List *shown);
