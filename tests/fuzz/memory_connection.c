#include "memory_connection.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/memory.h"
#include "net/connection_inner.h"

typedef enum State {
    STATE_OPENING,
    STATE_READY,
    STATE_FINISHING, /* only unsent bytes still go out */
    STATE_CLOSED,
} State;

struct Connection {
    Loop *loop;
    const ConnectionEvents *events;
    void *context;
    State state;
    LoopTimer timer;
    LoopTask task;
    Buf unsent;
    size_t unsent_at; /* bytes of it already sent */
    Str incoming;     /* what the peer has sent and was not yet received */
    size_t chunk;
    size_t room; /* bytes that the peer still accepts */
    MemoryAccepted *on_accepted;
    void *accepted_context;
    ConnectionOwner owner;
    ConnectionLink link;
    uint32_t busy; /* pending calls that still use this memory */
    bool hung_up, sent_end, paused, freed;
    Peer peer;
};

/* connection_connect() has no other way to reach the target, hence the file-wide variables. */
static MemoryConnected *on_connect;
static void *on_connect_context;

/* --- Work done in later turns of the loop ---------------------------------------------------- */

static bool is_over(const Connection *connection)
{
    return connection->freed || connection->state == STATE_CLOSED;
}

static void release(Connection *connection)
{
    loop_timer_stop(&connection->timer);
    loop_task_stop(connection->loop, &connection->task);
    buf_clear(&connection->unsent);
    connection->unsent_at = 0;
}

static void end(Connection *connection, const Error *why)
{
    if (!is_over(connection)) {
        connection->state = STATE_CLOSED;
        release(connection);
        connection->events->closed(connection->context, why);
    }
}

static void leave(Connection *connection)
{
    if (--connection->busy == 0 && connection->freed) {
        free(connection);
    }
}

/* How many of them the peer accepts. */
static size_t accept_bytes(Connection *connection, Str bytes)
{
    size_t count = bytes.len < connection->room ? bytes.len : connection->room;
    connection->room -= count;
    if (count > 0 && connection->on_accepted != NULL) {
        connection->on_accepted(connection->accepted_context, str_slice(bytes, 0, count));
    }
    return count;
}

static void write_some(Connection *connection)
{
    Str rest = str_from_offset(buf_str(&connection->unsent), connection->unsent_at);
    if (rest.len == 0) {
        return;
    }
    connection->unsent_at += accept_bytes(connection, rest);
    if (connection->unsent_at == connection->unsent.len) {
        buf_clear(&connection->unsent);
        connection->unsent_at = 0;
        if (connection->state == STATE_READY) {
            connection->events->drained(connection->context);
        }
    }
}

/* Each chunk is a separate allocation, so that reading past its end is detected. */
static void receive_chunk(Connection *connection)
{
    size_t count =
        connection->incoming.len < connection->chunk ? connection->incoming.len : connection->chunk;
    char *bytes = memory_new(count);
    memcpy(bytes, connection->incoming.data, count);
    connection->incoming = str_from_offset(connection->incoming, count);
    if (connection->state == STATE_READY) {
        connection->events->received(connection->context, str_from(bytes, count));
    }
    free(bytes);
}

static bool may_read(const Connection *connection)
{
    return !is_over(connection) && !connection->paused &&
           (connection->incoming.len > 0 || connection->hung_up);
}

static void turn(void *context)
{
    Connection *connection = context;
    connection->busy++;
    if (connection->state == STATE_OPENING) {
        connection->state = STATE_READY;
        loop_timer_stop(&connection->timer);
        connection->events->ready(connection->context);
    } else {
        write_some(connection);
        if (may_read(connection)) {
            if (connection->incoming.len > 0) {
                receive_chunk(connection);
            } else {
                end(connection, &(Error){ 0 });
            }
        }
    }
    if (may_read(connection)) {
        loop_defer(connection->loop, &connection->task);
    }
    leave(connection);
}

static void timed_out(void *context)
{
    Connection *connection = context;
    Error err = { 0 };
    if (connection->state != STATE_FINISHING) {
        error_set(&err, ERROR_TIMEOUT, "connection timed out");
    }
    connection->busy++;
    end(connection, &err);
    leave(connection);
}

/* --- The peer -------------------------------------------------------------------------------- */

Connection *memory_connection_new(const ConnectionOptions *options, MemoryAccepted *on_accepted,
                                  void *context)
{
    Connection *connection = memory_new(sizeof *connection);
    BUG_IF(options->tls != NULL);
    connection->loop = options->loop;
    connection->events = options->events;
    connection->context = options->context;
    connection->on_accepted = on_accepted;
    connection->accepted_context = context;
    connection->unsent = buf_make(BUF_UNLIMITED);
    connection->peer.is_local = true;
    snprintf(connection->peer.address, sizeof connection->peer.address, "unix");
    loop_timer_init(&connection->timer, options->loop, timed_out, connection);
    loop_task_init(&connection->task, turn, connection);
    loop_timer_start(&connection->timer, options->open_timeout_ms);
    loop_defer(options->loop, &connection->task);
    return connection;
}

void memory_connection_send(Connection *connection, Str bytes, size_t chunk)
{
    BUG_IF(connection->incoming.len > 0 || chunk == 0 || connection->hung_up);
    connection->incoming = bytes;
    connection->chunk = chunk;
    loop_defer(connection->loop, &connection->task);
}

void memory_connection_hang_up(Connection *connection)
{
    connection->hung_up = true;
    loop_defer(connection->loop, &connection->task);
}

void memory_connection_add_room(Connection *connection, size_t bytes)
{
    connection->room += bytes;
    loop_defer(connection->loop, &connection->task);
}

void memory_connection_set_remote(Connection *connection)
{
    connection->peer.is_local = false;
    snprintf(connection->peer.address, sizeof connection->peer.address, "10.0.0.9:4242");
}

void memory_connection_on_connect(MemoryConnected *connected, void *context)
{
    on_connect = connected;
    on_connect_context = context;
}

/* --- net/connection.h ------------------------------------------------------------------------ */

Connection *connection_connect(const ConnectionOptions *options, const Address *address)
{
    Connection *connection = memory_connection_new(options, NULL, NULL);
    if (on_connect != NULL) {
        on_connect(on_connect_context, connection);
    }
    return connection;
}

Connection *connection_adopt(const ConnectionOptions *options, int descriptor)
{
    BUG("there are no sockets");
}

void connection_free(Connection *connection)
{
    if (connection == NULL || connection->freed) {
        return;
    }
    connection->freed = true;
    release(connection);
    if (connection->owner.freed != NULL) {
        connection->owner.freed(connection->owner.owner, connection);
    }
    if (connection->busy == 0) {
        free(connection);
    }
}

void connection_set_events(Connection *connection, const ConnectionEvents *events, void *context)
{
    connection->events = events;
    connection->context = context;
}

void connection_write(Connection *connection, Str bytes)
{
    if (connection->state == STATE_READY) {
        size_t count = connection_unsent(connection) > 0 ? 0 : accept_bytes(connection, bytes);
        buf_put(&connection->unsent, str_from_offset(bytes, count));
    }
}

size_t connection_unsent(const Connection *connection)
{
    return connection->unsent.len - connection->unsent_at;
}

void connection_pause(Connection *connection)
{
    connection->paused = true;
}

void connection_resume(Connection *connection)
{
    if (connection->paused) {
        connection->paused = false;
        loop_defer(connection->loop, &connection->task);
    }
}

void connection_finish(Connection *connection, int64_t timeout_ms)
{
    if (is_over(connection) || connection->state == STATE_FINISHING) {
        return;
    }
    loop_timer_start(&connection->timer, timeout_ms);
    connection->paused = false;
    connection->state = STATE_FINISHING;
    loop_defer(connection->loop, &connection->task);
}

bool connection_is_ready(const Connection *connection)
{
    return connection->state == STATE_READY;
}

Loop *connection_loop(const Connection *connection)
{
    return connection->loop;
}

const Peer *connection_peer(const Connection *connection)
{
    return &connection->peer;
}

void connection_own_address(const Connection *connection, char out[ADDRESS_TEXT_MAX])
{
    snprintf(out, ADDRESS_TEXT_MAX, "%s", connection->peer.is_local ? "unix" : "10.0.0.7:1338");
}

void connection_set_owner(Connection *connection, ConnectionOwner owner)
{
    connection->owner = owner;
}

ConnectionLink *connection_link(Connection *connection)
{
    return &connection->link;
}

void *connection_context(const Connection *connection)
{
    return connection->context;
}
