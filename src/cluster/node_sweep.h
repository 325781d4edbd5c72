/* Deletes what removed nodes have left: every key with the name of one of them in it, in small steps.
 * Loop thread.
 *
 * Removing a node (nodes_remove) takes its record and a few more keys away, and puts removed/<node> in
 * the same transaction. As long as that is there, nobody joins under the name; it goes when no other
 * key is left, so that who gets the name next inherits nothing. A server that is killed meanwhile goes
 * on when it starts again. */
#pragma once

#include "cluster/cluster_store.h"

typedef struct NodeSweep NodeSweep;

/* Begins with what is to be done, and goes on with every node that is removed. `at` is copied, its
 * prefix too. */
NodeSweep *node_sweep_new(const ClusterStore *at);
void node_sweep_free(NodeSweep *sweep); /* before the store is closed; NULL is fine */
DEFINE_AUTO(NodeSweep, node_sweep_free)

/* Whether nothing is under way. */
bool node_sweep_is_idle(const NodeSweep *sweep);
