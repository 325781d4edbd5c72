/* The parts of the store that a node may read through its session: a short list of names, each of
 * which is one key or range that concerns the node or all nodes. Pure. */
#pragma once

#include "base/arena.h"
#include "base/error.h"

typedef struct SessionRange {
    Str key;
    Str end;       /* empty: only `key` */
    bool is_known; /* a single key, whose value is in cluster/state.h */
} SessionRange;

/* "node": its own record. "orders": the runs that it is to execute. "version": the desired version
 * of all nodes. "trust": the CAs, and which of them signs (pki/trust_notice.h). Fails with
 * ERROR_DENIED for anything else, which a newer node may request. */
MUST_CHECK bool session_range(Arena *arena, Str prefix, Str node, Str name, SessionRange *out,
                              Error *err);
