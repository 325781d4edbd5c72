/* Which server a command asks, and how. The one place that decides it:
 *
 *     --context NAME       that of the command line
 *     --run-dir DIR        the socket below it
 *     EDEN_RUN_DIR         the socket below it: of `eden dev`
 *     EDEN_CONTEXT         that of the environment
 *     the current context  of `eden login` and `eden context use`
 *     else                 the server on this machine */
#pragma once

#include "cli/contexts.h"
#include "cli/invocation.h"

typedef struct ClusterEnd {
    bool is_local;
    Address socket;      /* of a local one */
    const char *run_dir; /* in which that is */
    Context context;     /* of another */
    ContextMaterial has; /* its */
} ClusterEnd;

/* Fails with ERROR_NOT_FOUND when there is no such context; ERROR_CONFLICT when two are named;
 * else as
 * contexts_load() and context_material() do. */
MUST_CHECK bool cluster_end_choose(const Invocation *invocation, ClusterEnd *out, Error *err);
/* "https://eden1:1338 (context 'prod')"; "the server on this machine". */
Str cluster_end_text(Arena *arena, const ClusterEnd *end);
