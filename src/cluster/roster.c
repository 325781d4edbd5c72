#include "cluster/roster.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "cluster/cluster_keys.h"
#include "cluster/node_record.h"

enum {
    WATCH_NODES,
    WATCH_REVOCATIONS,
    WATCH_COUNT
};

struct Roster {
    Store *store;
    RosterEvents events;
    Arena own; /* keys */
    Str prefix, nodes, nodes_end, revocations;
    RosterNode **items;   /* by name */
    RosterNode **serials; /* those that have one, by it */
    uint32_t count, serial_count, room;
    Arena list; /* of the revocations */
    RevocationList revoked;
    StoreWatch *watches[WATCH_COUNT];
    bool reading, is_ready, is_lost, freed;
};

/* --- Nodes ----------------------------------------------------------------------------------- */

/* Where the name is, or belongs. */
static uint32_t place_of(const Roster *roster, Str name, bool *found)
{
    uint32_t low = 0, high = roster->count;
    *found = false;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        int order = str_compare(str_from_c(roster->items[middle]->name), name);
        if (order == 0) {
            *found = true;
            return middle;
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The first that has this serial number or a later one. */
static uint32_t serial_place(const Roster *roster, Str serial)
{
    uint32_t low = 0, high = roster->serial_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        bool before = str_compare(str_from_c(roster->serials[middle]->serial), serial) < 0;
        *(before ? &low : &high) = before ? middle + 1 : middle;
    }
    return low;
}

static void serial_add(Roster *roster, RosterNode *node)
{
    if (node->serial[0] == '\0') {
        return;
    }
    uint32_t at = serial_place(roster, str_from_c(node->serial));
    memmove(roster->serials + at + 1, roster->serials + at,
            (roster->serial_count - at) * sizeof *roster->serials);
    roster->serials[at] = node;
    roster->serial_count++;
}

/* Two records may claim the same. */
static void serial_drop(Roster *roster, const RosterNode *node)
{
    uint32_t at = serial_place(roster, str_from_c(node->serial));
    while (at < roster->serial_count && roster->serials[at] != node) {
        at++;
    }
    if (at < roster->serial_count) {
        roster->serial_count--;
        memmove(roster->serials + at, roster->serials + at + 1,
                (roster->serial_count - at) * sizeof *roster->serials);
    }
}

static int serial_order(const void *left, const void *right)
{
    const RosterNode *const *a = left, *const *b = right;
    return strcmp((*a)->serial, (*b)->serial);
}

/* All at once, as they come in the order of their names. */
static void serials_sort(Roster *roster)
{
    roster->serial_count = 0;
    for (uint32_t i = 0; i < roster->count; i++) {
        if (roster->items[i]->serial[0] != '\0') {
            roster->serials[roster->serial_count++] = roster->items[i];
        }
    }
    if (roster->serial_count > 0) {
        qsort(roster->serials, roster->serial_count, sizeof *roster->serials, serial_order);
    }
}

static void drop_node(Roster *roster, Str name)
{
    bool found;
    uint32_t at = place_of(roster, name, &found);
    if (found) {
        serial_drop(roster, roster->items[at]);
        free(roster->items[at]);
        roster->count--;
        memmove(roster->items + at, roster->items + at + 1,
                (roster->count - at) * sizeof *roster->items);
    }
}

static RosterNode *put_node(Roster *roster, Str name)
{
    bool found;
    uint32_t at = place_of(roster, name, &found);
    if (found) {
        return roster->items[at];
    }
    if (roster->count == roster->room) {
        roster->room = roster->room == 0 ? 16 : 2 * roster->room;
        roster->items = realloc(roster->items, roster->room * sizeof *roster->items);
        roster->serials = realloc(roster->serials, roster->room * sizeof *roster->serials);
    }
    RosterNode *node = calloc(1, sizeof *node);
    if (roster->items == NULL || roster->serials == NULL || node == NULL) {
        memory_exhausted(sizeof *node);
    }
    memmove(roster->items + at + 1, roster->items + at,
            (roster->count - at) * sizeof *roster->items);
    roster->items[at] = node;
    roster->count++;
    return node;
}

static void drop_all(Roster *roster)
{
    for (uint32_t i = 0; i < roster->count; i++) {
        free(roster->items[i]);
    }
    roster->count = roster->serial_count = 0;
}

/* Of a node, its own key comes before the others. */
static void note_alive(Roster *roster, Str name, bool is_alive)
{
    bool found;
    uint32_t at = place_of(roster, name, &found);
    if (found) {
        roster->items[at]->is_alive = is_alive;
    }
}

/* A record that cannot be read is nobody's: better one node out than a stranger in. False for other
 * keys, such as those that tell who is alive. */
static bool take_node(Roster *roster, Str key, Str value)
{
    AUTO_CLEAR(Arena) arena;
    NodeRecord record;
    Str parts[KEYS_PARTS_MAX];
    KeyKind kind;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    if (!key_parse(&arena, roster->prefix, key, &kind, parts)) {
        return false;
    }
    if (kind != KEY_NODE) {
        if (kind == KEY_NODE_ALIVE) {
            note_alive(roster, parts[0], true);
        }
        return false;
    }
    if (!node_record_read(&arena, value, &record, &err) ||
        !str_eq(str_from_c(record.name), parts[0])) {
        drop_node(roster, parts[0]);
        return true;
    }
    RosterNode *node = put_node(roster, parts[0]);
    bool has_other = strcmp(node->serial, record.serial) != 0;
    if (has_other && !roster->reading) {
        serial_drop(roster, node);
    }
    memcpy(node->name, record.name, sizeof node->name);
    memcpy(node->enrolment, record.enrolment, sizeof node->enrolment);
    memcpy(node->serial, record.serial, sizeof node->serial);
    node->is_server = record.is_server;
    node->not_after_ms = record.not_after_ms;
    if (has_other && !roster->reading) {
        serial_add(roster, node);
    }
    return true;
}

/* Of a node that goes, its own key comes before the others. */
static void tell_silent(const Roster *roster, Str name)
{
    const RosterNode *node = roster_find(roster, name);
    if (node != NULL && roster->events.silent != NULL) {
        roster->events.silent(roster->events.context, node);
    }
}

static bool forget_node(Roster *roster, Str key)
{
    AUTO_CLEAR(Arena) arena;
    Str parts[KEYS_PARTS_MAX];
    KeyKind kind;
    arena_init(&arena, ARENA_UNLIMITED);
    if (!key_parse(&arena, roster->prefix, key, &kind, parts)) {
        return false;
    }
    if (kind != KEY_NODE) {
        if (kind == KEY_NODE_ALIVE) {
            note_alive(roster, parts[0], false);
            tell_silent(roster, parts[0]);
        }
        return false;
    }
    drop_node(roster, parts[0]);
    return true;
}

/* --- Revocations ----------------------------------------------------------------------------- */

/* A list that cannot be read must not pass for an empty one: no certificate is accepted then. The
 * server goes on, for operators on its own machine. */
static void take_revocations(Roster *roster, Str text)
{
    bool was_unreadable = roster->revoked.is_unreadable;
    Error err;
    arena_reset(&roster->list);
    roster->revoked = (RevocationList){ 0 };
    if (text.len == 0 ||
        revocation_read(&roster->list, arena_copy(&roster->list, text), &roster->revoked, &err)) {
        return;
    }
    roster->revoked = (RevocationList){ .is_unreadable = true };
    if (!was_unreadable) {
        log_error("the list of revocations cannot be read; no node is let in until it is repaired: "
                  "stop the server, then 'eden cluster check'",
                  LOG_C("why", err.text));
    }
}

/* --- Reading and watching -------------------------------------------------------------------- */

static void stop_watching(Roster *roster)
{
    for (int i = 0; i < WATCH_COUNT; i++) {
        store_watch_cancel(roster->watches[i]);
        roster->watches[i] = NULL;
    }
}

static void lose(Roster *roster, const Error *err)
{
    stop_watching(roster);
    drop_all(roster);
    if (!roster->is_lost) {
        roster->is_lost = true;
        roster->events.failed(roster->events.context, err);
    }
}

static void read_all(Roster *roster);

/* Both watches alike; true when the batch has news. */
static bool look_at(Roster *roster, const StoreBatch *batch)
{
    if (batch->err != NULL) {
        lose(roster, batch->err);
        return false;
    }
    if (batch->resync) {
        stop_watching(roster);
        read_all(roster);
        return false;
    }
    return batch->count > 0;
}

static void nodes_changed(void *context, const StoreBatch *batch)
{
    Roster *roster = context;
    if (!look_at(roster, batch)) {
        return;
    }
    bool news = false;
    for (uint32_t i = 0; i < batch->count; i++) {
        const StoreEvent *event = &batch->events[i];
        news = (event->deleted ? forget_node(roster, event->kv.key)
                               : take_node(roster, event->kv.key, event->kv.value)) ||
               news;
    }
    store_watch_ack(roster->watches[WATCH_NODES]);
    if (news) {
        roster->events.changed(roster->events.context);
    }
}

static void revocations_changed(void *context, const StoreBatch *batch)
{
    Roster *roster = context;
    if (!look_at(roster, batch)) {
        return;
    }
    const StoreEvent *last = &batch->events[batch->count - 1];
    store_watch_ack(roster->watches[WATCH_REVOCATIONS]);
    take_revocations(roster, last->deleted ? STR_EMPTY : last->kv.value);
    roster->events.changed(roster->events.context);
}

static bool start_watching(Roster *roster, int64_t from, Error *err)
{
    StoreWatchSpec nodes = { .key = roster->nodes,
                             .end = roster->nodes_end,
                             .from = from,
                             .done = nodes_changed,
                             .context = roster };
    StoreWatchSpec revocations = {
        .key = roster->revocations, .from = from, .done = revocations_changed, .context = roster
    };
    return store_watch(roster->store, &nodes, &roster->watches[WATCH_NODES], err) &&
           store_watch(roster->store, &revocations, &roster->watches[WATCH_REVOCATIONS], err);
}

static void roster_destroy(Roster *roster)
{
    drop_all(roster);
    free(roster->items);
    free(roster->serials);
    arena_clear(&roster->own);
    arena_clear(&roster->list);
    free(roster);
}

static void read_done(void *context, const StoreReply *reply, const Error *err)
{
    Roster *roster = context;
    Error failure;
    if (roster->freed) {
        roster_destroy(roster);
        return;
    }
    if (err != NULL) {
        roster->reading = false;
        lose(roster, err);
        return;
    }
    drop_all(roster);
    const StoreOpReply *nodes = &reply->ops[0], *revocations = &reply->ops[1];
    for (uint32_t i = 0; i < nodes->kv_count; i++) {
        (void)take_node(roster, nodes->kvs[i].key, nodes->kvs[i].value);
    }
    serials_sort(roster);
    roster->reading = false;
    Str list = revocations->kv_count > 0 ? revocations->kvs[0].value : STR_EMPTY;
    take_revocations(roster, list);
    if (!start_watching(roster, reply->revision + 1, &failure)) {
        lose(roster, &failure);
        return;
    }
    if (roster->is_ready) {
        roster->events.changed(roster->events.context);
    } else {
        roster->is_ready = true;
        roster->events.ready(roster->events.context);
    }
}

static void read_all(Roster *roster)
{
    StoreOp ops[] = { { .kind = STORE_RANGE, .key = roster->nodes, .end = roster->nodes_end },
                      { .kind = STORE_RANGE, .key = roster->revocations } };
    StoreTxn txn = { .success = ops, .success_count = COUNT_OF(ops) };
    Error err;
    roster->reading = store_txn(roster->store, &txn, read_done, roster, &err);
    if (!roster->reading) {
        lose(roster, &err);
    }
}

Roster *roster_new(Store *store, Str prefix, const RosterEvents *events)
{
    Roster *roster = memory_new(sizeof *roster);
    roster->store = store;
    roster->events = *events;
    arena_init(&roster->own, ARENA_UNLIMITED);
    arena_init(&roster->list, ARENA_UNLIMITED);
    roster->prefix = arena_copy(&roster->own, prefix);
    roster->nodes = key_make_prefix(&roster->own, prefix, KEY_NODE, NULL, 0);
    roster->nodes_end = store_prefix_end(&roster->own, roster->nodes);
    roster->revocations = cluster_key_revocations(&roster->own, prefix);
    read_all(roster);
    return roster;
}

void roster_free(Roster *roster)
{
    if (roster == NULL) {
        return;
    }
    stop_watching(roster);
    if (roster->reading) {
        roster->freed = true; /* the store's answer is still to come */
    } else {
        roster_destroy(roster);
    }
}

const RosterNode *roster_find(const Roster *roster, Str name)
{
    bool found;
    uint32_t at = place_of(roster, name, &found);
    return found ? roster->items[at] : NULL;
}

const RosterNode *roster_find_serial(const Roster *roster, Str serial)
{
    uint32_t at = serial_place(roster, serial);
    bool found = at < roster->serial_count && str_eq_c(serial, roster->serials[at]->serial);
    return found ? roster->serials[at] : NULL;
}

bool roster_is_current(const Roster *roster)
{
    return roster->watches[WATCH_NODES] != NULL;
}

uint32_t roster_count(const Roster *roster)
{
    return roster->count;
}

uint32_t roster_alive(const Roster *roster)
{
    uint32_t alive = 0;
    for (uint32_t i = 0; i < roster->count; i++) {
        alive += roster->items[i]->is_alive;
    }
    return alive;
}

const RevocationList *roster_revoked(const Roster *roster)
{
    return &roster->revoked;
}
