#include "remote_store.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/memory.h"
#include "store/backend.h"
#include "store/request.h"

typedef enum MessageKind {
    MESSAGE_TXN,
    MESSAGE_GRANT,
    MESSAGE_KEEP_ALIVE,
    MESSAGE_REVOKE,
    MESSAGE_TIME_TO_LIVE,
    MESSAGE_LEASES,
    MESSAGE_COMPACT,
    MESSAGE_BATCH, /* a message of a watch; the others are requests and their responses */
} MessageKind;

typedef struct RemoteWatch {
    StoreWatch base;
    struct RemoteWatch *next;
    RemoteStore *remote;
    StoreWatch *real;
    StoreWatchDone *done;
    void *context;
    int64_t last_ms; /* when its last batch arrives, because batches stay in order */
} RemoteWatch;

typedef struct Message Message;
struct Message {
    RemoteStore *remote; /* NULL: the process has ended */
    Message *next;       /* handles of the remote store, in the order of their calls */
    MessageKind kind;
    Arena arena;
    LoopTimer timer; /* in transit, in either direction */
    bool is_back, has_arrived, loses_answer;
    bool writes; /* if the message is lost, the outcome is known */
    StoreTxn txn;
    int64_t number; /* parameters of a lease: seconds, or the ID; a revision */
    int64_t id;     /* ID of a lease to grant; 0: the store chooses one */
    bool is_reserved, keys;
    StoreDone *done;
    StoreLeaseDone *lease_done;
    StoreLeasesDone *leases_done;
    void *context;
    Error err; /* ERROR_NONE: one of the following responses */
    StoreReply reply;
    StoreLease lease;
    const int64_t *ids;
    uint32_t id_count;
    StoreBatch batch;
    RemoteWatch *watch; /* NULL: the watch was canceled */
};

struct RemoteStore {
    Store base;
    Loop *loop;
    Store *store;
    RemoteCounts *counts;
    Message *messages, **messages_end;
    RemoteWatch *watches;
    int64_t blocked_until_ms, stopped_until_ms;
    RemoteFault fault;
    bool is_calm, is_steady, is_closed;
    uint32_t under_way; /* messages in transit, including those of ended processes */
    uint32_t waiting;   /* number of unanswered requests */
};

enum {
    STEADY_MS = 0
};

/* --- Copies ---------------------------------------------------------------------------------- */

static StoreKv copy_kv(Arena *arena, const StoreKv *kv)
{
    StoreKv copy = *kv;
    copy.key = arena_copy(arena, kv->key);
    copy.value = arena_copy(arena, kv->value);
    return copy;
}

static StoreReply copy_reply(Arena *arena, const StoreReply *reply)
{
    StoreReply copy = *reply;
    StoreOpReply *ops = ARENA_ARRAY(arena, StoreOpReply, reply->op_count + 1);
    for (uint32_t i = 0; i < reply->op_count; i++) {
        StoreKv *kvs = ARENA_ARRAY(arena, StoreKv, reply->ops[i].kv_count + 1);
        for (uint32_t k = 0; k < reply->ops[i].kv_count; k++) {
            kvs[k] = copy_kv(arena, &reply->ops[i].kvs[k]);
        }
        ops[i] = reply->ops[i];
        ops[i].kvs = kvs;
    }
    copy.ops = ops;
    return copy;
}

/* --- The network ----------------------------------------------------------------------------- */

static uint64_t random_below(RemoteStore *remote, uint64_t below)
{
    return loop_random(remote->loop) % below;
}

static int64_t delay_ms(RemoteStore *remote)
{
    if (remote->is_steady) {
        return STEADY_MS;
    }
    bool is_slow =
        remote->fault == REMOTE_SLOW || (!remote->is_calm && random_below(remote, 15) == 0);
    if (!is_slow) {
        return (int64_t)random_below(remote, 30);
    }
    remote->counts->slow++;
    return 1000 + (int64_t)random_below(remote, 7000);
}

static void message_free(RemoteStore *remote, Message *message)
{
    if (message->remote != NULL) {
        Message **link = &remote->messages;
        while (*link != message) {
            link = &(*link)->next;
        }
        *link = message->next;
        remote->messages_end = message->next == NULL ? link : remote->messages_end;
    }
    remote->waiting -= message->kind != MESSAGE_BATCH && message->remote != NULL ? 1 : 0;
    remote->under_way--;
    loop_timer_stop(&message->timer);
    arena_clear(&message->arena);
    free(message);
}

/* An ended process, unlike a waiting one, is in no list. */
typedef struct Travel {
    RemoteStore *remote;
    Message *message;
} Travel;

static void parcel_arrived(void *context);

/* Sends a message that no caller waits for. */
static Message *message_make(RemoteStore *remote, MessageKind kind)
{
    Message *message = memory_new(sizeof *message);
    arena_init(&message->arena, ARENA_UNLIMITED);
    Travel *travel = ARENA_NEW(&message->arena, Travel);
    *travel = (Travel){ remote, message };
    message->kind = kind;
    loop_timer_init(&message->timer, remote->loop, parcel_arrived, travel);
    remote->under_way++;
    return message;
}

static Message *message_new(RemoteStore *remote, MessageKind kind)
{
    Message *message = message_make(remote, kind);
    message->remote = remote;
    *remote->messages_end = message;
    remote->messages_end = &message->next;
    return message;
}

/* Delivers the message to the server after a delay, with its error if it has one. */
static void send_back(RemoteStore *remote, Message *message, int64_t after_ms)
{
    message->is_back = true;
    loop_timer_start(&message->timer, after_ms);
}

static void performed(Message *message, const Error *err)
{
    const Travel *travel = message->timer.context;
    RemoteStore *remote = travel->remote;
    if (err != NULL) {
        message->err = *err;
    }
    if (message->loses_answer) {
        remote->counts->unknown++;
        error_set(&message->err, message->writes ? ERROR_UNKNOWN : ERROR_UNAVAILABLE,
                  "the store did not answer in time");
        send_back(remote, message, 1000 + (int64_t)random_below(remote, 5000));
    } else {
        send_back(remote, message, delay_ms(remote));
    }
}

static void txn_done(void *context, const StoreReply *reply, const Error *err)
{
    Message *message = context;
    if (err == NULL) {
        message->reply = copy_reply(&message->arena, reply);
    }
    performed(message, err);
}

static void lease_done(void *context, const StoreLease *lease, const Error *err)
{
    Message *message = context;
    if (err == NULL) {
        Str *keys = ARENA_ARRAY(&message->arena, Str, lease->key_count + 1);
        for (uint32_t i = 0; i < lease->key_count; i++) {
            keys[i] = arena_copy(&message->arena, lease->keys[i]);
        }
        message->lease = *lease;
        message->lease.keys = keys;
    }
    performed(message, err);
}

static void leases_done(void *context, const int64_t *ids, uint32_t count, const Error *err)
{
    Message *message = context;
    int64_t *copy = ARENA_ARRAY(&message->arena, int64_t, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        copy[i] = ids[i];
    }
    message->ids = copy;
    message->id_count = count;
    performed(message, err);
}

static void perform(RemoteStore *remote, Message *message)
{
    Error err;
    bool begun = false;
    switch (message->kind) {
    case MESSAGE_TXN:
        begun = store_txn(remote->store, &message->txn, txn_done, message, &err);
        break;
    case MESSAGE_GRANT:
        begun = message->is_reserved ? store_lease_grant_reserved(remote->store, message->number,
                                                                  lease_done, message, &err)
                                     : store_lease_grant(remote->store, message->number,
                                                         message->id, lease_done, message, &err);
        break;
    case MESSAGE_TIME_TO_LIVE:
        begun = store_lease_time_to_live(remote->store, message->number, message->keys, lease_done,
                                         message, &err);
        break;
    case MESSAGE_LEASES: begun = store_lease_list(remote->store, leases_done, message, &err); break;
    case MESSAGE_COMPACT:
        begun = store_compact(remote->store, message->number, txn_done, message, &err);
        break;
    case MESSAGE_KEEP_ALIVE:
        begun = store_lease_keep_alive(remote->store, message->number, lease_done, message, &err);
        break;
    case MESSAGE_REVOKE:
        begun = store_lease_revoke(remote->store, message->number, lease_done, message, &err);
        break;
    case MESSAGE_BATCH: BUG("a batch is not performed");
    }
    if (!begun) {
        performed(message, &err);
    }
}

static void answer(Message *message)
{
    const Error *err = message->err.kind == ERROR_NONE ? NULL : &message->err;
    if (message->kind == MESSAGE_BATCH) {
        if (message->watch != NULL) {
            message->watch->done(message->watch->context, &message->batch);
        }
    } else if (message->kind == MESSAGE_LEASES) {
        message->leases_done(message->context, message->ids, message->id_count, err);
    } else if (message->kind == MESSAGE_TXN || message->kind == MESSAGE_COMPACT) {
        message->done(message->context, err == NULL ? &message->reply : NULL, err);
    } else {
        message->lease_done(message->context, err == NULL ? &message->lease : NULL, err);
    }
}

/* Messages that wait for a stopped store stay in order, because timers that are due together do. */
static void parcel_arrived(void *context)
{
    const Travel *travel = context;
    int64_t waits_ms = travel->remote->stopped_until_ms - loop_now_ms(travel->remote->loop);
    if (waits_ms > 0 && travel->message->remote != NULL) {
        loop_timer_start(&travel->message->timer, waits_ms);
    } else if (!travel->message->is_back) {
        perform(travel->remote, travel->message);
    } else if (travel->message->remote == NULL) {
        message_free(travel->remote, travel->message);
    } else if (travel->remote->is_steady) {
        answer(travel->message);
        message_free(travel->remote, travel->message);
    } else {
        travel->message->has_arrived = true;
    }
}

static bool changes_something(const StoreTxn *txn)
{
    for (uint32_t i = 0; i < txn->success_count; i++) {
        if (txn->success[i].kind != STORE_RANGE) {
            return true;
        }
    }
    return false;
}

static bool writes(const Message *request)
{
    return request->kind == MESSAGE_TXN
               ? changes_something(&request->txn)
               : request->kind != MESSAGE_TIME_TO_LIVE && request->kind != MESSAGE_LEASES;
}

static const char *fault_text(const RemoteStore *remote)
{
    return remote->fault == REMOTE_LOST ? "the store is lost" : "the store is read-only";
}

static void copy_request(Message *message, const Message *request)
{
    if (request->kind == MESSAGE_TXN) {
        message->txn = request_copy_txn(&message->arena, &request->txn);
    }
    message->number = request->number;
    message->id = request->id;
    message->is_reserved = request->is_reserved;
    message->keys = request->keys;
    message->writes = writes(request);
}

/* Arrives at the store after the caller was notified that the outcome is unknown. */
static void send_late(RemoteStore *remote, Message *message, const Message *request)
{
    Message *late = message_make(remote, request->kind);
    copy_request(late, request);
    remote->counts->late++;
    int64_t answered_ms = 1000 + (int64_t)random_below(remote, 5000);
    error_set(&message->err, ERROR_UNKNOWN, "the store did not answer in time");
    send_back(remote, message, answered_ms);
    loop_timer_start(&late->timer, answered_ms + (int64_t)random_below(remote, 15000));
}

/* Copies the request. */
static bool send(RemoteStore *remote, const Message *request, Error *err)
{
    if (remote->is_closed) {
        return error_set(err, ERROR_UNAVAILABLE, "the store closes");
    }
    if (remote->waiting == STORE_PENDING_MAX) {
        return error_set(err, ERROR_LIMIT, "too many calls wait for the store");
    }
    Message *message = message_new(remote, request->kind);
    const StoreTxn *txn = request->kind == MESSAGE_TXN ? &request->txn : NULL;
    copy_request(message, request);
    remote->waiting++;
    message->done = request->done;
    message->lease_done = request->lease_done;
    message->leases_done = request->leases_done;
    message->context = request->context;
    bool is_cut = loop_now_ms(remote->loop) < remote->blocked_until_ms;
    bool fails = remote->fault == REMOTE_LOST ||
                 (remote->fault == REMOTE_READ_ONLY && (txn == NULL || changes_something(txn)));
    if (fails) {
        error_set(&message->err, ERROR_UNAVAILABLE, "%s", fault_text(remote));
        send_back(remote, message, (int64_t)random_below(remote, 30));
        return true;
    }
    if (is_cut || (!remote->is_calm && random_below(remote, 30) == 0)) {
        remote->counts->lost++;
        error_set(&message->err, ERROR_UNAVAILABLE, "the store cannot be reached");
        send_back(remote, message, 500 + (int64_t)random_below(remote, 3000));
        return true;
    }
    if (message->writes && !remote->is_calm && random_below(remote, 60) == 0) {
        send_late(remote, message, request);
        return true;
    }
    message->loses_answer = !remote->is_calm && random_below(remote, 30) == 0;
    loop_timer_start(&message->timer, delay_ms(remote));
    return true;
}

/* Each response may cause new messages, or end the process. */
void remote_store_deliver(RemoteStore *remote)
{
    for (Message *message = remote->messages; message != NULL;) {
        if (!message->has_arrived) {
            message = message->next;
            continue;
        }
        message->has_arrived = false;
        answer(message);
        message_free(remote, message);
        message = remote->messages;
    }
}

/* --- Watches --------------------------------------------------------------------------------- */

static void batch_arrived(void *context, const StoreBatch *batch)
{
    RemoteWatch *watch = context;
    RemoteStore *remote = watch->remote;
    int64_t now = loop_now_ms(remote->loop);
    Message *message = message_new(remote, MESSAGE_BATCH);
    StoreEvent *events = ARENA_ARRAY(&message->arena, StoreEvent, batch->count + 1);
    for (uint32_t i = 0; i < batch->count; i++) {
        const StoreEvent *event = &batch->events[i];
        events[i] = (StoreEvent){ .deleted = event->deleted,
                                  .kv = copy_kv(&message->arena, &event->kv),
                                  .has_previous = event->has_previous,
                                  .previous = copy_kv(&message->arena, &event->previous) };
    }
    message->watch = watch;
    message->batch = *batch;
    message->batch.events = events;
    if (batch->err != NULL) {
        message->err = *batch->err;
        message->batch.err = &message->err;
    }
    if (!remote->is_calm && batch->count > 0 && random_below(remote, 40) == 0) {
        remote->counts->broken++;
        error_set(&message->err, ERROR_UNAVAILABLE, "the watch was ended");
        message->batch = (StoreBatch){ .err = &message->err };
    }
    int64_t due_ms = now + delay_ms(remote);
    due_ms = due_ms > remote->blocked_until_ms ? due_ms : remote->blocked_until_ms;
    watch->last_ms = due_ms > watch->last_ms ? due_ms : watch->last_ms;
    send_back(remote, message, watch->last_ms - now);
}

static bool remote_watch(Store *store, const StoreWatchSpec *spec, StoreWatch **out, Error *err)
{
    RemoteStore *remote = (RemoteStore *)store;
    if (remote->is_closed || remote->fault == REMOTE_LOST) {
        return error_set(err, ERROR_UNAVAILABLE, "the store closes, or is lost");
    }
    RemoteWatch *watch = memory_new(sizeof *watch);
    StoreWatchSpec own = *spec;
    *watch = (RemoteWatch){
        .base.store = store, .remote = remote, .done = spec->done, .context = spec->context
    };
    own.done = batch_arrived;
    own.context = watch;
    if (!store_watch(remote->store, &own, &watch->real, err)) {
        free(watch);
        return false;
    }
    watch->next = remote->watches;
    remote->watches = watch;
    *out = &watch->base;
    return true;
}

static void remote_watch_ack(StoreWatch *watch)
{
    store_watch_ack(((RemoteWatch *)watch)->real);
}

static void remote_watch_cancel(StoreWatch *handle)
{
    RemoteWatch *watch = (RemoteWatch *)handle;
    store_watch_cancel(watch->real);
    for (Message *message = watch->remote->messages; message != NULL; message = message->next) {
        if (message->watch == watch) {
            message->watch = NULL;
        }
    }
    RemoteWatch **link = &watch->remote->watches;
    while (*link != watch) {
        link = &(*link)->next;
    }
    *link = watch->next;
    free(watch);
}

/* --- Requests -------------------------------------------------------------------------------- */

static bool remote_txn(Store *store, const StoreTxn *txn, size_t bytes, StoreDone *done,
                       void *context, Error *err)
{
    Message request = { .kind = MESSAGE_TXN, .txn = *txn, .done = done, .context = context };
    return send((RemoteStore *)store, &request, err);
}

static bool remote_revision(Store *store, StoreDone *done, void *context, Error *err)
{
    return remote_txn(store, &(StoreTxn){ 0 }, 0, done, context, err);
}

static bool remote_compact(Store *store, int64_t revision, StoreDone *done, void *context,
                           Error *err)
{
    Message request = {
        .kind = MESSAGE_COMPACT, .number = revision, .done = done, .context = context
    };
    return send((RemoteStore *)store, &request, err);
}

static bool remote_grant(Store *store, const StoreLeaseGrant *grant, StoreLeaseDone *done,
                         void *context, Error *err)
{
    Message request = { .kind = MESSAGE_GRANT,
                        .number = grant->ttl_s,
                        .id = grant->id,
                        .is_reserved = grant->is_reserved,
                        .lease_done = done,
                        .context = context };
    return send((RemoteStore *)store, &request, err);
}

static bool send_lease(Store *store, MessageKind kind, int64_t id, bool keys, StoreLeaseDone *done,
                       void *context, Error *err)
{
    Message request = {
        .kind = kind, .number = id, .keys = keys, .lease_done = done, .context = context
    };
    return send((RemoteStore *)store, &request, err);
}

static bool remote_keep_alive(Store *store, int64_t id, StoreLeaseDone *done, void *context,
                              Error *err)
{
    return send_lease(store, MESSAGE_KEEP_ALIVE, id, false, done, context, err);
}

static bool remote_revoke(Store *store, int64_t id, StoreLeaseDone *done, void *context, Error *err)
{
    return send_lease(store, MESSAGE_REVOKE, id, false, done, context, err);
}

static bool remote_time_to_live(Store *store, int64_t id, bool keys, StoreLeaseDone *done,
                                void *context, Error *err)
{
    return send_lease(store, MESSAGE_TIME_TO_LIVE, id, keys, done, context, err);
}

static bool remote_leases(Store *store, StoreLeasesDone *done, void *context, Error *err)
{
    Message request = { .kind = MESSAGE_LEASES, .leases_done = done, .context = context };
    return send((RemoteStore *)store, &request, err);
}

static StoreStatus remote_status(const Store *store, bool check_disk)
{
    const RemoteStore *remote = (const RemoteStore *)store;
    if (remote->is_steady) {
        StoreStatus real = store_status(remote->store);
        real.pending = remote->waiting;
        real.revision = 0; /* the request was never sent */
        return real;
    }
    StoreStatus status = { .condition = remote->fault == REMOTE_LOST        ? STORE_LOST
                                        : remote->fault == REMOTE_READ_ONLY ? STORE_UNWRITABLE
                                                                            : STORE_OK };
    status.writable = status.condition == STORE_OK;
    snprintf(status.reason, sizeof status.reason, "%s", status.writable ? "" : fault_text(remote));
    return status;
}

/* For a steady store, whose handle is the last one: first completes what is in transit. */
static void remote_close(Store *store)
{
    RemoteStore *remote = (RemoteStore *)store;
    BUG_IF(!remote->is_steady);
    remote_store_close(remote);
    loop_run_virtual_until(remote->loop, loop_now_ms(remote->loop) + 2 * STEADY_MS);
    store_close(remote->store);
    remote_store_free(remote);
}

static const StoreBackend remote_backend = {
    .is_remote = true,
    .close = remote_close,
    .txn = remote_txn,
    .revision = remote_revision,
    .compact = remote_compact,
    .lease_grant = remote_grant,
    .lease_keep_alive = remote_keep_alive,
    .lease_revoke = remote_revoke,
    .lease_time_to_live = remote_time_to_live,
    .lease_list = remote_leases,
    .watch = remote_watch,
    .watch_ack = remote_watch_ack,
    .watch_cancel = remote_watch_cancel,
    .status = remote_status,
};

/* --- Process lifetime ------------------------------------------------------------------------ */

RemoteStore *remote_store_new(Loop *loop, Store *store, RemoteCounts *counts)
{
    RemoteStore *remote = memory_new(sizeof *remote);
    *remote = (RemoteStore){ .base = { .backend = &remote_backend, .loop = loop },
                             .loop = loop,
                             .store = store,
                             .counts = counts,
                             .is_closed = true };
    remote->messages_end = &remote->messages;
    return remote;
}

void remote_store_free(RemoteStore *remote)
{
    BUG_IF(remote->under_way > 0 || remote->watches != NULL);
    free(remote);
}

Store *remote_store_handle(RemoteStore *remote)
{
    return &remote->base;
}

static void break_watch(RemoteStore *remote, RemoteWatch *watch)
{
    Message *message = message_new(remote, MESSAGE_BATCH);
    remote->counts->broken++;
    error_set(&message->err, ERROR_UNAVAILABLE, "%s", fault_text(remote));
    message->watch = watch;
    message->batch = (StoreBatch){ .err = &message->err };
    int64_t after_ms = watch->last_ms - loop_now_ms(remote->loop);
    send_back(remote, message, after_ms > 0 ? after_ms : 0);
}

void remote_store_set_fault(RemoteStore *remote, RemoteFault fault, int64_t until_ms)
{
    remote->fault = fault;
    remote->stopped_until_ms = fault == REMOTE_STOPPED ? until_ms : 0;
    for (RemoteWatch *watch = fault == REMOTE_LOST ? remote->watches : NULL; watch != NULL;
         watch = watch->next) {
        break_watch(remote, watch);
    }
}

void remote_store_block(RemoteStore *remote, int64_t until_ms)
{
    remote->blocked_until_ms = until_ms;
}

void remote_store_calm(RemoteStore *remote)
{
    remote->is_calm = true;
    remote->blocked_until_ms = remote->stopped_until_ms = 0;
    remote->fault = REMOTE_WELL;
}

Store *remote_store_new_steady(Loop *loop, Store *store)
{
    RemoteStore *remote = remote_store_new(loop, store, NULL);
    remote_store_calm(remote);
    remote_store_open(remote);
    remote->is_steady = true;
    return &remote->base;
}

void remote_store_open(RemoteStore *remote)
{
    remote->is_closed = remote->base.is_closing = false;
}

void remote_store_close(RemoteStore *remote)
{
    remote->is_closed = true;
    confirmed_txns_close(&remote->base);
    while (remote->messages != NULL) {
        Message *message = remote->messages;
        bool has_arrived = message->has_arrived;
        remote->messages = message->next;
        remote->messages_end = remote->messages == NULL ? &remote->messages : remote->messages_end;
        remote->waiting -= message->kind != MESSAGE_BATCH ? 1 : 0;
        message->remote = NULL;
        error_set(&message->err, ERROR_UNAVAILABLE, "the store closes");
        if (message->kind != MESSAGE_BATCH) {
            answer(message);
        }
        if (has_arrived) {
            message_free(remote, message);
        }
    }
}
