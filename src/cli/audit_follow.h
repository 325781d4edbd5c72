/* `eden audit tail --follow`: prints the audit log as it grows. */
#pragma once

#include "cli/cluster_client.h"

enum {
    AUDIT_PAGE = 500,           /* entries per request */
    AUDIT_CATCH_UP_MAX = 10000, /* maximum number of entries printed after a reconnect */
};

/* Reverses the order: the server returns the newest entry first, output ends with it. */
List *audit_reverse(Arena *arena, const List *entries);

/* Prints one entry on one line, in the format that -o selects. */
void audit_print_entry(const Invocation *invocation, Value entry);

/* Prints every entry after the last one of `printed` (oldest first, may be empty) as it is written,
 * one per line, and reconnects if the server becomes unreachable. Returns an exit code once the log
 * has been replaced, the server rejects the request, or stdout is closed. */
int audit_follow(Invocation *invocation, const List *printed);
