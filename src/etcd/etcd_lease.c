/* Leases. All keep-alives share one stream, on which a member responds in order. Those without a
 * response are sent again on the next stream. */
#include <stdlib.h>

#include "base/memory.h"
#include "etcd/etcd_inner.h"

typedef struct LeaseCall {
    EtcdStore *store;
    int64_t id;
    StoreLeaseDone *done; /* one of these */
    StoreLeasesDone *list_done;
    void *context;
} LeaseCall;

struct KeepAlive {
    KeepAlive *next;
    int64_t id;
    int64_t deadline_ms;
    StoreLeaseDone *done;
    void *context;
};

/* --- Calls ----------------------------------------------------------------------------------- */

static LeaseCall *call_new(Store *base, int64_t id, StoreLeaseDone *done, void *context, Error *err)
{
    EtcdStore *store = (EtcdStore *)base;
    if (!etcd_admit(store, sizeof(LeaseCall), err)) {
        return NULL;
    }
    LeaseCall *call = memory_new(sizeof *call);
    *call = (LeaseCall){ .store = store, .id = id, .done = done, .context = context };
    return call;
}

static void finish(LeaseCall *call, const StoreLease *lease, const Error *err)
{
    etcd_release(call->store, sizeof *call);
    call->done(call->context, err == NULL ? lease : NULL, err);
    free(call);
}

static bool not_found(Error *err, int64_t id)
{
    return error_set(err, ERROR_NOT_FOUND, "no such lease: %lld", (long long)id);
}

static void granted(void *context, Str response, const Error *err)
{
    LeaseCall *call = context;
    EtcdHeader header;
    StoreLease lease = { 0 };
    Error invalid;
    if (err == NULL && !etcd_lease_decode(response, &header, &lease, &invalid)) {
        err = &invalid;
    }
    if (err == NULL) {
        etcd_note_revision(call->store, header.revision);
    }
    finish(call, &lease, err);
}

bool etcd_lease_grant(Store *store, const StoreLeaseGrant *grant, StoreLeaseDone *done,
                      void *context, Error *err)
{
    LeaseCall *call = call_new(store, grant->id, done, context, err);
    if (call == NULL) {
        return false;
    }
    AUTO_CLEAR(Buf) request = buf_make(BUF_UNLIMITED);
    etcd_lease_grant_encode(grant->ttl_s, grant->id, &request);
    etcd_client_call(call->store->client, "/etcdserverpb.Lease/LeaseGrant", buf_str(&request), true,
                     granted, call);
    return true;
}

static void revoked(void *context, Str response, const Error *err)
{
    LeaseCall *call = context;
    EtcdHeader header;
    Error invalid;
    if (err == NULL && !etcd_header_decode(response, &header, &invalid)) {
        err = &invalid;
    }
    StoreLease lease = { .id = call->id };
    if (err == NULL) {
        etcd_note_revision(call->store, header.revision);
        lease.revision = header.revision;
    }
    finish(call, &lease, err);
}

static bool start(LeaseCall *call, const char *path, bool keys, bool writes, EtcdCallDone *done)
{
    if (call == NULL) {
        return false;
    }
    AUTO_CLEAR(Buf) request = buf_make(BUF_UNLIMITED);
    etcd_lease_encode(call->id, keys, &request);
    etcd_client_call(call->store->client, path, buf_str(&request), writes, done, call);
    return true;
}

bool etcd_lease_revoke(Store *store, int64_t id, StoreLeaseDone *done, void *context, Error *err)
{
    return start(call_new(store, id, done, context, err), "/etcdserverpb.Lease/LeaseRevoke", false,
                 true, revoked);
}

static void revision_received(void *context, Str response, const Error *err)
{
    LeaseCall *call = context;
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    EtcdHeader header;
    StoreLease lease = { 0 };
    Error invalid;
    if (err == NULL && !etcd_time_to_live_decode(&arena, response, &header, &lease, &invalid)) {
        err = &invalid;
    }
    if (err == NULL) {
        etcd_note_revision(call->store, header.revision);
        if (lease.remaining_s < 0) {
            not_found(&invalid, call->id);
            err = &invalid;
        }
    }
    finish(call, &lease, err);
}

bool etcd_lease_time_to_live(Store *store, int64_t id, bool keys, StoreLeaseDone *done,
                             void *context, Error *err)
{
    return start(call_new(store, id, done, context, err), "/etcdserverpb.Lease/LeaseTimeToLive",
                 keys, false, revision_received);
}

static void finish_list(LeaseCall *call, const int64_t *ids, uint32_t count, const Error *err)
{
    etcd_release(call->store, sizeof *call);
    call->list_done(call->context, err == NULL ? ids : NULL, count, err);
    free(call);
}

static void listed(void *context, Str response, const Error *err)
{
    LeaseCall *call = context;
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    EtcdHeader header;
    const int64_t *ids = NULL;
    uint32_t count = 0;
    Error invalid;
    if (err == NULL && !etcd_leases_decode(&arena, response, &header, &ids, &count, &invalid)) {
        err = &invalid;
    }
    finish_list(call, ids, count, err);
}

static void caught_up(void *context, Str response, const Error *err)
{
    LeaseCall *call = context;
    if (err != NULL) {
        finish_list(call, NULL, 0, err);
        return;
    }
    AUTO_CLEAR(Buf) request = buf_make(BUF_UNLIMITED);
    etcd_empty_encode(&request);
    etcd_client_call(call->store->client, "/etcdserverpb.Lease/LeaseLeases", buf_str(&request),
                     false, listed, call);
}

/* A member only lists leases that it has already applied. The preceding linearizable read makes it
 * catch up. */
bool etcd_lease_list(Store *store, StoreLeasesDone *done, void *context, Error *err)
{
    LeaseCall *call = call_new(store, 0, NULL, context, err);
    if (call == NULL) {
        return false;
    }
    call->list_done = done;
    AUTO_CLEAR(Buf) request = buf_make(BUF_UNLIMITED);
    etcd_probe_encode(&request);
    etcd_client_call(call->store->client, "/etcdserverpb.KV/Range", buf_str(&request), false,
                     caught_up, call);
    return true;
}

/* --- Keep-alives ----------------------------------------------------------------------------- */

/* Removes the first one. */
static void conclude_first(EtcdStore *store, const StoreLease *lease, const Error *err)
{
    KeepAlives *all = &store->keep_alives;
    KeepAlive *alive = all->first;
    all->first = alive->next;
    all->last = all->first == NULL ? NULL : all->last;
    all->unsent = all->unsent == alive ? alive->next : all->unsent;
    etcd_release(store, sizeof *alive);
    alive->done(alive->context, lease, err);
    free(alive);
}

static void arm_expire(EtcdStore *store)
{
    KeepAlives *all = &store->keep_alives;
    if (all->first == NULL) {
        loop_timer_stop(&all->expire);
    } else if (!loop_timer_started(&all->expire)) {
        loop_timer_start(&all->expire, all->first->deadline_ms - loop_now_ms(store->base.loop));
    }
}

/* Drops the stream: its responses would belong to calls that no longer exist. */
static void drop_stream(EtcdStore *store)
{
    KeepAlives *all = &store->keep_alives;
    GrpcCall *call = TAKE(all->call);
    if (call != NULL) {
        grpc_call_cancel(call);
    }
    all->unsent = all->first;
}

static void expire(void *context)
{
    EtcdStore *store = context;
    KeepAlives *all = &store->keep_alives;
    int64_t now = loop_now_ms(store->base.loop);
    bool is_late = all->first != NULL && all->first->deadline_ms <= now;
    Error err;
    error_set(&err, ERROR_UNKNOWN, "etcd did not confirm that the lease is kept alive: %s",
              etcd_client_last_error(store->client));
    while (all->first != NULL && all->first->deadline_ms <= now) {
        conclude_first(store, NULL, &err);
    }
    if (is_late) {
        drop_stream(store);
        error_set(&err, ERROR_UNAVAILABLE, "no response to keep-alives");
        etcd_client_report_failure(store->client, &err);
    }
    arm_expire(store);
}

static void keep_alive_received(GrpcCall *stream, Str message)
{
    EtcdStore *store = grpc_call_data(stream);
    KeepAlives *all = &store->keep_alives;
    EtcdHeader header;
    StoreLease lease;
    Error err;
    if (all->first == all->unsent || !etcd_lease_decode(message, &header, &lease, &err) ||
        lease.id != all->first->id) {
        error_set(&err, ERROR_INVALID,
                  "a keep-alive response from etcd does not match the request");
        drop_stream(store);
        etcd_client_report_failure(store->client, &err);
        return;
    }
    etcd_note_revision(store, header.revision);
    if (lease.remaining_s <= 0) {
        not_found(&err, lease.id);
        conclude_first(store, NULL, &err);
    } else {
        conclude_first(store, &lease, NULL);
    }
}

static void stream_ended(GrpcCall *stream, GrpcStatus status, Str text)
{
    EtcdStore *store = grpc_call_data(stream);
    Error err;
    store->keep_alives.call = NULL;
    store->keep_alives.unsent = store->keep_alives.first;
    error_set(&err, ERROR_UNAVAILABLE, "%" STR_FMT, STR_ARG(text));
    etcd_client_report_failure(store->client, &err);
}

static void send_unsent(EtcdStore *store)
{
    KeepAlives *all = &store->keep_alives;
    AUTO_CLEAR(Buf) request = buf_make(BUF_UNLIMITED);
    Error err;
    for (; all->unsent != NULL; all->unsent = all->unsent->next) {
        buf_reset(&request);
        etcd_lease_encode(all->unsent->id, false, &request);
        if (!grpc_call_send(all->call, buf_str(&request), &err)) {
            return; /* `writable` or `ended` follows */
        }
    }
}

static void writable(GrpcCall *stream)
{
    send_unsent(grpc_call_data(stream));
}

static void send_all(EtcdStore *store)
{
    static const GrpcHandler handler = { .message = keep_alive_received,
                                         .writable = writable,
                                         .ended = stream_ended };
    KeepAlives *all = &store->keep_alives;
    Error err;
    if (all->unsent == NULL || !etcd_client_is_ready(store->client)) {
        return;
    }
    if (all->call == NULL &&
        !etcd_client_stream(store->client, "/etcdserverpb.Lease/LeaseKeepAlive", &handler, store,
                            &all->call, &err)) {
        return; /* the connection is about to be replaced */
    }
    send_unsent(store);
}

bool etcd_lease_keep_alive(Store *base, int64_t id, StoreLeaseDone *done, void *context, Error *err)
{
    EtcdStore *store = (EtcdStore *)base;
    KeepAlives *all = &store->keep_alives;
    if (!etcd_admit(store, sizeof(KeepAlive), err)) {
        return false;
    }
    KeepAlive *alive = memory_new(sizeof *alive);
    *alive = (KeepAlive){ .id = id,
                          .deadline_ms = loop_now_ms(base->loop) + store->timeout_ms,
                          .done = done,
                          .context = context };
    *(all->first == NULL ? &all->first : &all->last->next) = alive;
    all->last = alive;
    all->unsent = all->unsent == NULL ? alive : all->unsent;
    arm_expire(store);
    send_all(store);
    return true;
}

void etcd_keep_alives_init(EtcdStore *store)
{
    loop_timer_init(&store->keep_alives.expire, store->base.loop, expire, store);
}

void etcd_keep_alives_ready(EtcdStore *store)
{
    send_all(store);
}

void etcd_keep_alives_lost(EtcdStore *store)
{
    drop_stream(store);
}

void etcd_keep_alives_clear(EtcdStore *store)
{
    const Error closing = { ERROR_UNAVAILABLE, "the store is closing" };
    loop_timer_stop(&store->keep_alives.expire);
    drop_stream(store);
    while (store->keep_alives.first != NULL) {
        conclude_first(store, NULL, &closing);
    }
}
