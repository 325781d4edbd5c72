/* Names of objects on a server, for shell completion: printed from a cache without waiting for the
 * network. Cached names are printed regardless of their age; if they are old, a background process
 * refreshes the cache for the next completion. */
#pragma once

#include "cli/invocation.h"
#include "lang/value.h"

enum {
    COMPLETION_NAMES_FRESH_MS = 30 * 1000,
    COMPLETION_NAMES_WAIT_MS = 70,    /* how long to wait for a refresh if the cache is empty */
    COMPLETION_NAMES_QUERY_MS = 5000, /* timeout of the query */
};

/* Returns names from the cache for the server that the invocation selects, one per line; empty if
 * there are none. */
Str completion_names_show(const Invocation *invocation, WordKind word);
/* Queries the server and writes the cache. Prints nothing. */
void completion_names_refresh(const Invocation *invocation, WordKind word);

/* --- Cache content --------------------------------------------------------------------------- */

/* Prints a cache file: a timestamp and names. */
void completion_names_print(int64_t now_ms, Str names, Buf *out);
/* Returns false if the text is not a cache file. */
MUST_CHECK bool completion_names_read(Str text, int64_t *cached_ms, Str *names);
/* Whether a name can safely be passed to a shell: data from a server must not be executed. */
bool completion_names_is_safe(Str name);
/* Extracts the safe names from a response: objects of a kind, nodes and pending machines,
 * tokens. */
void completion_names_collect(Value response, Buf *out);
