/* A gRPC client: one connection to one server. It does not reconnect: to retry,
 * create another client, at a pace and to a server of your choice. Loop thread. */
#pragma once

#include "net/grpc.h"

typedef struct GrpcClient GrpcClient;

enum {
    GRPC_METADATA_MAX = 8
};

typedef struct GrpcClientOptions {
    Loop *loop;
    Address address;
    TlsContext *tls; /* NULL for a Unix socket */
    /* name that the server's certificate must contain; NULL: `verify` of the context decides */
    const char *tls_host;
    int64_t open_timeout_ms; /* for connecting and the TLS handshake */
    Http2Options http2;      /* limits */
    uint32_t response_max;   /* maximum size of one message in bytes */
    size_t queue_max;        /* bytes that a call may queue before it reports a full queue */
    size_t connection_max;   /* limit on the bytes held by all calls, in and out */
    /* Additional headers of every call. Must outlive the client. */
    const Http2Header *metadata;
    uint32_t metadata_count;      /* at most GRPC_METADATA_MAX */
    void (*ready)(void *context); /* may be NULL */
    /* The connection and its calls have ended. May be NULL. */
    void (*closed)(void *context, const Error *why);
    void *context;
} GrpcClientOptions;

GrpcClientOptions grpc_client_defaults(void);

/* Connects. Calls can be started immediately; they wait for the connection. */
GrpcClient *grpc_client_new(const GrpcClientOptions *options);
/* Ends all calls with GRPC_CANCELLED. Allowed within `closed` and handlers. NULL is allowed. */
void grpc_client_free(GrpcClient *client);
DEFINE_AUTO(GrpcClient, grpc_client_free)

bool grpc_client_is_open(const GrpcClient *client); /* connected or connecting, and accepts calls */

/* Starts a call of any kind. `timeout_ms` 0 means no timeout. Fails with ERROR_UNAVAILABLE if the
 * connection accepts no more calls. */
MUST_CHECK bool grpc_client_start(GrpcClient *client, const char *path, GrpcKind kind,
                                  const GrpcHandler *handler, void *data, int64_t timeout_ms,
                                  GrpcCall **out, Error *err);

/* `response` is valid during the call, and empty unless the status is GRPC_OK. */
typedef void GrpcUnaryDone(void *context, GrpcStatus status, Str text, Str response);
/* One request, one response. `done` follows unless this fails. */
MUST_CHECK bool grpc_client_unary(GrpcClient *client, const char *path, Str request,
                                  int64_t timeout_ms, GrpcUnaryDone *done, void *context,
                                  Error *err);
