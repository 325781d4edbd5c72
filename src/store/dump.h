/* A store written as a dump (dump_format.h), piece by piece as somebody takes it. Through store.h alone,
 * so that it is the same for every backend. Needs memory for one answer of the store and no disk.
 *
 * All pieces are of the revision that the first one finds. That revision is held (store_hold) until the
 * end, as far as the store can. */
#pragma once

#include "base/buf.h"
#include "store/dump_format.h"

typedef struct StoreDump StoreDump;

typedef struct StoreDumpPiece {
    Str bytes; /* never empty */
    const StoreDumpHead *head;
    const StoreDumpEnd *end; /* of the last piece; else NULL */
} StoreDumpPiece;

/* `piece` is NULL when it failed, and it is over then. Both are borrowed for the call. The dump may be
 * freed, or the next piece asked for, from within. */
typedef void StoreDumpDone(void *context, const StoreDumpPiece *piece, const Error *err);

typedef struct StoreDumpSpec {
    Store *store;
    Str store_id; /* that it is written under: letters, digits, '_' and '-' */
    /* Of a key with a lease: whether it is left out, as what says that somebody is alive is. NULL: none
     * is. */
    bool (*leaves_out)(void *context, Str key);
    StoreDumpDone *done;
    void *context;
} StoreDumpSpec;

StoreDump *store_dump_new(const StoreDumpSpec *spec);
/* `done` is not called any more. NULL is allowed. */
void store_dump_free(StoreDump *dump);
DEFINE_AUTO(StoreDump, store_dump_free)

/* Asks for the first or the next piece; for one at a time, and not after the last one. `done` is called as
 * that of store_txn is. ERROR_UNAVAILABLE: the history was compacted beyond the revision meanwhile. */
MUST_CHECK bool store_dump_next(StoreDump *dump, Error *err);

/* What is written in place of the rest, so that the reader knows why it ends there. */
void store_dump_put_broken(Buf *out, const Error *why);
