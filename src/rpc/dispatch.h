/* Dispatches calls from a gRPC server to the handlers of services. Each call passes access_check
 * before its handler starts and before its message is parsed. Loop thread only. */
#pragma once

#include "net/grpc_server.h"
#include "rpc/access.h"

typedef struct Dispatch Dispatch;

/* A method and its handler. grpc_call_data belongs to the handler; dispatch_data returns `data`.
 * The handler must finish calls, not cancel them. */
typedef struct MethodBinding {
    Method method;
    const GrpcHandler *handler;
    void *data;
} MethodBinding;

/* Fills in the facts about a peer; called for every call. */
typedef void DispatchDescribe(void *context, const Peer *peer, Caller *out);

/* Methods without a binding are treated as unknown. */
Dispatch *dispatch_new(const MethodBinding *bindings, uint32_t count, DispatchDescribe *describe,
                       void *context);
/* Call only after freeing the servers that use it. NULL is allowed. */
void dispatch_free(Dispatch *dispatch);
DEFINE_AUTO(Dispatch, dispatch_free)

/* Sets methods, authorize and context of a server that is about to be created. */
void dispatch_serve(Dispatch *dispatch, GrpcServerOptions *options);
void *dispatch_data(const GrpcCall *call);
