/* A watch joins the feed of its kind, then reads the current objects for its own peer (Starting)
 * while the feed already delivers changes. An object that the feed has reported meanwhile is
 * skipped in the initial read, whose state would be older. */
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
    SILENT_MS = 10000,    /* then a heartbeat, at the next beat of the feed */
};

typedef struct ObjectWatch ObjectWatch;

/* A name with a revision or number. */
typedef struct NamedRevision {
    TableName name;
    int64_t revision;
} NamedRevision;

typedef struct StartSource {
    struct Starting *starting;
    StoreWatch *watch;
} StartSource;

/* The initial read. Outlives the watch while a read is in progress. */
typedef struct Starting {
    ObjectWatch *watch; /* NULL: the peer has left */
    Loop *loop;
    Arena arena; /* for one read */
    Buf after;   /* start of the next page, or index of the touched object being read */
    bool reads, resumes;
    bool waits; /* waiting for the peer to consume data */
    bool is_last;
    LoopTask next_read; /* one per loop iteration, since there may be many */
    NameTable told;     /* reported by the feed meanwhile */
    NameTable touched;  /* changed since the resume point; for a log also reported meanwhile */
    StartSource sources[FEED_SOURCES_MAX];
    uint32_t sources_open;
} Starting;

struct ObjectWatch {
    FeedMember member;
    ApiCall *call;
    const Kind *kind;
    WatchFormat format;
    Arena arena; /* for the next two fields */
    Str name;    /* of a single object; empty: all */
    const Selector *selector;
    int64_t from;       /* 0: from the start */
    int64_t last;       /* logs: last entry sent */
    int64_t sent_ms;    /* time of the last event */
    size_t page;        /* size of the last page, in addition to SLOW_MAX */
    Starting *starting; /* NULL: up to date */
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
static int64_t number_of(Str name)
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

static void stop_sources(Starting *starting)
{
    for (uint32_t i = 0; i < FEED_SOURCES_MAX; i++) {
        store_watch_cancel(TAKE(starting->sources[i].watch));
    }
    starting->sources_open = 0;
}

static void starting_free(Starting *starting)
{
    stop_sources(starting);
    loop_task_stop(starting->loop, &starting->next_read);
    arena_clear(&starting->arena);
    buf_clear(&starting->after);
    names_clear(&starting->told);
    names_clear(&starting->touched);
    free(starting);
}

static void watch_free(ObjectWatch *watch)
{
    Starting *starting = watch->starting;
    feed_leave(&watch->member);
    if (starting != NULL && starting->reads) {
        stop_sources(starting);
        starting->watch = NULL;
    } else if (starting != NULL) {
        starting_free(starting);
    }
    names_clear(&watch->ahead);
    arena_clear(&watch->arena);
    free(watch);
}

static void gone(void *context)
{
    watch_free(context);
}

/* Cuts off the stream; the client will resume. */
static void drop(ObjectWatch *watch)
{
    ApiCall *call = watch->call;
    watch_free(watch);
    call_break(call);
}

/* --- Sending --------------------------------------------------------------------------------- */

/* Returns false if the peer was too slow and the watch was freed. */
MUST_CHECK static bool tell(ObjectWatch *watch, Str piece)
{
    if (http_request_unsent(watch->call->request) > SLOW_MAX + watch->page) {
        drop(watch);
        return false;
    }
    watch->sent_ms = loop_now_ms(call_store(watch->call)->loop);
    call_piece(watch->call, piece);
    return true;
}

static bool sees(const ObjectWatch *watch, const KindItem *item)
{
    return (watch->name.len == 0 || str_eq(watch->name, item->name)) &&
           object_selector_matches(watch->selector, item->name, item->labels) &&
           call_may_see(watch->call, item);
}

/* Whether the peer was sent the object before. */
static bool saw(const ObjectWatch *watch, const FeedNews *news)
{
    KindItem before = { .name = news->name,
                        .labels = news->before,
                        .hides_labels = news->hid_labels };
    return news->was_there && sees(watch, &before);
}

static void put_object(ObjectWatch *watch, Arena *arena, Buf *out, WatchType type,
                       const KindItem *item)
{
    Buf json = buf_make_in(arena, BUF_UNLIMITED);
    object_print(arena, &json, watch->kind, item);
    watch_event_put(out, watch->format, type, item->revision, false, buf_str(&json));
    if (watch->kind->is_log) {
        watch->last = number_of(item->name);
    } else if (!feed_has(watch->member.feed, item->name, item->revision)) {
        names_put(&watch->ahead, item->name, item->revision);
    }
}

/* Logs: each entry once, in order. */
static void told_entry(ObjectWatch *watch, FeedNews *news)
{
    Starting *starting = watch->starting;
    int64_t number = number_of(news->name);
    if (number <= watch->last || news->item == NULL) {
        return;
    }
    if (starting == NULL) {
        watch->last = number;
        if (sees(watch, news->item)) {
            (void)!tell(watch, feed_news_frame(news, watch->format, WATCH_ADDED));
        }
        return;
    }
    /* Sent after the initial read. */
    names_put(&starting->touched, news->name, number);
    if (starting->touched.count > RESUME_MAX) {
        drop(watch); /* too slow; the client will reconnect */
    }
}

static void told(void *context, FeedNews *news)
{
    ObjectWatch *watch = context;
    Starting *starting = watch->starting;
    if (watch->name.len > 0 && !str_eq(watch->name, news->name)) {
        return;
    }
    if (watch->kind->is_log) {
        told_entry(watch, news);
        return;
    }
    const NamedRevision *ahead = name_table_find(&watch->ahead, news->name);
    if (ahead != NULL && news->is_due && news->item != NULL &&
        news->item->revision < ahead->revision) {
        return; /* the peer has a newer state, and another event will follow */
    }
    bool had = ahead != NULL || saw(watch, news);
    bool has = news->item != NULL && sees(watch, news->item);
    free(name_table_remove(&watch->ahead, news->name));
    if (starting != NULL) {
        names_put(&starting->told, news->name, 0);
    }
    if (!has && !had) {
        return;
    }
    WatchType type = has ? (had ? WATCH_CHANGED : WATCH_ADDED) : WATCH_DELETED;
    if (starting == NULL) {
        (void)!tell(watch, feed_news_frame(news, watch->format, type));
        return;
    }
    if (has) {
        type = starting->resumes ? WATCH_CHANGED : WATCH_ADDED;
    }
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    watch_event_put(&out, watch->format, type, news->revision, false,
                    has ? news->object : news->remains);
    (void)!tell(watch, buf_str(&out));
}

static void beat(void *context)
{
    ObjectWatch *watch = context;
    if (loop_now_ms(call_store(watch->call)->loop) - watch->sent_ms < SILENT_MS) {
        return;
    }
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    watch_event_put(&out, watch->format, WATCH_HEARTBEAT, feed_revision(watch->member.feed),
                    watch->starting == NULL, STR_EMPTY);
    (void)!tell(watch, buf_str(&out));
}

static void lost(void *context)
{
    drop(context);
}

/* --- Initial read ---------------------------------------------------------------------------- */

static void go_on(void *context);

/* Must be called first when a read completes. Returns false if the watch is gone or the read
 * failed. */
static bool read_ended(Starting *starting, const Error *err)
{
    starting->reads = false;
    if (starting->watch == NULL) {
        starting_free(starting);
        return false;
    }
    /* A malformed name is the same as a missing object. */
    if (err != NULL && err->kind != ERROR_NOT_FOUND && err->kind != ERROR_INVALID) {
        log_warning("watch aborted", LOG_C("kind", starting->watch->kind->name),
                    LOG_C("error", err->text));
        drop(starting->watch);
        return false;
    }
    return true;
}

/* Sends what was read; continues when the peer has consumed it. */
static void give(Starting *starting, Buf *out)
{
    ObjectWatch *watch = starting->watch;
    arena_clear(&starting->arena);
    if (starting->is_last) {
        watch_event_put(out, watch->format, WATCH_SYNCED, feed_revision(watch->member.feed), true,
                        STR_EMPTY);
        starting_free(TAKE(watch->starting));
    } else {
        starting->waits = out->len > 0;
    }
    if (out->len > 0 && !tell(watch, buf_str(out))) {
        return;
    }
    watch->page = out->len;
    if (watch->starting != NULL && !starting->waits) {
        loop_defer(starting->loop, &starting->next_read);
    }
}

static void put_item(Starting *starting, Buf *out, const KindItem *item)
{
    ObjectWatch *watch = starting->watch;
    if (name_table_find(&starting->told, item->name) == NULL && sees(watch, item)) {
        put_object(watch, &starting->arena, out, WATCH_ADDED, item);
    }
}

static void listed(void *context, const KindItems *items, const Error *err)
{
    Starting *starting = context;
    if (!read_ended(starting, err)) {
        return;
    }
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    buf_reset(&starting->after);
    bool is_log = starting->watch->kind->is_log;
    for (uint32_t i = 0; items != NULL && i < items->count; i++) {
        put_item(starting, &out, &items->items[is_log ? items->count - 1 - i : i]);
    }
    if (items != NULL && !is_log) {
        buf_put(&starting->after, items->next);
    }
    starting->is_last = !is_log && starting->after.len == 0;
    starting->resumes = is_log; /* including what arrived meanwhile */
    give(starting, &out);
}

static void got(void *context, const KindItem *item, const Error *err)
{
    Starting *starting = context;
    if (!read_ended(starting, err)) {
        return;
    }
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    starting->is_last = !starting->watch->kind->is_log;
    starting->resumes = !starting->is_last;
    if (item != NULL) {
        put_item(starting, &out, item);
    }
    give(starting, &out);
}

/* The next touched object to send; in a log the oldest unsent entry. NULL: done. */
static const NamedRevision *next_touched(Starting *starting)
{
    NameTable *touched = &starting->touched;
    const ObjectWatch *watch = starting->watch;
    const NamedRevision *next = NULL;
    if (!watch->kind->is_log) {
        return touched->count == 0 ? NULL : touched->items[touched->count - 1];
    }
    for (uint32_t i = touched->count; i > 0; i--) {
        NamedRevision *other = touched->items[i - 1];
        if (other->revision <= watch->last) {
            free(name_table_remove(touched, str_from_c(other->name.text)));
        } else if (next == NULL || other->revision < next->revision) {
            next = other;
        }
    }
    return next;
}

static void caught_up(void *context, const KindItem *item, const Error *err)
{
    Starting *starting = context;
    if (!read_ended(starting, err)) {
        return;
    }
    ObjectWatch *watch = starting->watch;
    NamedRevision *touched = name_table_remove(&starting->touched, buf_str(&starting->after));
    Str name = str_from_c(touched->name.text);
    bool is_log = watch->kind->is_log, has = item != NULL && sees(watch, item);
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    if (is_log) {
        watch->last = touched->revision;
    }
    if (has && name_table_find(&starting->told, name) == NULL) {
        put_object(watch, &starting->arena, &out, is_log ? WATCH_ADDED : WATCH_CHANGED, item);
    } else if (!is_log && name_table_find(&starting->told, name) == NULL) {
        watch_event_put(&out, watch->format, WATCH_DELETED, feed_revision(watch->member.feed),
                        false, feed_remains(&starting->arena, watch->kind, name));
    }
    free(touched);
    give(starting, &out);
}

static void go_on(void *context)
{
    Starting *starting = context;
    ObjectWatch *watch = starting->watch;
    const ApiSettings *settings = feed_settings(watch->member.feed);
    const Kind *kind = watch->kind;
    const NamedRevision *touched = starting->resumes ? next_touched(starting) : NULL;
    if (starting->resumes && touched == NULL) {
        AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
        starting->is_last = true;
        give(starting, &out);
        return;
    }
    starting->reads = true;
    if (touched != NULL) {
        buf_reset(&starting->after);
        buf_put_c(&starting->after, touched->name.text);
        kind_get(kind, settings, &starting->arena, buf_str(&starting->after), caught_up, starting);
    } else if (watch->name.len > 0) {
        kind_get(kind, settings, &starting->arena, watch->name, got, starting);
    } else {
        KindPage page = { .after = buf_str(&starting->after), .limit = PAGE };
        kind_list(kind, settings, &starting->arena, &page, listed, starting);
    }
}

static void drained(void *context)
{
    ObjectWatch *watch = context;
    watch->page = 0;
    if (watch->starting != NULL && watch->starting->waits) {
        watch->starting->waits = false;
        go_on(watch->starting);
    }
}

/* --- Resuming -------------------------------------------------------------------------------- */

/* Starts over with a full read. */
static void resync(Starting *starting)
{
    ObjectWatch *watch = starting->watch;
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    stop_sources(starting);
    starting->resumes = false;
    names_clear(&starting->touched);
    starting->touched = (NameTable){ 0 };
    /* Without an id: a client that disconnects before the read is complete must start over. */
    watch_event_put(&out, watch->format, WATCH_RESYNC, feed_revision(watch->member.feed), false,
                    STR_EMPTY);
    if (tell(watch, buf_str(&out))) {
        go_on(starting);
    }
}

static void log_came(void *context, const StoreBatch *batch)
{
    StartSource *source = context;
    Starting *starting = source->starting;
    ObjectWatch *watch = starting->watch;
    Str prefix = feed_settings(watch->member.feed)->at.prefix;
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    if (batch->err != NULL) {
        drop(watch);
        return;
    }
    for (uint32_t i = 0; i < batch->count; i++) {
        Str names[KIND_TOUCHED_MAX];
        uint32_t count = kind_touched(watch->kind, &arena, prefix, &batch->events[i], names);
        for (uint32_t k = 0; k < count; k++) {
            if (watch->name.len == 0 || str_eq(watch->name, names[k])) {
                names_put(&starting->touched, names[k],
                          watch->kind->is_log ? number_of(names[k]) : 0);
            }
        }
    }
    if (batch->resync || starting->touched.count > RESUME_MAX) {
        resync(starting);
    } else if (batch->count > 0) {
        store_watch_ack(source->watch);
    } else {
        store_watch_cancel(TAKE(source->watch));
        if (--starting->sources_open == 0) {
            go_on(starting);
        }
    }
}

static void resume(Starting *starting)
{
    ObjectWatch *watch = starting->watch;
    const ApiSettings *settings = feed_settings(watch->member.feed);
    AUTO_CLEAR(Arena) arena;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    starting->resumes = true;
    for (uint32_t i = 0; i < FEED_SOURCES_MAX; i++) {
        Str key = watch->kind->watched(watch->kind, &arena, settings->at.prefix, i);
        StartSource *source = &starting->sources[i];
        if (key.len == 0) {
            break;
        }
        StoreWatchSpec spec = { .key = key,
                                .end = store_prefix_end(&arena, key),
                                .from = watch->from,
                                .previous = watch->kind->touched_by != NULL,
                                .done = log_came,
                                .context = source };
        source->starting = starting;
        starting->sources_open++;
        if (!store_watch(settings->at.store, &spec, &source->watch, &err)) {
            drop(watch);
            return;
        }
    }
}

/* --- Start ----------------------------------------------------------------------------------- */

/* Whether the history of the store has everything that the peer may have missed. */
static bool is_logged(const ObjectWatch *watch)
{
    /* The history does not show objects leaving the scope of a role. */
    return !watch->call->is_limited &&
           (watch->kind->unstored == NULL || watch->from - 1 > watch->call->api->unstored_changed);
}

static void ready(void *context)
{
    ObjectWatch *watch = context;
    if (watch->from == 0) {
        go_on(watch->starting);
    } else if (!is_logged(watch)) {
        resync(watch->starting);
    } else {
        resume(watch->starting);
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

bool object_watch_is_wanted(const ApiCall *call)
{
    AUTO_CLEAR(Arena) arena;
    RouteQuery query;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    if (!route_is_of_kinds(call->row) || strcmp(call->row->method, "GET") != 0 ||
        !route_query(&arena, call->row, http_request_head(call->request)->query, &query, &err)) {
        return false;
    }
    const Str *wish = route_parameter(call->row, &query, "watch");
    return wish != NULL && (wish->len > 0 || accepts_events(call));
}

static bool read_from(ApiCall *call, int64_t *from)
{
    const Str *last = header_of(call, "Last-Event-ID");
    Str text = call_parameter(call, "from");
    bool good = true;
    *from = 0;
    if (last != NULL && last->len > 0) {
        good = str_to_i64(*last, from) && *from >= 0 && *from < INT64_MAX;
        *from += good;
    } else if (text.len > 0) {
        good = str_to_i64(text, from) && *from >= 1;
    }
    if (!good) {
        call_refuse(
            call, 400,
            "'from' must be a revision, 1 or higher, and 'Last-Event-ID' the id of an event");
    }
    return good;
}

static bool read_wish(ApiCall *call, ObjectWatch *watch)
{
    Str wish = call_parameter(call, "watch"), selector;
    Error err;
    watch->format = wish.len == 0 || str_eq_c(wish, "sse") ? WATCH_SSE
                    : str_eq_c(wish, "ndjson")             ? WATCH_NDJSON
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
    Starting *starting = memory_new(sizeof *starting);
    watch->call = call;
    watch->kind = kind;
    watch->member = (FeedMember){ ready, told, beat, lost, watch, NULL, NULL, NULL };
    watch->starting = starting;
    arena_init(&watch->arena, ARENA_UNLIMITED);
    starting->watch = watch;
    starting->loop = call_store(call)->loop;
    loop_task_init(&starting->next_read, go_on, starting);
    starting->after = buf_make(BUF_UNLIMITED);
    arena_init(&starting->arena, ARENA_UNLIMITED);
    return watch;
}

void object_watch(ApiCall *call, const Kind *kind)
{
    ObjectWatch *watch = watch_new(call, kind);
    if (!read_wish(call, watch) || !call_begin(call, watch_format_type(watch->format),
                                               &(CallPieces){ drained, gone, watch })) {
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
