#include "api/feed.h"

#include <stdlib.h>

#include "api/api_inner.h"
#include "base/bug.h"
#include "base/hash.h"
#include "base/json_out.h"
#include "base/log.h"
#include "base/memory.h"
#include "cluster/name_table.h"
#include "cluster/state.h"
#include "lang/json.h"

enum {
    PAGE = 500,
    TICK_MS = 5000
};

/* State of an object when it was last sent. */
typedef struct FeedEntry {
    TableName name;
    int64_t revision;
    uint64_t hash; /* of the JSON sent; 0: not sent yet */
    char *labels;  /* JSON */
    bool hides_labels;
} FeedEntry;

/* An object waiting to be read. */
typedef struct PendingObject {
    TableName name;
    int64_t revision; /* revision of the first change, or an earlier one */
    struct PendingObject *next, *previous;
} PendingObject;

struct Feed {
    Api *api;
    Feed *next;
    const Kind *kind;
    ApiSettings settings; /* copied, since reads may outlive the Api */
    StateView view;
    Str prefixes[FEED_SOURCES_MAX]; /* prefixes of the keys that affect its objects */
    uint32_t prefix_count;
    TableName external[KIND_EXTERNAL_MAX]; /* as of the last check */
    uint32_t external_count;
    NameTable entries;           /* FeedEntry */
    NameTable pending;           /* PendingObject, except the one being read */
    PendingObject *first, *last; /* ordered by revision */
    PendingObject *current;      /* being read */
    int64_t revision;
    Arena arena, work; /* for prefixes; for the current read */
    Buf after;         /* start of the next page */
    FeedMember *members, *cursor;
    LoopTimer tick;
    LoopTask next_read; /* one per loop iteration, since there may be many */
    bool is_attached, is_ready, is_reading, is_notifying, is_dead;
};

static bool name_set(TableName *out, Str name)
{
    if (name.len > TABLE_NAME_MAX) {
        return false;
    }
    memcpy(out->text, name.data, name.len);
    out->text[name.len] = '\0';
    return true;
}

const ApiSettings *feed_settings(const Feed *feed)
{
    return &feed->settings;
}

bool feed_has(const Feed *feed, Str name, int64_t revision)
{
    const FeedEntry *entry = name_table_find(&feed->entries, name);
    return entry != NULL && entry->revision == revision;
}

/* --- Revision -------------------------------------------------------------------------------- */

static int64_t min_i64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The state has reported all changes up to its revision, except those still pending here. */
static void update_revision(Feed *feed)
{
    int64_t revision = state_age(feed->settings.cluster_store.state).revision;
    if (feed->first != NULL) {
        revision = min_i64(revision, feed->first->revision - 1);
    }
    if (feed->current != NULL) {
        revision = min_i64(revision, feed->current->revision - 1);
    }
    feed->revision = revision > feed->revision ? revision : feed->revision;
}

int64_t feed_revision(Feed *feed)
{
    update_revision(feed);
    return feed->revision;
}

/* --- Pending reads --------------------------------------------------------------------------- */

/* Keeps the list ordered by appending, since the state's revision only grows. */
static void mark_pending(Feed *feed, Str name)
{
    if (name_table_find(&feed->pending, name) != NULL) {
        return;
    }
    PendingObject *mark_pending = memory_new(sizeof *mark_pending);
    if (!name_set(&mark_pending->name, name)) {
        free(mark_pending);
        return;
    }
    mark_pending->revision = state_age(feed->settings.cluster_store.state).revision + 1;
    name_table_put(&feed->pending, mark_pending);
    mark_pending->previous = feed->last;
    *(feed->last == NULL ? &feed->first : &feed->last->next) = mark_pending;
    feed->last = mark_pending;
}

static PendingObject *next_pending(Feed *feed)
{
    PendingObject *mark_pending = feed->first;
    feed->first = mark_pending->next;
    *(feed->first == NULL ? &feed->last : &feed->first->previous) = NULL;
    name_table_remove(&feed->pending, str_from_c(mark_pending->name.text));
    return mark_pending;
}

/* --- Teardown -------------------------------------------------------------------------------- */

static void entry_free(FeedEntry *entry)
{
    if (entry != NULL) {
        free(entry->labels);
        free(entry);
    }
}

static void feed_destroy(Feed *feed)
{
    while (feed->first != NULL) {
        free(next_pending(feed));
    }
    free(feed->current);
    for (uint32_t i = 0; i < feed->entries.count; i++) {
        entry_free(feed->entries.items[i]);
    }
    name_table_clear(&feed->entries);
    name_table_clear(&feed->pending);
    arena_clear(&feed->arena);
    arena_clear(&feed->work);
    buf_clear(&feed->after);
    free(feed);
}

/* Called when a watch has left the feed. If it was the last one, frees the feed, after a read in
 * progress completes. */
static void release_if_unused(Feed *feed)
{
    if (feed->members != NULL || feed->is_notifying || feed->is_dead) {
        return;
    }
    Feed **at = &feed->api->feeds;
    while (*at != feed) {
        at = &(*at)->next;
    }
    *at = feed->next;
    state_detach(feed->settings.cluster_store.state, &feed->view);
    loop_timer_stop(&feed->tick);
    loop_task_stop(feed->settings.cluster_store.loop, &feed->next_read);
    feed->is_dead = true;
    if (!feed->is_reading) {
        feed_destroy(feed);
    }
}

typedef void MemberCallback(FeedMember *member, void *change);

/* Members may leave during the call. */
static void notify_all(Feed *feed, MemberCallback *notify, void *change)
{
    feed->is_notifying = true;
    feed->cursor = feed->members;
    while (feed->cursor != NULL) {
        FeedMember *member = feed->cursor;
        feed->cursor = member->next;
        notify(member, change);
    }
    feed->is_notifying = false;
}

void feed_leave(FeedMember *member)
{
    Feed *feed = TAKE(member->feed);
    if (feed == NULL) {
        return;
    }
    if (feed->cursor == member) {
        feed->cursor = member->next;
    }
    *(member->previous == NULL ? &feed->members : &member->previous->next) = member->next;
    if (member->next != NULL) {
        member->next->previous = member->previous;
    }
    member->next = member->previous = NULL;
    release_if_unused(feed);
}

static void notify_aborted(FeedMember *member, void *change)
{
    member->aborted(member->context);
}

static void abort_watches(Feed *feed, const char *why)
{
    log_warning("watches aborted", LOG_C("kind", feed->kind->name), LOG_C("error", why));
    notify_all(feed, notify_aborted, NULL);
    BUG_IF(feed->members != NULL);
    release_if_unused(feed);
}

/* --- Notifications --------------------------------------------------------------------------- */

Str feed_tombstone(Arena *arena, const Kind *kind, Str name)
{
    Buf json = buf_make_in(arena, BUF_UNLIMITED);
    json_out_open(&json, NULL, '{');
    json_out_open(&json, "metadata", '{');
    json_out_text(&json, "apiVersion", STR(OBJECT_API_VERSION));
    json_out_text(&json, "kind", str_from_c(kind->name));
    json_out_text(&json, "name", name);
    json_out_close(&json, '}');
    json_out_close(&json, '}');
    return buf_str(&json);
}

Str feed_change_frame(FeedChange *change, WatchFormat format, WatchType type)
{
    Buf *frame = &change->frames[format][type];
    if (frame->len == 0) {
        watch_event_put(frame, format, type, change->revision, true,
                        type == WATCH_DELETED ? change->tombstone : change->object);
    }
    return buf_str(frame);
}

static void record_sent(Feed *feed, const KindItem *item, uint64_t hash)
{
    if (feed->kind->is_log) {
        return;
    }
    FeedEntry *entry = memory_new(sizeof *entry);
    Error err;
    if (!name_set(&entry->name, item->name)) {
        free(entry);
        return;
    }
    entry->revision = item->revision;
    entry->hash = hash;
    entry->hides_labels = !kind_item_shows_labels(item);
    if (item->labels.kind == VALUE_MAP && item->labels.map->len > 0) {
        AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
        bool printed = json_print(&text, item->labels, NULL, &err);
        BUG_IF(!printed);
        entry->labels = strdup(arena_copy_c(&feed->work, buf_str(&text)));
    }
    entry_free(name_table_put(&feed->entries, entry));
}

static void notify_change(FeedMember *member, void *change)
{
    member->changed(member->context, change);
}

static void report_change(Feed *feed, Str name, const KindItem *item)
{
    const FeedEntry *entry = name_table_find(&feed->entries, name);
    FeedChange change = { .kind = feed->kind,
                          .name = name,
                          .item = item,
                          .existed = entry != NULL,
                          .old_labels = value_missing(),
                          .had_hidden_labels = entry != NULL && entry->hides_labels,
                          .is_pending = name_table_find(&feed->pending, name) != NULL,
                          .revision = feed->revision,
                          .tombstone = feed_tombstone(&feed->work, feed->kind, name) };
    uint64_t hash = 0;
    Error err;
    if (entry != NULL && entry->labels != NULL) {
        bool parsed =
            json_parse_text(&feed->work, str_from_c(entry->labels), NULL, &change.old_labels, &err);
        BUG_IF(!parsed);
    }
    if (item != NULL) {
        Buf json = buf_make_in(&feed->work, BUF_UNLIMITED);
        object_print(&feed->work, &json, feed->kind, item);
        change.object = buf_str(&json);
        hash = hash_bytes(json.data, json.len) | 1;
        if (entry != NULL && entry->hash == hash) {
            return; /* a key changed, but not the object */
        }
    }
    for (uint32_t i = 0; i <= WATCH_NDJSON; i++) {
        for (uint32_t j = 0; j < WATCH_TYPES; j++) {
            change.frames[i][j] = buf_make_in(&feed->work, BUF_UNLIMITED);
        }
    }
    notify_all(feed, notify_change, &change);
    if (item != NULL) {
        record_sent(feed, item, hash);
    } else {
        entry_free(name_table_remove(&feed->entries, name));
    }
}

/* --- Reading --------------------------------------------------------------------------------- */

static void schedule_read(Feed *feed)
{
    if (feed->members == NULL) {
        release_if_unused(feed);
    } else if (!feed->is_reading && (!feed->is_ready || feed->first != NULL)) {
        loop_defer(feed->settings.cluster_store.loop, &feed->next_read);
    }
}

static void on_object_read(void *context, const KindItem *item, const Error *err)
{
    Feed *feed = context;
    feed->is_reading = false;
    if (feed->is_dead) {
        feed_destroy(feed);
        return;
    }
    if (err != NULL && err->kind != ERROR_NOT_FOUND && err->kind != ERROR_INVALID) {
        abort_watches(feed, err->text); /* clients reconnect and start over */
        return;
    }
    PendingObject *mark_pending = TAKE(feed->current);
    update_revision(feed);
    if (err == NULL || err->kind == ERROR_NOT_FOUND) {
        report_change(feed, str_from_c(mark_pending->name.text), item);
    } else {
        log_warning("cannot send an object to its watches", LOG_C("kind", feed->kind->name),
                    LOG_C("name", mark_pending->name.text), LOG_C("error", err->text));
    }
    free(mark_pending);
    arena_clear(&feed->work);
    schedule_read(feed);
}

/* Returns false after dropping all watches if the state is behind the store. */
static bool state_is_current(Feed *feed)
{
    if (state_age(feed->settings.cluster_store.state).is_behind) {
        feed->is_reading = false;
        abort_watches(feed, "the store is unavailable");
        return false;
    }
    return true;
}

static void notify_ready(FeedMember *member, void *change)
{
    member->ready(member->context);
}

static void on_page_read(void *context, const KindItems *items, const Error *err)
{
    Feed *feed = context;
    feed->is_reading = false;
    if (feed->is_dead) {
        feed_destroy(feed);
        return;
    }
    if (err != NULL) {
        abort_watches(feed, err->text);
        return;
    }
    for (uint32_t i = 0; i < items->count; i++) {
        record_sent(feed, &items->items[i], 0);
    }
    buf_reset(&feed->after);
    buf_put(&feed->after, items->next);
    arena_clear(&feed->work);
    if (feed->after.len == 0) {
        feed->is_ready = true;
        notify_all(feed, notify_ready, NULL);
    }
    schedule_read(feed);
}

static void read_next(void *context)
{
    Feed *feed = context;
    if (feed->is_reading || !state_is_current(feed)) {
        return;
    }
    feed->is_reading = true;
    if (!feed->is_ready) {
        KindPage page = { .after = buf_str(&feed->after), .limit = PAGE };
        kind_list(feed->kind, &feed->settings, &feed->work, &page, on_page_read, feed);
    } else {
        feed->current = next_pending(feed);
        kind_get(feed->kind, &feed->settings, &feed->work, str_from_c(feed->current->name.text),
                 on_object_read, feed);
    }
}

/* --- State ----------------------------------------------------------------------------------- */

static bool is_watched(const Feed *feed, Str key)
{
    for (uint32_t i = 0; i < feed->prefix_count; i++) {
        if (str_starts(key, feed->prefixes[i])) {
            return true;
        }
    }
    return false;
}

static StoreKv kv_of(const StateEntry *entry)
{
    return entry == NULL ? (StoreKv){ 0 }
                         : (StoreKv){ .key = entry->key,
                                      .value = entry->value,
                                      .create_revision = entry->create_revision,
                                      .mod_revision = entry->mod_revision,
                                      .version = entry->version,
                                      .lease = entry->lease };
}

static void on_entry_changed(void *context, const StateEntry *now, const StateEntry *before)
{
    Feed *feed = context;
    const StateEntry *entry = now != NULL ? now : before;
    if (!feed->is_attached || !is_watched(feed, entry->key)) {
        return;
    }
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    StoreEvent event = { .deleted = now == NULL,
                         .kv = kv_of(entry),
                         .has_previous = before != NULL,
                         .previous = kv_of(before) };
    Str names[KIND_AFFECTED_MAX];
    uint32_t count =
        kind_affected(feed->kind, &arena, feed->settings.cluster_store.prefix, &event, names);
    for (uint32_t i = 0; i < count; i++) {
        mark_pending(feed, names[i]);
    }
}

static void on_revision_reported(void *context)
{
    Feed *feed = context;
    if (feed->is_attached) {
        schedule_read(feed);
    }
}

/* A log must report every entry, not just the current state: its watches resume from the history of
 * the store. */
static void on_reread(void *context)
{
    Feed *feed = context;
    if (feed->is_attached && (feed->kind->is_log || feed->kind->event_to_names != NULL)) {
        abort_watches(feed, "the history of the store was compacted");
    }
}

/* Attaches to the state. Existing objects are then listed before changes are reported. */
static void follow_state(Feed *feed)
{
    State *state = feed->settings.cluster_store.state;
    for (uint32_t i = 0; i < FEED_SOURCES_MAX; i++) {
        Str key = feed->kind->watch_prefix(feed->kind, &feed->arena,
                                           feed->settings.cluster_store.prefix, i);
        if (key.len == 0) {
            break;
        }
        feed->prefixes[feed->prefix_count++] = key;
    }
    feed->view = (StateView){ .kinds = UINT64_MAX,
                              .changed = on_entry_changed,
                              .settled = on_revision_reported,
                              .reread = on_reread,
                              .context = feed };
    state_attach(state, &feed->view);
    feed->is_attached = true;
    feed->revision = state_age(state).revision;
}

/* --- Objects outside of the store ------------------------------------------------------------ */

static uint32_t read_external(const Feed *feed, Arena *arena, TableName out[KIND_EXTERNAL_MAX])
{
    Str names[KIND_EXTERNAL_MAX];
    uint32_t count = 0, found = 0;
    if (feed->kind->external != NULL) {
        found = feed->kind->external(&feed->settings, arena, names);
    }
    for (uint32_t i = 0; i < found; i++) {
        count += name_set(&out[count], names[i]);
    }
    return count;
}

/* Marks the names that are not in `others` as pending. */
static void mark_missing_from(Feed *feed, const TableName *names, uint32_t count,
                              const TableName *others, uint32_t other_count)
{
    for (uint32_t i = 0; i < count; i++) {
        bool found = false;
        for (uint32_t k = 0; k < other_count; k++) {
            found = found || strcmp(names[i].text, others[k].text) == 0;
        }
        if (!found) {
            mark_pending(feed, str_from_c(names[i].text));
        }
    }
}

static void check_external(Feed *feed)
{
    AUTO_CLEAR(Arena) arena;
    TableName now[KIND_EXTERNAL_MAX];
    arena_init(&arena, ARENA_UNLIMITED);
    uint32_t count = read_external(feed, &arena, now);
    mark_missing_from(feed, feed->external, feed->external_count, now, count);
    mark_missing_from(feed, now, count, feed->external, feed->external_count);
    memcpy(feed->external, now, count * sizeof *now);
    feed->external_count = count;
}

/* --- Members --------------------------------------------------------------------------------- */

static void notify_tick(FeedMember *member, void *change)
{
    member->tick(member->context);
}

static void tick(void *context)
{
    Feed *feed = context;
    loop_timer_start(&feed->tick, TICK_MS);
    notify_all(feed, notify_tick, NULL);
    release_if_unused(feed);
}

static Feed *feed_find(const Api *api, const Kind *kind)
{
    Feed *feed = api->feeds;
    while (feed != NULL && feed->kind != kind) {
        feed = feed->next;
    }
    return feed;
}

void feed_check_external(Api *api, const Kind *kind)
{
    Feed *feed = feed_find(api, kind);
    if (feed != NULL) {
        check_external(feed);
        schedule_read(feed);
    }
}

static void add_member(Feed *feed, FeedMember *member)
{
    member->feed = feed;
    member->previous = NULL;
    member->next = feed->members;
    if (member->next != NULL) {
        member->next->previous = member;
    }
    feed->members = member;
}

void feed_join(Api *api, const Kind *kind, FeedMember *member)
{
    Feed *feed = feed_find(api, kind);
    if (feed != NULL) {
        add_member(feed, member);
        if (feed->is_ready) {
            member->ready(member->context);
        }
        return;
    }
    feed = memory_new(sizeof *feed);
    feed->api = api;
    feed->kind = kind;
    feed->settings = api->settings;
    feed->after = buf_make(BUF_UNLIMITED);
    arena_init(&feed->arena, ARENA_UNLIMITED);
    arena_init(&feed->work, ARENA_UNLIMITED);
    loop_timer_init(&feed->tick, feed->settings.cluster_store.loop, tick, feed);
    loop_task_init(&feed->next_read, read_next, feed);
    feed->next = api->feeds;
    api->feeds = feed;
    follow_state(feed);
    loop_timer_start(&feed->tick, TICK_MS);
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    feed->external_count = read_external(feed, &arena, feed->external);
    add_member(feed, member);
    if (kind->is_log) {
        feed->is_ready = true;
        member->ready(member->context);
    } else {
        schedule_read(feed);
    }
}
