/* Watches. One stream follows all keys of the cluster, and its events are passed on from memory.
 * Every revision has events on it, so its progress is known exactly; etcd's own progress
 * notifications are not used, since they may overtake events (before 3.4.25 and 3.5.8). A watch
 * that is behind, because it started in the past or used up its window, is served from recent
 * changes if they go back far enough, otherwise from a second stream, which reads earlier changes
 * for all such watches. Nothing is buffered for a watch but its position.
 *
 * A stream starts one revision early: etcd refuses to start before the compacted revision, but at
 * this revision it silently omits deleted keys. */
#include <stddef.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/memory.h"
#include "base/vec.h"
#include "etcd/etcd_inner.h"
#include "store/request.h"

enum {
    RECENT_BYTES = 8 << 20,
    RECENT_PIECES = 8192,
    NUMBER_MAX = (1 << ID_BITS) - 1,
};

typedef struct RevisionRequest RevisionRequest;

struct EtcdWatch {
    StoreWatch base;
    EtcdStore *store;
    WatchNode node;
    StoreWatchSpec spec;     /* key and end are stored after this struct */
    int64_t next_id;         /* earlier changes have been delivered or are out of its range */
    int64_t target_revision; /* revision up to which it must be served to be up to date */
    uint32_t window;         /* batches that may be delivered now */
    bool is_behind;          /* may have something to deliver */
    bool begun;              /* its start revision was checked */
    bool current;            /* was notified that it is up to date */
    bool progressed;         /* something was delivered since the last check */
    bool note;               /* progress notification is due */
    bool is_ended;
    bool in_callback; /* within its callback */
    bool canceled;    /* during the callback */
    RevisionRequest *revision_request;
    EtcdWatchList *list; /* list that contains it */
    EtcdWatch *next, *previous;
};

/* A request for the current revision, for a watch that starts in the future. */
struct RevisionRequest {
    EtcdStore *store;
    EtcdWatch *watch; /* NULL: canceled */
};

typedef VEC(StoreEvent) Events;

static EtcdWatch *watch_of(WatchNode *node)
{
    return (EtcdWatch *)((char *)node - offsetof(EtcdWatch, node));
}

/* --- Pieces ---------------------------------------------------------------------------------- */

static int64_t last_id(const Piece *piece)
{
    return piece->ids[piece->count - 1];
}

static void piece_free(Piece *piece)
{
    if (piece != NULL) {
        arena_clear(&piece->arena);
        free(piece);
    }
}

static Piece *recent_at(const Recent *recent, uint32_t at)
{
    return recent->pieces[(recent->first + at) & (recent->cap - 1)];
}

static void recent_drop_first(Recent *recent)
{
    Piece *piece = recent_at(recent, 0);
    recent->first = (recent->first + 1) & (recent->cap - 1);
    recent->count--;
    recent->bytes -= piece->arena.chunk_bytes;
    recent->from = id_revision(last_id(piece)) + 1;
    piece_free(piece);
}

static void recent_add(Recent *recent, Piece *piece)
{
    if (recent->count == recent->cap) {
        uint32_t cap = recent->cap == 0 ? 64 : recent->cap * 2;
        Piece **pieces = memory_new(cap * sizeof *pieces);
        for (uint32_t i = 0; i < recent->count; i++) {
            pieces[i] = recent_at(recent, i);
        }
        free(recent->pieces);
        recent->pieces = pieces;
        recent->first = 0;
        recent->cap = cap;
    }
    recent->pieces[(recent->first + recent->count++) & (recent->cap - 1)] = piece;
    recent->bytes += piece->arena.chunk_bytes;
    recent->unreported_id = recent->unreported++ == 0 ? piece->ids[0] : recent->unreported_id;
    while (recent->bytes > RECENT_BYTES || recent->count > RECENT_PIECES) {
        recent_drop_first(recent);
    }
}

/* The first piece with this event or a later one. */
static uint32_t recent_find(const Recent *recent, int64_t id)
{
    uint32_t low = 0, high = recent->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        bool before = last_id(recent_at(recent, middle)) < id;
        *(before ? &low : &high) = before ? middle + 1 : middle;
    }
    return low;
}

/* Resets the recent changes: nothing up to `revision` is included, and there are no later changes
 * yet. */
static void recent_reset(Recent *recent, int64_t revision)
{
    while (recent->count > 0) {
        recent_drop_first(recent);
    }
    recent->unreported = 0;
    recent->received = revision;
    recent->from = revision + 1;
}

/* --- Lists ----------------------------------------------------------------------------------- */

static void list_remove(EtcdWatch *watch)
{
    EtcdWatchList *list = watch->list;
    if (list == NULL) {
        return;
    }
    *(watch->previous == NULL ? &list->first : &watch->previous->next) = watch->next;
    *(watch->next == NULL ? &list->last : &watch->next->previous) = watch->previous;
    watch->list = NULL;
    watch->next = watch->previous = NULL;
}

static void list_add(EtcdWatchList *list, EtcdWatch *watch)
{
    list_remove(watch);
    watch->list = list;
    watch->previous = list->last;
    *(list->last == NULL ? &list->first : &list->last->next) = watch;
    list->last = watch;
}

/* In a later iteration of the loop, so that callbacks never run within a call by their owner. */
static void serve_later(EtcdWatch *watch)
{
    Watches *watches = &watch->store->watches;
    if (!watch->is_ended && watch->revision_request == NULL) {
        list_add(&watches->feed, watch);
        loop_defer(watch->store->base.loop, &watches->feed_task);
    }
}

static void serve_list_later(EtcdWatchList *list)
{
    while (list->first != NULL) {
        serve_later(list->first);
    }
}

/* --- Delivery -------------------------------------------------------------------------------- */

static void set_is_behind(EtcdWatch *watch, bool is_behind)
{
    Watches *watches = &watch->store->watches;
    watches->behind_count += is_behind;
    watches->behind_count -= watch->is_behind;
    watch->is_behind = is_behind;
}

/* Returns false if the watch was canceled in its callback. */
static bool deliver(EtcdWatch *watch, const StoreBatch *batch)
{
    watch->progressed = true;
    watch->in_callback = true;
    watch->spec.done(watch->spec.context, batch);
    watch->in_callback = false;
    if (watch->canceled) {
        free(watch);
        return false;
    }
    return true;
}

static void deliver_resync(EtcdWatch *watch, int64_t compacted)
{
    set_is_behind(watch, false);
    list_remove(watch);
    watch->is_ended = true;
    deliver(watch, &(StoreBatch){ .resync = true,
                                  .compacted = compacted,
                                  .revision = id_revision(watch->next_id) - 1 });
}

/* Events before `next_id`. */
static bool deliver_events(EtcdWatch *watch, const Events *events, int64_t next_id)
{
    watch->next_id = next_id;
    if (events->len == 0) {
        return true;
    }
    watch->window--;
    return deliver(watch, &(StoreBatch){ .events = events->items,
                                         .count = events->len,
                                         .revision = id_revision(next_id) - 1 });
}

/* Notifies that the watch is up to date. */
static void deliver_progress(EtcdWatch *watch)
{
    set_is_behind(watch, false);
    bool due = watch->note || !watch->current;
    watch->note = false;
    watch->current = true;
    if (due) {
        int64_t reported = id_revision(watch->next_id) - 1;
        int64_t received = watch->store->watches.recent.received;
        if (deliver(watch,
                    &(StoreBatch){ .revision = reported > received ? reported : received })) {
            watch->progressed = false;
        }
    }
}

/* Adds events of the piece from the position of the watch, up to `revision`. Returns the id of the
 * first one that does not fit, or 0. */
static int64_t collect(const EtcdWatch *watch, const Piece *piece, int64_t revision, Events *events,
                       size_t *bytes)
{
    for (uint32_t i = 0; i < piece->count; i++) {
        const StoreEvent *event = &piece->events[i];
        int64_t id = piece->ids[i];
        if (id < watch->next_id || id_revision(id) > revision ||
            !range_has(watch->spec.key, watch->spec.end, event->kv.key)) {
            continue;
        }
        if (events->len == STORE_BATCH_EVENTS || *bytes >= STORE_BATCH_BYTES) {
            return id;
        }
        StoreEvent copy = *event;
        if (!watch->spec.previous) {
            copy.has_previous = false;
            copy.previous = (StoreKv){ 0 };
        }
        VEC_PUSH(&watch->store->watches.arena, events, copy);
        *bytes += copy.kv.key.len + copy.kv.value.len + copy.previous.value.len;
    }
    return 0;
}

/* A batch of recent changes. */
static bool deliver_recent(EtcdWatch *watch)
{
    Watches *watches = &watch->store->watches;
    const Recent *recent = &watches->recent;
    Events events = { 0 };
    size_t bytes = 0;
    int64_t stop = 0;
    arena_reset(&watches->arena);
    for (uint32_t i = recent_find(recent, watch->next_id); i < recent->count && stop == 0; i++) {
        stop = collect(watch, recent_at(recent, i), recent->received, &events, &bytes);
    }
    return deliver_events(watch, &events, stop != 0 ? stop : id_make(recent->received + 1, 0));
}

/* A batch of earlier changes. */
static bool deliver_past(EtcdWatch *watch)
{
    Watches *watches = &watch->store->watches;
    Events events = { 0 };
    size_t bytes = 0;
    arena_reset(&watches->arena);
    int64_t stop = collect(watch, watches->piece, INT64_MAX, &events, &bytes);
    return deliver_events(watch, &events, stop != 0 ? stop : watches->log.next_id);
}

static bool has_piece_for(const Watches *watches, const EtcdWatch *watch)
{
    return watches->piece != NULL && watch->next_id >= watches->piece_from_id &&
           watch->next_id < watches->log.next_id;
}

static void request_revision(EtcdWatch *watch);

/* For a new watch: whether it can be served from its start. */
static bool begin(EtcdWatch *watch)
{
    EtcdStore *store = watch->store;
    int64_t from = watch->spec.from;
    if (watch->begun) {
        return true;
    }
    if (from != 0 && from <= store->compacted) {
        deliver_resync(watch, store->compacted);
        return false;
    }
    if (from > store->newest + 1) {
        request_revision(watch);
        return false;
    }
    watch->begun = true;
    if (watch->next_id == 0) {
        watch->next_id = id_make(store->newest + 1, 0);
    }
    watch->target_revision = store->newest;
    return true;
}

static void serve(EtcdWatch *watch)
{
    EtcdStore *store = watch->store;
    Watches *watches = &store->watches;
    const Recent *recent = &watches->recent;
    if (recent->received == 0) {
        list_add(&watches->syncing, watch); /* for a connection */
        return;
    }
    if (!begin(watch)) {
        return;
    }
    while (watch->is_behind && watch->window > 0 &&
           id_revision(watch->next_id) <= recent->received) {
        bool is_open;
        if (id_revision(watch->next_id) >= recent->from) {
            is_open = deliver_recent(watch);
        } else if (has_piece_for(watches, watch)) {
            is_open = deliver_past(watch);
        } else if (id_revision(watch->next_id) <= store->compacted) {
            deliver_resync(watch, store->compacted);
            return;
        } else {
            list_add(&watches->wait, watch);
            return;
        }
        if (!is_open) {
            return;
        }
    }
    bool is_done = id_revision(watch->next_id) > recent->received;
    if (is_done && recent->received < watch->target_revision) {
        list_add(&watches->syncing, watch);
    } else if (is_done || (!watch->is_behind && watch->note)) {
        deliver_progress(watch);
    }
}

/* --- The current revision -------------------------------------------------------------------- */

static void revision_received(void *context, Str response, const Error *err)
{
    RevisionRequest *revision_request = context;
    EtcdWatch *watch = revision_request->watch;
    EtcdStore *store = revision_request->store;
    EtcdHeader header;
    Error invalid;
    free(revision_request);
    if (watch == NULL) {
        return;
    }
    watch->revision_request = NULL;
    if (err != NULL || !etcd_header_decode(response, &header, &invalid)) {
        serve_later(watch); /* retried with the next connection */
        return;
    }
    etcd_note_revision(store, header.revision);
    if (watch->spec.from > store->newest + 1) {
        deliver_resync(watch, store->newest);
    } else {
        serve_later(watch);
    }
}

static void request_revision(EtcdWatch *watch)
{
    RevisionRequest *revision_request = memory_new(sizeof *revision_request);
    *revision_request = (RevisionRequest){ watch->store, watch };
    watch->revision_request = revision_request;
    AUTO_CLEAR(Buf) request = buf_make(BUF_UNLIMITED);
    etcd_probe_encode(&request);
    etcd_client_call(watch->store->client, "/etcdserverpb.KV/Range", buf_str(&request), false,
                     revision_received, revision_request);
}

/* --- Streams --------------------------------------------------------------------------------- */

static void upstream_stop(Upstream *upstream)
{
    GrpcCall *call = TAKE(upstream->call);
    if (call != NULL) {
        grpc_call_cancel(call);
    }
}

static void upstream_start(EtcdStore *store, Upstream *upstream, const GrpcHandler *handler,
                           int64_t start_revision)
{
    AUTO_CLEAR(Buf) request = buf_make(BUF_UNLIMITED);
    Error err;
    upstream->revision = 0;
    etcd_watch_encode(start_revision < 1 ? 1 : start_revision, &request);
    if (etcd_client_stream(store->client, "/etcdserverpb.Watch/Watch", handler, store,
                           &upstream->call, &err) &&
        !grpc_call_send(upstream->call, buf_str(&request), &err)) {
        upstream_stop(upstream); /* the connection is about to be replaced */
    }
}

/* The new events of a response; NULL: none. */
static Piece *upstream_receive(Upstream *upstream, Piece *piece, const EtcdWatchReply *reply)
{
    int64_t *ids = ARENA_ARRAY(&piece->arena, int64_t, reply->count);
    uint32_t known = 0;
    for (uint32_t i = 0; i < reply->count; i++) {
        int64_t revision = reply->events[i].kv.mod_revision;
        bool is_same = revision == upstream->revision;
        upstream->number = !is_same                        ? 0
                           : upstream->number < NUMBER_MAX ? upstream->number + 1
                                                           : NUMBER_MAX;
        upstream->revision = revision;
        ids[i] = id_make(revision, upstream->number);
        known += ids[i] < upstream->next_id;
    }
    piece->events = reply->events + known;
    piece->ids = ids + known;
    piece->count = reply->count - known;
    if (piece->count > 0) {
        upstream->next_id = last_id(piece) + 1;
    }
    if (!reply->is_fragment && upstream->revision >= id_revision(upstream->next_id)) {
        upstream->next_id = id_make(upstream->revision + 1, 0);
    }
    if (piece->count == 0) {
        piece_free(piece);
        return NULL;
    }
    return piece;
}

/* Decodes a response of a stream. Returns NULL if that failed, or the stream was canceled; then it
 * is stopped. */
static Piece *upstream_decode(EtcdStore *store, Upstream *upstream, Str message,
                              EtcdWatchReply *reply)
{
    Piece *piece = memory_new(sizeof *piece);
    EtcdHeader header;
    Error err;
    arena_init(&piece->arena, ARENA_UNLIMITED);
    bool ok = etcd_watch_decode(&piece->arena, message, &header, reply, &err);
    if (ok) {
        etcd_note_revision(store, header.revision);
    }
    if (ok && !reply->is_canceled && reply->compacted == 0) {
        return piece;
    }
    int64_t compacted = ok ? reply->compacted : 0;
    if (ok && compacted == 0) {
        error_set(&err, ERROR_UNAVAILABLE, "the watch was canceled: %s", reply->reason);
    }
    upstream_stop(upstream);
    if (compacted > 0) {
        etcd_note_compacted(store, compacted);
    } else {
        etcd_client_report_failure(store->client, &err);
    }
    piece_free(piece);
    return NULL;
}

static void stream_ended(EtcdStore *store, Upstream *upstream, Str text)
{
    Error err;
    upstream->call = NULL;
    error_set(&err, ERROR_UNAVAILABLE, "%" STR_FMT, STR_ARG(text));
    etcd_client_report_failure(store->client, &err);
}

/* --- Earlier changes -------------------------------------------------------------------------- */

static void log_drop_piece(Watches *watches)
{
    piece_free(watches->piece);
    watches->piece = NULL;
}

static void log_stop(Watches *watches)
{
    upstream_stop(&watches->log);
    log_drop_piece(watches);
}

static void log_message(GrpcCall *call, Str message)
{
    EtcdStore *store = grpc_call_data(call);
    Watches *watches = &store->watches;
    EtcdWatchReply reply;
    int64_t from_id = watches->log.next_id;
    Piece *piece = upstream_decode(store, &watches->log, message, &reply);
    if (piece == NULL) {
        /* Watches that need compacted revisions get an error. */
        serve_list_later(&watches->wait);
        return;
    }
    watches->piece = upstream_receive(&watches->log, piece, &reply);
    watches->piece_from_id = from_id;
    if (watches->piece != NULL) {
        grpc_call_pause(call);
        serve_list_later(&watches->wait);
    }
}

static void log_ended(GrpcCall *call, GrpcStatus status, Str text)
{
    EtcdStore *store = grpc_call_data(call);
    stream_ended(store, &store->watches.log, text);
}

/* After the piece was delivered to all watches: continues with the next piece, restarts at another
 * revision, or stops. */
static void log_continue(EtcdStore *store)
{
    static const GrpcHandler handler = { .message = log_message, .ended = log_ended };
    Watches *watches = &store->watches;
    bool continues = false;
    int64_t first_id = INT64_MAX;
    for (const EtcdWatch *watch = watches->wait.first; watch != NULL; watch = watch->next) {
        continues |= watch->next_id >= watches->log.next_id;
        first_id = watch->next_id < first_id ? watch->next_id : first_id;
    }
    if (watches->wait.first == NULL) {
        log_stop(watches);
    } else if (watches->log.call != NULL && continues) {
        if (watches->piece != NULL) {
            log_drop_piece(watches);
            grpc_call_resume(watches->log.call);
        }
    } else {
        log_stop(watches);
        watches->log.next_id = first_id;
        upstream_start(store, &watches->log, &handler, id_revision(first_id) - 1);
    }
}

static void serve_all(void *context)
{
    EtcdStore *store = context;
    for (EtcdWatch *watch; (watch = store->watches.feed.first) != NULL;) {
        list_remove(watch);
        serve(watch);
    }
    log_continue(store);
}

/* --- Recent changes --------------------------------------------------------------------------- */

static void touch(WatchNode *node, void *context)
{
    EtcdWatch *watch = watch_of(node);
    const int64_t *id = context;
    /* A watch that is behind is served later; others have already received it. */
    if (watch->is_ended || watch->is_behind || *id < watch->next_id) {
        return;
    }
    watch->next_id = *id;
    set_is_behind(watch, true);
    serve_later(watch);
}

static void touch_all(WatchNode *node, int64_t id)
{
    if (node != NULL) {
        touch_all(node->left, id);
        touch(node, &id);
        touch_all(node->right, id);
    }
}

/* All events received so far are of complete revisions. */
static void report_to_watches(Watches *watches)
{
    Recent *recent = &watches->recent;
    if (recent->unreported > recent->count) {
        touch_all(watches->root, recent->unreported_id); /* they did not fit into memory */
    } else {
        for (uint32_t i = recent->count - recent->unreported; i < recent->count; i++) {
            const Piece *piece = recent_at(recent, i);
            for (uint32_t j = 0; j < piece->count; j++) {
                int64_t id = piece->ids[j];
                watch_index_find(watches->root, piece->events[j].kv.key, touch, &id);
            }
        }
    }
    recent->unreported = 0;
    serve_list_later(&watches->syncing);
}

static void live_start(EtcdStore *store, int64_t start_revision);

/* Changes were compacted before they were received: every watch has missed them. */
static void live_compacted(EtcdStore *store)
{
    Watches *watches = &store->watches;
    touch_all(watches->root, watches->live.next_id);
    recent_reset(&watches->recent, store->newest);
    watches->live.next_id = id_make(store->newest + 1, 0);
    serve_list_later(&watches->syncing);
    live_start(store, store->newest + 1);
}

static void live_message(GrpcCall *call, Str message)
{
    EtcdStore *store = grpc_call_data(call);
    Watches *watches = &store->watches;
    EtcdWatchReply reply;
    Piece *piece = upstream_decode(store, &watches->live, message, &reply);
    if (piece == NULL) {
        if (etcd_client_is_ready(store->client)) {
            live_compacted(store);
        }
        return;
    }
    piece = upstream_receive(&watches->live, piece, &reply);
    if (piece != NULL) {
        recent_add(&watches->recent, piece);
    }
    int64_t complete = id_revision(watches->live.next_id) - 1;
    if (complete > watches->recent.received) {
        watches->recent.received = complete;
    }
    if (!reply.is_fragment) {
        report_to_watches(watches);
    }
}

static void live_ended(GrpcCall *call, GrpcStatus status, Str text)
{
    EtcdStore *store = grpc_call_data(call);
    stream_ended(store, &store->watches.live, text);
}

static void live_start(EtcdStore *store, int64_t start_revision)
{
    static const GrpcHandler handler = { .message = live_message, .ended = live_ended };
    upstream_start(store, &store->watches.live, &handler, start_revision);
}

void etcd_watches_ready(EtcdStore *store)
{
    Watches *watches = &store->watches;
    int64_t start = id_revision(watches->live.next_id) - 1;
    if (watches->recent.received == 0) {
        recent_reset(&watches->recent, store->newest);
        watches->live.next_id = id_make(store->newest + 1, 0);
        start = store->newest + 1;
        serve_list_later(&watches->syncing);
    }
    live_start(store, start);
    loop_defer(store->base.loop, &watches->feed_task);
}

void etcd_watches_lost(EtcdStore *store)
{
    upstream_stop(&store->watches.live);
    log_stop(&store->watches);
}

/* --- Calls ----------------------------------------------------------------------------------- */

bool etcd_watch(Store *base, const StoreWatchSpec *spec, StoreWatch **out, Error *err)
{
    EtcdStore *store = (EtcdStore *)base;
    Watches *watches = &store->watches;
    if (base->is_closing) {
        return error_set(err, ERROR_UNAVAILABLE, "the store is closing");
    }
    /* After the struct: the key, a NUL that turns it into the end of its own range, the end. */
    size_t room = spec->key.len + 1 + spec->end.len;
    EtcdWatch *watch = memory_new(sizeof *watch + room);
    char *text = (char *)(watch + 1);
    memcpy(text, spec->key.data, spec->key.len);
    char *end = text + spec->key.len + 1;
    if (spec->end.len > 0) {
        memcpy(end, spec->end.data, spec->end.len);
    }
    watch->base.store = base;
    watch->store = store;
    watch->spec = *spec;
    watch->spec.key = watch->node.key = str_from(text, spec->key.len);
    watch->spec.end = str_from(end, spec->end.len);
    watch->node.end = spec->end.len == 0             ? str_from(text, spec->key.len + 1)
                      : str_eq(spec->end, STORE_ALL) ? STR_EMPTY
                                                     : watch->spec.end;
    watch->window = spec->window == 0 ? 1 : spec->window;
    watch->node.number = watches->created_count++;
    watch->node.priority = loop_random(base->loop);
    /* Before the first response, the next revision is the one after it; no write is sent
     * earlier. */
    int64_t from = spec->from != 0 ? spec->from : store->newest == 0 ? 0 : store->newest + 1;
    watch->next_id = id_make(from, 0);
    watches->count++;
    set_is_behind(watch, true);
    watch_index_add(&watches->root, &watch->node);
    if (watches->count == 1) {
        loop_timer_start(&watches->progress, store->settings.progress_ms);
    }
    serve_later(watch);
    *out = &watch->base;
    return true;
}

void etcd_watch_ack(StoreWatch *base)
{
    EtcdWatch *watch = (EtcdWatch *)base;
    watch->window++;
    if (watch->is_behind && !watch->in_callback) {
        serve_later(watch);
    }
}

void etcd_watch_cancel(StoreWatch *base)
{
    EtcdWatch *watch = (EtcdWatch *)base;
    Watches *watches = &watch->store->watches;
    BUG_IF(watch->canceled);
    list_remove(watch);
    set_is_behind(watch, false);
    watch->is_ended = true;
    watch_index_remove(&watches->root, &watch->node);
    if (watch->revision_request != NULL) {
        watch->revision_request->watch = NULL;
        watch->revision_request = NULL;
    }
    if (--watches->count == 0) {
        loop_timer_stop(&watches->progress);
    }
    if (watch->in_callback) {
        watch->canceled = true;
    } else {
        free(watch);
    }
}

static void note_all(WatchNode *node)
{
    if (node == NULL) {
        return;
    }
    EtcdWatch *watch = watch_of(node);
    if (!watch->progressed && !watch->is_behind && !watch->is_ended) {
        watch->note = true;
        serve_later(watch);
    }
    watch->progressed = false;
    note_all(node->left);
    note_all(node->right);
}

static void progress(void *context)
{
    EtcdStore *store = context;
    note_all(store->watches.root);
    loop_timer_start(&store->watches.progress, store->settings.progress_ms);
}

void etcd_watches_init(EtcdStore *store)
{
    Watches *watches = &store->watches;
    arena_init(&watches->arena, ARENA_UNLIMITED);
    loop_task_init(&watches->feed_task, serve_all, store);
    loop_timer_init(&watches->progress, store->base.loop, progress, store);
}

void etcd_watches_clear(EtcdStore *store)
{
    Watches *watches = &store->watches;
    BUG_IF(watches->count > 0);
    etcd_watches_lost(store);
    loop_timer_stop(&watches->progress);
    loop_task_stop(store->base.loop, &watches->feed_task);
    recent_reset(&watches->recent, 0);
    free(watches->recent.pieces);
    arena_clear(&watches->arena);
}
