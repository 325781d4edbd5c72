/* Decides which server a command uses. In order of precedence:
 *
 *     --context NAME       a context, by option
 *     --run-dir DIR        the socket in this directory
 *     EDEN_RUN_DIR         the socket in this directory; set by `eden dev`
 *     EDEN_CONTEXT         a context, by environment
 *     the current context  set by `eden login` and `eden context use`
 *     otherwise            the server on this machine */
#pragma once

#include "cli/contexts.h"
#include "cli/invocation.h"

typedef struct ClusterEndpoint {
    bool is_local;
    Address socket;                 /* if local */
    const char *run_dir;            /* directory of the socket */
    Context context;                /* if not local */
    ContextCredentials credentials; /* if not local */
} ClusterEndpoint;

/* Fails with ERROR_NOT_FOUND if there is no such context, ERROR_CONFLICT if both --context and
 * --run-dir are given, or like contexts_load() and context_credentials(). */
MUST_CHECK bool cluster_endpoint_select(const Invocation *invocation, ClusterEndpoint *out,
                                        Error *err);
/* Returns "https://eden1:1338 (context 'prod')" or "the server on this machine". */
Str cluster_endpoint_text(Arena *arena, const ClusterEndpoint *endpoint);
