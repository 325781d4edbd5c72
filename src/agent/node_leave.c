/* A call to the server, and the next connection if its outcome is unknown. The call may outlive the
 * node_leave. */
#include "agent/node_leave.h"

#include <stdlib.h>

#include "base/memory.h"
#include "rpc/methods.h"
#include "service/nodes_service.h"

/* The call in progress; may outlive the node_leave. */
typedef struct LeaveCall {
    NodeLeave *node_leave; /* NULL once freed */
} LeaveCall;

struct NodeLeave {
    NodeLeaveOptions options;
    LeaveCall *call; /* NULL once it has completed */
    LoopTimer timer;
    bool is_known;
    Error outcome; /* ERROR_NONE: the node was removed */
};

static void finish(NodeLeave *node_leave, ErrorKind kind, Str text)
{
    if (!node_leave->is_known) {
        node_leave->is_known = true;
        error_set(&node_leave->outcome, kind, "%" STR_FMT, STR_ARG(text));
        loop_timer_start(&node_leave->timer, 0);
    }
}

static void timer_expired(void *context)
{
    NodeLeave *node_leave = context;
    Error err;
    if (node_leave->is_known) {
        err = node_leave->outcome;
    } else {
        error_set(&err, ERROR_TIMEOUT,
                  "the server did not respond in time; it may still remove this node");
    }
    node_leave->options.left(node_leave->options.context, err.kind == ERROR_NONE ? NULL : &err);
}

static void response_received(void *context, GrpcStatus status, Str text, Str response)
{
    LeaveCall *call = context;
    NodeLeave *node_leave = call->node_leave;
    free(call);
    if (node_leave == NULL) {
        return;
    }
    node_leave->call = NULL;
    if (status == GRPC_OK) {
        finish(node_leave, ERROR_NONE, STR_EMPTY);
    } else if (status != GRPC_UNAVAILABLE && status != GRPC_CANCELLED) {
        finish(node_leave, grpc_status_kind(status), text);
    }
}

void node_leave_session_changed(NodeLeave *node_leave, SessionNodeState state, const Error *why)
{
    if (node_leave->call != NULL) {
        return;
    }
    if (state == SESSION_LIVE) {
        finish(node_leave, ERROR_UNAVAILABLE,
               STR("the connection was lost before the server removed this node; try again"));
    } else if (state == SESSION_WAITING && why->kind == ERROR_DENIED) {
        finish(node_leave, ERROR_NONE, STR_EMPTY);
    }
}

bool node_leave_new(const NodeLeaveOptions *options, NodeLeave **out, Error *err)
{
    AUTO_CLEAR(Buf) request = buf_make(BUF_UNLIMITED);
    leave_request_encode(options->node, &request);
    NodeLeave *node_leave = memory_new(sizeof *node_leave);
    LeaveCall *call = memory_new(sizeof *call);
    node_leave->options = *options;
    node_leave->call = call;
    call->node_leave = node_leave;
    loop_timer_init(&node_leave->timer, options->loop, timer_expired, node_leave);
    if (!grpc_client_unary(options->client, method_rows[METHOD_NODES_LEAVE].path, buf_str(&request),
                           NODE_LEAVE_MS, response_received, call, err)) {
        free(call);
        free(node_leave);
        return false;
    }
    loop_timer_start(&node_leave->timer, NODE_LEAVE_MS);
    *out = node_leave;
    return true;
}

void node_leave_free(NodeLeave *node_leave)
{
    if (node_leave == NULL) {
        return;
    }
    if (node_leave->call != NULL) {
        node_leave->call->node_leave = NULL;
    }
    loop_timer_stop(&node_leave->timer);
    free(node_leave);
}
