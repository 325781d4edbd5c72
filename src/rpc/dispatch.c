#include "rpc/dispatch.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/memory.h"

struct Dispatch {
    DispatchDescribe *describe;
    void *context;
    MethodBinding bindings[METHOD_COUNT];
    GrpcMethod methods[METHOD_COUNT];
    uint32_t count;
};

/* State of a call that was rejected when it started: its handler never sees it. */
static const char refused_mark = 0;

static const MethodBinding *binding_of(const GrpcCall *call)
{
    return grpc_call_method(call)->data;
}

static bool is_refused(const GrpcCall *call)
{
    return grpc_call_data(call) == &refused_mark;
}

static bool authorize(void *context, const Peer *peer, const GrpcMethod *method, Error *err)
{
    const Dispatch *dispatch = context;
    Caller caller = { 0 };
    dispatch->describe(dispatch->context, peer, &caller);
    const MethodBinding *binding = method == NULL ? NULL : method->data;
    bool only_self;
    return access_check(binding == NULL ? NULL : &method_rows[binding->method], &caller, &only_self,
                        err);
}

static void call_started(GrpcCall *call)
{
    Error err;
    if (!access_check_protocol(grpc_call_header(call, PROTOCOL_HEADER), &err)) {
        grpc_call_set_data(call, (void *)(uintptr_t)&refused_mark);
        grpc_call_finish(call, GRPC_FAILED_PRECONDITION, str_from_c(err.text));
        return;
    }
    const GrpcHandler *handler = binding_of(call)->handler;
    if (handler->started != NULL) {
        handler->started(call);
    }
}

/* The part of the access check that needs the message: whether it is about the caller. */
static bool check_allowed(const GrpcCall *call, Str message, Error *err)
{
    const MethodRow *row = &method_rows[binding_of(call)->method];
    if ((row->callers & CALLER_SELF) == 0) {
        return true;
    }
    const Dispatch *dispatch = grpc_call_context(call);
    Caller caller = { 0 };
    dispatch->describe(dispatch->context, grpc_call_peer(call), &caller);
    bool only_self;
    return access_check(row, &caller, &only_self, err) &&
           (!only_self || access_check_self(message, caller.identity.node, err));
}

static void call_message(GrpcCall *call, Str message)
{
    if (is_refused(call)) {
        return;
    }
    Error err;
    if (!check_allowed(call, message, &err)) {
        grpc_call_fail(call, &err);
        return;
    }
    const GrpcHandler *handler = binding_of(call)->handler;
    if (handler->message != NULL) {
        handler->message(call, message);
    }
}

static void call_half_closed(GrpcCall *call)
{
    const GrpcHandler *handler = binding_of(call)->handler;
    if (!is_refused(call) && handler->half_closed != NULL) {
        handler->half_closed(call);
    }
}

static void call_writable(GrpcCall *call)
{
    const GrpcHandler *handler = binding_of(call)->handler;
    if (!is_refused(call) && handler->writable != NULL) {
        handler->writable(call);
    }
}

static void call_ended(GrpcCall *call, GrpcStatus status, Str text)
{
    const GrpcHandler *handler = binding_of(call)->handler;
    if (!is_refused(call) && handler->ended != NULL) {
        handler->ended(call, status, text);
    }
}

static const GrpcHandler dispatch_handler = { call_started, call_message, call_half_closed,
                                              call_writable, call_ended };

Dispatch *dispatch_new(const MethodBinding *bindings, uint32_t count, DispatchDescribe *describe,
                       void *context)
{
    BUG_IF(count > METHOD_COUNT);
    Dispatch *dispatch = memory_new(sizeof *dispatch);
    dispatch->describe = describe;
    dispatch->context = context;
    dispatch->count = count;
    for (uint32_t i = 0; i < count; i++) {
        const MethodRow *row = &method_rows[bindings[i].method];
        dispatch->bindings[i] = bindings[i];
        dispatch->methods[i] = (GrpcMethod){ row->path, row->kind, row->request_max,
                                             &dispatch_handler, &dispatch->bindings[i] };
    }
    return dispatch;
}

void dispatch_free(Dispatch *dispatch)
{
    free(dispatch);
}

void dispatch_serve(Dispatch *dispatch, GrpcServerOptions *options)
{
    options->methods = dispatch->methods;
    options->method_count = dispatch->count;
    options->authorize = authorize;
    options->context = dispatch;
}

void *dispatch_data(const GrpcCall *call)
{
    return binding_of(call)->data;
}
