#include "service/nodes_service.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "membership/nodes.h"
#include "rpc/eden.pb-c.h"
#include "rpc/wire.h"

struct NodesService {
    ClusterStore cluster_store;
    Audit *const *audit;
};

/* A call that waits for the store. The store always completes it; the call may have ended by
 * then. */
typedef struct LeaveCall {
    ClusterStore cluster_store;
    Audit *const *audit;
    GrpcCall *call; /* NULL once the call has ended */
    char node[NODE_NAME_MAX + 1];
    char address[ADDRESS_TEXT_MAX];
} LeaveCall;

/* --- Messages -------------------------------------------------------------------------------- */

void leave_request_encode(Str node, Buf *out)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Eden__V1__LeaveRequest message = EDEN__V1__LEAVE_REQUEST__INIT;
    message.node = arena_copy_c(&arena, node);
    wire_pack(&message.base, out);
}

static bool leave_request_decode(Arena *arena, Str bytes, Str *node, Error *err)
{
    const Eden__V1__LeaveRequest *message = (const Eden__V1__LeaveRequest *)wire_unpack(
        arena, &eden__v1__leave_request__descriptor, bytes, err);
    if (message == NULL) {
        return false;
    }
    *node = str_from_c(message->node);
    return true;
}

/* --- Leaving --------------------------------------------------------------------------------- */

static void record(LeaveCall *leaving, AuditOutcome outcome, const char *detail, AuditDone *done)
{
    char who[NODE_NAME_MAX + 6];
    snprintf(who, sizeof who, "node:%s", leaving->node);
    AuditEntry entry = { .who = str_from_c(who),
                         .principal_kind = PRINCIPAL_NODE,
                         .address = str_from_c(leaving->address),
                         .verb = STR("leave"),
                         .kind = STR("Node"),
                         .name = str_from_c(leaving->node),
                         .outcome = outcome,
                         .detail = str_from_c(detail) };
    audit_append(*leaving->audit, &entry, done, leaving);
}

static void removed(void *context, const Error *err)
{
    LeaveCall *leaving = context;
    GrpcCall *call = leaving->call;
    Error failure;
    if (err == NULL) {
        log_info("node left", LOG_C("node", leaving->node));
    }
    if (*leaving->audit != NULL) {
        record(leaving, err == NULL ? AUDIT_DONE : AUDIT_FAILED, err == NULL ? "" : err->text,
               NULL);
    }
    free(leaving);
    if (call == NULL) {
        return;
    }
    grpc_call_set_data(call, NULL);
    if (err == NULL) {
        err = grpc_call_send(call, STR_EMPTY, &failure) ? NULL : &failure;
    }
    if (err == NULL) {
        grpc_call_finish(call, GRPC_OK, STR_EMPTY);
    } else {
        grpc_call_fail(call, err);
    }
}

static void recorded(void *context, uint64_t sequence, const Error *err)
{
    LeaveCall *leaving = context;
    if (err != NULL) {
        removed(leaving, err);
    } else {
        nodes_remove(&leaving->cluster_store, str_from_c(leaving->node), 0, removed, leaving);
    }
}

static void on_leave(GrpcCall *call, Str message)
{
    const NodesService *service = dispatch_data(call);
    const Identity *identity = &grpc_call_peer(call)->tls.identity;
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Error err;
    Str node;
    if (!leave_request_decode(&arena, message, &node, &err)) {
        grpc_call_fail(call, &err);
        return;
    }
    /* An empty message must not remove a node. */
    if (!str_eq_c(node, identity->node)) {
        grpc_call_finish(call, GRPC_INVALID_ARGUMENT,
                         STR("the name of the leaving node is required"));
        return;
    }
    LeaveCall *leaving = memory_new(sizeof *leaving);
    leaving->cluster_store = service->cluster_store;
    leaving->audit = service->audit;
    leaving->call = call;
    memcpy(leaving->node, identity->node, sizeof leaving->node);
    memcpy(leaving->address, grpc_call_peer(call)->address, sizeof leaving->address);
    grpc_call_set_data(call, leaving);
    if (*service->audit == NULL) {
        recorded(leaving, 0, NULL);
    } else {
        record(leaving, AUDIT_REQUESTED, "", recorded);
    }
}

static void leave_ended(GrpcCall *call, GrpcStatus status, Str text)
{
    LeaveCall *leaving = grpc_call_data(call);
    if (leaving != NULL) {
        leaving->call = NULL;
    }
}

static const GrpcHandler leave_handler = { .message = on_leave, .ended = leave_ended };

/* --- Lifecycle ------------------------------------------------------------------------------- */

NodesService *nodes_service_new(const ClusterStore *cluster_store, Audit *const *audit)
{
    NodesService *service = memory_new(sizeof *service);
    service->cluster_store = *cluster_store;
    service->audit = audit;
    return service;
}

void nodes_service_free(NodesService *service)
{
    free(service);
}

MethodBinding nodes_service_binding(NodesService *service)
{
    return (MethodBinding){ METHOD_NODES_LEAVE, &leave_handler, service };
}
