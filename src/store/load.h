/* Loads a dump (dump_format.h) into an empty store, in transactions of many keys. Uses only
 * store.h.
 *
 * The content is only valid if the load succeeds, because the digest is at the end of a dump: load
 * into a store that is not in use, and move it into place afterwards. Keys get new revisions, and
 * there is no history. Leases keep their ids and start with their full TTL. */
#pragma once

#include "store/dump_format.h"

typedef struct StoreLoad StoreLoad;

/* Number of revisions to skip after that of the dump, for StoreSettings.after: the dumped store may
 * have continued, and clients that have seen those revisions must not find different changes under
 * the same numbers. */
enum {
    STORE_LOAD_STEP = 1000 * 1000
};

typedef struct StoreLoaded {
    StoreDumpHead head;
    StoreDumpEnd end;
    int64_t revision; /* revision of the store, whose entire history is compacted */
} StoreLoaded;

/* `loaded` is NULL after a failure. */
typedef void StoreLoadDone(void *context, const StoreLoaded *loaded, const Error *err);

typedef struct StoreLoadSpec {
    Store *store;
    /* Reads up to `size` bytes; sets `*read_size` to 0 at the end. */
    bool (*read)(void *context, char *buffer, size_t size, size_t *read_size, Error *err);
    /* called in the same way as that of store_txn; the load is freed afterwards */
    StoreLoadDone *done;
    void *context;
} StoreLoadSpec;

/* Fails like store_dump_reader_feed and store_txn, with ERROR_CONFLICT if the store is not empty,
 * and with ERROR_INVALID if something follows the dump. `context` must be valid until `done` is
 * called or the store is closed. */
MUST_CHECK bool store_load(const StoreLoadSpec *spec, Error *err);
