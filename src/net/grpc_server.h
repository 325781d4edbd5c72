/* A gRPC server: listeners, connections, and a table of methods. Loop thread.
 *
 * The order for a call: the connection is established (TLS, verified peer); `authorize`
 * permits this peer to call this method; only then is an unknown method reported as such;
 * then the method's handler starts. Unauthorized callers learn nothing about what exists. */
#pragma once

#include "net/grpc.h"
#include "net/listener.h"

typedef struct GrpcServer GrpcServer;

typedef struct GrpcServerOptions {
    Loop *loop;
    const GrpcMethod *methods; /* must outlive the server */
    uint32_t method_count;
    /* Whether the peer may call the method; `method` is NULL if the path is unknown. ERROR_DENIED
     * becomes PERMISSION_DENIED, or UNAUTHENTICATED for a peer without an identity. NULL: all calls
     * are allowed. */
    bool (*authorize)(void *context, const Peer *peer, const GrpcMethod *method, Error *err);
    void *context;      /* passed to `authorize`; returned by grpc_call_context */
    Http2Options http2; /* limits */
    /* bytes that a call may queue before it reports a full queue */
    size_t queue_max;
    /* limit on bytes held by the calls of one connection (both directions), and by all connections
     * of one node (received) */
    size_t connection_max;
    size_t memory_max;          /* limit on bytes of incoming messages on all connections */
    int64_t request_timeout_ms; /* maximum time for a unary request to arrive */
    uint32_t
        /* maximum connections per node, identified by its certificate; 0: no limit. Beyond it the
         * oldest connection is closed, because it may be left over from a network failure */
        per_node_max;
} GrpcServerOptions;

GrpcServerOptions grpc_server_defaults(void);

GrpcServer *grpc_server_new(const GrpcServerOptions *options);
/* Ends all calls with GRPC_CANCELLED and closes all connections. NULL is allowed. */
void grpc_server_free(GrpcServer *server);
DEFINE_AUTO(GrpcServer, grpc_server_free)

/* Starts listening. `options->accepted` and its context are set by the server, which also owns the
 * listener; it is returned for its port and counters. */
MUST_CHECK bool grpc_server_listen(GrpcServer *server, const ListenerOptions *options,
                                   const Address *address, const Listener **out, Error *err);
/* Takes ownership of a connection, which may still be opening. */
void grpc_server_adopt(GrpcServer *server, Connection *connection);

/* Stops accepting connections and calls. Calls in progress may finish within the grace period and
 * are then canceled. `done`, which may be NULL, is called when none is left. */
void grpc_server_stop(GrpcServer *server, int64_t grace_ms, LoopRun *done, void *context);

/* Immediately closes the connections of all peers that match, such as a revoked node. */
void grpc_server_drop(GrpcServer *server, bool (*matches)(void *context, const Peer *peer),
                      void *context);

typedef struct GrpcServerCounts {
    uint32_t connections; /* currently open */
    uint64_t calls;       /* started since the server was created */
    uint64_t refused;     /* unauthorized or unknown */
    size_t memory;        /* bytes of incoming messages */
} GrpcServerCounts;
GrpcServerCounts grpc_server_counts(const GrpcServer *server);
