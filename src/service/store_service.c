/* The store's gRPC methods. Store calls outlive gRPC calls, so each has a PendingCall that is
 * detached when its call ends. A watch has at most one batch that is not sent; the store is
 * acknowledged once the call's queue has accepted it. */
#include "service/store_service.h"

#include <stdlib.h>

#include "base/memory.h"
#include "service/store_message.h"

enum {
    REPLY_BYTES = 2 * STORE_REPLY_MAX, /* maximum size of a response, including overhead */
};

typedef struct WatchCall WatchCall;

struct StoreService {
    Store *store;
    State *state; /* may be NULL */
    WatchCall *watches;
    bool stopped;
};

/* A call that waits for the store. The store always completes it; the call may have ended by
 * then. */
typedef struct PendingCall {
    GrpcCall *call; /* NULL once the call has ended */
    Buf reply;      /* response to a transaction that the state does not include yet */
} PendingCall;

/* --- Unary calls ----------------------------------------------------------------------------- */

static PendingCall *pending_new(GrpcCall *call)
{
    PendingCall *pending = memory_new(sizeof *pending);
    pending->call = call;
    grpc_call_set_data(call, pending);
    return pending;
}

/* Returns the call if it still exists. */
static GrpcCall *pending_end(PendingCall *pending)
{
    GrpcCall *call = pending->call;
    free(pending);
    if (call != NULL) {
        grpc_call_set_data(call, NULL);
    }
    return call;
}

/* Ends a call whose request the store rejected immediately. */
static void pending_fail(PendingCall *pending, const Error *err)
{
    grpc_call_fail(pending_end(pending), err);
}

static void unary_ended(GrpcCall *call, GrpcStatus status, Str text)
{
    PendingCall *pending = grpc_call_data(call);
    if (pending != NULL) {
        pending->call = NULL;
    }
}

/* Returns the call to respond to; NULL if it has ended, or was failed with `err`. */
static GrpcCall *pending_finish(PendingCall *pending, const Error *err)
{
    GrpcCall *call = pending_end(pending);
    if (call != NULL && err != NULL) {
        grpc_call_fail(call, err);
        return NULL;
    }
    return call;
}

static void respond(GrpcCall *call, const Buf *reply)
{
    Error err;
    if (reply->overflow) {
        error_set(&err, ERROR_LIMIT, "the response is too large");
        grpc_call_fail(call, &err);
    } else if (!grpc_call_send(call, buf_str(reply), &err)) {
        grpc_call_fail(call, &err);
    } else {
        grpc_call_finish(call, GRPC_OK, STR_EMPTY);
    }
}

static Store *store_of(const GrpcCall *call)
{
    const StoreService *service = dispatch_data(call);
    return service->store;
}

static void state_caught_up(void *context)
{
    PendingCall *pending = context;
    AUTO_CLEAR(Buf) reply = pending->reply;
    GrpcCall *call = pending_end(pending);
    if (call != NULL) {
        respond(call, &reply);
    }
}

static bool has_written(const StoreReply *reply)
{
    bool writes = false;
    for (uint32_t i = 0; i < reply->op_count; i++) {
        writes |= reply->ops[i].kind != STORE_RANGE;
    }
    return writes;
}

/* A client that writes and then lists sees its own write. */
static void txn_done(void *context, const StoreReply *reply, const Error *err)
{
    PendingCall *pending = context;
    if (pending->call == NULL || err != NULL) {
        pending_finish(pending, err);
        return;
    }
    const StoreService *service = dispatch_data(pending->call);
    pending->reply = buf_make(REPLY_BYTES);
    txn_reply_encode(reply, &pending->reply);
    if (has_written(reply)) {
        state_wait(service->state, reply->revision, state_caught_up, pending);
    } else {
        state_caught_up(pending);
    }
}

static void on_txn(GrpcCall *call, Str message)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Error err;
    StoreTxn txn;
    if (!txn_request_decode(&arena, message, &txn, &err)) {
        grpc_call_fail(call, &err);
        return;
    }
    PendingCall *pending = pending_new(call);
    if (!store_txn(store_of(call), &txn, txn_done, pending, &err)) {
        pending_fail(pending, &err);
    }
}

static void compact_done(void *context, const StoreReply *reply, const Error *err)
{
    GrpcCall *call = pending_finish(context, err);
    if (call == NULL) {
        return;
    }
    AUTO_CLEAR(Buf) out = buf_make(REPLY_BYTES);
    compact_reply_encode(reply, &out);
    respond(call, &out);
}

static void on_compact(GrpcCall *call, Str message)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Error err;
    int64_t revision;
    if (!compact_request_decode(&arena, message, &revision, &err)) {
        grpc_call_fail(call, &err);
        return;
    }
    PendingCall *pending = pending_new(call);
    if (!store_compact(store_of(call), revision, compact_done, pending, &err)) {
        pending_fail(pending, &err);
    }
}

static void on_revision(void *context, const StoreReply *reply, const Error *err)
{
    GrpcCall *call = pending_finish(context, err);
    if (call == NULL) {
        return;
    }
    StoreStatus status = store_status(store_of(call));
    AUTO_CLEAR(Buf) out = buf_make(REPLY_BYTES);
    status_reply_encode(&status, reply->revision, &out);
    respond(call, &out);
}

static void on_status(GrpcCall *call, Str message)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Error err;
    if (!empty_request_decode(&arena, message, &err)) {
        grpc_call_fail(call, &err);
        return;
    }
    PendingCall *pending = pending_new(call);
    if (!store_revision(store_of(call), on_revision, pending, &err)) {
        pending_fail(pending, &err);
    }
}

/* --- Leases ---------------------------------------------------------------------------------- */

static void lease_done(void *context, const StoreLease *lease, const Error *err)
{
    GrpcCall *call = pending_finish(context, err);
    if (call == NULL) {
        return;
    }
    AUTO_CLEAR(Buf) out = buf_make(REPLY_BYTES);
    lease_reply_encode(lease, &out);
    respond(call, &out);
}

static void on_lease_grant(GrpcCall *call, Str message)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Error err;
    StoreLease request;
    if (!lease_grant_decode(&arena, message, &request, &err)) {
        grpc_call_fail(call, &err);
        return;
    }
    PendingCall *pending = pending_new(call);
    if (!store_lease_grant(store_of(call), request.ttl_s, request.id, lease_done, pending, &err)) {
        pending_fail(pending, &err);
    }
}

typedef bool LeaseOperation(Store *store, int64_t id, StoreLeaseDone *done, void *context,
                            Error *err);

static void call_lease(GrpcCall *call, Str message, LeaseOperation *act)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Error err;
    int64_t id;
    if (!lease_request_decode(&arena, message, &id, &err)) {
        grpc_call_fail(call, &err);
        return;
    }
    PendingCall *pending = pending_new(call);
    if (!act(store_of(call), id, lease_done, pending, &err)) {
        pending_fail(pending, &err);
    }
}

static void on_lease_keep_alive(GrpcCall *call, Str message)
{
    call_lease(call, message, store_lease_keep_alive);
}

static void on_lease_revoke(GrpcCall *call, Str message)
{
    call_lease(call, message, store_lease_revoke);
}

static void leases_done(void *context, const int64_t *ids, uint32_t count, const Error *err)
{
    GrpcCall *call = pending_finish(context, err);
    if (call == NULL) {
        return;
    }
    AUTO_CLEAR(Buf) out = buf_make(REPLY_BYTES);
    lease_list_reply_encode(ids, count, &out);
    respond(call, &out);
}

static void on_lease_list(GrpcCall *call, Str message)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Error err;
    if (!empty_request_decode(&arena, message, &err)) {
        grpc_call_fail(call, &err);
        return;
    }
    PendingCall *pending = pending_new(call);
    if (!store_lease_list(store_of(call), leases_done, pending, &err)) {
        pending_fail(pending, &err);
    }
}

/* --- Watches --------------------------------------------------------------------------------- */

struct WatchCall {
    WatchCall *next, *previous;
    StoreService *service;
    GrpcCall *call;
    StoreWatch *watch;
    Buf unsent;   /* a batch that did not fit into the call's queue */
    bool ack_due; /* the store waits for its acknowledgement */
    bool is_last;
};

static void watch_add(StoreService *service, WatchCall *watch)
{
    watch->service = service;
    watch->next = service->watches;
    if (watch->next != NULL) {
        watch->next->previous = watch;
    }
    service->watches = watch;
}

static void watch_free(WatchCall *watch)
{
    if (watch->next != NULL) {
        watch->next->previous = watch->previous;
    }
    *(watch->previous != NULL ? &watch->previous->next : &watch->service->watches) = watch->next;
    store_watch_cancel(watch->watch);
    buf_clear(&watch->unsent);
    free(watch);
}

/* Sends the waiting batch if it fits; otherwise `writable` or `ended` follows. */
static void watch_send(WatchCall *watch)
{
    Error err;
    if (watch->unsent.len == 0 || !grpc_call_send(watch->call, buf_str(&watch->unsent), &err)) {
        return;
    }
    buf_clear(&watch->unsent);
    if (watch->is_last) {
        grpc_call_finish(watch->call, GRPC_OK, STR_EMPTY);
    } else if (watch->ack_due) {
        store_watch_ack(watch->watch);
    }
}

static void on_batch(void *context, const StoreBatch *batch)
{
    WatchCall *watch = context;
    if (batch->err != NULL) {
        grpc_call_fail(watch->call, batch->err);
        return;
    }
    /* While changes are waiting, the store only sends progress notifications, or a resync together
     * with them. A waiting notification is replaced by anything newer. */
    if (watch->unsent.len > 0 && watch->ack_due && !batch->resync) {
        return;
    }
    buf_clear(&watch->unsent);
    watch->unsent = buf_make(REPLY_BYTES);
    watch_reply_encode(batch, &watch->unsent);
    watch->ack_due = batch->count > 0;
    watch->is_last = batch->resync;
    watch_send(watch);
}

static bool refuse_stopped(Error *err)
{
    return error_set(err, ERROR_UNAVAILABLE, "the server is stopping");
}

static void on_watch(GrpcCall *call, Str message)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Error err;
    StoreWatchSpec spec;
    StoreService *service = dispatch_data(call);
    if (service->stopped ? !refuse_stopped(&err)
                         : !watch_request_decode(&arena, message, &spec, &err)) {
        grpc_call_fail(call, &err);
        return;
    }
    WatchCall *watch = memory_new(sizeof *watch);
    watch->call = call;
    spec.done = on_batch;
    spec.context = watch;
    if (!store_watch(store_of(call), &spec, &watch->watch, &err)) {
        free(watch);
        grpc_call_fail(call, &err);
        return;
    }
    watch_add(service, watch);
    grpc_call_set_data(call, watch);
}

static void watch_writable(GrpcCall *call)
{
    WatchCall *watch = grpc_call_data(call);
    if (watch != NULL) {
        watch_send(watch);
    }
}

static void watch_ended(GrpcCall *call, GrpcStatus status, Str text)
{
    WatchCall *watch = grpc_call_data(call);
    if (watch != NULL) {
        watch_free(watch);
    }
}

/* --- Service --------------------------------------------------------------------------------- */

static const GrpcHandler txn_handler = { .message = on_txn, .ended = unary_ended };
static const GrpcHandler lease_grant_handler = { .message = on_lease_grant, .ended = unary_ended };
static const GrpcHandler lease_keep_alive_handler = { .message = on_lease_keep_alive,
                                                      .ended = unary_ended };
static const GrpcHandler lease_revoke_handler = { .message = on_lease_revoke,
                                                  .ended = unary_ended };
static const GrpcHandler lease_list_handler = { .message = on_lease_list, .ended = unary_ended };
static const GrpcHandler watch_handler = { .message = on_watch,
                                           .writable = watch_writable,
                                           .ended = watch_ended };
static const GrpcHandler compact_handler = { .message = on_compact, .ended = unary_ended };
static const GrpcHandler status_handler = { .message = on_status, .ended = unary_ended };

StoreService *store_service_new(Store *store, State *state)
{
    StoreService *service = memory_new(sizeof *service);
    service->store = store;
    service->state = state;
    return service;
}

void store_service_stop(StoreService *service)
{
    Error why;
    refuse_stopped(&why);
    service->stopped = true;
    for (WatchCall *watch = service->watches, *next; watch != NULL; watch = next) {
        next = watch->next;
        grpc_call_fail(watch->call, &why);
    }
}

void store_service_free(StoreService *service)
{
    free(service);
}

void store_service_bind(StoreService *service, MethodBinding out[STORE_SERVICE_METHODS])
{
    const MethodBinding bindings[STORE_SERVICE_METHODS] = {
        { METHOD_STORE_TXN, &txn_handler, service },
        { METHOD_STORE_LEASE_GRANT, &lease_grant_handler, service },
        { METHOD_STORE_LEASE_KEEP_ALIVE, &lease_keep_alive_handler, service },
        { METHOD_STORE_LEASE_REVOKE, &lease_revoke_handler, service },
        { METHOD_STORE_LEASE_LIST, &lease_list_handler, service },
        { METHOD_STORE_WATCH, &watch_handler, service },
        { METHOD_STORE_COMPACT, &compact_handler, service },
        { METHOD_STORE_STATUS, &status_handler, service },
    };
    memcpy(out, bindings, sizeof bindings);
}
