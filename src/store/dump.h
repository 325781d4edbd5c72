/* Writes a store as a dump (dump_format.h), piece by piece as the consumer requests it. Uses only
 * store.h, so it works with every backend. Needs memory for one response of the store and no disk
 * space.
 *
 * All pieces are as of the revision that the first one reads. That revision is held (store_hold)
 * until the end, if the store supports that. */
#pragma once

#include "base/buf.h"
#include "store/dump_format.h"

typedef struct StoreDump StoreDump;

typedef struct StoreDumpPiece {
    Str bytes; /* never empty */
    const StoreDumpHead *head;
    const StoreDumpEnd *end; /* only with the last piece; otherwise NULL */
} StoreDumpPiece;

/* `piece` is NULL after a failure, which ends the dump. Both are valid during the call, which may
 * free the dump or request the next piece. */
typedef void StoreDumpDone(void *context, const StoreDumpPiece *piece, const Error *err);

typedef struct StoreDumpSpec {
    Store *store;
    Str store_id; /* recorded in the dump: letters, digits, '_' and '-' */
    /* For keys with a lease: whether to omit the key, such as those that indicate liveness. NULL:
     * none is omitted. */
    bool (*omits)(void *context, Str key);
    StoreDumpDone *done;
    void *context;
} StoreDumpSpec;

StoreDump *store_dump_new(const StoreDumpSpec *spec);
/* Afterwards `done` is not called. NULL is allowed. */
void store_dump_free(StoreDump *dump);
DEFINE_AUTO(StoreDump, store_dump_free)

/* Requests the first or next piece; one at a time, and not after the last. `done` is called in the
 * same way as that of store_txn. ERROR_UNAVAILABLE: the history was compacted beyond the revision
 * in the meantime. */
MUST_CHECK bool store_dump_next(StoreDump *dump, Error *err);

/* Writes a failure record in place of the remainder, so that the reader can report why the dump is
 * incomplete. */
void store_dump_put_failure(Buf *out, const Error *why);
