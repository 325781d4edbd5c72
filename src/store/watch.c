/* Watches. One that is up to date costs nothing until a change in its range is made; events come
 * from the recent changes in memory. One that is behind, because it started in the past or used up
 * its window, is served from there if they go back far enough, otherwise from the log, which the
 * reader thread reads in batches. Nothing is buffered for a watch but its position. */
#include <stddef.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/memory.h"
#include "store/local_store.h"
#include "store/request.h"

enum {
    RECENT_BYTES = 8 * 1024 * 1024,
    RECENT_JOBS = 8192,
    SCANS_MAX = 4, /* maximum of concurrent scans, because their results are held in memory */
};

/* --- Recent changes -------------------------------------------------------------------------- */

static Job *recent_at(const Recent *recent, uint32_t at)
{
    return recent->jobs[(recent->first + at) & (recent->cap - 1)];
}

static void recent_drop_first(Recent *recent)
{
    Job *job = recent_at(recent, 0);
    recent->first = (recent->first + 1) & (recent->cap - 1);
    recent->count--;
    recent->bytes -= job->arena.chunk_bytes;
    recent->from = job->revision + 1;
    job_free(job);
}

static void recent_add(Recent *recent, Job *job)
{
    if (recent->count == recent->cap) {
        uint32_t cap = recent->cap == 0 ? 64 : recent->cap * 2;
        Job **jobs = calloc(cap, sizeof(Job *));
        if (jobs == NULL) {
            memory_exhausted(cap * sizeof(Job *));
        }
        for (uint32_t i = 0; i < recent->count; i++) {
            jobs[i] = recent_at(recent, i);
        }
        free(recent->jobs);
        recent->jobs = jobs;
        recent->first = 0;
        recent->cap = cap;
    }
    recent->jobs[(recent->first + recent->count++) & (recent->cap - 1)] = job;
    recent->bytes += job->arena.chunk_bytes;
    while (recent->bytes > RECENT_BYTES || recent->count > RECENT_JOBS) {
        recent_drop_first(recent);
    }
}

/* The first change of this or a later revision. */
static uint32_t recent_find(const Recent *recent, int64_t revision)
{
    uint32_t low = 0, high = recent->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        bool before = recent_at(recent, middle)->revision < revision;
        *(before ? &low : &high) = before ? middle + 1 : middle;
    }
    return low;
}

/* --- Lists ----------------------------------------------------------------------------------- */

static void list_remove(LocalWatch *watch)
{
    WatchList *list = watch->list;
    if (list == NULL) {
        return;
    }
    *(watch->previous == NULL ? &list->first : &watch->previous->next) = watch->next;
    *(watch->next == NULL ? &list->last : &watch->next->previous) = watch->previous;
    watch->list = NULL;
    watch->next = watch->previous = NULL;
}

static void list_add(WatchList *list, LocalWatch *watch)
{
    list_remove(watch);
    watch->list = list;
    watch->previous = list->last;
    watch->next = NULL;
    *(list->last == NULL ? &list->first : &list->last->next) = watch;
    list->last = watch;
}

/* Deferred to a later iteration of the loop, so that callbacks never run within a call by their
 * owner. */
static void serve_later(LocalWatch *watch)
{
    Watches *watches = &watch->store->watches;
    if (watch->is_ended || watch->scan != NULL || watch->list != NULL) {
        return;
    }
    list_add(&watches->feed, watch);
    loop_defer(watch->store->base.loop, &watches->feed_task);
}

/* --- Delivery -------------------------------------------------------------------------------- */

static void set_behind(LocalWatch *watch, bool is_behind)
{
    Watches *watches = &watch->store->watches;
    watches->behind_count += is_behind;
    watches->behind_count -= watch->is_behind;
    watch->is_behind = is_behind;
}

static void free_watch(LocalWatch *watch)
{
    if (watch->in_callback) {
        watch->canceled = true;
        return;
    }
    free(watch);
}

/* Returns false if the watch was canceled in its callback. */
static bool deliver(LocalWatch *watch, const StoreBatch *batch)
{
    watch->was_delivered = true;
    watch->in_callback = true;
    watch->spec.done(watch->spec.context, batch);
    watch->in_callback = false;
    if (watch->canceled) {
        free(watch);
        return false;
    }
    return true;
}

static bool deliver_end(LocalWatch *watch, StoreBatch batch)
{
    set_behind(watch, false);
    list_remove(watch);
    watch->is_ended = true;
    batch.revision = id_revision(watch->next_id) - 1;
    return deliver(watch, &batch);
}

/* Skips events before `next_id`. */
static bool deliver_events(LocalWatch *watch, const StoreEvents *events, int64_t next_id)
{
    watch->next_id = next_id;
    if (events->len == 0) {
        return true;
    }
    watch->window--;
    StoreBatch batch = { .events = events->items,
                         .count = events->len,
                         .revision = id_revision(next_id) - 1 };
    return deliver(watch, &batch);
}

/* Notifies that the watch is up to date. */
static bool deliver_progress(LocalWatch *watch)
{
    set_behind(watch, false);
    bool due = watch->progress_due || !watch->current;
    watch->progress_due = false;
    watch->current = true;
    if (!due) {
        return true;
    }
    /* A scan may have seen more than the loop has been notified of. */
    int64_t notified = id_revision(watch->next_id) - 1, revision = watch->store->state.revision;
    StoreBatch batch = { .revision = notified > revision ? notified : revision };
    bool is_open = deliver(watch, &batch);
    if (is_open) {
        watch->was_delivered = false;
    }
    return is_open;
}

/* Collects a batch of recent changes from the position of the watch; returns the position after
 * it. */
static int64_t collect(LocalWatch *watch, StoreEvents *events)
{
    LocalStore *store = watch->store;
    Arena *arena = &store->watches.arena;
    size_t bytes = 0;
    for (uint32_t i = recent_find(&store->recent, id_revision(watch->next_id));
         i < store->recent.count; i++) {
        const Job *job = recent_at(&store->recent, i);
        for (uint32_t j = 0; j < job->changes.events.len; j++) {
            int64_t id = id_make(job->revision, j);
            const StoreEvent *event = &job->changes.events.items[j];
            if (id < watch->next_id ||
                !range_has(watch->spec.key, watch->spec.end, event->kv.key)) {
                continue;
            }
            if (events->len == STORE_BATCH_EVENTS || bytes >= STORE_BATCH_BYTES) {
                return id;
            }
            StoreEvent copy = *event;
            if (!watch->spec.previous) {
                copy.has_previous = false;
                copy.previous = (StoreKv){ 0 };
            }
            VEC_PUSH(arena, events, copy);
            bytes += copy.kv.key.len + copy.kv.value.len + copy.previous.value.len;
        }
    }
    return id_make(store->state.revision + 1, 0);
}

static void start_scan(LocalWatch *watch)
{
    LocalStore *store = watch->store;
    if (store->watches.scans == SCANS_MAX) {
        list_add(&store->watches.wait, watch);
        return;
    }
    Job *job = job_new(JOB_SCAN);
    job->watch = watch;
    job->scan = (LogScan){
        .key = arena_copy(&job->arena, watch->spec.key),
        .end = arena_copy(&job->arena, watch->spec.end),
        .previous = watch->spec.previous,
        .from_id = watch->next_id,
    };
    watch->scan = job;
    store->watches.scans++;
    store_start_read(store, job);
}

/* The newest revision that a client may have seen: reads may see writes that are not completed
 * yet. */
static int64_t newest(const LocalStore *store)
{
    return store->newest > store->state.revision ? store->newest : store->state.revision;
}

/* For a new watch: whether its start is not connected to the current revision. */
static bool is_start_unreachable(const LocalWatch *watch)
{
    int64_t from = watch->spec.from;
    return !watch->start_checked && from != 0 &&
           (from <= watch->store->state.compacted || from > newest(watch->store) + 1);
}

static void serve(LocalWatch *watch)
{
    LocalStore *store = watch->store;
    if (is_start_unreachable(watch)) {
        int64_t compacted = store->state.compacted, revision = newest(store);
        deliver_end(
            watch, (StoreBatch){ .resync = true,
                                 .compacted = watch->spec.from > revision ? revision : compacted });
        return;
    }
    watch->start_checked = true;
    while (!watch->is_ended && watch->is_behind && watch->window > 0) {
        if (id_revision(watch->next_id) > store->state.revision) {
            break;
        }
        if (id_revision(watch->next_id) < store->recent.from) {
            start_scan(watch);
            return;
        }
        StoreEvents events = { 0 };
        arena_reset(&store->watches.arena);
        int64_t next_id = collect(watch, &events);
        if (!deliver_events(watch, &events, next_id)) {
            return;
        }
    }
    if (!watch->is_ended && id_revision(watch->next_id) > store->state.revision) {
        deliver_progress(watch);
    } else if (!watch->is_ended && !watch->is_behind && watch->progress_due) {
        deliver_progress(watch);
    }
}

static void serve_all(void *context)
{
    LocalStore *store = context;
    for (LocalWatch *watch; (watch = store->watches.feed.first) != NULL;) {
        list_remove(watch);
        serve(watch);
    }
}

/* --- Notifications from the threads ---------------------------------------------------------- */

static LocalWatch *watch_of(WatchNode *node)
{
    return (LocalWatch *)((char *)node - offsetof(LocalWatch, node));
}

static void check_watch(WatchNode *node, void *context)
{
    LocalWatch *watch = watch_of(node);
    const int64_t *id = context;
    /* One that is behind is served later; others have already seen it in a scan. */
    if (watch->is_ended || watch->is_behind || *id < watch->next_id) {
        return;
    }
    watch->next_id = *id;
    set_behind(watch, true);
    serve_later(watch);
}

static void check_all(WatchNode *node, int64_t id)
{
    if (node != NULL) {
        check_watch(node, &id);
        check_all(node->left, id);
        check_all(node->right, id);
    }
}

void watches_write_done(LocalStore *store, Job *job)
{
    if (job->revision == 0) {
        job_free(job);
        return;
    }
    store->state.revision = job->revision;
    if (job->changes.cut) {
        while (store->recent.count > 0) {
            recent_drop_first(&store->recent);
        }
        store->recent.from = job->revision + 1;
        check_all(store->watches.root, id_make(job->revision, 0));
        job_free(job);
        return;
    }
    for (uint32_t i = 0; i < job->changes.events.len; i++) {
        int64_t id = id_make(job->revision, i);
        watch_index_find(store->watches.root, job->changes.events.items[i].kv.key, check_watch,
                         &id);
    }
    recent_add(&store->recent, job);
}

void watches_scanned(LocalStore *store, Job *job)
{
    LocalWatch *watch = job->watch;
    store->watches.scans--;
    if (watch != NULL) {
        watch->scan = NULL;
        LogScan *scan = &job->scan;
        bool is_open;
        if (!job->ok) {
            is_open = deliver_end(watch, (StoreBatch){ .err = &job->err });
        } else if (scan->resync) {
            is_open = deliver_end(
                watch, (StoreBatch){ .resync = true, .compacted = scan->state.compacted });
        } else {
            is_open = deliver_events(watch, &scan->events, scan->next_id);
        }
        if (is_open) {
            serve_later(watch);
        }
    }
    job_free(job);
    LocalWatch *next = store->watches.wait.first;
    if (next != NULL) {
        list_remove(next);
        serve_later(next);
    }
}

/* --- Calls ----------------------------------------------------------------------------------- */

bool local_watch(Store *base, const StoreWatchSpec *spec, StoreWatch **out, Error *err)
{
    LocalStore *store = (LocalStore *)base;
    /* The struct is followed by the key, a NUL that makes it the end of its own range, and the
     * end. */
    size_t room = spec->key.len + 1 + spec->end.len;
    LocalWatch *watch = memory_new(sizeof *watch + room);
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
    watch->node.number = store->watches.created_count++;
    watch->node.priority = loop_random(store->base.loop);
    int64_t from = spec->from == 0 ? store->state.revision + 1 : spec->from;
    watch->next_id = id_make(from, 0);
    store->watches.count++;
    set_behind(watch, true);
    watch_index_add(&store->watches.root, &watch->node);
    if (store->watches.count == 1) {
        loop_timer_start(&store->watches.progress, store->settings.progress_ms);
    }
    serve_later(watch);
    *out = &watch->base;
    return true;
}

void local_watch_ack(StoreWatch *base)
{
    LocalWatch *watch = (LocalWatch *)base;
    watch->window++;
    if (watch->is_behind && !watch->in_callback) {
        serve_later(watch);
    }
}

void local_watch_cancel(StoreWatch *base)
{
    LocalWatch *watch = (LocalWatch *)base;
    Watches *watches = &watch->store->watches;
    BUG_IF(watch->canceled);
    list_remove(watch);
    set_behind(watch, false);
    watch->is_ended = true;
    watch_index_remove(&watches->root, &watch->node);
    if (watch->scan != NULL) {
        watch->scan->watch = NULL;
    }
    if (--watches->count == 0) {
        loop_timer_stop(&watches->progress);
    }
    free_watch(watch);
}

static void mark_all_due(WatchNode *node)
{
    if (node == NULL) {
        return;
    }
    LocalWatch *watch = watch_of(node);
    if (!watch->was_delivered && !watch->is_behind && !watch->is_ended) {
        watch->progress_due = true;
        serve_later(watch);
    }
    watch->was_delivered = false;
    mark_all_due(node->left);
    mark_all_due(node->right);
}

static void progress(void *context)
{
    LocalStore *store = context;
    mark_all_due(store->watches.root);
    loop_timer_start(&store->watches.progress, store->settings.progress_ms);
}

void watches_init(LocalStore *store)
{
    Watches *watches = &store->watches;
    arena_init(&watches->arena, ARENA_UNLIMITED);
    loop_task_init(&watches->feed_task, serve_all, store);
    loop_timer_init(&watches->progress, store->base.loop, progress, store);
    store->recent.from = store->state.revision + 1;
}

void watches_clear(LocalStore *store)
{
    BUG_IF(store->watches.count > 0);
    loop_timer_stop(&store->watches.progress);
    loop_task_stop(store->base.loop, &store->watches.feed_task);
    while (store->recent.count > 0) {
        recent_drop_first(&store->recent);
    }
    free(store->recent.jobs);
    arena_clear(&store->watches.arena);
}
