#include "etcd/etcd_store.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "etcd/etcd_inner.h"

typedef struct RevisionCall {
    EtcdStore *store;
    int64_t compact_to; /* 0: only queries the revision */
    StoreDone *done;    /* NULL for internal calls */
    void *context;
} RevisionCall;

/* --- Shared ---------------------------------------------------------------------------------- */

bool etcd_admit(EtcdStore *store, size_t bytes, Error *err)
{
    if (store->base.is_closing) {
        return error_set(err, ERROR_UNAVAILABLE, "the store is closing");
    }
    if (store->pending == STORE_PENDING_MAX || store->pending_bytes > STORE_PENDING_BYTES) {
        return error_set(err, ERROR_LIMIT, "too many pending calls to the store");
    }
    store->pending++;
    store->pending_bytes += bytes;
    return true;
}

void etcd_release(EtcdStore *store, size_t bytes)
{
    store->pending--;
    store->pending_bytes -= bytes;
}

void etcd_note_compacted(EtcdStore *store, int64_t revision)
{
    store->compacted = revision > store->compacted ? revision : store->compacted;
}

static void compact(EtcdStore *store, RevisionCall *call);

/* Compacts revisions that are no longer retained. All clients of the cluster try; the first one
 * succeeds. */
static void compact_old(EtcdStore *store)
{
    int64_t now_ms = loop_now_ms(store->base.loop);
    EngineState state = { .revision = store->newest, .compacted = store->compacted };
    history_add_point(&store->history, &state, now_ms);
    if (store->is_compacting || store->base.is_closing) {
        return;
    }
    const HistoryPoint *due = history_due(&store->history, &state, now_ms);
    int64_t to = due == NULL                            ? 0
                 : due->revision < store->held_revision ? due->revision
                                                        : store->held_revision;
    if (to > store->compacted) {
        RevisionCall *call = memory_new(sizeof *call);
        *call = (RevisionCall){ .store = store, .compact_to = to };
        store->is_compacting = true;
        compact(store, call);
    }
}

void etcd_note_revision(EtcdStore *store, int64_t revision)
{
    if (revision > store->newest) {
        store->newest = revision;
        compact_old(store);
    }
}

/* --- Revisions ------------------------------------------------------------------------------- */

static void revision_finish(RevisionCall *call, int64_t revision, const Error *err)
{
    EtcdStore *store = call->store;
    if (call->compact_to > 0 && (err == NULL || err->kind == ERROR_NOT_FOUND)) {
        etcd_note_compacted(store, call->compact_to);
    }
    if (call->done == NULL) {
        store->is_compacting = false;
    } else {
        etcd_release(store, sizeof *call);
        StoreReply reply = { .revision = revision, .succeeded = true };
        call->done(call->context, err == NULL ? &reply : NULL, err);
    }
    free(call);
}

static void revision_received(void *context, Str response, const Error *err)
{
    RevisionCall *call = context;
    EtcdHeader header = { 0 };
    Error invalid;
    if (err == NULL && !etcd_header_decode(response, &header, &invalid)) {
        err = &invalid;
    }
    if (err == NULL) {
        etcd_note_revision(call->store, header.revision);
    }
    revision_finish(call, header.revision, err);
}

static void compact(EtcdStore *store, RevisionCall *call)
{
    AUTO_CLEAR(Buf) request = buf_make(BUF_UNLIMITED);
    etcd_compact_encode(call->compact_to, &request);
    etcd_client_call(store->client, "/etcdserverpb.KV/Compact", buf_str(&request), true,
                     revision_received, call);
}

static RevisionCall *call_new(Store *base, StoreDone *done, void *context, Error *err)
{
    EtcdStore *store = (EtcdStore *)base;
    if (!etcd_admit(store, sizeof(RevisionCall), err)) {
        return NULL;
    }
    RevisionCall *call = memory_new(sizeof *call);
    *call = (RevisionCall){ .store = store, .done = done, .context = context };
    return call;
}

static bool etcd_revision(Store *base, StoreDone *done, void *context, Error *err)
{
    RevisionCall *call = call_new(base, done, context, err);
    if (call == NULL) {
        return false;
    }
    AUTO_CLEAR(Buf) request = buf_make(BUF_UNLIMITED);
    etcd_probe_encode(&request);
    etcd_client_call(call->store->client, "/etcdserverpb.KV/Range", buf_str(&request), false,
                     revision_received, call);
    return true;
}

static bool etcd_compact(Store *base, int64_t revision, StoreDone *done, void *context, Error *err)
{
    RevisionCall *call = call_new(base, done, context, err);
    if (call == NULL) {
        return false;
    }
    call->compact_to = revision;
    compact(call->store, call);
    return true;
}

/* --- Maintenance ----------------------------------------------------------------------------- */

static void etcd_hold(Store *base, int64_t revision)
{
    ((EtcdStore *)base)->held_revision = revision;
}

static StoreStatus etcd_status(const Store *base, bool check_disk)
{
    const EtcdStore *store = (const EtcdStore *)base;
    bool is_ready = etcd_client_is_ready(store->client);
    StoreStatus status = {
        .revision = store->newest,
        .compacted = store->compacted,
        .pending = store->pending,
        .watches = store->watches.count,
        .watches_behind = store->watches.behind_count,
        .condition = is_ready ? STORE_OK : STORE_UNWRITABLE,
        .writable = is_ready,
    };
    if (!is_ready) {
        snprintf(status.reason, sizeof status.reason, "no connection to etcd: %s",
                 etcd_client_last_error(store->client));
    }
    return status;
}

/* --- Lifecycle ------------------------------------------------------------------------------- */

static void ready(void *context, const EtcdHeader *header)
{
    EtcdStore *store = context;
    etcd_note_revision(store, header->revision);
    etcd_watches_ready(store);
    etcd_keep_alives_ready(store);
}

static void lost(void *context)
{
    EtcdStore *store = context;
    etcd_watches_lost(store);
    etcd_keep_alives_lost(store);
}

static void etcd_close(Store *base)
{
    EtcdStore *store = (EtcdStore *)base;
    etcd_watches_clear(store);
    etcd_keep_alives_clear(store);
    etcd_client_free(store->client);
    history_clear(&store->history);
    free(store);
}

static const StoreBackend backend = {
    .is_remote = true,
    .close = etcd_close,
    .txn = etcd_txn,
    .revision = etcd_revision,
    .compact = etcd_compact,
    .lease_grant = etcd_lease_grant,
    .lease_keep_alive = etcd_lease_keep_alive,
    .lease_revoke = etcd_lease_revoke,
    .lease_time_to_live = etcd_lease_time_to_live,
    .lease_list = etcd_lease_list,
    .watch = etcd_watch,
    .watch_ack = etcd_watch_ack,
    .watch_cancel = etcd_watch_cancel,
    .hold = etcd_hold,
    .status = etcd_status,
};

Store *etcd_store_open(Loop *loop, const EtcdStoreOptions *options)
{
    EtcdStore *store = memory_new(sizeof *store);
    store->base = (Store){ .backend = &backend, .loop = loop };
    store->settings = options->settings;
    store->timeout_ms = options->timeout_ms > 0 ? options->timeout_ms : ETCD_TIMEOUT_MS;
    store->held_revision = INT64_MAX;
    StoreSettings *settings = &store->settings;
    settings->progress_ms = settings->progress_ms > 0 ? settings->progress_ms : STORE_PROGRESS_MS;
    store->history = (History){
        .keep_revisions =
            settings->keep_revisions == 0 ? STORE_KEEP_REVISIONS : settings->keep_revisions,
        .keep_bytes = -1, /* not reported by etcd */
        .keep_ms = settings->keep_ms == 0 ? STORE_KEEP_MS : settings->keep_ms,
    };
    store->client = etcd_client_new(&(EtcdClientOptions){ .loop = loop,
                                                          .endpoints = options->endpoints,
                                                          .endpoint_count = options->endpoint_count,
                                                          .tls = options->tls,
                                                          .timeout_ms = store->timeout_ms,
                                                          .ready = ready,
                                                          .lost = lost,
                                                          .context = store });
    etcd_watches_init(store);
    etcd_keep_alives_init(store);
    return &store->base;
}

void etcd_store_set_endpoints(Store *base, const Address *endpoints, uint32_t count)
{
    const EtcdStore *store = (const EtcdStore *)base;
    etcd_client_set_endpoints(store->client, endpoints, count);
}
