/* The public functions of the store: each validates its arguments and forwards to the backend. */
#include <stdlib.h>

#include "base/memory.h"
#include "store/backend.h"
#include "store/request.h"

void store_close(Store *store)
{
    if (store != NULL) {
        confirmed_txns_close(store);
        for (StoreHold *hold = store->holds; hold != NULL; hold = hold->next) {
            hold->store = NULL;
        }
        /* watches are freed by their owners, possibly while the store is closing */
        store->holds = NULL;
        store->backend->close(store);
    }
}

/* --- Transactions ---------------------------------------------------------------------------- */

bool store_txn(Store *store, const StoreTxn *txn, StoreDone *done, void *context, Error *err)
{
    size_t bytes;
    return request_check_txn(txn, &bytes, err) &&
           store->backend->txn(store, txn, bytes, done, context, err);
}

bool store_op(Store *store, const StoreOp *op, StoreDone *done, void *context, Error *err)
{
    StoreTxn txn = { .success = op, .success_count = 1 };
    return store_txn(store, &txn, done, context, err);
}

bool store_get(Store *store, Str key, StoreDone *done, void *context, Error *err)
{
    StoreOp op = { .kind = STORE_RANGE, .key = key };
    return store_op(store, &op, done, context, err);
}

bool store_put(Store *store, Str key, Str value, int64_t lease, StoreDone *done, void *context,
               Error *err)
{
    StoreOp op = { .kind = STORE_PUT, .key = key, .value = value, .lease = lease };
    return store_op(store, &op, done, context, err);
}

bool store_delete(Store *store, Str key, StoreDone *done, void *context, Error *err)
{
    StoreOp op = { .kind = STORE_DELETE, .key = key };
    return store_op(store, &op, done, context, err);
}

bool store_list(Store *store, Str prefix, StoreDone *done, void *context, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    StoreOp op = { .kind = STORE_RANGE, .key = prefix, .end = store_prefix_end(&arena, prefix) };
    return store_op(store, &op, done, context, err);
}

bool store_revision(Store *store, StoreDone *done, void *context, Error *err)
{
    return store->backend->revision(store, done, context, err);
}

bool store_compact(Store *store, int64_t revision, StoreDone *done, void *context, Error *err)
{
    if (revision < 1) {
        return error_set(err, ERROR_INVALID, "the revision must be at least 1");
    }
    return store->backend->compact(store, revision, done, context, err);
}

/* --- Leases ---------------------------------------------------------------------------------- */

static bool grant_lease(Store *store, const StoreLeaseGrant *grant, StoreLeaseDone *done,
                        void *context, Error *err)
{
    if (grant->ttl_s < 1 || grant->ttl_s > STORE_TTL_MAX || grant->id < 0) {
        return error_set(err, ERROR_INVALID,
                         "a lease must last 1 to %d seconds and its ID must be positive",
                         STORE_TTL_MAX);
    }
    return store->backend->lease_grant(store, grant, done, context, err);
}

bool store_lease_grant(Store *store, int64_t ttl_s, int64_t id, StoreLeaseDone *done, void *context,
                       Error *err)
{
    return grant_lease(store, &(StoreLeaseGrant){ .ttl_s = ttl_s, .id = id }, done, context, err);
}

bool store_lease_grant_reserved(Store *store, int64_t ttl_s, StoreLeaseDone *done, void *context,
                                Error *err)
{
    return grant_lease(store, &(StoreLeaseGrant){ .ttl_s = ttl_s, .is_reserved = true }, done,
                       context, err);
}

bool store_lease_keep_alive(Store *store, int64_t id, StoreLeaseDone *done, void *context,
                            Error *err)
{
    return store->backend->lease_keep_alive(store, id, done, context, err);
}

bool store_lease_revoke(Store *store, int64_t id, StoreLeaseDone *done, void *context, Error *err)
{
    return store->backend->lease_revoke(store, id, done, context, err);
}

bool store_lease_time_to_live(Store *store, int64_t id, bool keys, StoreLeaseDone *done,
                              void *context, Error *err)
{
    return store->backend->lease_time_to_live(store, id, keys, done, context, err);
}

bool store_lease_list(Store *store, StoreLeasesDone *done, void *context, Error *err)
{
    return store->backend->lease_list(store, done, context, err);
}

/* --- Watches --------------------------------------------------------------------------------- */

bool store_watch(Store *store, const StoreWatchSpec *spec, StoreWatch **out, Error *err)
{
    if (!request_check_range(spec->key, spec->end, err)) {
        return false;
    }
    if (spec->from < 0 || spec->from > STORE_REVISION_MAX) {
        return error_set(err, ERROR_INVALID, "the revision is negative or too large");
    }
    return store->backend->watch(store, spec, out, err);
}

void store_watch_ack(StoreWatch *watch)
{
    watch->store->backend->watch_ack(watch);
}

void store_watch_cancel(StoreWatch *watch)
{
    if (watch != NULL) {
        watch->store->backend->watch_cancel(watch);
    }
}

/* --- Maintenance ----------------------------------------------------------------------------- */

/* Passes the lowest held revision to the backend. */
static void update_hold(Store *store)
{
    int64_t lowest = INT64_MAX;
    for (const StoreHold *hold = store->holds; hold != NULL; hold = hold->next) {
        lowest = hold->revision < lowest ? hold->revision : lowest;
    }
    if (store->backend->hold != NULL) {
        store->backend->hold(store, lowest);
    }
}

StoreHold *store_hold(Store *store, int64_t revision)
{
    StoreHold *hold = memory_new(sizeof *hold);
    *hold = (StoreHold){ .store = store, .revision = revision, .next = store->holds };
    if (hold->next != NULL) {
        hold->next->previous = hold;
    }
    store->holds = hold;
    update_hold(store);
    return hold;
}

void store_release(StoreHold *hold)
{
    if (hold != NULL && hold->store != NULL) {
        *(hold->previous == NULL ? &hold->store->holds : &hold->previous->next) = hold->next;
        if (hold->next != NULL) {
            hold->next->previous = hold->previous;
        }
        update_hold(hold->store);
    }
    free(hold);
}

StoreStatus store_status(const Store *store)
{
    return store->backend->status(store, false);
}

StoreStatus store_check_status(const Store *store)
{
    return store->backend->status(store, true);
}

const char *store_condition_name(StoreCondition condition)
{
    static const char *const names[] = { [STORE_OK] = "ok",
                                         [STORE_UNWRITABLE] = "unwritable",
                                         [STORE_FULL] = "full",
                                         [STORE_LOST] = "lost",
                                         [STORE_DAMAGED] = "damaged" };
    return names[condition];
}
