/* A node: an author of records, a spool and views on a disk, a session. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "session_world.h"

/* The last kind is one of a newer node, which servers do not know. */
static const char *const watch_names[WATCHES + 1] = { "even", "odd", "later" };

/* --- The spool ------------------------------------------------------------------------------- */

static uint64_t record_id(Str body)
{
    return strtoull(body.data, NULL, 10);
}

static void spool_append(void *context, const Record *record)
{
    Node *node = context;
    World *world = node->world;
    VEC_PUSH(&world->arena, &node->spool,
             ((SpoolRecord){ .sequence = record->sequence,
                             .id = record_id(record->body),
                             .kind = record->kind,
                             .lost = record->lost,
                             .size = (uint32_t)record->body.len }));
    if (!loop_timer_started(&node->flush)) {
        loop_timer_start(&node->flush,
                         (int64_t)world_random(world, world_random(world, 8) > 0 ? 30 : 3000));
    }
}

static void spool_drop(void *context, uint64_t sequence)
{
    Node *node = context;
    for (uint32_t i = node->spool.len; i-- > 0;) {
        SpoolRecord *record = &node->spool.items[i];
        if (record->sequence == sequence) {
            record->dropped = record->gone = true;
            node->dropped++;
            world_note(node->world, HAPPENED_DROP, node->index, record->id);
            return;
        }
    }
    world_fail(node->world, "a record is dropped that was never appended");
}

static void spool_trim(void *context, uint64_t sequence)
{
    Node *node = context;
    for (uint32_t i = 0; i < node->spool.len; i++) {
        if (node->spool.items[i].sequence <= sequence) {
            node->spool.items[i].gone = true;
        }
    }
}

static void spool_restart(void *context, uint64_t epoch, const Record *const *records,
                          uint32_t count)
{
    (void)epoch;
    (void)records;
    (void)count;
    Node *node = context;
    world_fail(node->world, "the server knew records that node %u never sent", node->index);
}

static void flush_runs(void *context)
{
    Node *node = context;
    for (uint32_t i = 0; i < node->spool.len; i++) {
        SpoolRecord *record = &node->spool.items[i];
        record->durable = true;
        record->gone_for_certain = record->gone;
        node->last_durable = record->sequence;
    }
    outbox_stored(node->outbox, node->last_durable);
    session_node_wake(node->session);
}

/* Simulates a crash: retains a prefix of the unflushed records, and possibly some of the records
 * dropped since the last flush. */
static void spool_crash(Node *node)
{
    World *world = node->world;
    bool reaches = true;
    uint32_t buffered = 0;
    for (uint32_t i = 0; i < node->spool.len; i++) {
        SpoolRecord *record = &node->spool.items[i];
        reaches = reaches && (record->durable || world_random(world, 3) > 0);
        if (!reaches) {
            continue;
        }
        record->durable = true;
        node->last_durable = record->sequence;
        if (record->gone && !record->gone_for_certain && world_random(world, 2) == 0) {
            record->gone = false;
        }
        node->spool.items[buffered++] = *record;
    }
    node->spool.len = buffered;
}

/* --- The author ------------------------------------------------------------------------------ */

static void add_record(Node *node, RecordKind kind, size_t size)
{
    char body[400];
    memset(body, '.', sizeof body);
    int len = snprintf(body, sizeof body, "%" PRIu64 " ", ++node->ids);
    size = size < (size_t)len ? (size_t)len : size;
    uint64_t sequence;
    Error err;
    if (!outbox_add(node->outbox, kind, STR("key"), str_from(body, size), &sequence, &err)) {
        node->ids--; /* the author keeps the record */
        world_note(node->world, HAPPENED_FULL, node->index, node->ids);
    } else if (sequence == 0) {
        node->dropped++;
        world_note(node->world, HAPPENED_DROP, node->index, node->ids);
    }
}

static void author_runs(void *context)
{
    Node *node = context;
    World *world = node->world;
    if (world->calm) {
        return;
    }
    for (uint64_t i = world_random(world, 5); i > 0; i--) {
        add_record(node, (RecordKind)world_random(world, RECORD_LOG + 1), world_random(world, 380));
    }
    loop_timer_start(&node->author, (int64_t)world_random(world, 1000));
}

void node_add_last(Node *node)
{
    add_record(node, RECORD_RESULT, 20);
}

/* --- Views ----------------------------------------------------------------------------------- */

static uint32_t key_of(Str key)
{
    return (uint32_t)strtoul(key.data, NULL, 10);
}

/* Compares the contents of the unit with the history. */
static void check_unit(Node *node, uint32_t watch)
{
    World *world = node->world;
    const Truth *truth = &world->truth;
    View *view = &node->views[watch];
    KeyState now[KEYS];
    truth_state_at(truth, view->unit_revision, now);
    if (view->unit_reset) {
        node->resyncs++;
        memset(view->keys, 0, sizeof view->keys);
        for (uint32_t i = 0; i < view->unit.len; i++) {
            const Change *change = &view->unit.items[i];
            KeyState *key = &view->keys[key_of(change->key)];
            if (key->there) {
                world_fail(world, "a reset has a key twice");
            }
            *key = (KeyState){ true, strtoull(change->value.data, NULL, 10), change->revision };
        }
    } else {
        uint32_t at = 0;
        for (uint32_t i = 0; i < truth->changes.len; i++) {
            const TruthChange *real = &truth->changes.items[i];
            if (real->revision <= view->revision || real->revision > view->unit_revision ||
                real->key % WATCHES != watch) {
                continue;
            }
            const Change *reported = at < view->unit.len ? &view->unit.items[at++] : NULL;
            if (reported == NULL || reported->revision != real->revision ||
                key_of(reported->key) != real->key || reported->deleted != real->deleted ||
                (!real->deleted && strtoull(reported->value.data, NULL, 10) != real->value)) {
                world_fail(world, "node %u missed the change of key %u at revision %" PRId64,
                           node->index, real->key, real->revision);
                return;
            }
            view->keys[real->key] =
                (KeyState){ !real->deleted, real->deleted ? 0 : real->value, real->revision };
        }
        if (at != view->unit.len) {
            world_fail(world, "node %u was told of changes that never were", node->index);
        }
    }
    for (uint32_t i = watch; i < KEYS; i += WATCHES) {
        if (view->keys[i].there != now[i].there || view->keys[i].value != now[i].value) {
            world_fail(world, "node %u sees another key %u at revision %" PRId64, node->index, i,
                       view->unit_revision);
        }
    }
}

static void unit_becomes_durable(Node *node, uint32_t watch)
{
    View *view = &node->views[watch];
    check_unit(node, watch);
    snprintf(view->store, sizeof view->store, "store");
    view->revision = view->unit_revision;
    world_note(node->world, view->unit_reset ? HAPPENED_RESYNC : HAPPENED_UNIT, watch,
               (uint64_t)view->revision);
    view->unit.len = 0;
    view->unit_reset = false;
}

static void write_runs(Node *node, uint32_t watch)
{
    View *view = &node->views[watch];
    if (view->unit_complete) {
        unit_becomes_durable(node, watch);
    }
    session_node_processed(node->session, watch, view->ticket);
}

static void write_even_runs(void *node)
{
    write_runs(node, 0);
}

static void write_odd_runs(void *node)
{
    write_runs(node, 1);
}

static void unit_forget(View *view)
{
    loop_timer_stop(&view->write);
    view->unit.len = 0;
    view->unit_reset = view->unit_complete = false;
}

static WatchPosition session_position(void *context, uint32_t watch)
{
    Node *node = context;
    if (watch == WATCHES) {
        return (WatchPosition){ .store = STR_EMPTY };
    }
    View *view = &node->views[watch];
    return (WatchPosition){ str_from_c(view->store), view->revision };
}

static void session_changes(void *context, const Changes *changes, Str store, uint64_t ticket)
{
    (void)store;
    Node *node = context;
    World *world = node->world;
    View *view = &node->views[changes->watch];
    if (changes->reset) {
        view->unit.len = 0;
        view->unit_reset = true;
    }
    for (uint32_t i = 0; i < changes->change_count; i++) {
        Change copy = changes->changes[i];
        copy.key = str_from(arena_copy_c(&world->arena, copy.key), copy.key.len);
        copy.value = str_from(arena_copy_c(&world->arena, copy.value), copy.value.len);
        VEC_PUSH(&world->arena, &view->unit, copy);
    }
    view->unit_complete = changes->complete;
    view->unit_revision = changes->revision;
    view->ticket = ticket;
    loop_timer_start(&view->write, (int64_t)world_random(world, 40));
}

/* --- The session ----------------------------------------------------------------------------- */

static void link_message(void *context, Str message)
{
    Node *node = context;
    session_node_message(node->session, message);
}

static void link_writable(void *context)
{
    Node *node = context;
    session_node_writable(node->session);
}

static void link_closed(void *context, const Error *why)
{
    Node *node = context;
    node->link = NULL;
    session_node_closed(node->session, why);
}

static const LinkEvents link_events = { link_message, link_writable, link_closed };

static void connected_runs(void *context)
{
    Node *node = context;
    if (node->link != NULL) {
        session_node_connected(node->session);
    } else {
        Error err;
        error_set(&err, ERROR_UNAVAILABLE, "connection refused");
        session_node_closed(node->session, &err);
    }
}

static void session_connect(void *context, uint32_t server)
{
    Node *node = context;
    World *world = node->world;
    for (uint32_t i = 0; i < WATCHES; i++) {
        unit_forget(&node->views[i]);
    }
    Link *link = link_new(world->loop);
    link_attach(link, LINK_NODE, &link_events, node);
    if (server_accept(&world->servers[server], node->index, link)) {
        node->link = link;
    } else {
        link_leave(link, LINK_NODE, true);
        if (world_random(world, 2) == 0) {
            return; /* the crash happens without notification */
        }
    }
    loop_timer_start(&node->connected, 1 + (int64_t)world_random(world, 100));
}

static void session_disconnect(void *context)
{
    Node *node = context;
    loop_timer_stop(&node->connected);
    if (node->link != NULL) {
        link_leave(node->link, LINK_NODE, false);
        node->link = NULL;
    }
}

static bool session_can_send(void *context)
{
    Node *node = context;
    return node->link != NULL && link_can_send(node->link, LINK_NODE);
}

static void session_send(void *context, Str message)
{
    Node *node = context;
    if (node->link != NULL) {
        link_send(node->link, LINK_NODE, message);
    }
}

static void session_moved(void *context, SessionNodeState state)
{
    Node *node = context;
    if (state == SESSION_LIVE) {
        world_note(node->world, HAPPENED_LIVE, node->index,
                   session_node_status(node->session).server);
    }
}

static void session_refused(void *context, const RejectedRecord *refusal)
{
    Node *node = context;
    world_note(node->world, HAPPENED_REFUSED, node->index, refusal->sequence);
}

static const SessionNodeOps session_ops = {
    .connect = session_connect,
    .disconnect = session_disconnect,
    .can_send = session_can_send,
    .send = session_send,
    .position = session_position,
    .changes = session_changes,
    .state_changed = session_moved,
    .record_rejected = session_refused,
};

/* --- The process ----------------------------------------------------------------------------- */

static void start(Node *node)
{
    World *world = node->world;
    node->alive = true;
    node->outbox = outbox_new(&(OutboxOptions){
        .epoch = node->epoch,
        .last_sequence = node->last_durable,
        .bytes_max = OUTBOX_MAX,
        .storage = { spool_append, spool_drop, spool_trim, spool_restart, node },
    });
    char body[400];
    memset(body, '.', sizeof body);
    for (uint32_t i = 0; i < node->spool.len; i++) {
        const SpoolRecord *record = &node->spool.items[i];
        if (!record->gone) {
            snprintf(body, sizeof body, "%" PRIu64 " ", record->id);
            outbox_restore(node->outbox, &(Record){ record->sequence, record->kind, STR("key"),
                                                    str_from(body, record->size), record->lost });
        }
    }
    char name[16], boot[32];
    snprintf(name, sizeof name, "node%u", node->index);
    snprintf(boot, sizeof boot, "boot %u", node->crashes);
    node->session = session_node_new(&(SessionNodeOptions){
        .loop = world->loop,
        .ops = &session_ops,
        .context = node,
        .outbox = node->outbox,
        .node = str_from_c(name),
        .boot_id = str_from_c(boot),
        .version = STR("0.1.0"),
        .watches = watch_names,
        .watch_count = WATCHES + 1,
        .server_count = SERVERS,
    });
    session_node_start(node->session);
    loop_timer_start(&node->author, (int64_t)world_random(world, 1000));
}

static void revive_runs(void *node)
{
    start(node);
}

void node_init(World *world, uint32_t index)
{
    Node *node = &world->nodes[index];
    *node = (Node){ .world = world, .index = index, .epoch = loop_random(world->loop) | 1 };
    loop_timer_init(&node->author, world->loop, author_runs, node);
    loop_timer_init(&node->flush, world->loop, flush_runs, node);
    loop_timer_init(&node->connected, world->loop, connected_runs, node);
    loop_timer_init(&node->revive, world->loop, revive_runs, node);
    loop_timer_init(&node->views[0].write, world->loop, write_even_runs, node);
    loop_timer_init(&node->views[1].write, world->loop, write_odd_runs, node);
    start(node);
}

static void stop(Node *node, bool silent)
{
    loop_timer_stop(&node->author);
    loop_timer_stop(&node->flush);
    loop_timer_stop(&node->connected);
    loop_timer_stop(&node->revive);
    if (node->link != NULL) {
        link_leave(node->link, LINK_NODE, silent);
        node->link = NULL;
    }
    session_node_free(node->session);
    node->session = NULL;
    outbox_free(node->outbox);
    node->outbox = NULL;
    node->alive = false;
}

void node_crash(Node *node)
{
    World *world = node->world;
    node->crashes++;
    world_note(world, HAPPENED_NODE_CRASH, node->index, node->crashes);
    for (uint32_t i = 0; i < WATCHES; i++) {
        View *view = &node->views[i];
        bool writing = loop_timer_started(&view->write) && view->unit_complete;
        loop_timer_stop(&view->write);
        if (writing && world_random(world, 2) == 0) {
            unit_becomes_durable(node, i);
        }
        unit_forget(view);
    }
    stop(node, world_random(world, 2) == 0);
    spool_crash(node);
    loop_timer_start(&node->revive, 1 + (int64_t)world_random(world, 3000));
}

void node_free(Node *node)
{
    for (uint32_t i = 0; i < WATCHES; i++) {
        loop_timer_stop(&node->views[i].write);
    }
    stop(node, true);
}
