/* Transactions. One that only reads is split into pages of one revision, so that neither side needs
 * memory for more than one page. One that writes is a single request to etcd, which cannot be
 * undone if its response is too large: if that could happen, its reads are made first to measure
 * them, and it is executed only if their results have not changed. */
#include <stdlib.h>

#include "base/bug.h"
#include "base/memory.h"
#include "base/vec.h"
#include "etcd/etcd_inner.h"
#include "store/request.h"

#define TXN_PATH "/etcdserverpb.KV/Txn"

enum {
    PAGE_FIRST = 64, /* keys */
    PAGE_MAX = 10000,
    PAGE_BYTES = 2 << 20, /* target size of a page */
    RESTARTS_MAX = 5,
    READS_MAX = 4, /* concurrent reads of several keys, whose responses may be large */
};

typedef struct OpState {
    const StoreOp *op;
    VEC(StoreKv) kvs;
    int64_t count;
    bool more, is_complete;
} OpState;

/* Reads of one revision. */
typedef struct PagedRead {
    StoreTxn txn; /* without puts and deletes */
    bool is_relaxed;
    int64_t seen;     /* newest revision that the caller may have seen */
    int64_t revision; /* revision of the first page; 0: no page yet */
    bool succeeded;
    uint32_t page; /* keys */
    size_t bytes;  /* of the results */
    size_t bytes_max;
    OpState *states;
    uint32_t state_count;
    OpState *at; /* operation whose next page is being read; NULL: first page of all */
    StoreTxn sent;
    void (*done)(TxnCall *call, const Error *err);
} PagedRead;

struct TxnCall {
    EtcdStore *store;
    Arena arena;
    size_t bytes;
    StoreTxn txn;
    StoreDone *done;
    void *context;
    Lane *lane;
    TxnCall *next; /* of the lane */
    TxnCall *next_read;
    bool is_reading; /* counted in READS_MAX */
    int64_t called_ms;
    PagedRead reading;
    uint32_t restarts;
    /* of a transaction whose response may be too large */
    StoreOp *branches[2]; /* copies of its operations, with the limits that fit */
    uint32_t measured;    /* branches */
    EtcdGuard *guards;
    uint32_t guard_count;
};

static void begin(TxnCall *call);
static void begin_now(TxnCall *call);

/* --- Completion ------------------------------------------------------------------------------ */

static void lane_next(Lane *lane, EtcdStore *store)
{
    lane->first = lane->first->next;
    if (lane->first != NULL) {
        begin(lane->first);
        return;
    }
    Lane **at = &store->lanes;
    while (*at != lane) {
        at = &(*at)->next;
    }
    *at = lane->next;
    free(lane);
}

/* Starts the next queued read of several keys. */
static void reads_next(EtcdStore *store)
{
    TxnCall *next = store->first_read;
    store->reads--;
    if (next != NULL) {
        store->first_read = next->next_read;
        store->reads++;
        begin_now(next);
    }
}

static void finish(TxnCall *call, const StoreReply *reply, const Error *err)
{
    EtcdStore *store = call->store;
    Lane *lane = call->lane;
    bool was_reading = call->is_reading;
    etcd_release(store, call->bytes);
    call->done(call->context, reply, err);
    if (lane != NULL) {
        lane_next(lane, store);
    }
    arena_clear(&call->arena);
    free(call);
    if (was_reading) {
        reads_next(store);
    }
}

static void fail_too_large(TxnCall *call)
{
    Error err;
    error_set(&err, ERROR_LIMIT, "the response exceeds %d bytes; narrow the request",
              STORE_REPLY_MAX);
    finish(call, NULL, &err);
}

/* --- Reading --------------------------------------------------------------------------------- */

static bool is_paged(const StoreOp *op)
{
    return op->end.len > 0 && !op->count_only;
}

static int64_t page_limit(const PagedRead *reading, const StoreOp *op, uint32_t count_read)
{
    return op->limit > 0 && op->limit - count_read < reading->page ? op->limit - count_read
                                                                   : reading->page;
}

static const StoreOp *first_page(TxnCall *call, const StoreOp *ops, uint32_t count)
{
    StoreOp *paged = ARENA_ARRAY(&call->arena, StoreOp, count);
    for (uint32_t i = 0; i < count; i++) {
        paged[i] = ops[i];
        if (is_paged(&ops[i])) {
            paged[i].limit = page_limit(&call->reading, &ops[i], 0);
        }
    }
    return paged;
}

static void page_read(void *context, Str response, const Error *err);

static void send_page(TxnCall *call)
{
    const PagedRead *reading = &call->reading;
    AUTO_CLEAR(Buf) request = buf_make(BUF_UNLIMITED);
    etcd_txn_encode(&reading->sent, reading->is_relaxed, &request);
    etcd_client_call(call->store->client, TXN_PATH, buf_str(&request), false, page_read, call);
}

static void read_first(TxnCall *call)
{
    PagedRead *reading = &call->reading;
    reading->at = NULL;
    reading->revision = 0;
    reading->bytes = 0;
    reading->sent = reading->txn;
    reading->sent.success = first_page(call, reading->txn.success, reading->txn.success_count);
    reading->sent.failure = first_page(call, reading->txn.failure, reading->txn.failure_count);
    send_page(call);
}

static void read_begin(TxnCall *call, const StoreTxn *txn, size_t bytes_max,
                       void (*done)(TxnCall *call, const Error *err))
{
    call->reading = (PagedRead){ .txn = *txn,
                                 .is_relaxed = txn->relaxed,
                                 .seen = call->store->newest,
                                 .page = PAGE_FIRST,
                                 .bytes_max = bytes_max,
                                 .done = done };
    read_first(call);
}

/* Adds a page. Returns false if the result is too large. */
static bool take_page(TxnCall *call, OpState *state, const StoreOpReply *page)
{
    PagedRead *reading = &call->reading;
    const StoreOp *op = state->op;
    state->count = op->count_only ? page->count : state->count + page->kv_count;
    state->more = page->more;
    state->is_complete = !page->more;
    for (uint32_t i = 0; i < page->kv_count; i++) {
        const StoreKv *kv = &page->kvs[i];
        size_t bytes = kv->key.len + kv->value.len + sizeof *kv;
        if (reading->bytes + bytes > reading->bytes_max) {
            if (op->limit == 0 || state->kvs.len == 0) {
                return false;
            }
            state->count = state->kvs.len;
            state->more = state->is_complete = true;
            return true;
        }
        reading->bytes += bytes;
        VEC_PUSH(&call->arena, &state->kvs, *kv);
    }
    state->is_complete |= op->limit > 0 && state->kvs.len >= op->limit;
    return true;
}

static bool take_first(TxnCall *call, const StoreReply *reply)
{
    PagedRead *reading = &call->reading;
    reading->revision = reply->revision;
    reading->succeeded = reply->succeeded;
    const StoreOp *ops = reply->succeeded ? reading->txn.success : reading->txn.failure;
    reading->states = ARENA_ARRAY(&call->arena, OpState, reply->op_count);
    reading->state_count = reply->op_count;
    for (uint32_t i = 0; i < reply->op_count; i++) {
        reading->states[i] = (OpState){ .op = &ops[i] };
        if (!take_page(call, &reading->states[i], &reply->ops[i])) {
            return false;
        }
    }
    return true;
}

/* Reads the next page of the first incomplete operation. Returns false if all operations are
 * complete. */
static bool read_continue(TxnCall *call)
{
    PagedRead *reading = &call->reading;
    OpState *state = reading->states;
    const OpState *end = state + reading->state_count;
    while (state < end && state->is_complete) {
        state++;
    }
    if (state == end) {
        return false;
    }
    size_t bytes = 0;
    for (uint32_t i = 0; i < state->kvs.len; i++) {
        bytes += state->kvs.items[i].key.len + state->kvs.items[i].value.len + 1;
    }
    size_t fit = PAGE_BYTES / (bytes / state->kvs.len + 1);
    reading->page = fit < 1 ? 1 : fit > PAGE_MAX ? PAGE_MAX : (uint32_t)fit;
    reading->at = state;
    Str last = state->kvs.items[state->kvs.len - 1].key;
    StoreOp *op = ARENA_NEW(&call->arena, StoreOp);
    *op = *state->op;
    op->limit = page_limit(reading, state->op, state->kvs.len);
    op->revision = op->revision == 0 ? reading->revision : op->revision;
    if (op->descending) {
        op->end = last;
    } else {
        char *key = arena_alloc_zero(&call->arena, last.len + 1);
        memcpy(key, last.data, last.len);
        op->key = str_from(key, last.len + 1);
    }
    reading->sent = (StoreTxn){ .success = op, .success_count = 1 };
    send_page(call);
    return true;
}

/* A page did not fit into a message: retries with half as many keys. */
static bool shrink_page(TxnCall *call)
{
    PagedRead *reading = &call->reading;
    if (reading->page == 1) {
        return false;
    }
    reading->page /= 2;
    if (reading->at == NULL) {
        read_first(call);
    } else {
        StoreOp *op = ARENA_NEW(&call->arena, StoreOp);
        *op = reading->sent.success[0];
        op->limit = page_limit(reading, reading->at->op, reading->at->kvs.len);
        reading->sent.success = op;
        send_page(call);
    }
    return true;
}

static void page_failed(TxnCall *call, const Error *err)
{
    PagedRead *reading = &call->reading;
    bool is_compacted =
        err->kind == ERROR_NOT_FOUND && reading->at != NULL && reading->at->op->revision == 0;
    if (err->kind == ERROR_LIMIT) {
        if (!shrink_page(call)) {
            fail_too_large(call);
        }
    } else if (is_compacted && call->restarts++ < RESTARTS_MAX) {
        read_first(call);
    } else {
        reading->done(call, err);
    }
}

static void page_read(void *context, Str response, const Error *err)
{
    TxnCall *call = context;
    PagedRead *reading = &call->reading;
    if (err != NULL) {
        page_failed(call, err);
        return;
    }
    Error invalid;
    EtcdHeader header;
    StoreReply reply;
    if (!etcd_txn_decode(&call->arena, response, &reading->sent, &header, &reply, &invalid)) {
        reading->done(call, &invalid);
        return;
    }
    if (reading->is_relaxed && header.revision < reading->seen) {
        /* This member is behind: try another one. */
        reading->is_relaxed = false;
        send_page(call);
        return;
    }
    etcd_note_revision(call->store, header.revision);
    bool fits = reading->at == NULL ? take_first(call, &reply)
                                    : take_page(call, reading->at, &reply.ops[0]);
    if (!fits) {
        fail_too_large(call);
    } else if (!read_continue(call)) {
        reading->done(call, NULL);
    }
}

static void read_done(TxnCall *call, const Error *err)
{
    const PagedRead *reading = &call->reading;
    if (err != NULL) {
        finish(call, NULL, err);
        return;
    }
    StoreOpReply *ops = ARENA_ARRAY(&call->arena, StoreOpReply, reading->state_count);
    for (uint32_t i = 0; i < reading->state_count; i++) {
        const OpState *state = &reading->states[i];
        ops[i] = (StoreOpReply){ .kind = STORE_RANGE,
                                 .kvs = state->kvs.items,
                                 .kv_count = state->kvs.len,
                                 .count = state->count,
                                 .more = state->more };
    }
    StoreReply reply = { reading->revision, reading->succeeded, ops, reading->state_count };
    finish(call, &reply, NULL);
}

/* --- Writing --------------------------------------------------------------------------------- */

static void measure(TxnCall *call);

static void written(void *context, Str response, const Error *err)
{
    TxnCall *call = context;
    if (err != NULL) {
        finish(call, NULL, err);
        return;
    }
    StoreTxn txn = call->txn;
    bool is_guarded = call->guard_count > 0, guards_hold = true;
    if (is_guarded) {
        txn.success = call->branches[0];
        txn.failure = call->branches[1];
    }
    Error invalid;
    EtcdHeader header;
    StoreReply reply = { 0 };
    bool ok = is_guarded ? etcd_guarded_txn_decode(&call->arena, response, &txn, &header,
                                                   &guards_hold, &reply, &invalid)
                         : etcd_txn_decode(&call->arena, response, &txn, &header, &reply, &invalid);
    if (!ok) {
        invalid.kind = ERROR_UNKNOWN; /* it was applied, but its result is unknown */
        finish(call, NULL, &invalid);
        return;
    }
    etcd_note_revision(call->store, header.revision);
    if (!guards_hold) {
        if (call->restarts++ < RESTARTS_MAX) {
            measure(call);
        } else {
            error_set(&invalid, ERROR_UNAVAILABLE,
                      "the keys that the transaction reads change too often");
            finish(call, NULL, &invalid);
        }
        return;
    }
    StoreOpReply *ops = ARENA_ARRAY(&call->arena, StoreOpReply, reply.op_count);
    const StoreOp *requested = reply.succeeded ? txn.success : txn.failure;
    for (uint32_t i = 0; i < reply.op_count; i++) {
        ops[i] = reply.ops[i];
        if (ops[i].kind == STORE_RANGE && !requested[i].count_only) {
            ops[i].count = ops[i].kv_count;
        }
    }
    reply.ops = ops;
    finish(call, &reply, NULL);
}

static void send_write(TxnCall *call)
{
    AUTO_CLEAR(Buf) request = buf_make(BUF_UNLIMITED);
    if (call->guard_count > 0) {
        StoreTxn txn = call->txn;
        txn.success = call->branches[0];
        txn.failure = call->branches[1];
        etcd_guarded_txn_encode(&txn, call->guards, call->guard_count, &request);
    } else {
        etcd_txn_encode(&call->txn, false, &request);
    }
    etcd_client_call(call->store->client, TXN_PATH, buf_str(&request), true, written, call);
}

/* --- Measuring ------------------------------------------------------------------------------- */

/* Returns the maximum number of keys whose values the operation returns. */
static int64_t keys_returned(const StoreOp *op)
{
    if (op->kind == STORE_RANGE ? op->count_only : !op->previous) {
        return 0;
    }
    if (op->end.len == 0) {
        return 1;
    }
    return op->kind == STORE_RANGE && op->limit > 0 ? op->limit : INT64_MAX;
}

/* Returns whether the response of this branch may be too large. A branch that only reads single
 * keys has no effect and a limited size. */
static bool may_be_too_large(const StoreOp *ops, uint32_t count)
{
    int64_t pair_bytes = STORE_KEY_MAX + STORE_VALUE_MAX + (int64_t)sizeof(StoreKv), sum = 0;
    bool writes = false, has_ranges = false;
    for (uint32_t i = 0; i < count; i++) {
        int64_t keys = keys_returned(&ops[i]);
        writes |= ops[i].kind != STORE_RANGE;
        has_ranges |= keys > 1;
        sum += keys > STORE_REPLY_MAX / pair_bytes ? STORE_REPLY_MAX + 1 : keys * pair_bytes;
    }
    return sum > STORE_REPLY_MAX && (writes || has_ranges);
}

static void measure_next(TxnCall *call);

static void measured(TxnCall *call, const Error *err)
{
    const PagedRead *reading = &call->reading;
    if (err != NULL) {
        finish(call, NULL, err);
        return;
    }
    StoreOp *ops = call->branches[call->measured];
    uint32_t count = call->measured == 0 ? call->txn.success_count : call->txn.failure_count;
    uint32_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (keys_returned(&ops[i]) == 0) {
            continue;
        }
        const OpState *state = &reading->states[at++];
        if (ops[i].limit > 0 && state->more) {
            ops[i].limit = state->kvs.len;
        }
        call->guards[call->guard_count++] =
            (EtcdGuard){ ops[i].key, ops[i].end, reading->revision };
    }
    call->measured++;
    measure_next(call);
}

/* Reads what a branch would return. */
static void measure_branch(TxnCall *call, const StoreOp *ops, uint32_t count)
{
    StoreOp *reads = ARENA_ARRAY(&call->arena, StoreOp, count);
    uint32_t used = 0;
    size_t put_bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        put_bytes += ops[i].kind == STORE_PUT ? ops[i].value.len : 0;
        if (keys_returned(&ops[i]) > 0) {
            reads[used] = ops[i];
            reads[used++].kind = STORE_RANGE;
        }
    }
    StoreTxn txn = { .success = reads, .success_count = used };
    read_begin(call, &txn, STORE_REPLY_MAX - put_bytes, measured);
}

/* Measures the remaining branches that need it, then writes. */
static void measure_next(TxnCall *call)
{
    const StoreTxn *txn = &call->txn;
    const uint32_t counts[2] = { txn->success_count, txn->failure_count };
    for (; call->measured < 2; call->measured++) {
        const StoreOp *ops = call->branches[call->measured];
        if (may_be_too_large(ops, counts[call->measured])) {
            measure_branch(call, ops, counts[call->measured]);
            return;
        }
    }
    send_write(call);
}

static StoreOp *copy_ops(Arena *arena, const StoreOp *ops, uint32_t count)
{
    StoreOp *copy = ARENA_ARRAY(arena, StoreOp, count);
    for (uint32_t i = 0; i < count; i++) {
        copy[i] = ops[i];
    }
    return copy;
}

static void measure(TxnCall *call)
{
    const StoreTxn *txn = &call->txn;
    call->branches[0] = copy_ops(&call->arena, txn->success, txn->success_count);
    call->branches[1] = copy_ops(&call->arena, txn->failure, txn->failure_count);
    call->guards = ARENA_ARRAY(&call->arena, EtcdGuard, txn->success_count + txn->failure_count);
    call->guard_count = 0;
    call->measured = 0;
    measure_next(call);
}

/* --- Calls ----------------------------------------------------------------------------------- */

static bool has_ranges(const StoreOp *ops, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (keys_returned(&ops[i]) > 1) {
            return true;
        }
    }
    return false;
}

static void begin_now(TxnCall *call)
{
    EtcdStore *store = call->store;
    const StoreTxn *txn = &call->txn;
    int64_t waited_ms = loop_now_ms(store->base.loop) - call->called_ms;
    Error err;
    if (store->base.is_closing) {
        error_set(&err, ERROR_UNAVAILABLE, "the store is closing");
        finish(call, NULL, &err);
    } else if (waited_ms > store->timeout_ms && !etcd_client_is_ready(store->client)) {
        error_set(&err, ERROR_UNAVAILABLE, "etcd is not responding: %s",
                  etcd_client_last_error(store->client));
        finish(call, NULL, &err);
    } else if (!request_writes(txn)) {
        read_begin(call, txn, STORE_REPLY_MAX, read_done);
    } else if (may_be_too_large(txn->success, txn->success_count) ||
               may_be_too_large(txn->failure, txn->failure_count)) {
        measure(call);
    } else {
        send_write(call);
    }
}

static void begin(TxnCall *call)
{
    EtcdStore *store = call->store;
    const StoreTxn *txn = &call->txn;
    call->is_reading = has_ranges(txn->success, txn->success_count) ||
                       has_ranges(txn->failure, txn->failure_count);
    if (call->is_reading && store->reads == READS_MAX) {
        *(store->first_read == NULL ? &store->first_read : &store->last_read->next_read) = call;
        store->last_read = call;
        return;
    }
    store->reads += call->is_reading;
    begin_now(call);
}

static Lane *lane_get(EtcdStore *store, uint32_t number)
{
    for (Lane *lane = store->lanes; lane != NULL; lane = lane->next) {
        if (lane->number == number) {
            return lane;
        }
    }
    Lane *lane = memory_new(sizeof *lane);
    *lane = (Lane){ .number = number, .next = store->lanes };
    store->lanes = lane;
    return lane;
}

bool etcd_txn(Store *base, const StoreTxn *txn, size_t bytes, StoreDone *done, void *context,
              Error *err)
{
    EtcdStore *store = (EtcdStore *)base;
    size_t charged = bytes + sizeof(TxnCall);
    if (!etcd_admit(store, charged, err)) {
        return false;
    }
    TxnCall *call = memory_new(sizeof *call);
    arena_init(&call->arena, ARENA_UNLIMITED);
    call->store = store;
    call->bytes = charged;
    call->txn = request_copy_txn(&call->arena, txn);
    call->done = done;
    call->context = context;
    call->called_ms = loop_now_ms(base->loop);
    if (txn->lane == 0) {
        begin(call);
        return true;
    }
    Lane *lane = call->lane = lane_get(store, txn->lane);
    bool is_first = lane->first == NULL;
    *(is_first ? &lane->first : &lane->last->next) = call;
    lane->last = call;
    if (is_first) {
        begin(call);
    }
    return true;
}
