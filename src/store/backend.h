/* The interface that a backend of the store implements: store.c validates each call and forwards it
 * to one of these functions. A backend's own structs embed Store and StoreWatch as their first
 * member.
 *
 * Each function has the contract of the function with the same name in store.h. Requests are valid
 * and within the limits here. */
#pragma once

#include "store/store.h"

typedef struct StoreLeaseGrant {
    int64_t ttl_s;
    int64_t id;       /* 0: the store chooses one */
    bool is_reserved; /* see store_lease_grant_reserved() */
} StoreLeaseGrant;

typedef struct StoreBackend {
    /* Writing calls may fail with ERROR_UNKNOWN. */
    bool is_remote;
    void (*close)(Store *store);
    /* `bytes` is the size of all keys and values. */
    bool (*txn)(Store *store, const StoreTxn *txn, size_t bytes, StoreDone *done, void *context,
                Error *err);
    /* The backend queries the newest revision itself, so that one inferred from responses is never
     * mistaken for it. */
    bool (*revision)(Store *store, StoreDone *done, void *context, Error *err);
    bool (*compact)(Store *store, int64_t revision, StoreDone *done, void *context, Error *err);

    bool (*lease_grant)(Store *store, const StoreLeaseGrant *grant, StoreLeaseDone *done,
                        void *context, Error *err);
    bool (*lease_keep_alive)(Store *store, int64_t id, StoreLeaseDone *done, void *context,
                             Error *err);
    bool (*lease_revoke)(Store *store, int64_t id, StoreLeaseDone *done, void *context, Error *err);
    bool (*lease_time_to_live)(Store *store, int64_t id, bool keys, StoreLeaseDone *done,
                               void *context, Error *err);
    bool (*lease_list)(Store *store, StoreLeasesDone *done, void *context, Error *err);

    bool (*watch)(Store *store, const StoreWatchSpec *spec, StoreWatch **out, Error *err);
    void (*watch_ack)(StoreWatch *watch);
    void (*watch_cancel)(StoreWatch *watch);

    /* The lowest revision that is held; INT64_MAX if none is. NULL if holding is not supported. */
    void (*hold)(Store *store, int64_t revision);
    /* `check_disk` also checks the disk. */
    StoreStatus (*status)(const Store *store, bool check_disk);
} StoreBackend;

typedef struct ConfirmedTxn ConfirmedTxn;

struct Store {
    const StoreBackend *backend;
    Loop *loop;
    ConfirmedTxn *confirmed; /* pending calls of store_txn_confirmed() */
    StoreHold *holds;
    bool is_closing;
};

struct StoreHold {
    Store *store; /* NULL once the store is closed */
    int64_t revision;
    StoreHold *next, *previous;
};

struct StoreWatch {
    Store *store;
};

/* Completes all pending transactions when the store is closed; responses of the backend may still
 * follow. */
void confirmed_txns_close(Store *store);
