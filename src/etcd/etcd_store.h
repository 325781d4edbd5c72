/* The store on an etcd cluster (3.4 or later), which must not be used for anything else: a
 * watch follows all of its keys.
 *
 * etcd's limits must be raised to those of store.h: --max-request-bytes 4194304 --max-txn-ops 512.
 * Old revisions are compacted by the clients, according to `keep_revisions` and `keep_ms` of their
 * settings; of the other settings, only `progress_ms` applies. There are no reserved leases, and
 * StoreStatus.leases is 0. */
#pragma once

#include "etcd/client.h"
#include "store/store.h"

typedef struct EtcdStoreOptions {
    const Address *endpoints; /* see client.h */
    uint32_t endpoint_count;
    TlsContext *tls;
    int64_t timeout_ms;
    StoreSettings settings;
} EtcdStoreOptions;

/* Never fails: calls wait for a connection in the same way as for a response, with the same
 * timeout. While no member is responding, reads and writes that were not sent fail with
 * ERROR_UNAVAILABLE. */
Store *etcd_store_open(Loop *loop, const EtcdStoreOptions *options);
/* For a store from etcd_store_open whose members have moved. */
void etcd_store_set_endpoints(Store *base, const Address *endpoints, uint32_t count);
