/* A remote store whose requests and responses get lost as the test specifies. Write transactions
 * meet the fates in `fates`, one each; all later ones succeed. Everything else comes from the
 * underlying store. */
#pragma once

#include <stdlib.h>

#include "store/backend.h"
#include "store/request.h"
#include "unit.h"

typedef enum Fate {
    FATE_WELL,
    FATE_REQUEST_LOST, /* ERROR_UNKNOWN, and it was not applied */
    FATE_ANSWER_LOST,  /* ERROR_UNKNOWN, and it was */
    FATE_LATE,         /* ERROR_UNKNOWN, and it is applied before the second one from here */
    FATE_REFUSED,      /* ERROR_UNAVAILABLE */
} Fate;

typedef struct LossyStore {
    Store base;
    Store *real;
    const Fate *fates;
    uint32_t fate_count, sent; /* of write transactions */
    uint32_t calls;            /* of all, except those of a state that checks whether it answers */
    Arena arena;
    bool is_late;
    StoreTxn late;
} LossyStore;

typedef struct LossyCall {
    LoopTask task;
    LossyStore *store;
    Fate fate;
    StoreDone *done;
    void *context;
} LossyCall;

static inline void lossy_end(LossyCall *call, const StoreReply *reply, const Error *err)
{
    call->done(call->context, reply, err);
    free(call);
}

static inline void lossy_lose(void *context)
{
    LossyCall *call = context;
    Error err;
    bool is_refused = call->fate == FATE_REFUSED;
    error_set(&err, is_refused ? ERROR_UNAVAILABLE : ERROR_UNKNOWN,
              is_refused ? "it cannot be reached" : "no answer came");
    lossy_end(call, NULL, &err);
}

static inline void lossy_answered(void *context, const StoreReply *reply, const Error *err)
{
    LossyCall *call = context;
    if (call->fate == FATE_ANSWER_LOST && err == NULL) {
        lossy_lose(call);
    } else {
        lossy_end(call, reply, err);
    }
}

static inline void lossy_ignore(void *context, const StoreReply *reply, const Error *err)
{
}

static inline bool lossy_txn(Store *base, const StoreTxn *txn, size_t bytes, StoreDone *done,
                             void *context, Error *err)
{
    LossyStore *store = (LossyStore *)base;
    bool is_check = txn->success_count == 1 && txn->success[0].count_only;
    store->calls += is_check ? 0 : 1;
    if (!request_writes(txn)) {
        return store_txn(store->real, txn, done, context, err);
    }
    Fate fate = store->sent < store->fate_count ? store->fates[store->sent] : FATE_WELL;
    store->sent++;
    LossyCall *call = calloc(1, sizeof *call);
    *call = (LossyCall){ .store = store, .fate = fate, .done = done, .context = context };
    if (store->is_late && fate != FATE_REFUSED) {
        store->is_late = false;
        assert_true(store_txn(store->real, &store->late, lossy_ignore, NULL, err));
    }
    if (fate == FATE_LATE) {
        store->is_late = true;
        store->late = request_copy_txn(&store->arena, txn);
    }
    if (fate == FATE_WELL || fate == FATE_ANSWER_LOST) {
        return store_txn(store->real, txn, lossy_answered, call, err);
    }
    loop_task_init(&call->task, lossy_lose, call);
    loop_defer(base->loop, &call->task);
    return true;
}

static inline bool lossy_grant(Store *base, const StoreLeaseGrant *grant, StoreLeaseDone *done,
                               void *context, Error *err)
{
    return store_lease_grant(((LossyStore *)base)->real, grant->ttl_s, grant->id, done, context,
                             err);
}

static inline bool lossy_revoke(Store *base, int64_t id, StoreLeaseDone *done, void *context,
                                Error *err)
{
    return store_lease_revoke(((LossyStore *)base)->real, id, done, context, err);
}

static inline bool lossy_keep_alive(Store *base, int64_t id, StoreLeaseDone *done, void *context,
                                    Error *err)
{
    return store_lease_keep_alive(((LossyStore *)base)->real, id, done, context, err);
}

/* After that it is a watch of the underlying store. */
static inline bool lossy_watch(Store *base, const StoreWatchSpec *spec, StoreWatch **out,
                               Error *err)
{
    return store_watch(((LossyStore *)base)->real, spec, out, err);
}

static inline StoreStatus lossy_status(const Store *base, bool looks)
{
    const Store *real = ((const LossyStore *)base)->real;
    return looks ? store_check_status(real) : store_status(real);
}

static inline void lossy_close(Store *base)
{
    LossyStore *store = (LossyStore *)base;
    arena_clear(&store->arena);
    store_close(store->real);
}

/* `real` is closed with it. */
static inline Store *lossy_open(LossyStore *store, Loop *loop, Store *real, const Fate *fates,
                                uint32_t fate_count)
{
#define LOSSY_CALLS                                                                           \
    .close = lossy_close, .txn = lossy_txn, .lease_grant = lossy_grant,                       \
    .lease_revoke = lossy_revoke, .lease_keep_alive = lossy_keep_alive, .watch = lossy_watch, \
    .status = lossy_status
    static const StoreBackend backend = { .is_remote = true, LOSSY_CALLS };
    *store = (LossyStore){ .base = { .backend = &backend, .loop = loop },
                           .real = real,
                           .fates = fates,
                           .fate_count = fate_count };
    arena_init(&store->arena, ARENA_UNLIMITED);
    return &store->base;
}

/* Makes store_txn_confirmed() not retry: a lost outcome stays unknown at once, as it eventually
 * does for a store that is unreachable for long. */
static inline Store *lossy_open_once(LossyStore *store, Loop *loop, Store *real)
{
    static const StoreBackend backend = { LOSSY_CALLS };
    lossy_open(store, loop, real, NULL, 0);
    store->base.backend = &backend;
    return &store->base;
}

/* Starting with the next write transaction. */
static inline void lossy_set_fates(LossyStore *store, const Fate *fates, uint32_t count)
{
    store->fates = fates;
    store->fate_count = count;
    store->sent = 0;
}
