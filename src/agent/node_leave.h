/* Leaving a cluster: asks a server to remove this node, and determines whether it was
 * removed. Loop thread.
 *
 * The server disconnects a removed node, often before its response is sent. So if the
 * connection breaks, the next one decides: a server that rejects this node has removed it. */
#pragma once

#include "net/grpc_client.h"
#include "rpc/session_node.h"

typedef struct NodeLeave NodeLeave;

enum {
    NODE_LEAVE_MS = 20 * 1000, /* timeout of the entire operation */
};

/* `err` is NULL if the node was removed. */
typedef void NodeLeaveDone(void *context, const Error *err);

typedef struct NodeLeaveOptions {
    Loop *loop;
    GrpcClient *client;  /* connection of the session; used only within node_leave_new() */
    Str node;            /* used only within node_leave_new() */
    NodeLeaveDone *left; /* called once, in a later loop iteration; may free the node_leave */
    void *context;
} NodeLeaveOptions;

/* Sends the request. Fails with ERROR_UNAVAILABLE if the connection accepts no more calls. */
MUST_CHECK bool node_leave_new(const NodeLeaveOptions *options, NodeLeave **out, Error *err);
void node_leave_free(NodeLeave *node_leave); /* NULL is allowed */
DEFINE_AUTO(NodeLeave, node_leave_free)

/* Called when the state of the session has changed; `why` if it is waiting. */
void node_leave_session_changed(NodeLeave *node_leave, SessionNodeState state, const Error *why);
