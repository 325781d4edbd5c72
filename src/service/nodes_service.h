/* The service eden.v1.Nodes: requests of nodes about themselves. Loop thread only.
 *
 * A node that leaves is removed in the same way as by an operator, so it is also disconnected,
 * often before the response is sent. If a node receives no response and is rejected afterwards, it
 * has left. */
#pragma once

#include "audit/audit.h"
#include "cluster/cluster_store.h"
#include "rpc/dispatch.h"

typedef struct NodesService NodesService;

/* `cluster_store` must be valid until the store is closed. A node that leaves is recorded in
 * `*audit` first; the pointer is read each time, and may be NULL. */
NodesService *nodes_service_new(const ClusterStore *cluster_store, Audit *const *audit);
/* Must be called after freeing the servers with its binding. NULL is allowed. */
void nodes_service_free(NodesService *service);
DEFINE_AUTO(NodesService, nodes_service_free)

/* For dispatch_new. */
MethodBinding nodes_service_binding(NodesService *service);

/* Requests that this node leaves; it must be the caller. */
void leave_request_encode(Str node, Buf *out);
