#include "cluster/cluster_read.h"

#include "cluster/state.h"

bool cluster_read(const ClusterStore *at, const StoreOp *ops, uint32_t count, StoreDone *done,
                  void *context, Error *err)
{
    StoreTxn txn = { .success = ops,
                     .success_count = count,
                     .relaxed = at->state != NULL && state_age(at->state).stale_since_ms != 0 };
    return store_txn(at->store, &txn, done, context, err);
}
