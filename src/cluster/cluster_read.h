/* Reads of what the state does not hold: values that are large or many. Loop thread. */
#pragma once

#include "cluster/cluster_store.h"

/* As store_txn. While the state is stale the read waits for no write: one that hangs would hold it up, and
 * the answer is marked as perhaps out of date anyway. */
MUST_CHECK bool cluster_read(const ClusterStore *at, const StoreOp *ops, uint32_t count,
                             StoreDone *done, void *context, Error *err);
