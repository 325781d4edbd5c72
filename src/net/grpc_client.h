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
    TlsContext *tls;         /* NULL for a Unix socket */
    const char *tls_host;    /* the name that the server's certificate must have; NULL: `verify` of
                                the context decides */
    int64_t open_timeout_ms; /* until the connection stands */
    Http2Options http2;      /* its limits */
    uint32_t response_max;   /* bytes of one message */
    size_t queue_max;        /* bytes of a call that wait for the peer; then it is full */
    size_t connection_max;   /* bytes that all calls hold, in and out */
    /* Header fields that every call has beside gRPC's own; borrowed as long as the client lives. */
    const Http2Header *metadata;
    uint32_t metadata_count;      /* at most GRPC_METADATA_MAX */
    void (*ready)(void *context); /* may be NULL */
    /* The connection is over, as are its calls. May be NULL. */
    void (*closed)(void *context, const Error *why);
    void *context;
} GrpcClientOptions;

GrpcClientOptions grpc_client_defaults(void);

/* Connects. Calls can be made at once; they wait for the connection. */
GrpcClient *grpc_client_new(const GrpcClientOptions *options);
/* Calls end with GRPC_CANCELLED. Also from within `closed` and handlers. NULL is allowed. */
void grpc_client_free(GrpcClient *client);
DEFINE_AUTO(GrpcClient, grpc_client_free)

bool grpc_client_is_open(const GrpcClient *client); /* not over, and takes calls */

/* A stream of any kind. `timeout_ms` of 0 is none. Fails with ERROR_UNAVAILABLE when the
 * connection takes no more calls. */
MUST_CHECK bool grpc_client_start(GrpcClient *client, const char *path, GrpcKind kind,
                                  const GrpcHandler *handler, void *data, int64_t timeout_ms,
                                  GrpcCall **out, Error *err);

/* The response is borrowed for the call; empty unless the status is GRPC_OK. */
typedef void GrpcUnaryDone(void *context, GrpcStatus status, Str text, Str response);
/* One request, one response. `done` follows unless this fails. */
MUST_CHECK bool grpc_client_unary(GrpcClient *client, const char *path, Str request,
                                  int64_t timeout_ms, GrpcUnaryDone *done, void *context,
                                  Error *err);
