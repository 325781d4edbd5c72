/* The state machine of session_server.h.
 *
 * Records are applied one message at a time: drop what the cursor covers, apply the rest in a
 * transaction that compares the cursor, acknowledge. The cursor is loaded when the session opens,
 * and again after a failed or uncertain attempt, because the transaction may have been committed.
 * The stream is paused when more than SESSION_INBOX_BYTES of records are waiting. */
#include "rpc/session_server.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/identity.h"
#include "base/memory.h"
#include "base/sm.h"

typedef enum ServerState {
    SERVER_GREETING,
    SERVER_LOADING,
    SERVER_LIVE,
    SERVER_CLOSED,
} ServerState;

/* A message whose records have not been applied yet. */
typedef struct Inbox Inbox;
struct Inbox {
    Inbox *next;
    Arena arena;
    const Record *records;
    uint32_t count;
    size_t bytes;
};

typedef enum Operation {
    WORK_NONE,
    WORK_LOAD,  /* loading the cursor */
    WORK_APPLY, /* applying records */
    WORK_RETRY, /* waiting to retry */
} Operation;

typedef struct ServerWatch {
    bool started;
    bool unacknowledged; /* changes were sent but not acknowledged */
    int64_t revision;
    Buf unsent; /* a message that could not be sent yet */
} ServerWatch;

struct SessionServer {
    SessionServerOptions options;
    Sm sm;
    LoopTimer timer; /* until the hello arrives, its timeout; then the next renewal of the lease */
    LoopTimer retry;
    char node[NODE_NAME_MAX + 1], server[SESSION_TEXT_MAX + 1], store[SESSION_TEXT_MAX + 1];
    Arena hello_arena; /* holds the hello until the session is live */
    NodeHello *hello;
    uint32_t protocol;
    uint64_t epoch;
    SessionCursor cursor;  /* as last read from the store or written to it */
    bool is_current_epoch; /* the cursor has been seen in our epoch */
    Operation work;
    Inbox *first, *last;
    size_t inbox_bytes;
    bool paused;
    Buf ack; /* encoded ack that could not be sent yet */
    Buf ping;
    uint64_t pings;     /* ID of the last ping */
    bool awaiting_pong; /* the last ping has not been answered yet */
    int64_t ping_ms;
    ServerWatch *watches;
    uint32_t watch_count;
};

static const SmState server_states[] = {
    [SERVER_GREETING] = { "greeting", .next = SM_TO(SERVER_LOADING) | SM_TO(SERVER_CLOSED) },
    [SERVER_LOADING] = { "loading", .next = SM_TO(SERVER_LIVE) | SM_TO(SERVER_CLOSED) },
    [SERVER_LIVE] = { "live", .next = SM_TO(SERVER_CLOSED) },
    [SERVER_CLOSED] = { "closed" },
};

static const SmTable server_table = { "node session", server_states, COUNT_OF(server_states) };

/* --- Closing --------------------------------------------------------------------------------- */

static void drop_first(SessionServer *session)
{
    Inbox *inbox = session->first;
    session->first = inbox->next;
    if (session->first == NULL) {
        session->last = NULL;
    }
    session->inbox_bytes -= inbox->bytes;
    arena_clear(&inbox->arena);
    free(inbox);
}

static void end(SessionServer *session)
{
    loop_timer_stop(&session->timer);
    loop_timer_stop(&session->retry);
    sm_move(&session->sm, SERVER_CLOSED);
    for (uint32_t i = 0; i < session->watch_count; i++) {
        if (session->watches[i].started) {
            session->options.ops->stop_watch(session->options.context, i);
        }
        buf_clear(&session->watches[i].unsent);
    }
    session->watch_count = 0;
    /* Records that are being applied are still in use. */
    while (session->first != NULL && session->work != WORK_APPLY) {
        drop_first(session);
    }
    arena_clear(&session->hello_arena);
    session->hello = NULL;
    buf_clear(&session->ack);
    buf_clear(&session->ping);
}

static void finish(SessionServer *session, const Error *why)
{
    end(session);
    session->options.ops->finish(session->options.context, why);
}

/* --- Sending --------------------------------------------------------------------------------- */

static bool can_send(const SessionServer *session)
{
    return session->options.ops->can_send(session->options.context);
}

/* Sends the message now, or buffers it until there is space. */
static void send_or_buffer(SessionServer *session, const ServerMessage *message, Buf *buffered)
{
    BUG_IF(buffered->len > 0);
    buffered->max = SESSION_SERVER_MESSAGE_MAX;
    server_message_encode(message, buffered);
    BUG_IF(buffered->overflow);
    if (can_send(session)) {
        session->options.ops->send(session->options.context, buf_str(buffered));
        buf_clear(buffered);
    }
}

static void send_buffered(SessionServer *session, Buf *buffered)
{
    if (buffered->len > 0 && can_send(session)) {
        session->options.ops->send(session->options.context, buf_str(buffered));
        buf_clear(buffered);
    }
}

static void send_ack(SessionServer *session, const RejectedRecord *refusals, uint32_t count)
{
    if (count > SESSION_REJECTIONS_MAX) {
        count = SESSION_REJECTIONS_MAX;
    }
    send_or_buffer(session,
                   &(ServerMessage){ .kind = SERVER_ACK,
                                     .ack = { session->cursor.sequence, refusals, count, 0 } },
                   &session->ack);
}

void session_server_delayed(SessionServer *session, uint64_t delay_ms)
{
    BUG_IF(session->work != WORK_APPLY);
    /* Informational only: dropped if it cannot be sent now. */
    if (session->sm.state == SERVER_LIVE && session->ack.len == 0 && can_send(session)) {
        AUTO_CLEAR(Buf) out = buf_make(SESSION_SERVER_MESSAGE_MAX);
        uint64_t taken = session->is_current_epoch ? session->cursor.sequence : 0;
        server_message_encode(
            &(ServerMessage){ .kind = SERVER_ACK, .ack = { taken, NULL, 0, delay_ms } }, &out);
        session->options.ops->send(session->options.context, buf_str(&out));
    }
}

/* --- Applying records ------------------------------------------------------------------------ */

static void retry_later(SessionServer *session)
{
    session->work = WORK_RETRY;
    loop_timer_start(&session->retry,
                     SESSION_RETRY_MS / 2 +
                         (int64_t)(loop_random(session->options.loop) % SESSION_RETRY_MS));
}

static void load(SessionServer *session)
{
    session->work = WORK_LOAD;
    session->options.ops->load(session->options.context);
}

/* Drops records that were already applied, and acknowledges them again. */
static bool drop_applied(SessionServer *session)
{
    uint64_t taken = session->cursor.epoch == session->epoch ? session->cursor.sequence : 0;
    bool any = false;
    while (session->first != NULL) {
        Inbox *inbox = session->first;
        while (inbox->count > 0 && inbox->records[0].sequence <= taken) {
            inbox->records++;
            inbox->count--;
            any = true;
        }
        if (inbox->count > 0) {
            break;
        }
        drop_first(session);
    }
    return any;
}

/* Applies the next records, unless an operation is in progress or the last ack could not be
 * sent. */
static void apply_next(SessionServer *session)
{
    if (session->work != WORK_NONE || session->ack.len > 0) {
        return;
    }
    if (drop_applied(session)) {
        send_ack(session, NULL, 0);
        if (session->ack.len > 0) {
            return;
        }
    }
    if (session->paused && session->inbox_bytes <= SESSION_INBOX_BYTES / 2) {
        session->paused = false;
        session->options.ops->resume(session->options.context);
    }
    const Inbox *inbox = session->first;
    if (inbox != NULL) {
        session->work = WORK_APPLY;
        SessionCursor to = { session->epoch, inbox->records[inbox->count - 1].sequence };
        session->options.ops->apply(session->options.context, session->cursor, to, inbox->records,
                                    inbox->count);
    }
}

static void retry_timer_expired(void *context)
{
    SessionServer *session = context;
    session->work = WORK_NONE;
    /* Load the cursor again: the outcome of the last attempt is unknown. */
    load(session);
}

void session_server_applied(SessionServer *session, const RejectedRecord *refusals, uint32_t count,
                            const Error *err)
{
    BUG_IF(session->work != WORK_APPLY);
    session->work = WORK_NONE;
    if (session->sm.state == SERVER_CLOSED) {
        while (session->first != NULL) {
            drop_first(session);
        }
        return;
    }
    if (err == NULL) {
        const Inbox *inbox = session->first;
        session->cursor =
            (SessionCursor){ session->epoch, inbox->records[inbox->count - 1].sequence };
        session->is_current_epoch = true;
        drop_first(session);
        send_ack(session, refusals, count);
        apply_next(session);
    } else if (err->kind == ERROR_CONFLICT) {
        load(session);
    } else if (error_is_transient(err)) {
        retry_later(session);
    } else {
        finish(session, err);
    }
}

/* --- Opening --------------------------------------------------------------------------------- */

static void keep_alive(void *context)
{
    SessionServer *session = context;
    if (session->sm.state == SERVER_GREETING) {
        Error why;
        error_set(&why, ERROR_TIMEOUT, "no hello within %d s", SESSION_HELLO_MS / 1000);
        finish(session, &why);
        return;
    }
    /* Renewals are aligned, so that those of many sessions are due at the same time and the loop
     * wakes up less often. */
    loop_timer_start(&session->timer,
                     SESSION_RENEW_MS - loop_now_ms(session->options.loop) % SESSION_RENEW_STEP_MS);
    session->options.ops->renew_lease(session->options.context);
}

/* A node that is newer than this server may request watches that do not exist here; it is served
 * the others. */
static void reject_watch(SessionServer *session, uint32_t watch, const Error *why, ServerHello *out)
{
    Str reason = str_slice(str_from_c(why->text), 0, SESSION_REASON_MAX);
    out->rejected[out->rejected_count++] =
        (RejectedWatch){ watch, arena_copy(&session->hello_arena, reason) };
}

static bool start_watches(SessionServer *session, ServerHello *out, Error *err)
{
    const NodeHello *hello = session->hello;
    for (uint32_t i = 0; i < hello->watch_count; i++) {
        const WatchRequest *requested = &hello->watches[i];
        bool reset = !str_eq_c(requested->position.store, session->store);
        session->watches[i].revision = requested->position.revision;
        session->watches[i].started =
            session->options.ops->watch(session->options.context, i, requested->name, reset,
                                        reset ? 0 : requested->position.revision, err);
        if (!session->watches[i].started && err->kind == ERROR_DENIED) {
            reject_watch(session, i, err, out);
        } else if (!session->watches[i].started) {
            return error_wrap(err, "watch '%" STR_FMT "'", STR_ARG(requested->name));
        }
    }
    return true;
}

static void go_live(SessionServer *session)
{
    AUTO_CLEAR(Buf) out = buf_make(SESSION_SERVER_MESSAGE_MAX);
    ServerHello hello = {
        .protocol = session->protocol,
        .server = str_from_c(session->server),
        .wall_ms = loop_wall_ms(session->options.loop),
        .sequence = session->is_current_epoch ? session->cursor.sequence : 0,
        .store = str_from_c(session->store),
    };
    Error err;
    if (!start_watches(session, &hello, &err)) {
        finish(session, &err);
        return;
    }
    server_message_encode(&(ServerMessage){ .kind = SERVER_HELLO, .hello = hello }, &out);
    session->options.ops->send(session->options.context, buf_str(&out));
    sm_move(&session->sm, SERVER_LIVE);
    keep_alive(session);
    arena_clear(&session->hello_arena);
    session->hello = NULL;
}

void session_server_loaded(SessionServer *session, SessionCursor cursor, const Error *err)
{
    BUG_IF(session->work != WORK_LOAD);
    session->work = WORK_NONE;
    if (session->sm.state == SERVER_CLOSED) {
        return;
    }
    if (err != NULL) {
        if (error_is_transient(err) && session->sm.state == SERVER_LIVE) {
            retry_later(session);
        } else {
            finish(session, err);
        }
        return;
    }
    bool is_current_epoch = cursor.epoch == session->epoch;
    if (session->is_current_epoch && !is_current_epoch) {
        Error why;
        error_set(&why, ERROR_CONFLICT,
                  "the node continues in another session with new sequence numbers");
        finish(session, &why);
        return;
    }
    session->cursor = cursor;
    session->is_current_epoch = is_current_epoch;
    if (session->sm.state == SERVER_LOADING) {
        go_live(session);
    }
    if (session->sm.state == SERVER_LIVE) {
        apply_next(session);
    }
}

static bool hello_arrived(SessionServer *session, Str bytes, Error *err)
{
    NodeMessage message;
    if (!node_message_decode(&session->hello_arena, bytes, &message, err)) {
        return false;
    }
    if (message.kind != NODE_HELLO) {
        return error_set(err, ERROR_INVALID, "message before the hello");
    }
    if (!session_protocol_choose(&message.hello, &session->protocol, err)) {
        return false;
    }
    if (!str_eq_c(message.hello.node, session->node)) {
        return error_set(err, ERROR_DENIED,
                         "the certificate is for '%s', but the hello is from '%" STR_FMT "'",
                         session->node, STR_ARG(message.hello.node));
    }
    session->hello = ARENA_NEW(&session->hello_arena, NodeHello);
    *session->hello = message.hello;
    session->epoch = message.hello.epoch;
    session->watch_count = message.hello.watch_count;
    if (session->watch_count > 0) {
        session->watches = calloc(session->watch_count, sizeof *session->watches);
        if (session->watches == NULL) {
            memory_exhausted(sizeof *session->watches);
        }
    }
    loop_timer_stop(&session->timer);
    sm_move(&session->sm, SERVER_LOADING);
    if (session->options.ops->hello_received != NULL) {
        int64_t now = loop_wall_ms(session->options.loop);
        session->options.ops->hello_received(session->options.context, session->hello,
                                             session_is_skewed(now, message.hello.wall_ms));
    }
    load(session);
    return true;
}

/* --- Receiving ------------------------------------------------------------------------------- */

/* Charge the memory that the records use, since the encoded message may be much smaller. */
static void records_arrived(SessionServer *session, Inbox *inbox)
{
    inbox->bytes = sizeof *inbox + inbox->arena.chunk_bytes;
    inbox->next = NULL;
    if (session->last != NULL) {
        session->last->next = inbox;
    } else {
        session->first = inbox;
    }
    session->last = inbox;
    session->inbox_bytes += inbox->bytes;
    if (!session->paused && session->inbox_bytes > SESSION_INBOX_BYTES) {
        session->paused = true;
        session->options.ops->pause(session->options.context);
    }
    apply_next(session);
}

static bool watch_ack_arrived(SessionServer *session, const WatchAck *taken, Error *err)
{
    if (taken->watch >= session->watch_count || !session->watches[taken->watch].unacknowledged ||
        session->watches[taken->watch].unsent.len > 0 ||
        session->watches[taken->watch].revision != taken->revision) {
        return error_set(err, ERROR_INVALID, "the node acknowledged changes that were not sent");
    }
    session->watches[taken->watch].unacknowledged = false;
    session->options.ops->changes_acknowledged(session->options.context, taken->watch,
                                               taken->revision);
    return true;
}

static bool pong_arrived(SessionServer *session, const Pong *pong, Error *err)
{
    if (!session->awaiting_pong || session->ping.len > 0 || pong->id != session->pings) {
        return error_set(err, ERROR_INVALID, "response to a ping that was not sent");
    }
    Loop *loop = session->options.loop;
    SessionPing ping = { loop_now_ms(loop) - session->ping_ms, pong->wall_ms, loop_wall_ms(loop) };
    session->awaiting_pong = false;
    if (session->options.ops->ping_answered != NULL) {
        session->options.ops->ping_answered(session->options.context, &ping);
    }
    return true;
}

static bool message_arrived(SessionServer *session, Str bytes, Error *err)
{
    Inbox *inbox = memory_new(sizeof *inbox);
    arena_init(&inbox->arena, ARENA_UNLIMITED);
    NodeMessage message;
    bool ok = node_message_decode(&inbox->arena, bytes, &message, err);
    if (ok && message.kind == NODE_RECORDS && message.record_count > 0) {
        inbox->records = message.records;
        inbox->count = message.record_count;
        records_arrived(session, inbox);
        return true;
    }
    if (ok && message.kind == NODE_HELLO) {
        ok = error_set(err, ERROR_INVALID, "duplicate hello");
    } else if (ok && message.kind == NODE_WATCH_ACK) {
        ok = watch_ack_arrived(session, &message.watch_ack, err);
    } else if (ok && message.kind == NODE_PONG) {
        ok = pong_arrived(session, &message.pong, err);
    }
    arena_clear(&inbox->arena);
    free(inbox);
    return ok;
}

void session_server_message(SessionServer *session, Str message)
{
    Error err;
    bool ok = true;
    if (session->sm.state == SERVER_GREETING) {
        ok = hello_arrived(session, message, &err);
    } else if (session->sm.state == SERVER_LOADING) {
        ok = error_set(&err, ERROR_INVALID, "message before the response to the hello");
    } else if (session->sm.state == SERVER_LIVE) {
        ok = message_arrived(session, message, &err);
    }
    if (!ok) {
        finish(session, &err);
    }
}

/* --- Calls from the owner -------------------------------------------------------------------- */

static void copy_text(char *out, size_t size, Str text)
{
    BUG_IF(text.len >= size);
    memcpy(out, text.len > 0 ? text.data : "", text.len);
    out[text.len] = '\0';
}

SessionServer *session_server_new(const SessionServerOptions *options)
{
    SessionServer *session = memory_new(sizeof *session);
    session->options = *options;
    copy_text(session->node, sizeof session->node, options->node);
    copy_text(session->server, sizeof session->server, options->server);
    copy_text(session->store, sizeof session->store, options->store);
    arena_init(&session->hello_arena, ARENA_UNLIMITED);
    loop_timer_init(&session->timer, options->loop, keep_alive, session);
    loop_timer_init(&session->retry, options->loop, retry_timer_expired, session);
    loop_timer_start(&session->timer, SESSION_HELLO_MS);
    sm_init(&session->sm, &server_table, session, session->node, SERVER_GREETING);
    return session;
}

void session_server_free(SessionServer *session)
{
    if (session == NULL) {
        return;
    }
    session_server_closed(session);
    while (session->first != NULL) {
        drop_first(session);
    }
    free(session->watches);
    free(session);
}

void session_server_writable(SessionServer *session)
{
    if (session->sm.state != SERVER_LIVE) {
        return;
    }
    send_buffered(session, &session->ping);
    send_buffered(session, &session->ack);
    for (uint32_t i = 0; i < session->watch_count; i++) {
        send_buffered(session, &session->watches[i].unsent);
    }
    apply_next(session);
}

void session_server_closed(SessionServer *session)
{
    if (session->sm.state != SERVER_CLOSED) {
        end(session);
    }
}

void session_server_changes(SessionServer *session, const Changes *changes)
{
    if (session->sm.state != SERVER_LIVE) {
        return;
    }
    BUG_IF(changes->watch >= session->watch_count ||
           session->watches[changes->watch].unacknowledged);
    ServerWatch *watch = &session->watches[changes->watch];
    watch->unacknowledged = true;
    watch->revision = changes->revision;
    send_or_buffer(session, &(ServerMessage){ .kind = SERVER_CHANGES, .changes = *changes },
                   &watch->unsent);
}

void session_server_ping(SessionServer *session)
{
    if (session->sm.state != SERVER_LIVE || session->awaiting_pong) {
        return;
    }
    session->awaiting_pong = true;
    session->pings++;
    session->ping_ms = loop_now_ms(session->options.loop);
    send_or_buffer(session, &(ServerMessage){ .kind = SERVER_PING, .ping = { session->pings } },
                   &session->ping);
}

bool session_server_is_live(const SessionServer *session)
{
    return session->sm.state == SERVER_LIVE;
}
