/* A server: sessions of nodes, and a slow disk between them and the truth. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "session_world.h"

/* A request to the store, which completes even if its caller no longer exists. */
typedef struct Request {
    World *world;
    ServerSession *session; /* NULL: no caller waits for the response */
    uint32_t node;
    bool is_load, done, conflict, full;
    SessionCursor from, to;
    TruthRecord *records;
    uint64_t *refused; /* sequence numbers */
    uint32_t count, refused_count;
    LoopTimer timer;
} Request;

typedef struct Feed {
    bool started, unacknowledged, resetting, fresh;
    int64_t position; /* all changes up to this revision were sent */
    uint32_t next;    /* index of the next change to read */
    int64_t reset_revision;
    uint32_t reset_key;
} Feed;

struct ServerSession {
    ServerSession *next;
    Server *server;
    uint32_t node;
    Link *link;
    SessionServer *machine;
    Request *request;
    Feed feeds[WATCHES];
    LoopTimer feed;
    LoopTask sweep;
    bool over;
};

/* --- The store ------------------------------------------------------------------------------- */

static void request_free(Request *request)
{
    loop_timer_stop(&request->timer);
    free(request->records);
    free(request->refused);
    free(request);
}

static void commit(Request *request)
{
    Truth *truth = &request->world->truth;
    SessionCursor *cursor = &truth->cursors[request->node];
    request->conflict =
        cursor->epoch != request->from.epoch || cursor->sequence != request->from.sequence;
    request->full = request->world->disk_full;
    if (request->conflict || request->full) {
        world_note(request->world, HAPPENED_AGAIN, request->node, request->to.sequence);
        return;
    }
    *cursor = request->to;
    for (uint32_t i = 0; i < request->count; i++) {
        VEC_PUSH(&request->world->arena, &truth->taken[request->node], request->records[i]);
        world_note(request->world, HAPPENED_TAKEN, request->node, request->records[i].id);
    }
}

static void answer(Request *request)
{
    ServerSession *session = request->session;
    Error err;
    session->request = NULL;
    if (request->is_load) {
        session_server_loaded(session->machine, request->world->truth.cursors[request->node], NULL);
    } else if (request->conflict) {
        error_set(&err, ERROR_CONFLICT, "the cursor is elsewhere");
        session_server_applied(session->machine, NULL, 0, &err);
    } else if (request->full) {
        error_set(&err, ERROR_UNAVAILABLE, "the disk is full");
        session_server_applied(session->machine, NULL, 0, &err);
    } else {
        RejectedRecord refusals[SESSION_RECORDS_MAX];
        for (uint32_t i = 0; i < request->refused_count; i++) {
            refusals[i] = (RejectedRecord){ request->refused[i], STR("not wanted") };
        }
        session_server_applied(session->machine, refusals, request->refused_count, NULL);
    }
    if (session->over) {
        loop_defer(request->world->loop, &session->sweep);
    }
}

static void request_runs(void *context)
{
    Request *request = context;
    if (!request->done && !request->is_load) {
        request->done = true;
        commit(request);
        loop_timer_start(&request->timer, (int64_t)world_random(request->world, 20));
        return;
    }
    if (request->session != NULL) {
        answer(request);
    }
    request_free(request);
}

static Request *request_new(ServerSession *session, bool is_load)
{
    Request *request = memory_new(sizeof *request);
    World *world = session->server->world;
    request->world = world;
    request->session = session;
    request->node = session->node;
    request->is_load = is_load;
    loop_timer_init(&request->timer, world->loop, request_runs, request);
    loop_timer_start(&request->timer, (int64_t)world_random(world, 30));
    session->request = request;
    return request;
}

static void session_load(void *context)
{
    request_new(context, true);
}

static void session_apply(void *context, SessionCursor from, SessionCursor to,
                          const Record *records, uint32_t count)
{
    Request *request = request_new(context, false);
    request->from = from;
    request->to = to;
    request->count = count;
    request->records = calloc(count, sizeof *request->records);
    request->refused = calloc(count, sizeof *request->refused);
    if (request->records == NULL || request->refused == NULL) {
        memory_exhausted(count);
    }
    for (uint32_t i = 0; i < count; i++) {
        uint64_t id = strtoull(records[i].body.data, NULL, 10);
        request->records[i] = (TruthRecord){ id, records[i].lost };
        if (record_is_refused(id)) {
            request->refused[request->refused_count++] = records[i].sequence;
        }
    }
}

/* --- Watches --------------------------------------------------------------------------------- */

typedef struct Batch {
    Change changes[4];
    char keys[4][24], values[4][24];
    uint32_t count;
} Batch;

static void batch_add(Batch *batch, uint32_t key, bool deleted, uint64_t value, int64_t revision)
{
    uint32_t at = batch->count++;
    snprintf(batch->keys[at], sizeof batch->keys[at], "%u", key);
    snprintf(batch->values[at], sizeof batch->values[at], "%" PRIu64, value);
    batch->changes[at] = (Change){ deleted, str_from_c(batch->keys[at]),
                                   deleted ? STR_EMPTY : str_from_c(batch->values[at]), revision };
}

/* A part of the current contents. */
static void feed_reset(ServerSession *session, uint32_t watch, Changes *out, Batch *batch)
{
    Feed *feed = &session->feeds[watch];
    const Truth *truth = &session->server->world->truth;
    if (!feed->resetting || feed->reset_revision < truth->compacted) {
        feed->resetting = true;
        feed->reset_revision = truth->revision;
        feed->reset_key = watch;
        out->reset = true;
    }
    KeyState keys[KEYS];
    truth_state_at(truth, feed->reset_revision, keys);
    while (feed->reset_key < KEYS && batch->count < COUNT_OF(batch->changes)) {
        const KeyState *key = &keys[feed->reset_key];
        if (key->there) {
            batch_add(batch, feed->reset_key, false, key->value, key->revision);
        }
        feed->reset_key += WATCHES;
    }
    out->revision = feed->reset_revision;
    out->complete = feed->reset_key >= KEYS;
    if (out->complete) {
        feed->resetting = feed->fresh = false;
        feed->position = feed->reset_revision;
        feed->next = 0;
    }
}

/* The next changes, possibly only part of a revision. */
static void feed_changes(ServerSession *session, uint32_t watch, Changes *out, Batch *batch)
{
    World *world = session->server->world;
    Feed *feed = &session->feeds[watch];
    const Truth *truth = &world->truth;
    uint64_t most = 1 + world_random(world, COUNT_OF(batch->changes));
    int64_t last = feed->position;
    while (feed->next < truth->changes.len) {
        const TruthChange *change = &truth->changes.items[feed->next];
        if (change->revision > feed->position && change->key % WATCHES == watch) {
            if (batch->count == most) {
                out->complete = change->revision > last;
                break;
            }
            batch_add(batch, change->key, change->deleted, change->value, change->revision);
        }
        if (change->revision > last) {
            last = change->revision;
        }
        feed->next++;
    }
    if (feed->next == truth->changes.len) {
        out->complete = true;
        last = truth->revision;
    }
    if (out->complete) {
        feed->position = last;
    }
    out->revision = feed->position;
}

static void feed_watch(ServerSession *session, uint32_t watch)
{
    Feed *feed = &session->feeds[watch];
    const Truth *truth = &session->server->world->truth;
    if (!feed->started || feed->unacknowledged) {
        return;
    }
    Batch batch = { 0 };
    Changes changes = { .watch = watch };
    if (feed->fresh || feed->resetting || feed->position < truth->compacted) {
        feed_reset(session, watch, &changes, &batch);
    } else if (feed->position < truth->revision) {
        feed_changes(session, watch, &changes, &batch);
    } else {
        return;
    }
    changes.changes = batch.changes;
    changes.change_count = batch.count;
    feed->unacknowledged = true;
    session_server_changes(session->machine, &changes);
}

static void feed_runs(void *context)
{
    ServerSession *session = context;
    for (uint32_t i = 0; i < WATCHES; i++) {
        feed_watch(session, i);
    }
}

static void feed_soon(ServerSession *session)
{
    if (!session->over && !loop_timer_started(&session->feed)) {
        loop_timer_start(&session->feed, (int64_t)world_random(session->server->world, 10));
    }
}

static bool session_watch(void *context, uint32_t watch, Str name, bool reset, int64_t revision,
                          Error *err)
{
    ServerSession *session = context;
    if (watch == WATCHES) {
        return error_set(err, ERROR_DENIED, "there is no '%" STR_FMT "'", STR_ARG(name));
    }
    session->feeds[watch] = (Feed){ .started = true, .fresh = reset, .position = revision };
    feed_soon(session);
    return true;
}

static void session_taken(void *context, uint32_t watch, int64_t revision)
{
    (void)revision;
    ServerSession *session = context;
    session->feeds[watch].unacknowledged = false;
    feed_soon(session);
}

static void session_unwatch(void *context, uint32_t watch)
{
    ServerSession *session = context;
    session->feeds[watch].started = false;
}

void servers_changed(World *world)
{
    for (uint32_t i = 0; i < SERVERS; i++) {
        for (ServerSession *one = world->servers[i].sessions; one != NULL; one = one->next) {
            feed_soon(one);
        }
    }
}

/* --- The stream ------------------------------------------------------------------------------ */

static void session_ends(ServerSession *session)
{
    session->over = true;
    session->link = NULL;
    loop_timer_stop(&session->feed);
    loop_defer(session->server->world->loop, &session->sweep);
}

static void link_message(void *context, Str message)
{
    ServerSession *session = context;
    session_server_message(session->machine, message);
}

static void link_writable(void *context)
{
    ServerSession *session = context;
    session_server_writable(session->machine);
}

static void link_closed(void *context, const Error *why)
{
    (void)why;
    ServerSession *session = context;
    session_server_closed(session->machine);
    session_ends(session);
}

static const LinkEvents link_events = { link_message, link_writable, link_closed };

static bool session_can_send(void *context)
{
    ServerSession *session = context;
    return link_can_send(session->link, LINK_SERVER);
}

static void session_send(void *context, Str message)
{
    ServerSession *session = context;
    link_send(session->link, LINK_SERVER, message);
}

static void session_pause(void *context)
{
    ServerSession *session = context;
    link_pause(session->link, LINK_SERVER, true);
}

static void session_resume(void *context)
{
    ServerSession *session = context;
    link_pause(session->link, LINK_SERVER, false);
}

static void session_finish(void *context, const Error *why)
{
    ServerSession *session = context;
    if (why->kind != ERROR_TIMEOUT) {
        world_fail(session->server->world, "a server ended a session: %s", why->text);
    }
    link_leave(session->link, LINK_SERVER, false);
    session_ends(session);
}

static void session_keep_alive(void *context)
{
    (void)context;
}

static const SessionServerOps session_ops = {
    .can_send = session_can_send,
    .send = session_send,
    .pause = session_pause,
    .resume = session_resume,
    .finish = session_finish,
    .load = session_load,
    .apply = session_apply,
    .renew_lease = session_keep_alive,
    .watch = session_watch,
    .changes_acknowledged = session_taken,
    .stop_watch = session_unwatch,
};

static void session_free(ServerSession *session)
{
    Loop *loop = session->server->world->loop;
    loop_timer_stop(&session->feed);
    loop_task_stop(loop, &session->sweep);
    session_server_free(session->machine);
    free(session);
}

/* Frees closed sessions without pending operations. */
static void sweep_runs(void *context)
{
    ServerSession *session = context;
    if (session->request != NULL) {
        return;
    }
    ServerSession **at = &session->server->sessions;
    while (*at != session) {
        at = &(*at)->next;
    }
    *at = session->next;
    session_free(session);
}

/* --- The process ----------------------------------------------------------------------------- */

bool server_accept(Server *server, uint32_t node, Link *link)
{
    if (!server->alive) {
        return false;
    }
    World *world = server->world;
    ServerSession *session = memory_new(sizeof *session);
    char name[16];
    snprintf(name, sizeof name, "node%u", node);
    session->server = server;
    session->node = node;
    session->link = link;
    loop_timer_init(&session->feed, world->loop, feed_runs, session);
    loop_task_init(&session->sweep, sweep_runs, session);
    session->machine = session_server_new(&(SessionServerOptions){
        .loop = world->loop,
        .ops = &session_ops,
        .context = session,
        .node = str_from_c(name),
        .server = STR("server"),
        .store = STR("store"),
    });
    session->next = server->sessions;
    server->sessions = session;
    link_attach(link, LINK_SERVER, &link_events, session);
    return true;
}

static void stop(Server *server, bool is_crash)
{
    server->alive = false;
    while (server->sessions != NULL) {
        ServerSession *session = server->sessions;
        server->sessions = session->next;
        if (session->request != NULL) {
            session->request->session = NULL;
            /* Requests that have reached the disk complete anyway. */
            if (!is_crash || world_random(server->world, 2) == 0) {
                request_free(session->request);
            }
            session->request = NULL;
        }
        if (session->link != NULL) {
            link_leave(session->link, LINK_SERVER,
                       !is_crash || world_random(server->world, 3) == 0);
        }
        session->over = true;
        session_free(session);
    }
}

void server_crash(Server *server)
{
    World *world = server->world;
    world_note(world, HAPPENED_SERVER_CRASH, server->index, 0);
    stop(server, true);
    loop_timer_start(&server->revive, 1 + (int64_t)world_random(world, 3000));
}

static void revive_runs(void *context)
{
    Server *server = context;
    server->alive = true;
}

void server_init(World *world, uint32_t index)
{
    Server *server = &world->servers[index];
    *server = (Server){ .world = world, .index = index, .alive = true };
    loop_timer_init(&server->revive, world->loop, revive_runs, server);
}

void server_free(Server *server)
{
    loop_timer_stop(&server->revive);
    stop(server, false);
}
