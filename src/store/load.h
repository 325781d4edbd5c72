/* A dump (dump_format.h) loaded into an empty store, in transactions of many keys. Through store.h alone.
 *
 * What is in the store counts only when the load has ended well, for the digest stands at the end of a
 * dump: load into a store that nobody uses, and put it in its place afterwards. Keys get new revisions,
 * and there is no history; leases have their ids, and their whole time begins. */
#pragma once

#include "store/dump_format.h"

typedef struct StoreLoad StoreLoad;

/* Revisions that are left out behind the one of the dump, for StoreSettings.after: the store that was
 * dumped may have gone on, and whoever has seen that must not find other changes under the same
 * revisions. */
enum {
    STORE_LOAD_STEP = 1000 * 1000
};

typedef struct StoreLoaded {
    StoreDumpHead head;
    StoreDumpEnd end;
    int64_t revision; /* of the store, all of whose history is compacted */
} StoreLoaded;

/* `loaded` is NULL when it failed. */
typedef void StoreLoadDone(void *context, const StoreLoaded *loaded, const Error *err);

typedef struct StoreLoadSpec {
    Store *store;
    /* Up to `size` bytes that come next; none (`*got` 0) at the end. */
    bool (*read)(void *context, char *buffer, size_t size, size_t *got, Error *err);
    StoreLoadDone *done; /* called as that of store_txn is; then the load is freed */
    void *context;
} StoreLoadSpec;

/* Fails as store_dump_reader_take and store_txn, with ERROR_CONFLICT when the store has keys, and with
 * ERROR_INVALID when something follows the dump. The store must be closed, or `done` called, before
 * what `context` is goes. */
MUST_CHECK bool store_load(const StoreLoadSpec *spec, Error *err);
