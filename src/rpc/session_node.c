/* The state machine of session_node.h.
 *
 * In state live, pump() sends the response to a ping first, then acks of processed changes, then
 * records, as long as the stream can take them. Every message is validated against the state
 * before it has an effect; a violation closes the connection and counts as a failure. */
#include "rpc/session_node.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/memory.h"
#include "base/sm.h"
#include "rpc/backoff.h"

typedef struct NodeWatch {
    int64_t revision;  /* all changes up to this revision were received */
    int64_t at;        /* revision of the last received change */
    int64_t taken;     /* revision to acknowledge */
    uint64_t ticket;   /* of the changes that the owner is processing; 0: none */
    bool has_position; /* our position belongs to this server's store, or a reset has arrived */
    bool resetting;    /* a full snapshot is being received */
    bool ack_due;      /* processed changes have not been acknowledged yet */
    bool refused;
} NodeWatch;

struct SessionNode {
    SessionNodeOptions options;
    Sm sm;
    LoopTimer timer;
    char name[SESSION_TEXT_MAX + 1], boot_id[SESSION_TEXT_MAX + 1], version[SESSION_TEXT_MAX + 1];
    char store[SESSION_TEXT_MAX + 1];
    uint32_t server;
    uint32_t failures;
    int64_t live_since_ms;
    int64_t until_ms;
    Error why;
    uint64_t tickets; /* number of tickets issued */
    uint64_t ping;    /* ID of the ping to answer */
    bool ping_due;
    NodeWatch watches[SESSION_WATCHES_MAX];
    Arena arena; /* holds the message that is being processed */
};

static const SmState node_states[] = {
    [SESSION_IDLE] = { "idle", .next = SM_TO(SESSION_CONNECTING) },
    [SESSION_CONNECTING] = { "connecting", .next = SM_TO(SESSION_GREETING) |
                                                   SM_TO(SESSION_WAITING) | SM_TO(SESSION_IDLE) },
    [SESSION_GREETING] = { "greeting", .next = SM_TO(SESSION_LIVE) | SM_TO(SESSION_WAITING) |
                                               SM_TO(SESSION_IDLE) },
    [SESSION_LIVE] = { "live", .next = SM_TO(SESSION_WAITING) | SM_TO(SESSION_IDLE) },
    [SESSION_WAITING] = { "waiting", .next = SM_TO(SESSION_CONNECTING) | SM_TO(SESSION_IDLE) },
};

static bool is_timer_consistent(const void *owner, unsigned state)
{
    const SessionNode *session = owner;
    /* Every state that waits for a peer has a timeout; the others wait for nothing. */
    return loop_timer_started(&session->timer) == (state != SESSION_IDLE && state != SESSION_LIVE);
}

static const SmTable node_table = { "session", node_states, COUNT_OF(node_states),
                                    is_timer_consistent };

const char *session_node_state_name(SessionNodeState state)
{
    return node_states[state].name;
}

static void set_state(SessionNode *session, SessionNodeState state)
{
    sm_move(&session->sm, state);
    if (session->options.ops->state_changed != NULL) {
        session->options.ops->state_changed(session->options.context, state);
    }
}

static bool is_connected(const SessionNode *session)
{
    return session->sm.state == SESSION_GREETING || session->sm.state == SESSION_LIVE;
}

/* --- Retries --------------------------------------------------------------------------------- */

/* The connection is already closed. */
static void wait_for_next(SessionNode *session, const Error *why)
{
    int64_t now = loop_now_ms(session->options.loop);
    if (session->sm.state == SESSION_LIVE && now - session->live_since_ms >= SESSION_STABLE_MS) {
        session->failures = 0;
    }
    session->failures++;
    uint32_t failures = session->failures;
    if (why->kind == ERROR_DENIED || why->kind == ERROR_INVALID) {
        failures = UINT32_MAX;
    }
    session->why = *why;
    session->server = (session->server + 1) % session->options.server_count;
    int64_t delay = backoff_ms(failures, loop_random(session->options.loop));
    session->until_ms = now + delay;
    loop_timer_start(&session->timer, delay);
    set_state(session, SESSION_WAITING);
}

static void fail(SessionNode *session, const Error *why)
{
    session->options.ops->disconnect(session->options.context);
    wait_for_next(session, why);
}

static void connect_now(SessionNode *session)
{
    loop_timer_start(&session->timer, SESSION_OPEN_MS);
    set_state(session, SESSION_CONNECTING);
    session->options.ops->connect(session->options.context, session->server);
}

static void timer_expired(void *context)
{
    SessionNode *session = context;
    if (session->sm.state == SESSION_WAITING) {
        connect_now(session);
        return;
    }
    Error why;
    error_set(&why, ERROR_TIMEOUT, "no %s within %d s",
              session->sm.state == SESSION_CONNECTING ? "connection" : "response to the hello",
              SESSION_OPEN_MS / 1000);
    fail(session, &why);
}

/* --- Sending --------------------------------------------------------------------------------- */

static void send_message(SessionNode *session, const NodeMessage *message)
{
    AUTO_CLEAR(Buf) out = buf_make(SESSION_NODE_MESSAGE_MAX);
    node_message_encode(message, &out);
    BUG_IF(out.overflow);
    session->options.ops->send(session->options.context, buf_str(&out));
}

static bool can_send(const SessionNode *session)
{
    return session->options.ops->can_send(session->options.context);
}

static void send_records(SessionNode *session)
{
    Record records[SESSION_RECORDS_MAX];
    Outbox *outbox = session->options.outbox;
    uint32_t count = 0;
    size_t bytes = 0;
    const Record *next;
    while (count < SESSION_RECORDS_MAX && (next = outbox_peek(outbox)) != NULL) {
        bytes += next->key.len + next->body.len;
        if (count > 0 && bytes > SESSION_RECORDS_BYTES) {
            break;
        }
        records[count++] = *next;
        outbox_advance(outbox);
    }
    send_message(session,
                 &(NodeMessage){ .kind = NODE_RECORDS, .records = records, .record_count = count });
}

static void pump(SessionNode *session)
{
    if (session->ping_due && can_send(session)) {
        session->ping_due = false;
        send_message(session, &(NodeMessage){
                                  .kind = NODE_PONG,
                                  .pong = { session->ping, loop_wall_ms(session->options.loop) } });
    }
    for (uint32_t i = 0; i < session->options.watch_count && can_send(session); i++) {
        NodeWatch *watch = &session->watches[i];
        if (watch->ack_due) {
            watch->ack_due = false;
            send_message(session, &(NodeMessage){ .kind = NODE_WATCH_ACK,
                                                  .watch_ack = { i, watch->taken } });
        }
    }
    while (can_send(session) && outbox_peek(session->options.outbox) != NULL) {
        send_records(session);
    }
}

static void send_hello(SessionNode *session)
{
    NodeMessage message = { .kind = NODE_HELLO };
    session->ping_due = false;
    NodeHello *hello = &message.hello;
    hello->protocol = SESSION_PROTOCOL_OLDEST;
    hello->protocol_newest = SESSION_PROTOCOL;
    hello->node = str_from_c(session->name);
    hello->boot_id = str_from_c(session->boot_id);
    hello->version = str_from_c(session->version);
    hello->wall_ms = loop_wall_ms(session->options.loop);
    hello->epoch = outbox_epoch(session->options.outbox);
    hello->watch_count = session->options.watch_count;
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    for (uint32_t i = 0; i < hello->watch_count; i++) {
        WatchPosition position = session->options.ops->position(session->options.context, i);
        hello->watches[i] = (WatchRequest){
            str_from_c(session->options.watches[i]),
            { arena_copy(&arena, position.store), position.revision },
        };
        session->watches[i] = (NodeWatch){ .revision = position.revision };
    }
    send_message(session, &message);
}

/* --- Receiving ------------------------------------------------------------------------------- */

static bool report_rejected(SessionNode *session, const ServerHello *hello, Error *err)
{
    for (uint32_t i = 0; i < hello->rejected_count; i++) {
        const RejectedWatch *refused = &hello->rejected[i];
        if (refused->watch >= session->options.watch_count) {
            return error_set(err, ERROR_INVALID,
                             "the server rejected a watch that was not requested");
        }
        session->watches[refused->watch].refused = true;
        if (session->options.ops->watch_rejected != NULL) {
            session->options.ops->watch_rejected(session->options.context, refused->watch,
                                                 refused->reason);
        }
    }
    return true;
}

static bool hello_received(SessionNode *session, const ServerHello *hello, Error *err)
{
    if (!session_protocol_check(hello->protocol, "the server", err)) {
        return false;
    }
    Outbox *outbox = session->options.outbox;
    if (hello->sequence > outbox_last_sequence(outbox)) {
        error_set(err, ERROR_CONFLICT,
                  "the server has record %" PRIu64 ", but the last local record is %" PRIu64
                  ": the pending records are renumbered",
                  hello->sequence, outbox_last_sequence(outbox));
        uint64_t epoch = loop_random(session->options.loop);
        outbox_restart(outbox, epoch == 0 || epoch == outbox_epoch(outbox) ? epoch + 1 : epoch);
        return false;
    }
    if (!report_rejected(session, hello, err)) {
        return false;
    }
    memcpy(session->store, hello->store.data, hello->store.len);
    session->store[hello->store.len] = '\0';
    for (uint32_t i = 0; i < session->options.watch_count; i++) {
        WatchPosition position = session->options.ops->position(session->options.context, i);
        session->watches[i].has_position = str_eq(position.store, hello->store);
    }
    outbox_acknowledge(outbox, hello->sequence);
    outbox_rewind(outbox);
    int64_t now = loop_wall_ms(session->options.loop);
    if (session->options.ops->clock_skewed != NULL && session_is_skewed(hello->wall_ms, now)) {
        session->options.ops->clock_skewed(session->options.context, hello->wall_ms, now);
    }
    loop_timer_stop(&session->timer);
    session->live_since_ms = loop_now_ms(session->options.loop);
    set_state(session, SESSION_LIVE);
    pump(session);
    return true;
}

static bool acknowledged(SessionNode *session, const Ack *ack, Error *err)
{
    if (ack->sequence > outbox_last_sequence(session->options.outbox)) {
        return error_set(err, ERROR_INVALID, "the server acknowledged a record that was not sent");
    }
    for (uint32_t i = 0; i < ack->rejected_count && session->options.ops->record_rejected != NULL;
         i++) {
        session->options.ops->record_rejected(session->options.context, &ack->rejected[i]);
    }
    if (ack->delay_ms > 0 && session->options.ops->delayed != NULL) {
        session->options.ops->delayed(session->options.context, ack->delay_ms);
    }
    outbox_acknowledge(session->options.outbox, ack->sequence);
    return true;
}

/* Checks that the changes continue the previous ones: no duplicates, in order. */
static bool changes_follow(NodeWatch *watch, const Changes *changes, Error *err)
{
    if (changes->reset) {
        watch->has_position = watch->resetting = true;
        watch->at = watch->revision = 0;
    }
    if (!watch->has_position) {
        return error_set(err, ERROR_INVALID, "changes from an unknown store");
    }
    for (uint32_t i = 0; i < changes->change_count; i++) {
        int64_t revision = changes->changes[i].revision;
        if (watch->resetting) {
            continue; /* the keys of a snapshot are sorted by key, not by revision */
        }
        if (revision <= watch->revision || revision < watch->at) {
            return error_set(err, ERROR_INVALID,
                             "a change with revision %" PRId64 " after %" PRId64, revision,
                             watch->at > watch->revision ? watch->at : watch->revision);
        }
        watch->at = revision;
    }
    if (changes->revision < watch->revision ||
        (changes->complete && changes->revision < watch->at)) {
        return error_set(err, ERROR_INVALID, "the revision went back to %" PRId64,
                         changes->revision);
    }
    return true;
}

static bool changed(SessionNode *session, const Changes *changes, Error *err)
{
    if (changes->watch >= session->options.watch_count) {
        return error_set(err, ERROR_INVALID, "changes for an unknown watch: %u", changes->watch);
    }
    NodeWatch *watch = &session->watches[changes->watch];
    if (watch->refused) {
        return error_set(err, ERROR_INVALID, "changes for a rejected watch: %u", changes->watch);
    }
    if (watch->ticket != 0 || watch->ack_due) {
        return error_set(err, ERROR_INVALID, "changes before the previous ones were acknowledged");
    }
    if (!changes_follow(watch, changes, err)) {
        return error_wrap(err, "watch '%s'", session->options.watches[changes->watch]);
    }
    if (changes->complete) {
        watch->resetting = false;
        watch->revision = changes->revision;
    }
    watch->taken = changes->revision;
    watch->ticket = ++session->tickets;
    session->options.ops->changes(session->options.context, changes, str_from_c(session->store),
                                  watch->ticket);
    return true;
}

static bool pinged(SessionNode *session, const Ping *ping, Error *err)
{
    if (session->ping_due) {
        return error_set(err, ERROR_INVALID, "a ping before the response to the last one");
    }
    session->ping = ping->id;
    session->ping_due = true;
    pump(session);
    return true;
}

static bool received(SessionNode *session, Str bytes, Error *err)
{
    ServerMessage message;
    if (!server_message_decode(&session->arena, bytes, &message, err)) {
        return false;
    }
    if ((message.kind == SERVER_HELLO) != (session->sm.state == SESSION_GREETING)) {
        return error_set(err, ERROR_INVALID, "%s hello",
                         message.kind == SERVER_HELLO ? "duplicate" : "message before the");
    }
    switch (message.kind) {
    case SERVER_HELLO: return hello_received(session, &message.hello, err);
    case SERVER_ACK: return acknowledged(session, &message.ack, err);
    case SERVER_PING: return pinged(session, &message.ping, err);
    default: return changed(session, &message.changes, err);
    }
}

void session_node_message(SessionNode *session, Str message)
{
    if (!is_connected(session)) {
        return;
    }
    Error err;
    if (!received(session, message, &err)) {
        fail(session, &err);
    }
    arena_clear(&session->arena);
}

/* --- Calls from the owner -------------------------------------------------------------------- */

static void copy_text(char out[SESSION_TEXT_MAX + 1], Str text)
{
    BUG_IF(text.len > SESSION_TEXT_MAX);
    memcpy(out, text.len > 0 ? text.data : "", text.len);
    out[text.len] = '\0';
}

SessionNode *session_node_new(const SessionNodeOptions *options)
{
    BUG_IF(options->server_count == 0 || options->watch_count > SESSION_WATCHES_MAX);
    SessionNode *session = memory_new(sizeof *session);
    session->options = *options;
    copy_text(session->name, options->node);
    copy_text(session->boot_id, options->boot_id);
    copy_text(session->version, options->version);
    loop_timer_init(&session->timer, options->loop, timer_expired, session);
    arena_init(&session->arena, ARENA_UNLIMITED);
    sm_init(&session->sm, &node_table, session, session->name, SESSION_IDLE);
    return session;
}

void session_node_free(SessionNode *session)
{
    if (session == NULL) {
        return;
    }
    session_node_stop(session);
    arena_clear(&session->arena);
    free(session);
}

void session_node_start(SessionNode *session)
{
    if (session->sm.state != SESSION_IDLE) {
        return;
    }
    /* All nodes have the same list; a random start avoids that they all try the first server. */
    session->server =
        (uint32_t)(loop_random(session->options.loop) % session->options.server_count);
    session->failures = 0;
    connect_now(session);
}

void session_node_stop(SessionNode *session)
{
    SessionNodeState state = (SessionNodeState)session->sm.state;
    if (state == SESSION_IDLE) {
        return;
    }
    loop_timer_stop(&session->timer);
    if (state != SESSION_WAITING) {
        session->options.ops->disconnect(session->options.context);
    }
    set_state(session, SESSION_IDLE);
}

void session_node_set_servers(SessionNode *session, uint32_t count)
{
    BUG_IF(count == 0);
    session->options.server_count = count;
    session->server %= count;
}

void session_node_connected(SessionNode *session)
{
    if (session->sm.state != SESSION_CONNECTING) {
        return;
    }
    loop_timer_start(&session->timer, SESSION_OPEN_MS);
    set_state(session, SESSION_GREETING);
    send_hello(session);
}

void session_node_writable(SessionNode *session)
{
    session_node_wake(session);
}

void session_node_closed(SessionNode *session, const Error *why)
{
    if (session->sm.state == SESSION_CONNECTING || is_connected(session)) {
        wait_for_next(session, why);
    }
}

void session_node_wake(SessionNode *session)
{
    if (session->sm.state == SESSION_LIVE) {
        pump(session);
    }
}

void session_node_processed(SessionNode *session, uint32_t watch, uint64_t ticket)
{
    BUG_IF(watch >= session->options.watch_count);
    NodeWatch *one = &session->watches[watch];
    if (ticket != 0 && one->ticket == ticket) {
        one->ticket = 0;
        one->ack_due = true;
        session_node_wake(session);
    }
}

SessionNodeStatus session_node_status(const SessionNode *session)
{
    bool waiting = session->sm.state == SESSION_WAITING;
    return (SessionNodeStatus){
        .state = (SessionNodeState)session->sm.state,
        .server = session->server,
        .until_ms = waiting ? session->until_ms : 0,
        .why = waiting ? &session->why : NULL,
        .failures = session->failures,
    };
}
