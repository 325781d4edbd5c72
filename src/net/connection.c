/* One connection as a state machine: opening (resolving), connecting to one candidate address after
 * another, the TLS handshake, ready, finishing, closed.
 *
 * Two rules keep callbacks safe. The owner may free the connection in any callback, so every entry
 * from the loop increments `busy`, and the memory is released when the last one returns. And
 * callbacks never run within a call by the owner: failures noticed there are stored in `failure`
 * and reported by a deferred task.
 *
 * TLS may have decrypted data that the kernel will never report again, so reading continues through
 * the same deferred task when tls_stream_has_pending(). */
#include "net/connection.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/sm.h"
#include "net/connection_inner.h"
#include "net/resolve.h"
#include "net/tls_stream.h"
#include "net/watch.h"

enum {
    READ_PIECE = 16 << 10, /* one full TLS record */
    READ_BATCH = 4,        /* then other connections are served */
};

enum {
    STATE_OPENING, /* not connected yet, or resolving the name */
    STATE_CONNECTING,
    STATE_HANDSHAKE, /* TLS handshake in progress */
    STATE_READY,
    STATE_FINISHING, /* flushes unsent data before closing */
    STATE_CLOSED,
};

static const SmState states[] = {
    [STATE_OPENING] = { "opening", .next = SM_TO(STATE_CONNECTING) | SM_TO(STATE_HANDSHAKE) |
                                           SM_TO(STATE_READY) | SM_TO(STATE_CLOSED) },
    [STATE_CONNECTING] = { "connecting", .next = SM_TO(STATE_CONNECTING) | SM_TO(STATE_HANDSHAKE) |
                                                 SM_TO(STATE_READY) | SM_TO(STATE_CLOSED) },
    [STATE_HANDSHAKE] = { "in the TLS handshake",
                          .next = SM_TO(STATE_READY) | SM_TO(STATE_CLOSED) },
    [STATE_READY] = { "ready", .next = SM_TO(STATE_FINISHING) | SM_TO(STATE_CLOSED) },
    [STATE_FINISHING] = { "finishing", .next = SM_TO(STATE_CLOSED) },
    [STATE_CLOSED] = { "closed" },
};
static const SmTable state_table = { "connection", states, COUNT_OF(states), NULL };

/* Needed only until a client's connection is established. */
typedef struct ConnectAttempt {
    Address address;
    char tls_host[ADDRESS_HOST_MAX + 1];
    Resolve *resolve;
    SocketAddress candidates[RESOLVE_MAX];
    uint32_t count, next;
    Error error; /* error of the last candidate address */
} ConnectAttempt;

struct Connection {
    Loop *loop;
    const ConnectionEvents *events;
    void *context;
    Sm sm;
    int descriptor; /* -1: none */
    Watch *watch;
    TlsContext *tls_context;
    TlsStream *tls;
    ConnectAttempt *opening;
    Error *failure; /* reported in the next iteration of the loop */
    LoopTimer timer;
    LoopTask task;
    Buf unsent;
    size_t unsent_at; /* offset of the first unsent byte */
    ConnectionOwner owner;
    ConnectionLink link;
    uint32_t busy; /* calls on the stack that still use this memory */
    bool freed, sent_shutdown, paused;
    Peer peer;
};

static void release(Connection *connection)
{
    if (connection->opening != NULL) {
        resolve_cancel(connection->opening->resolve);
        free(connection->opening);
        connection->opening = NULL;
    }
    loop_timer_stop(&connection->timer);
    loop_task_stop(connection->loop, &connection->task);
    watch_free(TAKE(connection->watch));
    tls_stream_free(TAKE(connection->tls));
    if (connection->descriptor >= 0) {
        close(connection->descriptor);
        connection->descriptor = -1;
    }
    buf_clear(&connection->unsent);
    connection->unsent_at = 0;
    free(TAKE(connection->failure));
}

static void leave(Connection *connection)
{
    if (--connection->busy == 0 && connection->freed) {
        free(connection);
    }
}

static bool is_closed(const Connection *connection)
{
    return connection->freed || connection->sm.state == STATE_CLOSED;
}

static void end(Connection *connection, const Error *why)
{
    if (!is_closed(connection)) {
        Error reason = *why;
        sm_move(&connection->sm, STATE_CLOSED);
        release(connection);
        connection->events->closed(connection->context, &reason);
    }
}

/* For failures during calls by the owner, whose callbacks must not run from there. */
static void end_later(Connection *connection, const Error *why)
{
    if (connection->failure == NULL) {
        connection->failure = memory_new(sizeof *why);
        *connection->failure = *why;
        loop_defer(connection->loop, &connection->task);
    }
}

static void update_watch(Connection *connection)
{
    watch_set(connection->watch, !connection->paused, connection_unsent(connection) > 0);
}

/* --- Connecting ------------------------------------------------------------------------------ */

static void become_ready(Connection *connection)
{
    free(TAKE(connection->opening));
    loop_timer_stop(&connection->timer);
    sm_move(&connection->sm, STATE_READY);
    update_watch(connection);
    connection->events->ready(connection->context);
}

static void continue_handshake(Connection *connection)
{
    Error err = { 0 };
    switch (tls_stream_handshake(connection->tls, &connection->peer.tls, &err)) {
    case TLS_DONE:
        become_ready(connection);
        /* The peer may have sent data right after its handshake. */
        if (!is_closed(connection) && tls_stream_has_pending(connection->tls)) {
            loop_defer(connection->loop, &connection->task);
        }
        break;
    case TLS_WANT_READ: watch_set(connection->watch, true, false); break;
    case TLS_WANT_WRITE: watch_set(connection->watch, false, true); break;
    default: end(connection, &err); break;
    }
}

enum {
    PEER_GROUPS_MAX = 1024 /* groups of a peer that are checked; further ones are ignored */
};

/* Whether the peer of a Unix socket is also a member of this group. */
static bool has_group(int descriptor, gid_t group)
{
    gid_t groups[PEER_GROUPS_MAX];
    socklen_t len = sizeof groups;
    if (getsockopt(descriptor, SOL_SOCKET, SO_PEERGROUPS, groups, &len) != 0) {
        return false;
    }
    for (size_t i = 0; i < len / sizeof groups[0]; i++) {
        if (groups[i] == group) {
            return true;
        }
    }
    return false;
}

static void read_peer(Connection *connection)
{
    SocketAddress address = { .len = sizeof address.storage };
    struct ucred credentials;
    socklen_t len = sizeof credentials;
    if (getpeername(connection->descriptor, (struct sockaddr *)&address.storage, &address.len) !=
        0) {
        address.storage.ss_family = AF_UNSPEC;
    }
    socket_address_format(&address, connection->peer.address);
    if (address.storage.ss_family == AF_UNIX &&
        getsockopt(connection->descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &len) == 0) {
        connection->peer.is_local = true;
        connection->peer.uid = credentials.uid;
        connection->peer.gid = credentials.gid;
        connection->peer.pid = credentials.pid;
        connection->peer.is_own_user = credentials.uid == geteuid();
        connection->peer.is_own_group =
            getegid() != 0 &&
            (credentials.gid == getegid() || has_group(connection->descriptor, getegid()));
    } else {
        int on = 1;
        setsockopt(connection->descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
}

/* Called when the socket is connected. */
static void start_protocol(Connection *connection)
{
    ConnectAttempt *opening = connection->opening;
    Error err = { 0 };
    read_peer(connection);
    if (connection->tls_context == NULL) {
        become_ready(connection);
        return;
    }
    /* Includes the name, because a resumed session has no certificate to check the name against. */
    char target[2 * ADDRESS_HOST_MAX + 16] = "";
    if (opening != NULL) {
        snprintf(target, sizeof target, "%s %u %s", opening->address.host, opening->address.port,
                 opening->tls_host);
    }
    if (!tls_stream_new(connection->tls_context, connection->descriptor,
                        opening == NULL ? NULL : opening->tls_host, opening == NULL ? NULL : target,
                        &connection->tls, &err)) {
        end(connection, &err);
        return;
    }
    sm_move(&connection->sm, STATE_HANDSHAKE);
    continue_handshake(connection);
}

static void descriptor_ready(void *context, bool can_read, bool can_write);

static bool connect_to(Connection *connection, const SocketAddress *address, Error *err)
{
    connection->descriptor =
        socket(address->storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (connection->descriptor < 0) {
        return error_set(err, ERROR_OS, "cannot create a socket: %s", strerror(errno));
    }
    if (!watch_new(connection->loop, connection->descriptor, descriptor_ready, connection,
                   &connection->watch, err)) {
        return false;
    }
    if (connect(connection->descriptor, (const struct sockaddr *)&address->storage, address->len) !=
            0 &&
        errno != EINPROGRESS) {
        bool denied = errno == EACCES && address->storage.ss_family == AF_UNIX;
        return denied ? error_set(err, ERROR_DENIED, "%s", strerror(errno))
                      : error_set(err, ERROR_UNAVAILABLE, "cannot connect: %s", strerror(errno));
    }
    watch_set(connection->watch, false, true);
    return true;
}

static void close_descriptor(Connection *connection)
{
    watch_free(TAKE(connection->watch));
    if (connection->descriptor >= 0) {
        close(connection->descriptor);
        connection->descriptor = -1;
    }
}

static void connect_next(Connection *connection)
{
    ConnectAttempt *opening = connection->opening;
    while (opening->next < opening->count) {
        sm_move(&connection->sm, STATE_CONNECTING);
        if (connect_to(connection, &opening->candidates[opening->next++], &opening->error)) {
            return;
        }
        close_descriptor(connection);
    }
    AUTO_CLEAR(Buf) name = buf_make(ADDRESS_HOST_MAX + 16);
    address_format(&opening->address, &name);
    error_wrap(&opening->error, "%" STR_FMT, STR_ARG(buf_str(&name)));
    end(connection, &opening->error);
}

static void connected(Connection *connection)
{
    int number = 0;
    socklen_t len = sizeof number;
    if (getsockopt(connection->descriptor, SOL_SOCKET, SO_ERROR, &number, &len) != 0) {
        number = errno;
    }
    if (number == 0) {
        start_protocol(connection);
        return;
    }
    close_descriptor(connection);
    error_set(&connection->opening->error, ERROR_UNAVAILABLE, "cannot connect: %s",
              strerror(number));
    connect_next(connection);
}

static void resolved(void *context, const SocketAddress *addresses, uint32_t count,
                     const Error *err)
{
    Connection *connection = context;
    ConnectAttempt *opening = connection->opening;
    connection->busy++;
    opening->resolve = NULL;
    opening->count = count;
    opening->error = *err;
    memcpy(opening->candidates, addresses, count * sizeof *addresses);
    connect_next(connection);
    leave(connection);
}

static void open_now(Connection *connection)
{
    ConnectAttempt *opening = connection->opening;
    if (opening == NULL) {
        start_protocol(connection);
    } else if (opening->address.kind == ADDRESS_NAME) {
        opening->resolve = resolve_start(connection->loop, opening->address.host,
                                         opening->address.port, resolved, connection);
    } else {
        opening->candidates[0] = address_to_socket(&opening->address);
        opening->count = 1;
        connect_next(connection);
    }
}

/* --- Reading and writing --------------------------------------------------------------------- */

static TlsResult read_plain(const Connection *connection, char *to, size_t room, size_t *count,
                            Error *err)
{
    ssize_t received_bytes = recv(connection->descriptor, to, room, 0);
    *count = received_bytes > 0 ? (size_t)received_bytes : 0;
    if (received_bytes > 0) {
        return TLS_DONE;
    }
    if (received_bytes == 0) {
        return TLS_CLOSED;
    }
    if (errno == EAGAIN || errno == EINTR) {
        return TLS_WANT_READ;
    }
    error_set(err, ERROR_UNAVAILABLE, "cannot read: %s", strerror(errno));
    return TLS_FAILED;
}

static void read_some(Connection *connection)
{
    char piece[READ_PIECE];
    for (int i = 0; i < READ_BATCH; i++) {
        Error err = { 0 };
        size_t count;
        TlsResult result = connection->tls != NULL
                               ? tls_stream_read(connection->tls, piece, sizeof piece, &count, &err)
                               : read_plain(connection, piece, sizeof piece, &count, &err);
        if (result == TLS_WANT_READ || result == TLS_WANT_WRITE) {
            return;
        }
        if (result != TLS_DONE) {
            end(connection, &err);
            return;
        }
        if (connection->sm.state == STATE_READY) {
            connection->events->received(connection->context, str_from(piece, count));
        }
        if (is_closed(connection) || connection->paused) {
            return;
        }
        /* The kernel has no more data and will report when it does. */
        bool inside = connection->tls != NULL && tls_stream_has_pending(connection->tls);
        if (count < sizeof piece && !inside) {
            return;
        }
    }
    if (connection->tls != NULL && tls_stream_has_pending(connection->tls)) {
        loop_defer(connection->loop, &connection->task);
    }
}

/* Sets `count` to the bytes that the kernel accepted. Returns false if the connection is broken. */
static bool write_now(Connection *connection, Str bytes, size_t *count, Error *err)
{
    if (connection->tls != NULL) {
        return tls_stream_write(connection->tls, bytes, count, err) < TLS_CLOSED;
    }
    *count = 0;
    while (*count < bytes.len) {
        ssize_t put =
            send(connection->descriptor, bytes.data + *count, bytes.len - *count, MSG_NOSIGNAL);
        if (put < 0) {
            return errno == EAGAIN || errno == EINTR ||
                   error_set(err, ERROR_UNAVAILABLE, "cannot write: %s", strerror(errno));
        }
        *count += (size_t)put;
    }
    return true;
}

static void shut_down_sending(Connection *connection)
{
    if (!connection->sent_shutdown) {
        connection->sent_shutdown = true;
        if (connection->tls != NULL) {
            tls_stream_close_notify(connection->tls);
        }
        /* If we closed while the peer is still sending, the kernel would reset the connection and
         * discard data that has not been delivered yet. So the peer closes first. */
        shutdown(connection->descriptor, SHUT_WR);
    }
}

static void write_some(Connection *connection)
{
    Error err = { 0 };
    size_t count;
    Str rest = str_from_offset(buf_str(&connection->unsent), connection->unsent_at);
    if (!write_now(connection, rest, &count, &err)) {
        end(connection, &err);
        return;
    }
    connection->unsent_at += count;
    if (count < rest.len) {
        return;
    }
    buf_clear(&connection->unsent);
    connection->unsent_at = 0;
    update_watch(connection);
    if (connection->sm.state == STATE_FINISHING) {
        shut_down_sending(connection);
    } else {
        connection->events->drained(connection->context);
    }
}

static void descriptor_ready(void *context, bool can_read, bool can_write)
{
    Connection *connection = context;
    connection->busy++;
    if (connection->sm.state == STATE_CONNECTING) {
        connected(connection);
    } else if (connection->sm.state == STATE_HANDSHAKE) {
        continue_handshake(connection);
    } else {
        if (can_write && connection_unsent(connection) > 0) {
            write_some(connection);
        }
        if (can_read && !is_closed(connection) && !connection->paused) {
            read_some(connection);
        }
        if (!is_closed(connection)) {
            update_watch(connection);
        }
    }
    leave(connection);
}

/* Runs what was deferred to the next iteration of the loop. */
static void run_deferred(void *context)
{
    Connection *connection = context;
    connection->busy++;
    if (connection->failure != NULL) {
        end(connection, connection->failure);
    } else if (connection->sm.state == STATE_OPENING) {
        open_now(connection);
    } else if (connection->sm.state == STATE_READY && !connection->paused) {
        read_some(connection);
    } else if (connection->sm.state == STATE_FINISHING && connection_unsent(connection) == 0) {
        shut_down_sending(connection);
    }
    leave(connection);
}

static void timed_out(void *context)
{
    Connection *connection = context;
    Error err = { 0 };
    if (connection->sm.state != STATE_FINISHING) {
        error_set(&err, ERROR_TIMEOUT, "connection timed out while %s",
                  sm_state_name(&connection->sm));
    }
    connection->busy++;
    end(connection, &err);
    leave(connection);
}

/* --- Lifecycle ------------------------------------------------------------------------------- */

static Connection *connection_new(const ConnectionOptions *options, int descriptor)
{
    Connection *connection = memory_new(sizeof *connection);
    connection->loop = options->loop;
    connection->tls_context = options->tls;
    connection->events = options->events;
    connection->context = options->context;
    connection->descriptor = descriptor;
    connection->unsent = buf_make(BUF_UNLIMITED);
    sm_init(&connection->sm, &state_table, connection, "", STATE_OPENING);
    loop_timer_init(&connection->timer, options->loop, timed_out, connection);
    loop_task_init(&connection->task, run_deferred, connection);
    loop_timer_start(&connection->timer, options->open_timeout_ms);
    loop_defer(options->loop, &connection->task);
    return connection;
}

Connection *connection_connect(const ConnectionOptions *options, const Address *address)
{
    Connection *connection = connection_new(options, -1);
    ConnectAttempt *opening = memory_new(sizeof *opening);
    opening->address = *address;
    if (options->tls_host != NULL) {
        snprintf(opening->tls_host, sizeof opening->tls_host, "%s", options->tls_host);
    }
    connection->opening = opening;
    return connection;
}

Connection *connection_adopt(const ConnectionOptions *options, int descriptor)
{
    Connection *connection = connection_new(options, descriptor);
    Error err = { 0 };
    if (!watch_new(options->loop, descriptor, descriptor_ready, connection, &connection->watch,
                   &err)) {
        end_later(connection, &err);
    }
    return connection;
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
    Error err = { 0 };
    size_t count = 0;
    if (connection->sm.state != STATE_READY || connection->failure != NULL) {
        return;
    }
    if (connection_unsent(connection) == 0 && !write_now(connection, bytes, &count, &err)) {
        end_later(connection, &err);
        return;
    }
    if (count < bytes.len) {
        if (connection->unsent_at > connection->unsent.len / 2) {
            Str rest = str_from_offset(buf_str(&connection->unsent), connection->unsent_at);
            memmove(connection->unsent.data, rest.data, rest.len);
            connection->unsent.len = rest.len;
            connection->unsent_at = 0;
        }
        buf_put(&connection->unsent, str_from_offset(bytes, count));
        update_watch(connection);
    }
}

size_t connection_unsent(const Connection *connection)
{
    return connection->unsent.len - connection->unsent_at;
}

void connection_pause(Connection *connection)
{
    connection->paused = true;
    if (connection->sm.state == STATE_READY) {
        update_watch(connection);
    }
}

void connection_resume(Connection *connection)
{
    if (!connection->paused) {
        return;
    }
    connection->paused = false;
    if (connection->sm.state == STATE_READY) {
        update_watch(connection);
        /* The kernel does not report again data that TLS has already read. */
        loop_defer(connection->loop, &connection->task);
    }
}

void connection_finish(Connection *connection, int64_t timeout_ms)
{
    if (is_closed(connection) || connection->sm.state == STATE_FINISHING) {
        return;
    }
    loop_timer_start(&connection->timer, timeout_ms);
    connection_resume(connection);
    if (connection->sm.state != STATE_READY) {
        end_later(connection, &(Error){ 0 });
        return;
    }
    sm_move(&connection->sm, STATE_FINISHING);
    loop_defer(connection->loop, &connection->task);
}

bool connection_is_ready(const Connection *connection)
{
    return connection->sm.state == STATE_READY;
}

Loop *connection_loop(const Connection *connection)
{
    return connection->loop;
}

const Peer *connection_peer(const Connection *connection)
{
    return &connection->peer;
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

void connection_own_address(const Connection *connection, char out[ADDRESS_TEXT_MAX])
{
    SocketAddress address = { .len = sizeof address.storage };
    if (getsockname(connection->descriptor, (struct sockaddr *)&address.storage, &address.len) !=
        0) {
        snprintf(out, ADDRESS_TEXT_MAX, "unknown");
        return;
    }
    socket_address_format(&address, out);
}
