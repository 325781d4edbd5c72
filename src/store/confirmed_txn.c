/* Transactions with a lost response: sent again, unchanged, until the store reports the outcome. If
 * the comparisons do not hold then, either another client was faster or the first attempt was
 * applied, which is detected by its puts. */
#include <stdlib.h>

#include "base/memory.h"
#include "store/backend.h"
#include "store/request.h"

enum {
    TRIES_MAX = 7,
    /* doubled with each attempt: 6.3 s in total, plus the store's response times */
    FIRST_DELAY_MS = 100,
};

struct ConfirmedTxn {
    Store *store;
    ConfirmedTxn *next, **link;
    Arena arena;
    StoreTxn txn; /* its failure branch also reads the keys that the success branch writes */
    uint32_t lookup_count; /* number of such read operations */
    bool is_unknown;       /* the outcome of an earlier attempt is unknown */
    uint32_t attempts;
    LoopTimer timer;
    StoreDone *done;
    void *context;
};

static void finish(ConfirmedTxn *sure, const StoreReply *reply, const Error *err)
{
    Error unknown;
    if (err != NULL && sure->is_unknown) {
        error_set(
            &unknown, ERROR_UNKNOWN,
            "outcome unknown: the store did not confirm the write, which may have been made: %s",
            err->text);
        err = &unknown;
    }
    *sure->link = sure->next;
    if (sure->next != NULL) {
        sure->next->link = sure->link;
    }
    loop_timer_stop(&sure->timer);
    sure->done(sure->context, reply, err);
    arena_clear(&sure->arena);
    free(sure);
}

/* The newest revision in the comparisons: puts of the transaction are newer. */
static int64_t newest_compared(const StoreTxn *txn)
{
    int64_t newest = 0;
    for (uint32_t i = 0; i < txn->compare_count; i++) {
        const StoreCompare *compare = &txn->compares[i];
        bool is_revision =
            compare->target == STORE_MOD_REVISION || compare->target == STORE_CREATE_REVISION;
        newest = is_revision && compare->number > newest ? compare->number : newest;
    }
    return newest;
}

/* Whether the success branch was executed, and at which revision. */
static bool was_applied(const ConfirmedTxn *sure, const StoreReply *reply, int64_t *revision)
{
    const StoreTxn *txn = &sure->txn;
    int64_t newest = newest_compared(txn);
    uint32_t at = reply->op_count - sure->lookup_count;
    bool has_puts = false, are_deleted = true;
    for (uint32_t i = 0; i < txn->success_count; i++) {
        const StoreOp *op = &txn->success[i];
        if (op->kind == STORE_RANGE) {
            continue;
        }
        const StoreOpReply *lookup = &reply->ops[at++];
        has_puts |= op->kind == STORE_PUT;
        are_deleted &= op->kind == STORE_DELETE && lookup->count == 0;
        if (op->kind == STORE_PUT && lookup->kv_count == 1 &&
            lookup->kvs[0].mod_revision > newest && lookup->kvs[0].lease == op->lease &&
            str_eq(lookup->kvs[0].value, op->value)) {
            *revision = lookup->kvs[0].mod_revision;
            return true;
        }
    }
    *revision = reply->revision;
    return !has_puts && are_deleted;
}

static void answered(void *context, const StoreReply *reply, const Error *err)
{
    ConfirmedTxn *sure = context;
    sure->is_unknown |= err != NULL && err->kind == ERROR_UNKNOWN;
    if (err != NULL) {
        if (!sure->is_unknown || sure->attempts == TRIES_MAX || sure->store->is_closing) {
            finish(sure, NULL, err);
        } else {
            loop_timer_start(&sure->timer, FIRST_DELAY_MS << (sure->attempts - 1));
        }
        return;
    }
    StoreReply own = *reply;
    if (!reply->succeeded) {
        if (sure->is_unknown && was_applied(sure, reply, &own.revision)) {
            own.succeeded = true;
            own.op_count = 0;
        } else {
            own.op_count -= sure->lookup_count;
        }
    }
    finish(sure, &own, NULL);
}

static void send(void *context)
{
    ConfirmedTxn *sure = context;
    Error err;
    sure->attempts++;
    if (!store_txn(sure->store, &sure->txn, answered, sure, &err)) {
        answered(sure, NULL, &err);
    }
}

/* Extends the failure branch by a read of each key or range that the success branch changes. */
static void add_reads(ConfirmedTxn *sure)
{
    StoreTxn *txn = &sure->txn;
    StoreOp *ops = ARENA_ARRAY(&sure->arena, StoreOp, txn->failure_count + txn->success_count);
    for (uint32_t i = 0; i < txn->failure_count; i++) {
        ops[i] = txn->failure[i];
    }
    for (uint32_t i = 0; i < txn->success_count; i++) {
        const StoreOp *op = &txn->success[i];
        if (op->kind != STORE_RANGE) {
            ops[txn->failure_count + sure->lookup_count++] =
                (StoreOp){ .kind = STORE_RANGE,
                           .key = op->key,
                           .end = op->end,
                           .count_only = op->kind == STORE_DELETE };
        }
    }
    txn->failure = ops;
    txn->failure_count += sure->lookup_count;
}

bool store_txn_confirmed(Store *store, const StoreTxn *txn, StoreDone *done, void *context,
                         Error *err)
{
    if (!store->backend->is_remote) {
        return store_txn(store, txn, done, context, err);
    }
    ConfirmedTxn *sure = memory_new(sizeof *sure);
    arena_init(&sure->arena, ARENA_UNLIMITED);
    sure->store = store;
    sure->txn = request_copy_txn(&sure->arena, txn);
    sure->done = done;
    sure->context = context;
    sure->attempts = 1;
    add_reads(sure);
    if (!store_txn(store, &sure->txn, answered, sure, err)) {
        arena_clear(&sure->arena);
        free(sure);
        return false;
    }
    loop_timer_init(&sure->timer, store->loop, send, sure);
    sure->next = store->sure;
    sure->link = &store->sure;
    if (sure->next != NULL) {
        sure->next->link = &sure->next;
    }
    store->sure = sure;
    return true;
}

void confirmed_txns_close(Store *store)
{
    const Error closing = { ERROR_UNAVAILABLE, "the store is closing" };
    store->is_closing = true;
    for (ConfirmedTxn *sure = store->sure, *next; sure != NULL; sure = next) {
        next = sure->next;
        if (loop_timer_started(&sure->timer)) {
            finish(sure, NULL, &closing);
        }
    }
}
