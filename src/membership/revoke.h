/* Revokes certificates. Affected nodes are disconnected when the roster
 * has the change (membership/roster.h). The node's record is written with it,
 * so that watches of nodes and certificates are notified. Loop thread.
 *
 * Each function calls `done` exactly once, in a later turn or within, also
 * when the store closes. */
#pragma once

#include "cluster/cluster_store.h"

/* Every certificate that the node has, however many there were. It stays in the list of nodes, and is
 * let in again when it is removed and joins, or when the key that it has is approved. ERROR_CONFLICT
 * for a server, which would only shut itself out; ERROR_NOT_FOUND. */
void revoke_node(const ClusterStore *at, Str name, ClusterDone *done, void *context);
/* One certificate, by its serial number. ERROR_NOT_FOUND when no node can have it. */
void revoke_serial(const ClusterStore *at, Str serial, ClusterDone *done, void *context);
