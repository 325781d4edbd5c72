/* Watches of objects. A watch joins the feed of its kind, then reads the current objects
 * (InitialRead) while the feed already delivers changes. The initial read skips objects that the
 * feed has reported in the meantime, since the feed's state is newer.
 *
 * A client that resumes gets the objects that changed since its last event, according to the
 * history of the store, or everything again if the history is too short. */
#include "api/object_watch.h"

#include <stdlib.h>

#include "api/api_inner.h"
#include "api/feed.h"
#include "base/log.h"
#include "base/memory.h"
#include "cluster/name_table.h"
#include "cluster/object_selector.h"

enum {
    PAGE = 100,           /* objects per page */
    RESUME_MAX = 1000,    /* changes since the last event; beyond that everything is sent again */
    SLOW_MAX = 256 << 10, /* unsent bytes after which the peer is dropped */
    HEARTBEAT_MS = 10000, /* without an event; then the next tick of the feed sends a heartbeat */
};

typedef struct ObjectWatch ObjectWatch;

/* A name with a revision or number. */
typedef struct NamedRevision {
    TableName name;
    int64_t revision;
} NamedRevision;

typedef struct HistorySource {
    struct InitialRead *initial;
    StoreWatch *watch;
} HistorySource;

/* The initial read. Outlives the watch while a read is in progress. */
typedef struct InitialRead {
    ObjectWatch *watch; /* NULL: the peer has disconnected */
    Loop *loop;
    Arena arena; /* for one read */
    Buf after;   /* start of the next page, or name of the changed object being read */
    bool is_reading, is_resuming;
    bool is_waiting; /* waiting for the peer to consume data */
    bool is_last;
    LoopTask next_read; /* one per loop iteration, since there may be many */
    NameTable reported; /* reported by the feed in the meantime */
    NameTable changed; /* changed since the resume point; for a log also reported in the meantime */
    HistorySource sources[FEED_SOURCES_MAX];
    uint32_t sources_open;
} InitialRead;

struct ObjectWatch {
    FeedMember member;
    ApiCall *call;
    const Kind *kind;
    WatchFormat format;
    Arena arena; /* for the next two fields */
    Str name;    /* of a single object; empty: all */
    const Selector *selector;
    int64_t from;         /* 0: from the start */
    int64_t last;         /* logs: last entry sent */
    int64_t sent_ms;      /* time of the last event */
    size_t page;          /* size of the last page, in addition to SLOW_MAX */
    InitialRead *initial; /* NULL: up to date */
    /* objects read for this peer in a state that the feed has not reported yet */
    NameTable ahead;
};

/* --- Names ----------------------------------------------------------------------------------- */

static void names_put(NameTable *table, Str name, int64_t revision)
{
    NamedRevision *item = memory_new(sizeof *item);
    item->revision = revision;
    if (name.len > TABLE_NAME_MAX) {
        free(item);
        return;
    }
    memcpy(item->name.text, name.data, name.len);
    free(name_table_put(table, item));
}

/* The number of a log entry, which is its name. */
static int64_t parse_sequence(Str name)
{
    int64_t number;
    return str_to_i64(name, &number) ? number : 0;
}

static void names_clear(NameTable *table)
{
    for (uint32_t i = 0; i < table->count; i++) {
        free(table->items[i]);
    }
    name_table_clear(table);
}

/* --- Teardown -------------------------------------------------------------------------------- */

static void stop_sources(InitialRead *initial)
{
    for (uint32_t i = 0; i < FEED_SOURCES_MAX; i++) {
        store_watch_cancel(TAKE(initial->sources[i].watch));
    }
    initial->sources_open = 0;
}

static void initial_free(InitialRead *initial)
{
    stop_sources(initial);
    loop_task_stop(initial->loop, &initial->next_read);
    arena_clear(&initial->arena);
    buf_clear(&initial->after);
    names_clear(&initial->reported);
    names_clear(&initial->changed);
    free(initial);
}

static void watch_free(ObjectWatch *watch)
{
    InitialRead *initial = watch->initial;
    feed_leave(&watch->member);
    if (initial != NULL && initial->is_reading) {
        stop_sources(initial);
        initial->watch = NULL;
    } else if (initial != NULL) {
        initial_free(initial);
    }
    names_clear(&watch->ahead);
    arena_clear(&watch->arena);
    free(watch);
}

static void on_closed(void *context)
{
    watch_free(context);
}

/* Aborts the stream; the client will resume. */
static void drop(ObjectWatch *watch)
{
    ApiCall *call = watch->call;
    watch_free(watch);
    call_abort(call);
}

/* --- Sending --------------------------------------------------------------------------------- */

/* Returns false if the peer was too slow and the watch was freed. */
MUST_CHECK static bool send_event(ObjectWatch *watch, Str event)
{
    if (http_request_unsent(watch->call->request) > SLOW_MAX + watch->page) {
        drop(watch);
        return false;
    }
    watch->sent_ms = loop_now_ms(call_store(watch->call)->loop);
    call_send_chunk(watch->call, event);
    return true;
}

static bool is_visible(const ObjectWatch *watch, const KindItem *item)
{
    return (watch->name.len == 0 || str_eq(watch->name, item->name)) &&
           object_selector_matches(watch->selector, item->name, item->labels) &&
           call_may_see(watch->call, item);
}

/* Whether the peer was sent the object before. */
static bool was_sent(const ObjectWatch *watch, const FeedChange *change)
{
    KindItem before = { .name = change->name,
                        .labels = change->old_labels,
                        .labels_unreadable = change->had_hidden_labels };
    return change->existed && is_visible(watch, &before);
}

static void put_object(ObjectWatch *watch, Arena *arena, Buf *out, WatchType type,
                       const KindItem *item)
{
    Buf json = buf_make_in(arena, BUF_UNLIMITED);
    object_print(arena, &json, watch->kind, item);
    watch_event_put(out, watch->format, type, item->revision, false, buf_str(&json));
    if (watch->kind->is_log) {
        watch->last = parse_sequence(item->name);
    } else if (!feed_has(watch->member.feed, item->name, item->revision)) {
        names_put(&watch->ahead, item->name, item->revision);
    }
}

/* Logs: each entry once, in order. */
static void on_log_entry(ObjectWatch *watch, FeedChange *change)
{
    InitialRead *initial = watch->initial;
    int64_t number = parse_sequence(change->name);
    if (number <= watch->last || change->item == NULL) {
        return;
    }
    if (initial == NULL) {
        watch->last = number;
        if (is_visible(watch, change->item)) {
            (void)!send_event(watch, feed_change_frame(change, watch->format, WATCH_ADDED));
        }
        return;
    }
    /* Sent after the initial read. */
    names_put(&initial->changed, change->name, number);
    if (initial->changed.count > RESUME_MAX) {
        drop(watch); /* too slow; the client will reconnect */
    }
}

static void on_changed(void *context, FeedChange *change)
{
    ObjectWatch *watch = context;
    InitialRead *initial = watch->initial;
    if (watch->name.len > 0 && !str_eq(watch->name, change->name)) {
        return;
    }
    if (watch->kind->is_log) {
        on_log_entry(watch, change);
        return;
    }
    const NamedRevision *ahead = name_table_find(&watch->ahead, change->name);
    if (ahead != NULL && change->is_pending && change->item != NULL &&
        change->item->revision < ahead->revision) {
        return; /* the peer has a newer state, and another event will follow */
    }
    bool had = ahead != NULL || was_sent(watch, change);
    bool has = change->item != NULL && is_visible(watch, change->item);
    free(name_table_remove(&watch->ahead, change->name));
    if (initial != NULL) {
        names_put(&initial->reported, change->name, 0);
    }
    if (!has && !had) {
        return;
    }
    WatchType type = has ? (had ? WATCH_CHANGED : WATCH_ADDED) : WATCH_DELETED;
    if (initial == NULL) {
        (void)!send_event(watch, feed_change_frame(change, watch->format, type));
        return;
    }
    if (has) {
        type = initial->is_resuming ? WATCH_CHANGED : WATCH_ADDED;
    }
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    watch_event_put(&out, watch->format, type, change->revision, false,
                    has ? change->object : change->tombstone);
    (void)!send_event(watch, buf_str(&out));
}

static void on_tick(void *context)
{
    ObjectWatch *watch = context;
    if (loop_now_ms(call_store(watch->call)->loop) - watch->sent_ms < HEARTBEAT_MS) {
        return;
    }
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    watch_event_put(&out, watch->format, WATCH_HEARTBEAT, feed_revision(watch->member.feed),
                    watch->initial == NULL, STR_EMPTY);
    (void)!send_event(watch, buf_str(&out));
}

static void on_aborted(void *context)
{
    drop(context);
}

/* --- Initial read ---------------------------------------------------------------------------- */

static void read_next(void *context);

/* Must be called first when a read completes. Returns false if the watch has ended or the read
 * failed. */
static bool finish_read(InitialRead *initial, const Error *err)
{
    initial->is_reading = false;
    if (initial->watch == NULL) {
        initial_free(initial);
        return false;
    }
    /* A malformed name is the same as a missing object. */
    if (err != NULL && err->kind != ERROR_NOT_FOUND && err->kind != ERROR_INVALID) {
        log_warning("watch aborted", LOG_C("kind", initial->watch->kind->name),
                    LOG_C("error", err->text));
        drop(initial->watch);
        return false;
    }
    return true;
}

/* Sends what was read; continues when the peer has consumed it. */
static void send_read(InitialRead *initial, Buf *out)
{
    ObjectWatch *watch = initial->watch;
    arena_clear(&initial->arena);
    if (initial->is_last) {
        watch_event_put(out, watch->format, WATCH_SYNCED, feed_revision(watch->member.feed), true,
                        STR_EMPTY);
        initial_free(TAKE(watch->initial));
    } else {
        initial->is_waiting = out->len > 0;
    }
    if (out->len > 0 && !send_event(watch, buf_str(out))) {
        return;
    }
    watch->page = out->len;
    if (watch->initial != NULL && !initial->is_waiting) {
        loop_defer(initial->loop, &initial->next_read);
    }
}

static void put_item(InitialRead *initial, Buf *out, const KindItem *item)
{
    ObjectWatch *watch = initial->watch;
    if (name_table_find(&initial->reported, item->name) == NULL && is_visible(watch, item)) {
        put_object(watch, &initial->arena, out, WATCH_ADDED, item);
    }
}

static void on_page(void *context, const KindItems *items, const Error *err)
{
    InitialRead *initial = context;
    if (!finish_read(initial, err)) {
        return;
    }
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    buf_reset(&initial->after);
    bool is_log = initial->watch->kind->is_log;
    for (uint32_t i = 0; items != NULL && i < items->count; i++) {
        put_item(initial, &out, &items->items[is_log ? items->count - 1 - i : i]);
    }
    if (items != NULL && !is_log) {
        buf_put(&initial->after, items->next);
    }
    initial->is_last = !is_log && initial->after.len == 0;
    initial->is_resuming = is_log; /* including what arrived in the meantime */
    send_read(initial, &out);
}

static void on_object(void *context, const KindItem *item, const Error *err)
{
    InitialRead *initial = context;
    if (!finish_read(initial, err)) {
        return;
    }
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    initial->is_last = !initial->watch->kind->is_log;
    initial->is_resuming = !initial->is_last;
    if (item != NULL) {
        put_item(initial, &out, item);
    }
    send_read(initial, &out);
}

/* The next changed object to send; for a log the oldest unsent entry. NULL: done. */
static const NamedRevision *next_changed(InitialRead *initial)
{
    NameTable *changed = &initial->changed;
    const ObjectWatch *watch = initial->watch;
    const NamedRevision *next = NULL;
    if (!watch->kind->is_log) {
        return changed->count == 0 ? NULL : changed->items[changed->count - 1];
    }
    for (uint32_t i = changed->count; i > 0; i--) {
        NamedRevision *other = changed->items[i - 1];
        if (other->revision <= watch->last) {
            free(name_table_remove(changed, str_from_c(other->name.text)));
        } else if (next == NULL || other->revision < next->revision) {
            next = other;
        }
    }
    return next;
}

static void on_resumed_object(void *context, const KindItem *item, const Error *err)
{
    InitialRead *initial = context;
    if (!finish_read(initial, err)) {
        return;
    }
    ObjectWatch *watch = initial->watch;
    NamedRevision *changed = name_table_remove(&initial->changed, buf_str(&initial->after));
    Str name = str_from_c(changed->name.text);
    bool is_log = watch->kind->is_log, has = item != NULL && is_visible(watch, item);
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    if (is_log) {
        watch->last = changed->revision;
    }
    if (has && name_table_find(&initial->reported, name) == NULL) {
        put_object(watch, &initial->arena, &out, is_log ? WATCH_ADDED : WATCH_CHANGED, item);
    } else if (!is_log && name_table_find(&initial->reported, name) == NULL) {
        watch_event_put(&out, watch->format, WATCH_DELETED, feed_revision(watch->member.feed),
                        false, feed_tombstone(&initial->arena, watch->kind, name));
    }
    free(changed);
    send_read(initial, &out);
}

static void read_next(void *context)
{
    InitialRead *initial = context;
    ObjectWatch *watch = initial->watch;
    const ApiSettings *settings = feed_settings(watch->member.feed);
    const Kind *kind = watch->kind;
    const NamedRevision *changed = initial->is_resuming ? next_changed(initial) : NULL;
    if (initial->is_resuming && changed == NULL) {
        AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
        initial->is_last = true;
        send_read(initial, &out);
        return;
    }
    initial->is_reading = true;
    if (changed != NULL) {
        buf_reset(&initial->after);
        buf_put_c(&initial->after, changed->name.text);
        kind_get(kind, settings, &initial->arena, buf_str(&initial->after), on_resumed_object,
                 initial);
    } else if (watch->name.len > 0) {
        kind_get(kind, settings, &initial->arena, watch->name, on_object, initial);
    } else {
        KindPage page = { .after = buf_str(&initial->after), .limit = PAGE };
        kind_list(kind, settings, &initial->arena, &page, on_page, initial);
    }
}

static void on_drained(void *context)
{
    ObjectWatch *watch = context;
    watch->page = 0;
    if (watch->initial != NULL && watch->initial->is_waiting) {
        watch->initial->is_waiting = false;
        read_next(watch->initial);
    }
}

/* --- Resuming -------------------------------------------------------------------------------- */

/* Starts over with a full read. */
static void resync(InitialRead *initial)
{
    ObjectWatch *watch = initial->watch;
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    stop_sources(initial);
    initial->is_resuming = false;
    names_clear(&initial->changed);
    initial->changed = (NameTable){ 0 };
    /* Without an id: a client that disconnects before the read is complete must start over. */
    watch_event_put(&out, watch->format, WATCH_RESYNC, feed_revision(watch->member.feed), false,
                    STR_EMPTY);
    if (send_event(watch, buf_str(&out))) {
        read_next(initial);
    }
}

static void on_history_batch(void *context, const StoreBatch *batch)
{
    HistorySource *source = context;
    InitialRead *initial = source->initial;
    ObjectWatch *watch = initial->watch;
    Str prefix = feed_settings(watch->member.feed)->cluster_store.prefix;
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    if (batch->err != NULL) {
        drop(watch);
        return;
    }
    for (uint32_t i = 0; i < batch->count; i++) {
        Str names[KIND_AFFECTED_MAX];
        uint32_t count = kind_affected(watch->kind, &arena, prefix, &batch->events[i], names);
        for (uint32_t k = 0; k < count; k++) {
            if (watch->name.len == 0 || str_eq(watch->name, names[k])) {
                names_put(&initial->changed, names[k],
                          watch->kind->is_log ? parse_sequence(names[k]) : 0);
            }
        }
    }
    if (batch->resync || initial->changed.count > RESUME_MAX) {
        resync(initial);
    } else if (batch->count > 0) {
        store_watch_ack(source->watch);
    } else {
        store_watch_cancel(TAKE(source->watch));
        if (--initial->sources_open == 0) {
            read_next(initial);
        }
    }
}

static void resume(InitialRead *initial)
{
    ObjectWatch *watch = initial->watch;
    const ApiSettings *settings = feed_settings(watch->member.feed);
    AUTO_CLEAR(Arena) arena;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    initial->is_resuming = true;
    for (uint32_t i = 0; i < FEED_SOURCES_MAX; i++) {
        Str key = watch->kind->watch_prefix(watch->kind, &arena, settings->cluster_store.prefix, i);
        HistorySource *source = &initial->sources[i];
        if (key.len == 0) {
            break;
        }
        StoreWatchSpec spec = { .key = key,
                                .end = store_prefix_end(&arena, key),
                                .from = watch->from,
                                .previous = watch->kind->event_to_names != NULL,
                                .done = on_history_batch,
                                .context = source };
        source->initial = initial;
        initial->sources_open++;
        if (!store_watch(settings->cluster_store.store, &spec, &source->watch, &err)) {
            drop(watch);
            return;
        }
    }
}

/* --- Start ----------------------------------------------------------------------------------- */

/* Whether the history of the store has everything that the peer may have missed. */
static bool has_history(const ObjectWatch *watch)
{
    /* The history does not show objects that left the scope of a role. */
    return !watch->call->is_limited &&
           (watch->kind->external == NULL || watch->from - 1 > watch->call->api->external_changed);
}

static void on_ready(void *context)
{
    ObjectWatch *watch = context;
    if (watch->from == 0) {
        read_next(watch->initial);
    } else if (!has_history(watch)) {
        resync(watch->initial);
    } else {
        resume(watch->initial);
    }
}

static const Str *header_of(const ApiCall *call, const char *name)
{
    return http1_find(http_request_head(call->request), name);
}

static bool accepts_events(const ApiCall *call)
{
    const Str *accept = header_of(call, "Accept");
    return accept != NULL && str_find(*accept, STR("text/event-stream"), 0) != STR_NOT_FOUND;
}

bool object_watch_is_requested(const ApiCall *call)
{
    AUTO_CLEAR(Arena) arena;
    RouteQuery query;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    if (!route_is_kind_route(call->row) || strcmp(call->row->method, "GET") != 0 ||
        !route_query(&arena, call->row, http_request_head(call->request)->query, &query, &err)) {
        return false;
    }
    const Str *format = route_parameter(call->row, &query, "watch");
    return format != NULL && (format->len > 0 || accepts_events(call));
}

static bool read_from(ApiCall *call, int64_t *from)
{
    const Str *last = header_of(call, "Last-Event-ID");
    Str text = call_parameter(call, "from");
    bool is_valid = true;
    *from = 0;
    if (last != NULL && last->len > 0) {
        is_valid = str_to_i64(*last, from) && *from >= 0 && *from < INT64_MAX;
        *from += is_valid;
    } else if (text.len > 0) {
        is_valid = str_to_i64(text, from) && *from >= 1;
    }
    if (!is_valid) {
        call_refuse(
            call, 400,
            "'from' must be a revision, 1 or higher, and 'Last-Event-ID' the ID of an event");
    }
    return is_valid;
}

static bool read_parameters(ApiCall *call, ObjectWatch *watch)
{
    Str format = call_parameter(call, "watch"), selector;
    Error err;
    watch->format = format.len == 0 || str_eq_c(format, "sse") ? WATCH_SSE
                    : str_eq_c(format, "ndjson")               ? WATCH_NDJSON
                                                               : WATCH_NONE;
    if (watch->format == WATCH_NONE) {
        call_refuse(call, 400, "'watch' must be 'sse' or 'ndjson'");
        return false;
    }
    if (call_has_parameter(call, "selector", &selector) &&
        !object_selector_parse(&watch->arena, selector, &watch->selector, &err)) {
        error_wrap(&err, "'selector'");
        call_fail(call, &err);
        return false;
    }
    if (call->part.len > 0) {
        watch->name = arena_copy(&watch->arena, call->part);
    }
    return read_from(call, &watch->from);
}

static ObjectWatch *watch_new(ApiCall *call, const Kind *kind)
{
    ObjectWatch *watch = memory_new(sizeof *watch);
    InitialRead *initial = memory_new(sizeof *initial);
    watch->call = call;
    watch->kind = kind;
    watch->member =
        (FeedMember){ on_ready, on_changed, on_tick, on_aborted, watch, NULL, NULL, NULL };
    watch->initial = initial;
    arena_init(&watch->arena, ARENA_UNLIMITED);
    initial->watch = watch;
    initial->loop = call_store(call)->loop;
    loop_task_init(&initial->next_read, read_next, initial);
    initial->after = buf_make(BUF_UNLIMITED);
    arena_init(&initial->arena, ARENA_UNLIMITED);
    return watch;
}

void object_watch(ApiCall *call, const Kind *kind)
{
    ObjectWatch *watch = watch_new(call, kind);
    if (!read_parameters(call, watch) ||
        !call_begin(call, watch_format_type(watch->format),
                    &(CallStream){ on_drained, on_closed, watch })) {
        watch_free(watch);
        return;
    }
    /* Freed now, since a watch may last for days, and there may be thousands. */
    call->part = watch->name;
    call->query = (RouteQuery){ 0 };
    arena_clear(&call->arena);
    watch->sent_ms = loop_now_ms(call_store(call)->loop);
    feed_join(call->api, kind, &watch->member);
}
