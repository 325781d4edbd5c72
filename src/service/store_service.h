/* The store as a gRPC service: Txn, leases, Watch, Compact, Status. Loop thread.
 *
 * A watch is fed as fast as its client takes what it is sent: a batch is acknowledged to the store
 * when the call's queue has taken it, and until then the store keeps nothing for it. */
#pragma once

#include "cluster/state.h"
#include "rpc/dispatch.h"
#include "store/store.h"

typedef struct StoreService StoreService;

/* Who writes is answered when `state` has what was written; NULL: at once. */
StoreService *store_service_new(Store *store, State *state);
/* Ends every watch, and those that still come; clients find the revision to go on from in what they
 * were told last. */
void store_service_stop(StoreService *service);
/* After every server that has its bindings, and before the store is closed, which ends what is still
 * asked of it. NULL is allowed. */
void store_service_free(StoreService *service);
DEFINE_AUTO(StoreService, store_service_free)

enum {
    STORE_SERVICE_METHODS = 8
};

/* For dispatch_new. */
void store_service_bind(StoreService *service, MethodBinding out[STORE_SERVICE_METHODS]);
