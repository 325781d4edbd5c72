/* Input: a request to the store. Invariants: it is rejected, or it means the same after it is
 * written and read again. The memory store then accepts or rejects it. */
#include "base/bug.h"
#include "service/store_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void txn_done(void *context, const StoreReply *reply, const Error *err)
{
    bool *done = context;
    *done = true;
    BUG_IF((reply == NULL) == (err == NULL));
    if (reply != NULL) {
        AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
        txn_reply_encode(reply, &out);
        AUTO_CLEAR(Arena) arena;
        arena_init(&arena, ARENA_UNLIMITED);
        StoreReply again;
        Error wrong;
        BUG_IF(!txn_reply_decode(&arena, buf_str(&out), &again, &wrong));
        BUG_IF(again.revision != reply->revision || again.op_count != reply->op_count);
    }
}

static void perform(const StoreTxn *txn)
{
    AUTO(Loop) *loop = loop_new_virtual(1);
    Store *store = store_open_memory(loop, NULL);
    bool done = false;
    Error err;
    if (store_txn(store, txn, txn_done, &done, &err)) {
        loop_run_virtual_until(loop, 1000);
        BUG_IF(!done);
    }
    store_close(store);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str bytes = str_from((const char *)data, size);
    Error err;
    StoreLease lease;
    StoreWatchSpec watch;
    StoreBatch batch;
    int64_t number;
    StoreTxn txn;
    bool any = lease_grant_decode(&arena, bytes, &lease, &err);
    any |= lease_request_decode(&arena, bytes, &number, &err);
    any |= watch_request_decode(&arena, bytes, &watch, &err);
    any |= compact_request_decode(&arena, bytes, &number, &err);
    any |= watch_reply_decode(&arena, bytes, &batch, &err);
    (void)any;
    if (!txn_request_decode(&arena, bytes, &txn, &err)) {
        BUG_IF(err.kind != ERROR_INVALID && err.kind != ERROR_LIMIT);
        return 0;
    }
    Buf first = buf_make_in(&arena, BUF_UNLIMITED), second = buf_make_in(&arena, BUF_UNLIMITED);
    txn_request_encode(&txn, &first);
    BUG_IF(!txn_request_decode(&arena, buf_str(&first), &txn, &err));
    txn_request_encode(&txn, &second);
    BUG_IF(!str_eq(buf_str(&first), buf_str(&second)));
    perform(&txn);
    return 0;
}
