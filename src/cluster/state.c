/* A list is read into `next` beside the copy that is in use; when it is complete, the difference of the
 * two is applied as if it had been watched. So views see one kind of change only. */
#include "cluster/state.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/vec.h"

enum {
    PAGE = 1000,
    RETRY_MIN_MS = 500,
    RETRY_MAX_MS = 30 * 1000,
};

/* What is kept of a kind. */
typedef enum Keep {
    KEEP_NOTHING, /* there may be any number, and nobody looks for them here */
    KEEP_KEY,     /* its value may be large */
    KEEP_VALUE,
} Keep;

static const Keep keeps[KEY_KIND_COUNT] = {
    [KEY_CURRENT_VERSION] = KEEP_VALUE,
    [KEY_RUNNING_VERSION] = KEEP_VALUE,
    [KEY_STATUS] = KEEP_KEY,
    [KEY_NODE] = KEEP_VALUE,
    [KEY_NODE_ALIVE] = KEEP_VALUE,
    [KEY_NODE_SILENT] = KEEP_VALUE,
    [KEY_REMOVED] = KEEP_VALUE,
    [KEY_SESSION] = KEEP_VALUE,
    [KEY_FACTS] = KEEP_KEY,
    [KEY_TRUST] = KEEP_VALUE,
    [KEY_SERVICE] = KEEP_VALUE,
    [KEY_LOCK] = KEEP_VALUE,
    [KEY_LEADER] = KEEP_VALUE,
    [KEY_OBJECT] = KEEP_VALUE,
    [KEY_BROWSER] = KEEP_VALUE,
};

/* An event of a revision that is not told in full yet. */
typedef struct Pending {
    StateEntry *entry;
    bool deleted;
} Pending;

typedef struct Waiter {
    int64_t revision;
    StateSeen *seen;
    void *context;
    struct Waiter *next;
} Waiter;

struct State {
    ClusterStore at;
    StateEvents events;
    Arena own;       /* keys */
    VEC(Str) ranges; /* what all keys that are kept start with */
    Ordered entries;
    int64_t revision;
    StateView *views;
    Waiter *waiters;

    Ordered next; /* while it is read */
    uint32_t next_range;
    int64_t next_revision; /* 0: the first page is to come */
    StoreWatch *watch;
    Pending *pending;
    uint32_t pending_count, pending_room;
    LoopTimer retry;
    int64_t retry_ms;

    bool is_reading, is_ready, is_freed;
    int64_t stale_since_ms;
    Error why;
};

bool state_keeps_value(KeyKind kind)
{
    return keeps[kind] == KEEP_VALUE;
}

/* --- Entries --------------------------------------------------------------------------------- */

/* In one piece of memory: the entry, its key, its parts, its value. */
static StateEntry *entry_new(const StoreKv *kv, KeyKind kind, const Str *parts)
{
    uint32_t count = key_part_count(kind);
    Str value = keeps[kind] == KEEP_VALUE ? kv->value : STR_EMPTY;
    size_t size = sizeof(StateEntry) + kv->key.len + value.len;
    for (uint32_t i = 0; i < count; i++) {
        size += parts[i].len;
    }
    StateEntry *entry = memory_new(size);
    char *at = (char *)(entry + 1);
    *entry = (StateEntry){ .kind = kind,
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

/* NULL: nothing is kept of such a key. */
static StateEntry *entry_of(const State *state, const StoreKv *kv)
{
    AUTO_CLEAR(Arena) arena;
    Str parts[KEYS_PARTS_MAX];
    KeyKind kind;
    arena_init(&arena, ARENA_UNLIMITED);
    bool is_kept =
        key_parse(&arena, state->at.prefix, kv->key, &kind, parts) && keeps[kind] != KEEP_NOTHING;
    return is_kept ? entry_new(kv, kind, parts) : NULL;
}

static void entries_clear(Ordered *entries)
{
    StateEntry *entry;
    for (OrderedPlace at = { 0 }; (entry = ordered_next(entries, &at)) != NULL;) {
        free(entry);
    }
    ordered_clear(entries);
}

/* --- Telling --------------------------------------------------------------------------------- */

static void tell(State *state, const StateEntry *now, const StateEntry *before)
{
    KeyKind kind = now != NULL ? now->kind : before->kind;
    for (StateView *view = state->views; view != NULL; view = view->next) {
        if ((view->kinds & STATE_KIND(kind)) != 0) {
            view->is_touched = true;
            view->changed(view->context, now, before);
        }
    }
}

static void settle(State *state)
{
    for (StateView *view = state->views, *next; view != NULL; view = next) {
        next = view->next;
        bool is_touched = view->is_touched;
        view->is_touched = false;
        if (is_touched && view->settled != NULL) {
            view->settled(view->context);
        }
    }
}

/* All who wait for the present revision, or for any. */
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

/* Takes the entry. */
static void put_entry(State *state, StateEntry *entry)
{
    StateEntry *before = ordered_put(&state->entries, &entry->key);
    tell(state, entry, before);
    free(before);
}

static void remove_entry(State *state, Str key)
{
    StateEntry *before = ordered_remove(&state->entries, key);
    if (before != NULL) {
        tell(state, NULL, before);
        free(before);
    }
}

/* --- Staleness ------------------------------------------------------------------------------- */

static void become_stale(State *state, const Error *err)
{
    store_watch_cancel(state->watch);
    state->watch = NULL;
    entries_clear(&state->next);
    state->why = *err;
    if (state->stale_since_ms == 0) {
        state->stale_since_ms = loop_wall_ms(state->at.loop);
        log_error("the state of the cluster cannot be read from the store; serving what was known",
                  LOG_C("error", err->text));
        state->events.stale(state->events.context, &state->why);
    }
    wake(state, true);
    loop_timer_start(&state->retry, state->retry_ms);
    state->retry_ms = 2 * state->retry_ms < RETRY_MAX_MS ? 2 * state->retry_ms : RETRY_MAX_MS;
}

static void become_current(State *state)
{
    state->retry_ms = RETRY_MIN_MS;
    bool was_stale = state->stale_since_ms != 0;
    state->stale_since_ms = 0;
    settle(state);
    if (!state->is_ready) {
        state->is_ready = true;
        state->events.ready(state->events.context);
    } else if (was_stale) {
        log_info("the state of the cluster is current again");
        state->events.current(state->events.context);
    }
    wake(state, false);
}

/* --- Watching -------------------------------------------------------------------------------- */

static void read_all(State *state);

static void pend(State *state, StateEntry *entry, bool deleted)
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

/* Those up to `revision`, which was told in full. */
static void apply_pending(State *state, int64_t revision)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < state->pending_count; i++) {
        Pending one = state->pending[i];
        if (one.entry->mod_revision > revision) {
            state->pending[kept++] = one;
        } else if (one.deleted) {
            remove_entry(state, one.entry->key);
            free(one.entry);
        } else {
            put_entry(state, one.entry);
        }
    }
    state->pending_count = kept;
}

static void watched(void *context, const StoreBatch *batch)
{
    State *state = context;
    if (batch->err != NULL) {
        become_stale(state, batch->err);
        return;
    }
    if (batch->resync) {
        store_watch_cancel(state->watch);
        state->watch = NULL;
        read_all(state);
        return;
    }
    for (uint32_t i = 0; i < batch->count; i++) {
        const StoreEvent *event = &batch->events[i];
        StateEntry *entry = entry_of(state, &event->kv);
        if (entry != NULL) {
            pend(state, entry, event->deleted);
        }
    }
    if (batch->count > 0) {
        store_watch_ack(state->watch);
    }
    if (batch->revision > state->revision) {
        apply_pending(state, batch->revision);
        state->revision = batch->revision;
        settle(state);
        wake(state, false);
    }
}

static bool start_watching(State *state, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str all = arena_join(&arena, state->at.prefix, STR("/"), STR_EMPTY);
    StoreWatchSpec spec = { .key = all,
                            .end = store_prefix_end(&arena, all),
                            .from = state->revision + 1,
                            .done = watched,
                            .context = state };
    return store_watch(state->at.store, &spec, &state->watch, err);
}

/* --- Reading everything ---------------------------------------------------------------------- */

/* Makes the copy equal to `next`, and `next` empty. */
static void adopt_next(State *state)
{
    StateEntry *entry;
    VEC(Str) gone = { 0 };
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    for (OrderedPlace at = { 0 }; (entry = ordered_next(&state->entries, &at)) != NULL;) {
        if (ordered_find(&state->next, entry->key) == NULL) {
            VEC_PUSH(&arena, &gone, entry->key);
        }
    }
    for (uint32_t i = 0; i < gone.len; i++) {
        remove_entry(state, gone.items[i]);
    }
    for (OrderedPlace at = { 0 }; (entry = ordered_next(&state->next, &at)) != NULL;) {
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

static void reading_ends(State *state)
{
    Error err;
    drop_pending(state);
    adopt_next(state);
    state->revision = state->next_revision;
    if (start_watching(state, &err)) {
        become_current(state);
    } else {
        become_stale(state, &err);
    }
}

static void state_destroy(State *state)
{
    wake(state, true);
    loop_timer_stop(&state->retry);
    drop_pending(state);
    free(state->pending);
    entries_clear(&state->entries);
    entries_clear(&state->next);
    arena_clear(&state->own);
    free(state);
}

static void read_page(State *state, Str after);

static void page_came(void *context, const StoreReply *reply, const Error *err)
{
    State *state = context;
    state->is_reading = false;
    if (state->is_freed) {
        state_destroy(state);
        return;
    }
    if (err != NULL && err->kind == ERROR_NOT_FOUND) {
        read_all(state); /* that revision was compacted meanwhile */
        return;
    }
    if (err != NULL) {
        become_stale(state, err);
        return;
    }
    const StoreOpReply *range = &reply->ops[0];
    if (state->next_revision == 0) {
        state->next_revision = reply->revision;
    }
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
        reading_ends(state);
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
    state->is_reading = store_op(state->at.store, &op, page_came, state, &err);
    if (!state->is_reading) {
        become_stale(state, &err);
    }
}

static void read_all(State *state)
{
    entries_clear(&state->next);
    state->next_range = 0;
    state->next_revision = 0;
    read_page(state, STR_EMPTY);
}

static void retry(void *context)
{
    read_all(context);
}

/* --- From outside ---------------------------------------------------------------------------- */

/* Ranges of several kinds may be one: nodes and who of them is alive. */
static void list_ranges(State *state)
{
    for (KeyKind kind = 0; kind < KEY_KIND_COUNT; kind++) {
        if (keeps[kind] == KEEP_NOTHING) {
            continue;
        }
        Str range = key_make_prefix(&state->own, state->at.prefix, kind, NULL, 0);
        bool is_new = true;
        for (uint32_t i = 0; i < state->ranges.len; i++) {
            is_new = is_new && !str_eq(state->ranges.items[i], range);
        }
        if (is_new) {
            VEC_PUSH(&state->own, &state->ranges, range);
        }
    }
}

State *state_new(const ClusterStore *at, const StateEvents *events)
{
    State *state = memory_new(sizeof *state);
    arena_init(&state->own, ARENA_UNLIMITED);
    state->at = *at;
    state->at.prefix = arena_copy(&state->own, at->prefix);
    state->events = *events;
    state->retry_ms = RETRY_MIN_MS;
    list_ranges(state);
    loop_timer_init(&state->retry, at->loop, retry, state);
    read_all(state);
    return state;
}

void state_free(State *state)
{
    if (state == NULL) {
        return;
    }
    store_watch_cancel(state->watch);
    state->watch = NULL;
    loop_timer_stop(&state->retry);
    if (state->is_reading) {
        state->is_freed = true; /* the store's answer is still to come */
        wake(state, true);
    } else {
        state_destroy(state);
    }
}

StateAge state_age(const State *state)
{
    return (StateAge){ .is_ready = state->is_ready,
                       .revision = state->revision,
                       .stale_since_ms = state->stale_since_ms,
                       .why = state->why.text };
}

const StateEntry *state_find(const State *state, Str key)
{
    return ordered_find(&state->entries, key);
}

StateRange state_range(const State *state, Str prefix, Str after)
{
    StateRange range = { .state = state, .prefix = prefix };
    range.place = ordered_from(&state->entries, after.len == 0 ? prefix : after);
    OrderedPlace next = range.place;
    const StateEntry *first = ordered_next(&state->entries, &next);
    if (after.len > 0 && first != NULL && str_eq(first->key, after)) {
        range.place = next;
    }
    return range;
}

const StateEntry *state_next(StateRange *range)
{
    const StateEntry *entry = ordered_next(&range->state->entries, &range->place);
    return entry != NULL && str_starts(entry->key, range->prefix) ? entry : NULL;
}

void state_attach(State *state, StateView *view)
{
    StateEntry *entry;
    view->next = state->views;
    view->is_touched = false;
    state->views = view;
    for (OrderedPlace at = { 0 }; (entry = ordered_next(&state->entries, &at)) != NULL;) {
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
    for (StateView **link = &state->views; *link != NULL; link = &(*link)->next) {
        if (*link == view) {
            *link = view->next;
            return;
        }
    }
}

void state_wait(State *state, int64_t revision, StateSeen *seen, void *context)
{
    if (revision <= state->revision || state->stale_since_ms != 0) {
        seen(context);
        return;
    }
    Waiter *waiter = memory_new(sizeof *waiter);
    *waiter = (Waiter){ revision, seen, context, state->waiters };
    state->waiters = waiter;
}
