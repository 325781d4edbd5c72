#include "service/store_service.h"

#include <stdlib.h>

#include "base/memory.h"
#include "service/store_message.h"

enum {
    REPLY_BYTES = 2 * STORE_REPLY_MAX, /* with its wrapping */
};

typedef struct WatchCall WatchCall;

struct StoreService {
    Store *store;
    State *state; /* may be NULL */
    WatchCall *watches;
    bool stopped;
};

/* A call that waits for the store; the store answers in any case, the call may be gone. */
typedef struct Waiting {
    GrpcCall *call; /* NULL: it is */
    Buf reply;      /* of a transaction that the state does not know yet */
} Waiting;

/* --- Calls with one answer ------------------------------------------------------------------- */

static Waiting *waiting_new(GrpcCall *call)
{
    Waiting *waiting = memory_new(sizeof *waiting);
    waiting->call = call;
    grpc_call_set_data(call, waiting);
    return waiting;
}

/* Gives the call if somebody still wants the answer. */
static GrpcCall *waiting_end(Waiting *waiting)
{
    GrpcCall *call = waiting->call;
    free(waiting);
    if (call != NULL) {
        grpc_call_set_data(call, NULL);
    }
    return call;
}

/* The store did not even take it. */
static void waiting_fail(Waiting *waiting, const Error *err)
{
    grpc_call_fail(waiting_end(waiting), err);
}

static void unary_ended(GrpcCall *call, GrpcStatus status, Str text)
{
    Waiting *waiting = grpc_call_data(call);
    if (waiting != NULL) {
        waiting->call = NULL;
    }
}

/* The call to answer; NULL when it is gone, or has failed with `err`. */
static GrpcCall *waiting_answer(Waiting *waiting, const Error *err)
{
    GrpcCall *call = waiting_end(waiting);
    if (call != NULL && err != NULL) {
        grpc_call_fail(call, err);
        return NULL;
    }
    return call;
}

static void answer(GrpcCall *call, const Buf *reply)
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

static void seen_by_state(void *context)
{
    Waiting *waiting = context;
    AUTO_CLEAR(Buf) reply = waiting->reply;
    GrpcCall *call = waiting_end(waiting);
    if (call != NULL) {
        answer(call, &reply);
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

/* Who has written and asks for a list next is shown what it wrote. */
static void txn_done(void *context, const StoreReply *reply, const Error *err)
{
    Waiting *waiting = context;
    if (waiting->call == NULL || err != NULL) {
        waiting_answer(waiting, err);
        return;
    }
    const StoreService *service = dispatch_data(waiting->call);
    waiting->reply = buf_make(REPLY_BYTES);
    txn_reply_encode(reply, &waiting->reply);
    if (has_written(reply)) {
        state_wait(service->state, reply->revision, seen_by_state, waiting);
    } else {
        seen_by_state(waiting);
    }
}

static void txn_came(GrpcCall *call, Str message)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Error err;
    StoreTxn txn;
    if (!txn_request_decode(&arena, message, &txn, &err)) {
        grpc_call_fail(call, &err);
        return;
    }
    Waiting *waiting = waiting_new(call);
    if (!store_txn(store_of(call), &txn, txn_done, waiting, &err)) {
        waiting_fail(waiting, &err);
    }
}

static void compact_done(void *context, const StoreReply *reply, const Error *err)
{
    GrpcCall *call = waiting_answer(context, err);
    if (call == NULL) {
        return;
    }
    AUTO_CLEAR(Buf) out = buf_make(REPLY_BYTES);
    compact_reply_encode(reply, &out);
    answer(call, &out);
}

static void compact_came(GrpcCall *call, Str message)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Error err;
    int64_t revision;
    if (!compact_request_decode(&arena, message, &revision, &err)) {
        grpc_call_fail(call, &err);
        return;
    }
    Waiting *waiting = waiting_new(call);
    if (!store_compact(store_of(call), revision, compact_done, waiting, &err)) {
        waiting_fail(waiting, &err);
    }
}

static void revision_came(void *context, const StoreReply *reply, const Error *err)
{
    GrpcCall *call = waiting_answer(context, err);
    if (call == NULL) {
        return;
    }
    StoreStatus status = store_status(store_of(call));
    AUTO_CLEAR(Buf) out = buf_make(REPLY_BYTES);
    status_reply_encode(&status, reply->revision, &out);
    answer(call, &out);
}

static void status_came(GrpcCall *call, Str message)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Error err;
    if (!empty_request_decode(&arena, message, &err)) {
        grpc_call_fail(call, &err);
        return;
    }
    Waiting *waiting = waiting_new(call);
    if (!store_revision(store_of(call), revision_came, waiting, &err)) {
        waiting_fail(waiting, &err);
    }
}

/* --- Leases ---------------------------------------------------------------------------------- */

static void lease_done(void *context, const StoreLease *lease, const Error *err)
{
    GrpcCall *call = waiting_answer(context, err);
    if (call == NULL) {
        return;
    }
    AUTO_CLEAR(Buf) out = buf_make(REPLY_BYTES);
    lease_reply_encode(lease, &out);
    answer(call, &out);
}

static void lease_grant_came(GrpcCall *call, Str message)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Error err;
    StoreLease wish;
    if (!lease_grant_decode(&arena, message, &wish, &err)) {
        grpc_call_fail(call, &err);
        return;
    }
    Waiting *waiting = waiting_new(call);
    if (!store_lease_grant(store_of(call), wish.ttl_s, wish.id, lease_done, waiting, &err)) {
        waiting_fail(waiting, &err);
    }
}

typedef bool LeaseAct(Store *store, int64_t id, StoreLeaseDone *done, void *context, Error *err);

static void lease_act(GrpcCall *call, Str message, LeaseAct *act)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Error err;
    int64_t id;
    if (!lease_request_decode(&arena, message, &id, &err)) {
        grpc_call_fail(call, &err);
        return;
    }
    Waiting *waiting = waiting_new(call);
    if (!act(store_of(call), id, lease_done, waiting, &err)) {
        waiting_fail(waiting, &err);
    }
}

static void lease_keep_alive_came(GrpcCall *call, Str message)
{
    lease_act(call, message, store_lease_keep_alive);
}

static void lease_revoke_came(GrpcCall *call, Str message)
{
    lease_act(call, message, store_lease_revoke);
}

static void leases_done(void *context, const int64_t *ids, uint32_t count, const Error *err)
{
    GrpcCall *call = waiting_answer(context, err);
    if (call == NULL) {
        return;
    }
    AUTO_CLEAR(Buf) out = buf_make(REPLY_BYTES);
    lease_list_reply_encode(ids, count, &out);
    answer(call, &out);
}

static void lease_list_came(GrpcCall *call, Str message)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Error err;
    if (!empty_request_decode(&arena, message, &err)) {
        grpc_call_fail(call, &err);
        return;
    }
    Waiting *waiting = waiting_new(call);
    if (!store_lease_list(store_of(call), leases_done, waiting, &err)) {
        waiting_fail(waiting, &err);
    }
}

/* --- Watches --------------------------------------------------------------------------------- */

struct WatchCall {
    WatchCall *next, *previous;
    StoreService *service;
    GrpcCall *call;
    StoreWatch *watch;
    Buf unsent;   /* a batch for which the call had no room */
    bool is_owed; /* the store waits for it to be dealt with */
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

/* What waits goes out, if there is room; if not, `writable` follows, or `ended`. */
static void watch_send(WatchCall *watch)
{
    Error err;
    if (watch->unsent.len == 0 || !grpc_call_send(watch->call, buf_str(&watch->unsent), &err)) {
        return;
    }
    buf_clear(&watch->unsent);
    if (watch->is_last) {
        grpc_call_finish(watch->call, GRPC_OK, STR_EMPTY);
    } else if (watch->is_owed) {
        store_watch_ack(watch->watch);
    }
}

static void watch_told(void *context, const StoreBatch *batch)
{
    WatchCall *watch = context;
    if (batch->err != NULL) {
        grpc_call_fail(watch->call, batch->err);
        return;
    }
    /* While changes wait, the store has notes only that there is nothing new, or says that all must
     * be read anew, with those. A note that waits itself gives way to whatever comes. */
    if (watch->unsent.len > 0 && watch->is_owed && !batch->resync) {
        return;
    }
    buf_clear(&watch->unsent);
    watch->unsent = buf_make(REPLY_BYTES);
    watch_reply_encode(batch, &watch->unsent);
    watch->is_owed = batch->count > 0;
    watch->is_last = batch->resync;
    watch_send(watch);
}

static bool refuse_stopped(Error *err)
{
    return error_set(err, ERROR_UNAVAILABLE, "the server is stopping");
}

static void watch_came(GrpcCall *call, Str message)
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
    spec.done = watch_told;
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

/* --- The service ----------------------------------------------------------------------------- */

static const GrpcHandler txn_handler = { .message = txn_came, .ended = unary_ended };
static const GrpcHandler lease_grant_handler = { .message = lease_grant_came,
                                                 .ended = unary_ended };
static const GrpcHandler lease_keep_alive_handler = { .message = lease_keep_alive_came,
                                                      .ended = unary_ended };
static const GrpcHandler lease_revoke_handler = { .message = lease_revoke_came,
                                                  .ended = unary_ended };
static const GrpcHandler lease_list_handler = { .message = lease_list_came, .ended = unary_ended };
static const GrpcHandler watch_handler = { .message = watch_came,
                                           .writable = watch_writable,
                                           .ended = watch_ended };
static const GrpcHandler compact_handler = { .message = compact_came, .ended = unary_ended };
static const GrpcHandler status_handler = { .message = status_came, .ended = unary_ended };

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
