/* The service eden.v1.Nodes: requests of nodes about themselves. Loop thread.
 *
 * A node that leaves is removed as by an operator, so it is also disconnected, often before
 * the response is sent: a node that gets no response and is rejected afterwards has left. */
#pragma once

#include "audit/audit.h"
#include "cluster/cluster_store.h"
#include "rpc/dispatch.h"

typedef struct NodesService NodesService;

/* What `at` points to is borrowed until the store is closed. A node that leaves is in `*audit` before it
 * has left; the pointer is looked at when one does, and may be NULL then. */
NodesService *nodes_service_new(const ClusterStore *at, Audit *const *audit);
/* After the servers that have its binding. NULL is allowed. */
void nodes_service_free(NodesService *service);
DEFINE_AUTO(NodesService, nodes_service_free)

/* For dispatch_new. */
MethodBinding nodes_service_binding(NodesService *service);

/* That this node leaves; it must be who calls. */
void leave_request_encode(Str node, Buf *out);
