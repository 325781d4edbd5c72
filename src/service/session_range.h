/* What a node may read of the store through its session: a short list of names, each of which is
 * one key or one range that is about the node or for all. Pure. */
#pragma once

#include "base/arena.h"
#include "base/error.h"

typedef struct SessionRange {
    Str key;
    Str end;       /* empty: `key` alone */
    bool is_known; /* one key, whose value cluster/state.h keeps */
} SessionRange;

/* "node": its own record. "orders": the runs that it shall do. "version": the version that all shall
 * have. "trust": the CAs, and which of them signs (pki/trust_notice.h). Fails with ERROR_DENIED for
 * anything else, which a newer node may ask for. */
MUST_CHECK bool session_range(Arena *arena, Str prefix, Str node, Str name, SessionRange *out,
                              Error *err);
