/* In-memory copy of the cluster's keys.
 *
 * A full list is read into `next` while the current copy stays in use; when it is complete, the
 * difference between the two is applied as if it had been watched. So views see only one kind of
 * change. */
#include "cluster/state.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/utc.h"
#include "base/vec.h"
#include "cluster/facts_digest.h"
#include "cluster/state_filter.h"

enum {
    PAGE = 1000,
    RETRY_MIN_MS = 500,
    RETRY_MAX_MS = 10 * 1000,
    CHECK_MS = 2000,
    /* Number of consecutive missing responses after which the store is considered unresponsive. It
     * is a count rather than a time, so that a pause of this process is not mistaken for an
     * unresponsive store. The same limit applies to a silent watch. */
    MISSED_MAX = 3,
};

/* An event of a revision that is not complete yet. */
typedef struct Pending {
    StateEntry *entry;
    bool deleted;
} Pending;

/* Why the copy is stale. */
typedef enum Problem {
    PROBLEM_READING, /* the store cannot be read */
    PROBLEM_SILENT,  /* it is not responding */
    PROBLEM_WRITING, /* it accepts no writes, so it does not reflect the cluster */
    PROBLEM_COUNT
} Problem;

typedef struct Waiter {
    int64_t revision;
    StateReached *seen;
    void *context;
    struct Waiter *next;
} Waiter;

struct State {
    ClusterStore cluster_store;
    StateEvents events;
    Arena arena;     /* memory of keys */
    VEC(Str) ranges; /* prefixes of all keys in the copy */
    OrderedSet entries;
    int64_t revision;
    StateView *views;
    /* next view to notify; a variable, because callbacks may detach other views */
    StateView *next_view;
    Waiter *waiters;

    bool is_reading; /* a full list is being read, page by page */
    OrderedSet next; /* entries read so far */
    uint32_t next_range;
    int64_t next_revision; /* 0: before the first page */
    StoreWatch *watch;
    Pending *pending;
    uint32_t pending_count, pending_room;
    LoopTimer retry;
    int64_t retry_ms;

    LoopTimer check;
    bool is_checking; /* a check for a response is pending */
    uint32_t missed_checks;
    bool has_reported; /* the watch has reported something since the last response */
    uint32_t
        silent_checks; /* consecutive responses with a newer revision, while the watch was silent */

    uint32_t pending_calls; /* number of pending store calls */
    bool is_ready, is_stopped, is_freed;
    int64_t stale_since_ms;
    Error problems[PROBLEM_COUNT]; /* ERROR_NONE if the problem does not exist */
};

/* --- Entries --------------------------------------------------------------------------------- */

/* One allocation: the entry, its key, its parts, its value. */
static StateEntry *entry_new(const StateEvents *events, const StoreKv *kv, KeyKind kind,
                             const Str *parts)
{
    uint32_t count = key_part_count(kind);
    bool has_value = state_retains_value(events, kv, kind, parts);
    AUTO_CLEAR(Buf) digest = buf_make(BUF_UNLIMITED);
    if (state_retention(kind) == RETAIN_DIGEST) {
        facts_digest(kv->value, &digest);
    }
    Str value = has_value ? kv->value : buf_str(&digest);
    size_t size = sizeof(StateEntry) + kv->key.len + value.len;
    for (uint32_t i = 0; i < count; i++) {
        size += parts[i].len;
    }
    StateEntry *entry = memory_new(size);
    char *at = (char *)(entry + 1);
    *entry = (StateEntry){ .kind = kind,
                           .has_value = has_value,
                           .create_revision = kv->create_revision,
                           .mod_revision = kv->mod_revision,
                           .version = kv->version,
                           .lease = kv->lease };
    Str *copies[KEYS_PARTS_MAX + 2] = { &entry->key, &entry->value };
    Str texts[KEYS_PARTS_MAX + 2] = { kv->key, value };
    for (uint32_t i = 0; i < count; i++) {
        copies[2 + i] = &entry->parts[i];
        texts[2 + i] = parts[i];
    }
    for (uint32_t i = 0; i < 2 + count; i++) {
        if (texts[i].len > 0) {
            memcpy(at, texts[i].data, texts[i].len);
        }
        *copies[i] = str_from(at, texts[i].len);
        at += texts[i].len;
    }
    return entry;
}

/* Returns NULL if keys of this kind are not in the copy. */
static StateEntry *entry_of(const State *state, const StoreKv *kv)
{
    AUTO_CLEAR(Arena) arena;
    Str parts[KEYS_PARTS_MAX];
    KeyKind kind;
    arena_init(&arena, ARENA_UNLIMITED);
    bool is_included = key_parse(&arena, state->cluster_store.prefix, kv->key, &kind, parts) &&
                       state_retention(kind) != RETAIN_NOTHING;
    return is_included ? entry_new(&state->events, kv, kind, parts) : NULL;
}

static void entries_clear(OrderedSet *entries)
{
    StateEntry *entry;
    for (OrderedCursor at = { 0 }; (entry = ordered_next(entries, &at)) != NULL;) {
        free(entry);
    }
    ordered_clear(entries);
}

/* --- Notification ---------------------------------------------------------------------------- */

static void notify(State *state, const StateEntry *now, const StateEntry *before)
{
    KeyKind kind = now != NULL ? now->kind : before->kind;
    for (StateView *view = state->views; view != NULL; view = view->next) {
        if ((view->kinds & STATE_KIND(kind)) != 0) {
            view->is_touched = true;
            view->changed(view->context, now, before);
        }
    }
}

static void report_revision(State *state)
{
    for (StateView *view = state->views; view != NULL; view = state->next_view) {
        state->next_view = view->next;
        bool is_touched = view->is_touched;
        view->is_touched = false;
        if (is_touched && view->settled != NULL) {
            view->settled(view->context);
        }
    }
}

/* Notifies those who wait for the current revision, or all of them. */
static void wake(State *state, bool all)
{
    for (Waiter **link = &state->waiters; *link != NULL;) {
        Waiter *waiter = *link;
        if (!all && waiter->revision > state->revision) {
            link = &waiter->next;
            continue;
        }
        *link = waiter->next;
        waiter->seen(waiter->context);
        free(waiter);
    }
}

/* Takes ownership of the entry. */
static void put_entry(State *state, StateEntry *entry)
{
    StateEntry *before = ordered_put(&state->entries, &entry->key);
    notify(state, entry, before);
    free(before);
}

static void remove_entry(State *state, Str key)
{
    StateEntry *before = ordered_remove(&state->entries, key);
    if (before != NULL) {
        notify(state, NULL, before);
        free(before);
    }
}

/* --- Staleness ------------------------------------------------------------------------------- */

static bool has(const State *state, Problem problem)
{
    return state->problems[problem].kind != ERROR_NONE;
}

static bool is_behind(const State *state)
{
    return has(state, PROBLEM_READING) || has(state, PROBLEM_SILENT);
}

/* Why the copy is stale; NULL if it is current. */
static const Error *worst_problem(const State *state)
{
    for (Problem problem = 0; problem < PROBLEM_COUNT; problem++) {
        if (has(state, problem)) {
            return &state->problems[problem];
        }
    }
    return NULL;
}

static void notify_age(State *state)
{
    for (StateView *view = state->views; view != NULL; view = state->next_view) {
        state->next_view = view->next;
        if (view->age_changed != NULL) {
            view->age_changed(view->context);
        }
    }
}

/* Called after a problem has appeared or disappeared. */
static void update_age(State *state)
{
    const Error *why = worst_problem(state);
    bool was_stale = state->stale_since_ms != 0;
    if (why != NULL && !was_stale) {
        state->stale_since_ms = loop_wall_ms(state->cluster_store.loop);
        log_error("store unavailable; serving the last known state of the cluster",
                  LOG_C("error", why->text));
        state->events.stale(state->events.context, why);
    } else if (why == NULL && was_stale) {
        state->stale_since_ms = 0;
        if (state->is_ready) {
            log_info("store available again; cluster state is current");
            state->events.current(state->events.context);
        }
    }
    if ((why != NULL) != was_stale) {
        notify_age(state);
    }
    if (is_behind(state)) {
        wake(state, true);
    }
}

static void set_problem(State *state, Problem problem, ErrorKind kind, const char *text)
{
    bool is_known = has(state, problem);
    state->problems[problem].kind = ERROR_NONE;
    if (kind != ERROR_NONE) {
        error_set(&state->problems[problem], kind, "%s", text);
    }
    if (is_known || kind != ERROR_NONE) {
        update_age(state);
    }
}

/* Reads the full list, and retries until it succeeds. */
static void fail_reading(State *state, const Error *err)
{
    state->is_reading = false;
    store_watch_cancel(TAKE(state->watch));
    entries_clear(&state->next);
    loop_timer_start(&state->retry, state->retry_ms);
    state->retry_ms = 2 * state->retry_ms < RETRY_MAX_MS ? 2 * state->retry_ms : RETRY_MAX_MS;
    set_problem(state, PROBLEM_READING, err->kind, err->text);
}

static void become_current(State *state)
{
    state->retry_ms = RETRY_MIN_MS;
    report_revision(state);
    set_problem(state, PROBLEM_READING, ERROR_NONE, "");
    if (!state->is_ready) {
        state->is_ready = true;
        loop_timer_start(&state->check, 0);
        state->events.ready(state->events.context);
    }
    wake(state, false);
}

/* --- Watching -------------------------------------------------------------------------------- */

static void read_all(State *state);

static void add_pending(State *state, StateEntry *entry, bool deleted)
{
    if (state->pending_count == state->pending_room) {
        state->pending_room = state->pending_room == 0 ? 64 : 2 * state->pending_room;
        state->pending = realloc(state->pending, state->pending_room * sizeof(state->pending[0]));
        if (state->pending == NULL) {
            memory_exhausted(state->pending_room * sizeof(state->pending[0]));
        }
    }
    state->pending[state->pending_count++] = (Pending){ entry, deleted };
}

static void drop_pending(State *state)
{
    for (uint32_t i = 0; i < state->pending_count; i++) {
        free(state->pending[i].entry);
    }
    state->pending_count = 0;
}

static void notify_only(State *state, const Pending *event)
{
    if (!event->deleted) {
        notify(state, event->entry, NULL);
    }
    free(event->entry);
}

/* Applies the pending events up to `revision`, which is complete. */
static void apply_pending(State *state, int64_t revision)
{
    uint32_t included_count = 0;
    for (uint32_t i = 0; i < state->pending_count; i++) {
        Pending event = state->pending[i];
        if (event.entry->mod_revision > revision) {
            state->pending[included_count++] = event;
        } else if (state_retention(event.entry->kind) == RETAIN_EVENTS) {
            notify_only(state, &event);
        } else if (event.deleted) {
            remove_entry(state, event.entry->key);
            free(event.entry);
        } else {
            put_entry(state, event.entry);
        }
    }
    state->pending_count = included_count;
}

static void watched(void *context, const StoreBatch *batch)
{
    State *state = context;
    state->has_reported = true;
    if (batch->err != NULL) {
        fail_reading(state, batch->err);
        return;
    }
    if (batch->resync) {
        store_watch_cancel(TAKE(state->watch));
        read_all(state);
        return;
    }
    for (uint32_t i = 0; i < batch->count; i++) {
        const StoreEvent *event = &batch->events[i];
        StateEntry *entry = entry_of(state, &event->kv);
        if (entry != NULL) {
            add_pending(state, entry, event->deleted);
        }
    }
    if (batch->count > 0) {
        store_watch_ack(state->watch);
    }
    if (batch->revision > state->revision) {
        apply_pending(state, batch->revision);
        state->revision = batch->revision;
        report_revision(state);
        wake(state, false);
    }
}

/* Watches all keys, even those outside the prefix: otherwise a caller waiting for a revision that
 * only changed those would wait until the next relevant one. */
static bool start_watching(State *state, Error *err)
{
    StoreWatchSpec spec = { .key = STR("\0"),
                            .end = STORE_ALL,
                            .from = state->revision + 1,
                            .done = watched,
                            .context = state };
    return store_watch(state->cluster_store.store, &spec, &state->watch, err);
}

/* --- Listing --------------------------------------------------------------------------------- */

/* Makes the copy equal to `next`, and empties `next`. */
static void replace_entries(State *state)
{
    StateEntry *entry;
    VEC(Str) deleted = { 0 };
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    for (OrderedCursor at = { 0 }; (entry = ordered_next(&state->entries, &at)) != NULL;) {
        if (ordered_find(&state->next, entry->key) == NULL) {
            VEC_PUSH(&arena, &deleted, entry->key);
        }
    }
    for (uint32_t i = 0; i < deleted.len; i++) {
        remove_entry(state, deleted.items[i]);
    }
    for (OrderedCursor at = { 0 }; (entry = ordered_next(&state->next, &at)) != NULL;) {
        const StateEntry *before = ordered_find(&state->entries, entry->key);
        if (before != NULL && before->mod_revision == entry->mod_revision &&
            before->create_revision == entry->create_revision) {
            free(entry);
        } else {
            put_entry(state, entry);
        }
    }
    ordered_clear(&state->next);
}

static void notify_reread(State *state)
{
    for (StateView *view = state->views; view != NULL; view = state->next_view) {
        state->next_view = view->next;
        if (view->reread != NULL) {
            view->reread(view->context);
        }
    }
}

static void finish_reading(State *state)
{
    Error err;
    bool is_first = !state->is_ready;
    state->is_reading = false;
    drop_pending(state);
    replace_entries(state);
    state->revision = state->next_revision;
    if (!is_first) {
        notify_reread(state);
    }
    if (start_watching(state, &err)) {
        become_current(state);
    } else {
        fail_reading(state, &err);
    }
}

static void state_destroy(State *state)
{
    drop_pending(state);
    free(state->pending);
    entries_clear(&state->entries);
    entries_clear(&state->next);
    arena_clear(&state->arena);
    free(state);
}

/* Returns false if the response is no longer needed. */
static bool response_received(State *state)
{
    state->pending_calls--;
    if (state->is_freed && state->pending_calls == 0) {
        state_destroy(state);
        return false;
    }
    return !state->is_stopped;
}

/* A store with a lower revision than before is a different store or an old copy, which may lack
 * revocations. */
static bool check_revision(const State *state, int64_t revision, Error *err)
{
    return revision >= state->revision ||
           error_set(err, ERROR_UNAVAILABLE,
                     "the store is at revision %" PRId64 ", but %" PRId64
                     " was seen: it is a different store, or an old copy of it",
                     revision, state->revision);
}

static void read_page(State *state, Str after);

static void on_page(void *context, const StoreReply *reply, const Error *err)
{
    State *state = context;
    Error failure;
    if (!response_received(state)) {
        return;
    }
    if (err != NULL && err->kind == ERROR_NOT_FOUND) {
        read_all(state); /* the revision was compacted in the meantime */
        return;
    }
    if (err == NULL && state->next_revision == 0) {
        err = check_revision(state, reply->revision, &failure) ? NULL : &failure;
        state->next_revision = reply->revision;
    }
    if (err != NULL) {
        fail_reading(state, err);
        return;
    }
    const StoreOpReply *range = &reply->ops[0];
    for (uint32_t i = 0; i < range->kv_count; i++) {
        StateEntry *entry = entry_of(state, &range->kvs[i]);
        if (entry != NULL) {
            free(ordered_put(&state->next, &entry->key));
        }
    }
    if (range->more && range->kv_count > 0) {
        read_page(state, range->kvs[range->kv_count - 1].key);
    } else if (++state->next_range < state->ranges.len) {
        read_page(state, STR_EMPTY);
    } else {
        finish_reading(state);
    }
}

static void read_page(State *state, Str after)
{
    AUTO_CLEAR(Arena) arena;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    Str all = state->ranges.items[state->next_range];
    StoreOp op = { .kind = STORE_RANGE,
                   .key = after.len == 0 ? all : arena_join(&arena, after, STR("\0"), STR_EMPTY),
                   .end = store_prefix_end(&arena, all),
                   .revision = state->next_revision,
                   .limit = PAGE };
    if (store_op(state->cluster_store.store, &op, on_page, state, &err)) {
        state->pending_calls++;
    } else {
        fail_reading(state, &err);
    }
}

static void read_all(State *state)
{
    entries_clear(&state->next);
    state->is_reading = true;
    state->next_range = 0;
    state->next_revision = 0;
    read_page(state, STR_EMPTY);
}

static void retry(void *context)
{
    read_all(context);
}

/* --- Checking the store ---------------------------------------------------------------------- */

/* A watch that reports nothing although the store has new revisions is broken: callers would wait
 * for their own writes forever. */
static void check_watch(State *state, int64_t revision)
{
    Error err;
    bool is_silent = state->watch != NULL && !state->has_reported && revision > state->revision;
    state->silent_checks = is_silent ? state->silent_checks + 1 : 0;
    state->has_reported = false;
    if (state->silent_checks == MISSED_MAX) {
        state->silent_checks = 0;
        error_set(&err, ERROR_TIMEOUT, "the store does not report changes");
        fail_reading(state, &err);
    }
}

static void checked(void *context, const StoreReply *reply, const Error *err)
{
    State *state = context;
    if (!response_received(state)) {
        return;
    }
    state->is_checking = false;
    /* While listing, an error is noticed anyway; pages still to come would be mistaken for the
     * complete list. */
    if (err != NULL && !has(state, PROBLEM_READING) && !state->is_reading) {
        fail_reading(state, err);
    } else if (err == NULL) {
        check_watch(state, reply->revision);
    }
    set_problem(state, PROBLEM_SILENT, ERROR_NONE, "");
}

/* Reads are completed after earlier writes, so this also detects a hanging disk. */
static void probe_store(State *state)
{
    StoreOp op = { .kind = STORE_RANGE, .key = state->cluster_store.prefix, .count_only = true };
    Error ignored; /* the store has too many pending calls, or is closing */
    state->is_checking = store_op(state->cluster_store.store, &op, checked, state, &ignored);
    state->pending_calls += state->is_checking ? 1 : 0;
    state->missed_checks = 0;
}

static void check_runs(void *context)
{
    State *state = context;
    loop_timer_start(&state->check, CHECK_MS);
    if (!state->is_checking) {
        probe_store(state);
    } else if (++state->missed_checks == MISSED_MAX) {
        set_problem(state, PROBLEM_SILENT, ERROR_TIMEOUT, "the store is not responding");
    }
    state_check(state);
}

void state_check(State *state)
{
    if (state == NULL || !state->is_ready || state->is_stopped) {
        return;
    }
    StoreStatus store = store_status(state->cluster_store.store);
    bool is_ok = store.condition == STORE_OK || store.condition == STORE_FULL;
    if (is_ok != !has(state, PROBLEM_WRITING)) {
        set_problem(state, PROBLEM_WRITING, is_ok ? ERROR_NONE : ERROR_UNAVAILABLE, store.reason);
    }
}

/* --- Public API ------------------------------------------------------------------------------ */

/* Several kinds may share a range, such as nodes and their liveness. */
static void list_ranges(State *state)
{
    for (KeyKind kind = 0; kind < KEY_KIND_COUNT; kind++) {
        if (state_retention(kind) <= RETAIN_EVENTS) {
            continue;
        }
        Str range = key_make_prefix(&state->arena, state->cluster_store.prefix, kind, NULL, 0);
        bool is_new = true;
        for (uint32_t i = 0; i < state->ranges.len; i++) {
            is_new = is_new && !str_eq(state->ranges.items[i], range);
        }
        if (is_new) {
            VEC_PUSH(&state->arena, &state->ranges, range);
        }
    }
}

State *state_new(const ClusterStore *cluster_store, const StateEvents *events)
{
    State *state = memory_new(sizeof *state);
    arena_init(&state->arena, ARENA_UNLIMITED);
    state->cluster_store = *cluster_store;
    state->cluster_store.prefix = arena_copy(&state->arena, cluster_store->prefix);
    state->events = *events;
    state->retry_ms = RETRY_MIN_MS;
    list_ranges(state);
    loop_timer_init(&state->retry, cluster_store->loop, retry, state);
    loop_timer_init(&state->check, cluster_store->loop, check_runs, state);
    read_all(state);
    return state;
}

void state_stop(State *state)
{
    if (state != NULL) {
        store_watch_cancel(TAKE(state->watch));
        loop_timer_stop(&state->retry);
        loop_timer_stop(&state->check);
        state->is_stopped = true;
        wake(state, true);
    }
}

void state_free(State *state)
{
    state_stop(state);
    if (state != NULL && state->pending_calls > 0) {
        state->is_freed = true; /* a response from the store is pending */
    } else if (state != NULL) {
        state_destroy(state);
    }
}

StateAge state_age(const State *state)
{
    const Error *why = worst_problem(state);
    return (StateAge){ .is_ready = state->is_ready,
                       .revision = state->revision,
                       .stale_since_ms = state->stale_since_ms,
                       .why = why == NULL ? "" : why->text,
                       .is_behind = is_behind(state) };
}

bool state_accepts_writes(const State *state, Error *err)
{
    if (state == NULL || !is_behind(state)) {
        return true;
    }
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str since = utc_text(&arena, state->stale_since_ms);
    return error_set(err, ERROR_UNAVAILABLE,
                     "the store has been unavailable since %" STR_FMT
                     ", and nothing can be changed until it is available again: %s",
                     STR_ARG(since), worst_problem(state)->text);
}

const StateEntry *state_find(const State *state, Str key)
{
    return ordered_find(&state->entries, key);
}

int64_t state_record(const State *state, Str key, const RecordFormat *format, Arena *arena,
                     void *out)
{
    const StateEntry *entry = state_find(state, key);
    Error ignored;
    if (entry != NULL &&
        record_read(format, arena, arena_copy(arena, entry->value), RECORD_STORED, out, &ignored)) {
        return entry->mod_revision;
    }
    memset(out, 0, format->size);
    return 0;
}

StateRange state_range(const State *state, Str prefix, Str after)
{
    StateRange range = { .state = state, .prefix = prefix };
    range.cursor = ordered_lower_bound(&state->entries, after.len == 0 ? prefix : after);
    OrderedCursor next = range.cursor;
    const StateEntry *first = ordered_next(&state->entries, &next);
    if (after.len > 0 && first != NULL && str_eq(first->key, after)) {
        range.cursor = next;
    }
    return range;
}

const StateEntry *state_next(StateRange *range)
{
    const StateEntry *entry = ordered_next(&range->state->entries, &range->cursor);
    return entry != NULL && str_starts(entry->key, range->prefix) ? entry : NULL;
}

void state_attach(State *state, StateView *view)
{
    StateEntry *entry;
    view->next = state->views;
    view->is_touched = false;
    state->views = view;
    for (OrderedCursor at = { 0 }; (entry = ordered_next(&state->entries, &at)) != NULL;) {
        if ((view->kinds & STATE_KIND(entry->kind)) != 0) {
            view->is_touched = true;
            view->changed(view->context, entry, NULL);
        }
    }
    if (view->is_touched && view->settled != NULL) {
        view->is_touched = false;
        view->settled(view->context);
    }
}

void state_detach(State *state, StateView *view)
{
    if (state->next_view == view) {
        state->next_view = view->next;
    }
    for (StateView **link = &state->views; *link != NULL; link = &(*link)->next) {
        if (*link == view) {
            *link = view->next;
            return;
        }
    }
}

void state_wait(State *state, int64_t revision, StateReached *seen, void *context)
{
    if (state == NULL || revision <= state->revision || is_behind(state) || state->is_stopped) {
        seen(context);
        return;
    }
    Waiter *waiter = memory_new(sizeof *waiter);
    *waiter = (Waiter){ revision, seen, context, state->waiters };
    state->waiters = waiter;
}

bool cluster_read(const ClusterStore *cluster_store, const StoreOp *ops, uint32_t count,
                  StoreDone *done, void *context, Error *err)
{
    StoreTxn txn = { .success = ops,
                     .success_count = count,
                     .relaxed = cluster_store->state != NULL &&
                                state_age(cluster_store->state).stale_since_ms != 0 };
    return store_txn(cluster_store->store, &txn, done, context, err);
}
