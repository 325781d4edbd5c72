/* The store as a gRPC service: Txn, leases, Watch, Compact, Status. Loop thread only.
 *
 * A watch is served as fast as its client reads: a batch is acknowledged to the store when the
 * call's queue has accepted it, and until then nothing else is buffered. */
#pragma once

#include "cluster/state.h"
#include "rpc/dispatch.h"
#include "store/store.h"

typedef struct StoreService StoreService;

/* Writes are completed once `state` includes them; if NULL, immediately. */
StoreService *store_service_new(Store *store, State *state);
/* Ends all watches, including new ones; clients continue from the revision they last received. */
void store_service_stop(StoreService *service);
/* Must be called after freeing all servers with its bindings, and before the store is closed, which
 * completes pending calls. NULL is allowed. */
void store_service_free(StoreService *service);
DEFINE_AUTO(StoreService, store_service_free)

enum {
    STORE_SERVICE_METHODS = 8
};

/* Returns the binding for dispatch_new. */
void store_service_bind(StoreService *service, MethodBinding out[STORE_SERVICE_METHODS]);
