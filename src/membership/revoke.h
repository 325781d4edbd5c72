/* Revokes certificates. Affected nodes are disconnected when the roster has the change
 * (membership/roster.h). The node's record is written with it, so that watches of nodes and
 * certificates are notified. Loop thread only.
 *
 * Each function calls `done` exactly once, later or within the call, even if the store is
 * closing. */
#pragma once

#include "cluster/cluster_store.h"

/* Revokes all certificates of the node. It stays in the list of nodes, and is admitted again when
 * it is removed and joins, or when its current key is approved. ERROR_CONFLICT for a server, which
 * would lock itself out; ERROR_NOT_FOUND. */
void revoke_node(const ClusterStore *cluster_store, Str name, ClusterDone *done, void *context);
/* Revokes one certificate by its serial number. ERROR_NOT_FOUND if no node can have it. */
void revoke_serial(const ClusterStore *cluster_store, Str serial, ClusterDone *done, void *context);
