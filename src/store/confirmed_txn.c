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

static void finish(ConfirmedTxn *confirmed, const StoreReply *reply, const Error *err)
{
    Error unknown;
    if (err != NULL && confirmed->is_unknown) {
        error_set(
            &unknown, ERROR_UNKNOWN,
            "outcome unknown: the store did not confirm the write, which may have been made: %s",
            err->text);
        err = &unknown;
    }
    *confirmed->link = confirmed->next;
    if (confirmed->next != NULL) {
        confirmed->next->link = confirmed->link;
    }
    loop_timer_stop(&confirmed->timer);
    confirmed->done(confirmed->context, reply, err);
    arena_clear(&confirmed->arena);
    free(confirmed);
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
static bool was_applied(const ConfirmedTxn *confirmed, const StoreReply *reply, int64_t *revision)
{
    const StoreTxn *txn = &confirmed->txn;
    int64_t newest = newest_compared(txn);
    uint32_t at = reply->op_count - confirmed->lookup_count;
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

static void reply_received(void *context, const StoreReply *reply, const Error *err)
{
    ConfirmedTxn *confirmed = context;
    confirmed->is_unknown |= err != NULL && err->kind == ERROR_UNKNOWN;
    if (err != NULL) {
        if (!confirmed->is_unknown || confirmed->attempts == TRIES_MAX ||
            confirmed->store->is_closing) {
            finish(confirmed, NULL, err);
        } else {
            loop_timer_start(&confirmed->timer, FIRST_DELAY_MS << (confirmed->attempts - 1));
        }
        return;
    }
    StoreReply guarded_reply = *reply;
    if (!reply->succeeded) {
        if (confirmed->is_unknown && was_applied(confirmed, reply, &guarded_reply.revision)) {
            guarded_reply.succeeded = true;
            guarded_reply.op_count = 0;
        } else {
            guarded_reply.op_count -= confirmed->lookup_count;
        }
    }
    finish(confirmed, &guarded_reply, NULL);
}

static void send(void *context)
{
    ConfirmedTxn *confirmed = context;
    Error err;
    confirmed->attempts++;
    if (!store_txn(confirmed->store, &confirmed->txn, reply_received, confirmed, &err)) {
        reply_received(confirmed, NULL, &err);
    }
}

/* Extends the failure branch by a read of each key or range that the success branch changes. */
static void add_reads(ConfirmedTxn *confirmed)
{
    StoreTxn *txn = &confirmed->txn;
    StoreOp *ops = ARENA_ARRAY(&confirmed->arena, StoreOp, txn->failure_count + txn->success_count);
    for (uint32_t i = 0; i < txn->failure_count; i++) {
        ops[i] = txn->failure[i];
    }
    for (uint32_t i = 0; i < txn->success_count; i++) {
        const StoreOp *op = &txn->success[i];
        if (op->kind != STORE_RANGE) {
            ops[txn->failure_count + confirmed->lookup_count++] =
                (StoreOp){ .kind = STORE_RANGE,
                           .key = op->key,
                           .end = op->end,
                           .count_only = op->kind == STORE_DELETE };
        }
    }
    txn->failure = ops;
    txn->failure_count += confirmed->lookup_count;
}

bool store_txn_confirmed(Store *store, const StoreTxn *txn, StoreDone *done, void *context,
                         Error *err)
{
    if (!store->backend->is_remote) {
        return store_txn(store, txn, done, context, err);
    }
    ConfirmedTxn *confirmed = memory_new(sizeof *confirmed);
    arena_init(&confirmed->arena, ARENA_UNLIMITED);
    confirmed->store = store;
    confirmed->txn = request_copy_txn(&confirmed->arena, txn);
    confirmed->done = done;
    confirmed->context = context;
    confirmed->attempts = 1;
    add_reads(confirmed);
    if (!store_txn(store, &confirmed->txn, reply_received, confirmed, err)) {
        arena_clear(&confirmed->arena);
        free(confirmed);
        return false;
    }
    loop_timer_init(&confirmed->timer, store->loop, send, confirmed);
    confirmed->next = store->confirmed;
    confirmed->link = &store->confirmed;
    if (confirmed->next != NULL) {
        confirmed->next->link = &confirmed->next;
    }
    store->confirmed = confirmed;
    return true;
}

void confirmed_txns_close(Store *store)
{
    const Error closing = { ERROR_UNAVAILABLE, "the store is closing" };
    store->is_closing = true;
    for (ConfirmedTxn *confirmed = store->confirmed, *next; confirmed != NULL; confirmed = next) {
        next = confirmed->next;
        if (loop_timer_started(&confirmed->timer)) {
            finish(confirmed, NULL, &closing);
        }
    }
}
