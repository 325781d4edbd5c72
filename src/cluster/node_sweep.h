/* Deletes what removed nodes have left: every key with the name of one of them in it, in small steps.
 * Loop thread.
 *
 * Removing a node (nodes_remove) takes its record and a few more keys away, and puts removed/<node> in
 * the same transaction. As long as that is there, nobody joins under the name; it goes when no other
 * key is left, so that who gets the name next inherits nothing. The server that leads does it; the next
 * leader goes on where one was killed or deposed. */
#pragma once

#include "cluster/cluster_store.h"

typedef struct NodeSweep NodeSweep;

/* Begins with what is to be done, and goes on with every node that is removed, until the fence does not
 * hold: what a former leader has seen as left may belong to a new node of the same name. All is copied but
 * the state, which must know what the store has. */
NodeSweep *node_sweep_new(const ClusterStore *at, const StoreCompare *fence);
void node_sweep_free(NodeSweep *sweep); /* before the state and the store; NULL is fine */
DEFINE_AUTO(NodeSweep, node_sweep_free)

/* Whether nothing is under way. */
bool node_sweep_is_idle(const NodeSweep *sweep);
