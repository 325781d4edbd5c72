/* Makes a node a server of its cluster: fetches the files that all servers share from one of them,
 * over mutual TLS with the node's certificate, and creates all other files. */
#pragma once

#include "server/create_cluster.h"

typedef struct ServerJoinSpec {
    /* State directory and user of the server, and its settings: where it listens, its names.
     * Endpoints and files for etcd that are empty are those of the other server. The address for
     * etcd is used if the servers run etcd. */
    ClusterSpec spec;
    int64_t limit_ms; /* 0: no limit */
    /* Called when the reason for waiting changes; `is_denied`: an operator must add the server.
     * May be NULL. */
    void (*waits)(void *context, bool is_denied, const char *why);
    void *context;
} ServerJoinSpec;

/* Blocks until this machine is a server. The settings are written last: leftovers of a killed
 * attempt do not make the machine a server, and it can be repeated. Fails with ERROR_NOT_FOUND if
 * this machine is not a node, ERROR_CONFLICT if it is a server already, ERROR_TIMEOUT,
 * ERROR_INVALID if the store is not in etcd or cannot be used, and on file errors. Sets `*out` to
 * the settings, in the arena. */
MUST_CHECK bool server_join(Arena *arena, const ServerJoinSpec *spec, ServerSettings *out,
                            Error *err);
