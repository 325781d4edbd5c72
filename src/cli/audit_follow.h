/* The audit log as it grows: `eden audit tail --follow`. */
#pragma once

#include "cli/cluster_client.h"

enum {
    AUDIT_PAGE = 500,           /* entries that are asked for at once */
    AUDIT_CATCH_UP_MAX = 10000, /* entries that are shown after the server was away for long */
};

/* Entries the other way round: the server has the newest first, people read down. */
List *audit_turn(Arena *arena, const List *entries);

/* On a line, as -o says: as in the table, by name, or as JSON. */
void audit_print_entry(const Invocation *invocation, Value entry);

/* Prints every entry behind the last of `shown`, which is oldest first and may be empty, as it is
 * written: a line each, with -o json as JSON. A server that was away is asked again. Ends, with the
 * exit code, when the log is no longer the one that it was, when the server refuses, and with what it
 * prints to. */
int audit_follow(Invocation *invocation, const List *shown);
