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
    const GrpcMethod *methods; /* borrowed as long as the server lives */
    uint32_t method_count;
    /* Whether the peer may call it; `method` is NULL when there is none with the path. ERROR_DENIED
     * becomes PERMISSION_DENIED, or UNAUTHENTICATED for a peer without identity. NULL: all may. */
    bool (*authorize)(void *context, const Peer *peer, const GrpcMethod *method, Error *err);
    void *context;              /* for `authorize` and grpc_call_context */
    Http2Options http2;         /* its limits */
    size_t queue_max;           /* bytes of a call that wait for the peer; then it is full */
    size_t connection_max;      /* bytes that the calls of one connection hold, in and out; also of
                                 * all connections of a node, in */
    size_t memory_max;          /* bytes of messages that are coming in, on all connections */
    int64_t request_timeout_ms; /* for the request of a call that has one */
    uint32_t
        per_node_max; /* connections of one node, by its certificate; 0: any number. With one more
                              the oldest ends: it may be what a lost network has left */
} GrpcServerOptions;

GrpcServerOptions grpc_server_defaults(void);

GrpcServer *grpc_server_new(const GrpcServerOptions *options);
/* Ends every call with GRPC_CANCELLED and every connection. NULL is allowed. */
void grpc_server_free(GrpcServer *server);
DEFINE_AUTO(GrpcServer, grpc_server_free)

/* Listens; `options->accepted` and its context are the server's. The listener is the server's too,
 * and is given for its port and counts. */
MUST_CHECK bool grpc_server_listen(GrpcServer *server, const ListenerOptions *options,
                                   const Address *address, const Listener **out, Error *err);
/* Takes over a connection, which may still be opening. */
void grpc_server_adopt(GrpcServer *server, Connection *connection);

/* No new connections and calls. Those that are under way may end within the time, then they are
 * cut; `done`, which may be NULL, is called when none is left. */
void grpc_server_stop(GrpcServer *server, int64_t grace_ms, LoopRun *done, void *context);

/* Ends at once the connections of peers for which `matches` says so, such as a revoked node. */
void grpc_server_drop(GrpcServer *server, bool (*matches)(void *context, const Peer *peer),
                      void *context);

typedef struct GrpcServerCounts {
    uint32_t connections; /* now */
    uint64_t calls;       /* started, ever */
    uint64_t refused;     /* by `authorize`, or unknown */
    size_t memory;        /* bytes of messages that are coming in */
} GrpcServerCounts;
GrpcServerCounts grpc_server_counts(const GrpcServer *server);
