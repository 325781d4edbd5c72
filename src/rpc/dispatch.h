/* Dispatches calls from a gRPC server to the handlers of services: each one passes
 * access_check before its handler starts, and before its message is looked at. Loop thread. */
#pragma once

#include "net/grpc_server.h"
#include "rpc/access.h"

typedef struct Dispatch Dispatch;

/* A method and who deals with it. The handler uses the call as any other; grpc_call_data is its own,
 * dispatch_data is `data`. It must not cancel calls, but finish them. */
typedef struct MethodBinding {
    Method method;
    const GrpcHandler *handler;
    void *data;
} MethodBinding;

/* What is known of a peer now; asked for every call. */
typedef void DispatchDescribe(void *context, const Peer *peer, Caller *out);

/* Methods without a binding are unknown ones. */
Dispatch *dispatch_new(const MethodBinding *bindings, uint32_t count, DispatchDescribe *describe,
                       void *context);
void dispatch_free(Dispatch *dispatch); /* after the servers that use it; NULL is allowed */
DEFINE_AUTO(Dispatch, dispatch_free)

/* Sets methods, authorize and context of a server that is to be. */
void dispatch_serve(Dispatch *dispatch, GrpcServerOptions *options);
void *dispatch_data(const GrpcCall *call);
