/* An in-memory store that fails on demand: a backend in front of it. */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "store/backend.h"
#include "store/request.h"

/* A call that was not answered yet. */
typedef struct HeldCall {
    struct FailingStore *store;
    Arena arena;
    StoreTxn txn;
    size_t bytes;
    StoreDone *done;
    void *context;
    bool writes, counts;
    struct HeldCall *next;
} HeldCall;

/* Between the store and a watch. */
typedef struct FailingWatch {
    struct FailingStore *store;
    StoreWatchSpec spec;
    struct FailingWatch *next;
} FailingWatch;

typedef struct FailingStore {
    Store base;
    Store *inner;
    bool hangs;               /* no responses until failing_store_release() */
    const Error *reads;       /* error of reads and new watches; NULL: none */
    const Error *counts;      /* the same for reads that only count */
    const Error *after_write; /* error of reads and the watch after the next write */
    int64_t behind;           /* reads report a revision that is older by this much */
    StoreCondition condition; /* STORE_OK: that of the store itself */
    HeldCall *held;
    StoreWatchSpec watch; /* the last one */
    bool is_mute;         /* watches report nothing */
    FailingWatch *watches;
} FailingStore;

static inline void failing_store_break_watch(const FailingStore *store, const Error *err)
{
    store->watch.done(store->watch.context, &(StoreBatch){ .err = err });
}

static inline void failing_answer(void *context, const StoreReply *reply, const Error *err)
{
    HeldCall *call = context;
    FailingStore *store = call->store;
    StoreReply older = { 0 };
    if (call->writes && err == NULL && store->after_write != NULL) {
        store->reads = TAKE(store->after_write);
        failing_store_break_watch(store, store->reads);
    }
    if (reply != NULL) {
        older = *reply;
        older.revision -= call->writes ? 0 : store->behind;
    }
    err = err == NULL && !call->writes ? store->reads : err;
    err = err == NULL && call->counts ? store->counts : err;
    call->done(call->context, err == NULL ? &older : NULL, err);
    arena_clear(&call->arena);
    free(call);
}

static inline bool failing_txn(Store *handle, const StoreTxn *txn, size_t bytes, StoreDone *done,
                               void *context, Error *err)
{
    FailingStore *store = (FailingStore *)handle;
    HeldCall *call = memory_new(sizeof *call);
    *call = (HeldCall){ .store = store, .bytes = bytes, .done = done, .context = context };
    arena_init(&call->arena, ARENA_UNLIMITED);
    call->txn = request_copy_txn(&call->arena, txn);
    for (uint32_t i = 0; i < txn->success_count; i++) {
        call->writes = call->writes || txn->success[i].kind != STORE_RANGE;
        call->counts = call->counts || txn->success[i].count_only;
    }
    if (store->hangs) {
        call->next = store->held;
        store->held = call;
        return true;
    }
    return store_txn(store->inner, &call->txn, failing_answer, call, err);
}

static inline void failing_batch(void *context, const StoreBatch *batch)
{
    const FailingWatch *watch = context;
    if (!watch->store->is_mute) {
        watch->spec.done(watch->spec.context, batch);
    }
}

static inline bool failing_watch(Store *handle, const StoreWatchSpec *spec, StoreWatch **out,
                                 Error *err)
{
    FailingStore *store = (FailingStore *)handle;
    if (store->reads != NULL) {
        *err = *store->reads;
        return false;
    }
    FailingWatch *watch = memory_new(sizeof *watch);
    StoreWatchSpec own = *spec;
    *watch = (FailingWatch){ store, *spec, store->watches };
    store->watches = watch;
    store->watch = *spec;
    own.done = failing_batch;
    own.context = watch;
    return store_watch(store->inner, &own, out, err);
}

static inline StoreStatus failing_status(const Store *handle, bool looks)
{
    const FailingStore *store = (const FailingStore *)handle;
    StoreStatus status = store_status(store->inner);
    if (store->condition != STORE_OK) {
        status.condition = store->condition;
        status.writable = false;
        snprintf(status.reason, sizeof status.reason, "the disk is %s",
                 store_condition_name(store->condition));
    }
    return status;
}

static inline bool failing_compact(Store *handle, int64_t revision, StoreDone *done, void *context,
                                   Error *err)
{
    return store_compact(((FailingStore *)handle)->inner, revision, done, context, err);
}

/* The last call not answered yet; the others stay pending. */
static inline void failing_store_release_one(FailingStore *store)
{
    Error err;
    HeldCall *call = store->held;
    store->held = call->next;
    if (!store_txn(store->inner, &call->txn, failing_answer, call, &err)) {
        abort();
    }
}

static inline void failing_store_release(FailingStore *store)
{
    store->hangs = false;
    while (store->held != NULL) {
        failing_store_release_one(store);
    }
}

static inline void failing_close(Store *handle)
{
    FailingStore *store = (FailingStore *)handle;
    failing_store_release(store);
    store_close(store->inner);
    for (FailingWatch *watch = store->watches, *next; watch != NULL; watch = next) {
        next = watch->next;
        free(watch);
    }
    free(store);
}

/* Ends with store_close of its base. */
static inline FailingStore *failing_store_open(Loop *loop)
{
    static const StoreBackend backend = { .close = failing_close,
                                          .txn = failing_txn,
                                          .compact = failing_compact,
                                          .watch = failing_watch,
                                          .status = failing_status };
    FailingStore *store = memory_new(sizeof *store);
    store->base.backend = &backend;
    store->inner = store_open_memory(loop, &(StoreSettings){ .keep_revisions = -1 });
    return store;
}

static inline void failing_store_resync(const FailingStore *store)
{
    store->watch.done(store->watch.context, &(StoreBatch){ .resync = true });
}
