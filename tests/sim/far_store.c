#include "far_store.h"

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
    MESSAGE_BATCH, /* of a watch; the others are requests and their responses */
} MessageKind;

typedef struct FarWatch {
    StoreWatch base;
    struct FarWatch *next;
    FarStore *far;
    StoreWatch *real;
    StoreWatchDone *done;
    void *context;
    int64_t last_ms; /* when its last batch parcel_arrived: batches keep their order */
} FarWatch;

typedef struct Message Message;
struct Message {
    FarStore *far; /* NULL: its process has ended */
    Message *next; /* of the remote store, in the order of their calls */
    MessageKind kind;
    Arena arena;
    LoopTimer timer; /* in transit, in either direction */
    bool is_back, has_come, loses_answer;
    bool writes; /* else its loss leaves no doubt about the outcome */
    StoreTxn txn;
    int64_t number; /* of a lease: seconds, or the id; a revision */
    int64_t id;     /* of a lease to grant; 0: the store chooses */
    bool is_reserved, keys;
    StoreDone *done;
    StoreLeaseDone *lease_done;
    StoreLeasesDone *leases_done;
    void *context;
    Error err; /* ERROR_NONE: the response is one of these */
    StoreReply reply;
    StoreLease lease;
    const int64_t *ids;
    uint32_t id_count;
    StoreBatch batch;
    FarWatch *watch; /* NULL: canceled */
};

struct FarStore {
    Store base;
    Loop *loop;
    Store *store;
    FarCounts *counts;
    Message *messages, **messages_end;
    FarWatch *watches;
    int64_t cut_until_ms, stopped_until_ms;
    FarTrouble trouble;
    bool is_calm, is_steady, is_closed;
    uint32_t under_way; /* messages, also those of ended processes */
    uint32_t waiting;   /* requests not answered yet */
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

static uint64_t random_below(FarStore *far, uint64_t below)
{
    return loop_random(far->loop) % below;
}

static int64_t delay_ms(FarStore *far)
{
    if (far->is_steady) {
        return STEADY_MS;
    }
    bool is_slow = far->trouble == FAR_SLOW || (!far->is_calm && random_below(far, 15) == 0);
    if (!is_slow) {
        return (int64_t)random_below(far, 30);
    }
    far->counts->slow++;
    return 1000 + (int64_t)random_below(far, 7000);
}

static void message_free(FarStore *far, Message *message)
{
    if (message->far != NULL) {
        Message **link = &far->messages;
        while (*link != message) {
            link = &(*link)->next;
        }
        *link = message->next;
        far->messages_end = message->next == NULL ? link : far->messages_end;
    }
    far->waiting -= message->kind != MESSAGE_BATCH && message->far != NULL ? 1 : 0;
    far->under_way--;
    loop_timer_stop(&message->timer);
    arena_clear(&message->arena);
    free(message);
}

/* How to tell an ended process from a waiting one: it is in no list. */
typedef struct Travel {
    FarStore *far;
    Message *message;
} Travel;

static void parcel_arrived(void *context);

/* A message that no caller waits for. */
static Message *message_make(FarStore *far, MessageKind kind)
{
    Message *message = memory_new(sizeof *message);
    arena_init(&message->arena, ARENA_UNLIMITED);
    Travel *travel = ARENA_NEW(&message->arena, Travel);
    *travel = (Travel){ far, message };
    message->kind = kind;
    loop_timer_init(&message->timer, far->loop, parcel_arrived, travel);
    far->under_way++;
    return message;
}

static Message *message_new(FarStore *far, MessageKind kind)
{
    Message *message = message_make(far, kind);
    message->far = far;
    *far->messages_end = message;
    far->messages_end = &message->next;
    return message;
}

/* Arrives at the server after a while, with an error if it has one. */
static void send_back(FarStore *far, Message *message, int64_t after_ms)
{
    message->is_back = true;
    loop_timer_start(&message->timer, after_ms);
}

static void performed(Message *message, const Error *err)
{
    const Travel *travel = message->timer.context;
    FarStore *far = travel->far;
    if (err != NULL) {
        message->err = *err;
    }
    if (message->loses_answer) {
        far->counts->unknown++;
        error_set(&message->err, message->writes ? ERROR_UNKNOWN : ERROR_UNAVAILABLE,
                  "the store did not answer in time");
        send_back(far, message, 1000 + (int64_t)random_below(far, 5000));
    } else {
        send_back(far, message, delay_ms(far));
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

static void perform(FarStore *far, Message *message)
{
    Error err;
    bool begun = false;
    switch (message->kind) {
    case MESSAGE_TXN: begun = store_txn(far->store, &message->txn, txn_done, message, &err); break;
    case MESSAGE_GRANT:
        begun = message->is_reserved ? store_lease_grant_reserved(far->store, message->number,
                                                                  lease_done, message, &err)
                                     : store_lease_grant(far->store, message->number, message->id,
                                                         lease_done, message, &err);
        break;
    case MESSAGE_TIME_TO_LIVE:
        begun = store_lease_time_to_live(far->store, message->number, message->keys, lease_done,
                                         message, &err);
        break;
    case MESSAGE_LEASES: begun = store_lease_list(far->store, leases_done, message, &err); break;
    case MESSAGE_COMPACT:
        begun = store_compact(far->store, message->number, txn_done, message, &err);
        break;
    case MESSAGE_KEEP_ALIVE:
        begun = store_lease_keep_alive(far->store, message->number, lease_done, message, &err);
        break;
    case MESSAGE_REVOKE:
        begun = store_lease_revoke(far->store, message->number, lease_done, message, &err);
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

/* Messages that wait for a stopped store keep their order: timers due together do. */
static void parcel_arrived(void *context)
{
    const Travel *travel = context;
    int64_t waits_ms = travel->far->stopped_until_ms - loop_now_ms(travel->far->loop);
    if (waits_ms > 0 && travel->message->far != NULL) {
        loop_timer_start(&travel->message->timer, waits_ms);
    } else if (!travel->message->is_back) {
        perform(travel->far, travel->message);
    } else if (travel->message->far == NULL) {
        message_free(travel->far, travel->message);
    } else if (travel->far->is_steady) {
        answer(travel->message);
        message_free(travel->far, travel->message);
    } else {
        travel->message->has_come = true;
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

static const char *trouble_text(const FarStore *far)
{
    return far->trouble == FAR_LOST ? "the store is lost" : "the store is read-only";
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

/* It reaches the store after the caller was already told that the outcome is unknown. */
static void send_late(FarStore *far, Message *message, const Message *request)
{
    Message *late = message_make(far, request->kind);
    copy_request(late, request);
    far->counts->late++;
    int64_t told_ms = 1000 + (int64_t)random_below(far, 5000);
    error_set(&message->err, ERROR_UNKNOWN, "the store did not answer in time");
    send_back(far, message, told_ms);
    loop_timer_start(&late->timer, told_ms + (int64_t)random_below(far, 15000));
}

/* The request; copied. */
static bool send(FarStore *far, const Message *request, Error *err)
{
    if (far->is_closed) {
        return error_set(err, ERROR_UNAVAILABLE, "the store closes");
    }
    if (far->waiting == STORE_PENDING_MAX) {
        return error_set(err, ERROR_LIMIT, "too many calls wait for the store");
    }
    Message *message = message_new(far, request->kind);
    const StoreTxn *txn = request->kind == MESSAGE_TXN ? &request->txn : NULL;
    copy_request(message, request);
    far->waiting++;
    message->done = request->done;
    message->lease_done = request->lease_done;
    message->leases_done = request->leases_done;
    message->context = request->context;
    bool is_cut = loop_now_ms(far->loop) < far->cut_until_ms;
    bool fails = far->trouble == FAR_LOST ||
                 (far->trouble == FAR_READ_ONLY && (txn == NULL || changes_something(txn)));
    if (fails) {
        error_set(&message->err, ERROR_UNAVAILABLE, "%s", trouble_text(far));
        send_back(far, message, (int64_t)random_below(far, 30));
        return true;
    }
    if (is_cut || (!far->is_calm && random_below(far, 30) == 0)) {
        far->counts->lost++;
        error_set(&message->err, ERROR_UNAVAILABLE, "the store cannot be reached");
        send_back(far, message, 500 + (int64_t)random_below(far, 3000));
        return true;
    }
    if (message->writes && !far->is_calm && random_below(far, 60) == 0) {
        send_late(far, message, request);
        return true;
    }
    message->loses_answer = !far->is_calm && random_below(far, 30) == 0;
    loop_timer_start(&message->timer, delay_ms(far));
    return true;
}

/* Each response may lead to new messages, or end the process. */
void far_store_deliver(FarStore *far)
{
    for (Message *message = far->messages; message != NULL;) {
        if (!message->has_come) {
            message = message->next;
            continue;
        }
        message->has_come = false;
        answer(message);
        message_free(far, message);
        message = far->messages;
    }
}

/* --- Watches --------------------------------------------------------------------------------- */

static void batch_came(void *context, const StoreBatch *batch)
{
    FarWatch *watch = context;
    FarStore *far = watch->far;
    int64_t now = loop_now_ms(far->loop);
    Message *message = message_new(far, MESSAGE_BATCH);
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
    if (!far->is_calm && batch->count > 0 && random_below(far, 40) == 0) {
        far->counts->broken++;
        error_set(&message->err, ERROR_UNAVAILABLE, "the watch was ended");
        message->batch = (StoreBatch){ .err = &message->err };
    }
    int64_t due_ms = now + delay_ms(far);
    due_ms = due_ms > far->cut_until_ms ? due_ms : far->cut_until_ms;
    watch->last_ms = due_ms > watch->last_ms ? due_ms : watch->last_ms;
    send_back(far, message, watch->last_ms - now);
}

static bool far_watch(Store *store, const StoreWatchSpec *spec, StoreWatch **out, Error *err)
{
    FarStore *far = (FarStore *)store;
    if (far->is_closed || far->trouble == FAR_LOST) {
        return error_set(err, ERROR_UNAVAILABLE, "the store closes, or is lost");
    }
    FarWatch *watch = memory_new(sizeof *watch);
    StoreWatchSpec own = *spec;
    *watch =
        (FarWatch){ .base.store = store, .far = far, .done = spec->done, .context = spec->context };
    own.done = batch_came;
    own.context = watch;
    if (!store_watch(far->store, &own, &watch->real, err)) {
        free(watch);
        return false;
    }
    watch->next = far->watches;
    far->watches = watch;
    *out = &watch->base;
    return true;
}

static void far_watch_ack(StoreWatch *watch)
{
    store_watch_ack(((FarWatch *)watch)->real);
}

static void far_watch_cancel(StoreWatch *handle)
{
    FarWatch *watch = (FarWatch *)handle;
    store_watch_cancel(watch->real);
    for (Message *message = watch->far->messages; message != NULL; message = message->next) {
        if (message->watch == watch) {
            message->watch = NULL;
        }
    }
    FarWatch **link = &watch->far->watches;
    while (*link != watch) {
        link = &(*link)->next;
    }
    *link = watch->next;
    free(watch);
}

/* --- Requests -------------------------------------------------------------------------------- */

static bool far_txn(Store *store, const StoreTxn *txn, size_t bytes, StoreDone *done, void *context,
                    Error *err)
{
    Message request = { .kind = MESSAGE_TXN, .txn = *txn, .done = done, .context = context };
    return send((FarStore *)store, &request, err);
}

static bool far_revision(Store *store, StoreDone *done, void *context, Error *err)
{
    return far_txn(store, &(StoreTxn){ 0 }, 0, done, context, err);
}

static bool far_compact(Store *store, int64_t revision, StoreDone *done, void *context, Error *err)
{
    Message request = {
        .kind = MESSAGE_COMPACT, .number = revision, .done = done, .context = context
    };
    return send((FarStore *)store, &request, err);
}

static bool far_grant(Store *store, int64_t ttl_s, int64_t id, bool is_reserved,
                      StoreLeaseDone *done, void *context, Error *err)
{
    Message request = { .kind = MESSAGE_GRANT,
                        .number = ttl_s,
                        .id = id,
                        .is_reserved = is_reserved,
                        .lease_done = done,
                        .context = context };
    return send((FarStore *)store, &request, err);
}

static bool send_lease(Store *store, MessageKind kind, int64_t id, bool keys, StoreLeaseDone *done,
                       void *context, Error *err)
{
    Message request = {
        .kind = kind, .number = id, .keys = keys, .lease_done = done, .context = context
    };
    return send((FarStore *)store, &request, err);
}

static bool far_keep_alive(Store *store, int64_t id, StoreLeaseDone *done, void *context,
                           Error *err)
{
    return send_lease(store, MESSAGE_KEEP_ALIVE, id, false, done, context, err);
}

static bool far_revoke(Store *store, int64_t id, StoreLeaseDone *done, void *context, Error *err)
{
    return send_lease(store, MESSAGE_REVOKE, id, false, done, context, err);
}

static bool far_time_to_live(Store *store, int64_t id, bool keys, StoreLeaseDone *done,
                             void *context, Error *err)
{
    return send_lease(store, MESSAGE_TIME_TO_LIVE, id, keys, done, context, err);
}

static bool far_leases(Store *store, StoreLeasesDone *done, void *context, Error *err)
{
    Message request = { .kind = MESSAGE_LEASES, .leases_done = done, .context = context };
    return send((FarStore *)store, &request, err);
}

static StoreStatus far_status(const Store *store, bool looks)
{
    const FarStore *far = (const FarStore *)store;
    if (far->is_steady) {
        StoreStatus real = store_status(far->store);
        real.pending = far->waiting;
        real.revision = 0; /* never sent */
        return real;
    }
    StoreStatus status = { .condition = far->trouble == FAR_LOST        ? STORE_LOST
                                        : far->trouble == FAR_READ_ONLY ? STORE_UNWRITABLE
                                                                        : STORE_OK };
    status.writable = status.condition == STORE_OK;
    snprintf(status.reason, sizeof status.reason, "%s", status.writable ? "" : trouble_text(far));
    return status;
}

/* Of a steady store, whose handle is the last one: first finish what is in transit. */
static void far_close(Store *store)
{
    FarStore *far = (FarStore *)store;
    BUG_IF(!far->is_steady);
    far_store_close(far);
    loop_run_virtual_until(far->loop, loop_now_ms(far->loop) + 2 * STEADY_MS);
    store_close(far->store);
    far_store_free(far);
}

static const StoreBackend far_backend = {
    .is_remote = true,
    .close = far_close,
    .txn = far_txn,
    .revision = far_revision,
    .compact = far_compact,
    .lease_grant = far_grant,
    .lease_keep_alive = far_keep_alive,
    .lease_revoke = far_revoke,
    .lease_time_to_live = far_time_to_live,
    .lease_list = far_leases,
    .watch = far_watch,
    .watch_ack = far_watch_ack,
    .watch_cancel = far_watch_cancel,
    .status = far_status,
};

/* --- Process lifetime ------------------------------------------------------------------------ */

FarStore *far_store_new(Loop *loop, Store *store, FarCounts *counts)
{
    FarStore *far = memory_new(sizeof *far);
    *far = (FarStore){ .base = { .backend = &far_backend, .loop = loop },
                       .loop = loop,
                       .store = store,
                       .counts = counts,
                       .is_closed = true };
    far->messages_end = &far->messages;
    return far;
}

void far_store_free(FarStore *far)
{
    BUG_IF(far->under_way > 0 || far->watches != NULL);
    free(far);
}

Store *far_store_handle(FarStore *far)
{
    return &far->base;
}

static void break_watch(FarStore *far, FarWatch *watch)
{
    Message *message = message_new(far, MESSAGE_BATCH);
    far->counts->broken++;
    error_set(&message->err, ERROR_UNAVAILABLE, "%s", trouble_text(far));
    message->watch = watch;
    message->batch = (StoreBatch){ .err = &message->err };
    int64_t after_ms = watch->last_ms - loop_now_ms(far->loop);
    send_back(far, message, after_ms > 0 ? after_ms : 0);
}

void far_store_trouble(FarStore *far, FarTrouble trouble, int64_t until_ms)
{
    far->trouble = trouble;
    far->stopped_until_ms = trouble == FAR_STOPPED ? until_ms : 0;
    for (FarWatch *watch = trouble == FAR_LOST ? far->watches : NULL; watch != NULL;
         watch = watch->next) {
        break_watch(far, watch);
    }
}

void far_store_cut(FarStore *far, int64_t until_ms)
{
    far->cut_until_ms = until_ms;
}

void far_store_calm(FarStore *far)
{
    far->is_calm = true;
    far->cut_until_ms = far->stopped_until_ms = 0;
    far->trouble = FAR_WELL;
}

Store *far_store_new_steady(Loop *loop, Store *store)
{
    FarStore *far = far_store_new(loop, store, NULL);
    far_store_calm(far);
    far_store_open(far);
    far->is_steady = true;
    return &far->base;
}

void far_store_open(FarStore *far)
{
    far->is_closed = far->base.is_closing = false;
}

void far_store_close(FarStore *far)
{
    far->is_closed = true;
    confirmed_txns_close(&far->base);
    while (far->messages != NULL) {
        Message *message = far->messages;
        bool has_come = message->has_come;
        far->messages = message->next;
        far->messages_end = far->messages == NULL ? &far->messages : far->messages_end;
        far->waiting -= message->kind != MESSAGE_BATCH ? 1 : 0;
        message->far = NULL;
        error_set(&message->err, ERROR_UNAVAILABLE, "the store closes");
        if (message->kind != MESSAGE_BATCH) {
            answer(message);
        }
        if (has_come) {
            message_free(far, message);
        }
    }
}
