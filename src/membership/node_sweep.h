/* Deletes the data of removed nodes: every key that contains the name of one, in small steps. Loop
 * thread only.
 *
 * Removing a node (nodes_remove) deletes its record and a few more keys, and writes removed/<node>
 * in the same transaction. While that key exists, no machine can join under the name; it is deleted
 * when no other key is left, so that the next node of that name inherits nothing. The leader does
 * this; the next leader continues if one was killed or deposed. */
#pragma once

#include "cluster/cluster_store.h"

typedef struct NodeSweep NodeSweep;

/* Starts with existing marks, and continues with every removed node until the fence does not hold:
 * what a former leader considers leftover may belong to a new node of the same name. The arguments
 * are copied; the state is borrowed, and must be up to date with the store. */
NodeSweep *node_sweep_new(const ClusterStore *cluster_store, const StoreCompare *fence);
/* must be called before freeing the state and the store; NULL is allowed */
void node_sweep_free(NodeSweep *sweep);
DEFINE_AUTO(NodeSweep, node_sweep_free)

/* Whether the sweep has nothing left to do. */
bool node_sweep_is_idle(const NodeSweep *sweep);
