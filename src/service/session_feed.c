/* A feed alternates between two modes: a reset, which reads pages at one pinned revision, and a
 * watch of the log. Both wait for an acknowledgement after every message, so there is never more
 * than one in flight. A watch that the log cannot serve switches to a reset, which must be at least
 * as new as what the node has already seen (`min_revision`). */
#include "service/session_feed.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/memory.h"

enum {
    RETRY_MS = 1000,
};

/* A pending read, which is always completed; the feed may be freed by then. */
typedef struct FeedRead {
    SessionFeed *feed; /* NULL once the feed is freed */
} FeedRead;

struct SessionFeed {
    SessionFeedOptions options;
    bool in_flight;

    bool resetting;       /* a full snapshot is being read */
    int64_t pinned;       /* revision of the snapshot; 0: before the first page */
    int64_t min_revision; /* minimum revision of the snapshot, after which the log continues */
    Buf from;             /* first key of the next page */
    FeedRead *read;
    LoopTimer retry;

    StoreWatch *watch;
    bool ack_due;     /* the store waits for an acknowledgement of the last batch */
    bool reset_due;   /* a reset is due after the acknowledgement */
    bool open;        /* a revision was sent in part, and the rest follows */
    int64_t position; /* all changes up to this revision are sent */
    /* bytes of the range; a separate arena would cost more than all other fields */
    char range[];
};

static void read_page(SessionFeed *feed);

/* The store is unavailable: the session continues, and the node receives the changes when the store
 * is available again. */
static void try_later(SessionFeed *feed)
{
    loop_timer_start(&feed->retry, RETRY_MS);
}

static void send_changes(SessionFeed *feed, Changes *changes)
{
    BUG_IF(feed->in_flight);
    feed->in_flight = true;
    changes->watch = feed->options.watch;
    feed->options.send_changes(feed->options.context, changes);
}

static void start_reset(SessionFeed *feed)
{
    feed->resetting = true;
    feed->reset_due = feed->open = feed->ack_due = false;
    feed->pinned = 0;
    buf_reset(&feed->from);
    buf_put(&feed->from, feed->options.range.key);
    loop_timer_start(&feed->retry, 0); /* nothing is sent within this call */
}

/* --- Changes --------------------------------------------------------------------------------- */

static void end_watch(SessionFeed *feed)
{
    store_watch_cancel(feed->watch);
    feed->watch = NULL;
    feed->ack_due = false;
}

/* Nothing has changed. This is sent periodically, so that the position in a quiet range is not
 * compacted away; the watch continues when the note is acknowledged, because there is no buffer for
 * changes. */
static void send_progress(SessionFeed *feed, int64_t revision)
{
    if (feed->in_flight ||
        (!feed->open && revision - feed->position < (int64_t)FEED_NOTE_REVISIONS)) {
        return;
    }
    end_watch(feed);
    feed->open = false;
    feed->position = revision;
    send_changes(feed, &(Changes){ .revision = revision, .complete = true });
}

static void on_batch(void *context, const StoreBatch *batch)
{
    SessionFeed *feed = context;
    if (batch->err != NULL) {
        end_watch(feed);
        try_later(feed);
        return;
    }
    if (batch->resync) {
        end_watch(feed);
        feed->min_revision = batch->compacted > feed->position ? batch->compacted : feed->position;
        feed->reset_due = true;
        if (!feed->in_flight) {
            start_reset(feed);
        }
        return;
    }
    if (batch->count == 0) {
        send_progress(feed, batch->revision);
        return;
    }
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Change *changes = ARENA_ARRAY(&arena, Change, batch->count);
    for (uint32_t i = 0; i < batch->count; i++) {
        const StoreEvent *event = &batch->events[i];
        changes[i] =
            (Change){ event->deleted, event->kv.key, event->deleted ? STR_EMPTY : event->kv.value,
                      event->kv.mod_revision };
    }
    feed->open = changes[batch->count - 1].revision > batch->revision;
    if (!feed->open) {
        feed->position = batch->revision;
    }
    feed->ack_due = true;
    send_changes(feed, &(Changes){ .changes = changes,
                                   .change_count = batch->count,
                                   .revision = feed->position,
                                   .complete = !feed->open });
}

static bool start_watch(SessionFeed *feed, Error *err)
{
    StoreWatchSpec spec = {
        .key = feed->options.range.key,
        .end = feed->options.range.end,
        .from = feed->position + 1,
        .done = on_batch,
        .context = feed,
    };
    return store_watch(feed->options.store, &spec, &feed->watch, err);
}

/* --- Reset ----------------------------------------------------------------------------------- */

static void send_page(SessionFeed *feed, const StoreReply *reply)
{
    const StoreOpReply *page = &reply->ops[0];
    bool first = feed->pinned == 0;
    if (first) {
        feed->pinned = reply->revision;
    }
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Change *changes = ARENA_ARRAY(&arena, Change, page->kv_count + 1);
    uint32_t count = 0;
    size_t bytes = 0;
    while (count < page->kv_count && (count == 0 || bytes < FEED_PAGE_BYTES)) {
        const StoreKv *kv = &page->kvs[count];
        bytes += kv->key.len + kv->value.len;
        changes[count++] = (Change){ false, kv->key, kv->value, kv->mod_revision };
    }
    bool more = page->more || count < page->kv_count;
    if (more) {
        BUG_IF(count == 0);
        buf_reset(&feed->from);
        buf_put(&feed->from, changes[count - 1].key);
        buf_put_char(&feed->from, '\0');
    } else {
        feed->resetting = false;
        buf_clear(&feed->from);
        feed->position = feed->pinned;
    }
    send_changes(feed, &(Changes){ .changes = changes,
                                   .change_count = count,
                                   .revision = feed->pinned,
                                   .reset = first,
                                   .complete = !more });
}

/* Sends the range from the state. Returns false if it is not in the state, or outdated there: an
 * outdated state would be sent repeatedly. */
static bool send_from_state(SessionFeed *feed)
{
    const SessionFeedOptions *options = &feed->options;
    if (options->state == NULL || !options->range.is_known) {
        return false;
    }
    StateAge age = state_age(options->state);
    if (!age.is_ready || age.revision < feed->min_revision) {
        return false;
    }
    const StateEntry *entry = state_find(options->state, options->range.key);
    if (entry != NULL && !entry->has_value) {
        return false;
    }
    Change change = { 0 };
    if (entry != NULL) {
        change = (Change){ false, entry->key, entry->value, entry->mod_revision };
    }
    feed->resetting = false;
    buf_clear(&feed->from);
    feed->position = age.revision;
    send_changes(feed, &(Changes){ .changes = &change,
                                   .change_count = entry != NULL ? 1 : 0,
                                   .revision = feed->position,
                                   .reset = true,
                                   .complete = true });
    return true;
}

static void read_failed(SessionFeed *feed, const Error *err)
{
    if (err->kind == ERROR_NOT_FOUND && feed->pinned != 0) {
        start_reset(feed); /* the revision was compacted between two pages */
    } else {
        try_later(feed);
    }
}

static void read_done(void *context, const StoreReply *reply, const Error *err)
{
    FeedRead *read = context;
    SessionFeed *feed = read->feed;
    free(read);
    if (feed == NULL) {
        return;
    }
    feed->read = NULL;
    if (err != NULL) {
        read_failed(feed, err);
    } else {
        send_page(feed, reply);
    }
}

static void read_page(SessionFeed *feed)
{
    FeedRead *read = memory_new(sizeof *read);
    read->feed = feed;
    feed->read = read;
    StoreOp op = {
        .kind = STORE_RANGE,
        .key = buf_str(&feed->from),
        .end = feed->options.range.end,
        .revision = feed->pinned,
        .limit = FEED_PAGE_KEYS,
    };
    Error err;
    if (!store_op(feed->options.store, &op, read_done, read, &err)) {
        feed->read = NULL;
        free(read);
        read_failed(feed, &err);
    }
}

static void restart_watch(SessionFeed *feed)
{
    Error err;
    if (!start_watch(feed, &err)) {
        try_later(feed);
    }
}

/* Also called for the acknowledgement of what was sent before this change. */
static void retry_runs(void *context)
{
    SessionFeed *feed = context;
    if (feed->resetting) {
        if (feed->pinned != 0 || !send_from_state(feed)) {
            read_page(feed);
        }
    } else if (!feed->in_flight && feed->watch == NULL) {
        restart_watch(feed);
    }
}

/* --- Public API ------------------------------------------------------------------------------ */

static Str copy_bytes(char *to, Str text)
{
    if (text.len > 0) {
        memcpy(to, text.data, text.len);
    }
    return str_from(to, text.len);
}

bool session_feed_new(const SessionFeedOptions *options, SessionFeed **out, Error *err)
{
    SessionRange range = options->range;
    size_t size = sizeof(SessionFeed) + range.key.len + range.end.len;
    SessionFeed *feed = memory_new(size);
    feed->options = *options;
    feed->options.range.key = copy_bytes(feed->range, range.key);
    feed->options.range.end = copy_bytes(feed->range + range.key.len, range.end);
    feed->from = buf_make(STORE_KEY_MAX + 1);
    loop_timer_init(&feed->retry, options->loop, retry_runs, feed);
    feed->position = options->revision;
    if (options->reset) {
        start_reset(feed);
    } else if (!start_watch(feed, err)) {
        session_feed_free(feed);
        return false;
    }
    *out = feed;
    return true;
}

void session_feed_free(SessionFeed *feed)
{
    if (feed == NULL) {
        return;
    }
    if (feed->read != NULL) {
        feed->read->feed = NULL;
    }
    loop_timer_stop(&feed->retry);
    store_watch_cancel(feed->watch);
    buf_clear(&feed->from);
    free(feed);
}

void session_feed_acked(SessionFeed *feed)
{
    feed->in_flight = false;
    if (feed->resetting) {
        read_page(feed);
    } else if (feed->reset_due) {
        start_reset(feed);
    } else if (feed->watch == NULL) {
        restart_watch(feed);
    } else if (feed->ack_due) {
        feed->ack_due = false;
        store_watch_ack(feed->watch);
    }
}
