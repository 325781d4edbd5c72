/* What a backend of the store implements: store.c checks each call and hands it to one of these. A
 * backend's own structs begin with Store and StoreWatch.
 *
 * Each has the promises of the call of store.h that is named alike. Requests make sense and keep
 * the limits when they come here. */
#pragma once

#include "store/store.h"

typedef struct StoreBackend {
    /* Calls that write may fail with ERROR_UNKNOWN. */
    bool is_remote;
    void (*close)(Store *store);
    /* `bytes` of all its keys and values. */
    bool (*txn)(Store *store, const StoreTxn *txn, size_t bytes, StoreDone *done, void *context,
                Error *err);
    /* The backend's own way to ask for the newest one, so that what was inferred from answers is never
     * taken for it. */
    bool (*revision)(Store *store, StoreDone *done, void *context, Error *err);
    bool (*compact)(Store *store, int64_t revision, StoreDone *done, void *context, Error *err);

    bool (*lease_grant)(Store *store, int64_t ttl_s, int64_t id, bool is_reserved,
                        StoreLeaseDone *done, void *context, Error *err);
    bool (*lease_keep_alive)(Store *store, int64_t id, StoreLeaseDone *done, void *context,
                             Error *err);
    bool (*lease_revoke)(Store *store, int64_t id, StoreLeaseDone *done, void *context, Error *err);
    bool (*lease_time_to_live)(Store *store, int64_t id, bool keys, StoreLeaseDone *done,
                               void *context, Error *err);
    bool (*lease_list)(Store *store, StoreLeasesDone *done, void *context, Error *err);

    bool (*watch)(Store *store, const StoreWatchSpec *spec, StoreWatch **out, Error *err);
    void (*watch_ack)(StoreWatch *watch);
    void (*watch_cancel)(StoreWatch *watch);

    /* The lowest revision that is held; INT64_MAX: none is. NULL: it cannot hold any. */
    void (*hold)(Store *store, int64_t revision);
    /* `looks`: with a look at the disk. */
    StoreStatus (*status)(const Store *store, bool looks);
} StoreBackend;

typedef struct SureTxn SureTxn;

struct Store {
    const StoreBackend *backend;
    Loop *loop;
    SureTxn *sure; /* store_txn_sure() that are not answered yet */
    StoreHold *holds;
    bool is_closing;
};

struct StoreHold {
    Store *store; /* NULL: it was closed */
    int64_t revision;
    StoreHold *next, *previous;
};

struct StoreWatch {
    Store *store;
};

/* Answers all that wait; with the store's own answers still to come when it is closed. */
void sure_close(Store *store);
