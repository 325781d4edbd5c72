/* Accepting connections. A new connection is in the list of opening ones, oldest first, until its
 * handshake is done; then it belongs to its new owner, and stays in `established` until it is
 * freed.
 *
 * When all slots for handshakes are taken, connections wait in the kernel's backlog; the oldest
 * handshake that exceeds `opening_grace_ms` is closed in favor of a waiting one. If the process is
 * out of file descriptors, the listener stops polling for a moment, because the kernel would report
 * the same connection in a busy loop. */
#include "net/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bug.h"
#include "base/log.h"
#include "base/memory.h"
#include "net/connection_inner.h"
#include "net/origin_counts.h"
#include "net/watch.h"

enum {
    BACKLOG = 4096,           /* or the maximum of the kernel */
    ACCEPT_BATCH = 32,        /* then other events are served */
    DESCRIPTOR_RETRY_MS = 100 /* pause when the process is out of file descriptors */
};

typedef struct ConnectionList {
    Connection *first, *last;
} ConnectionList;

struct Listener {
    ListenerOptions options;
    int descriptor;
    Watch *watch;
    LoopTimer timer;        /* tries again to accept connections */
    ConnectionList opening; /* oldest first */
    ConnectionList established;
    OriginCounts origins;
    ListenerCounts counts;
    uint16_t port;
    char path[ADDRESS_HOST_MAX + 1]; /* set for Unix sockets */
};

ListenerOptions listener_defaults(void)
{
    return (ListenerOptions){
        .connections_max = 20000,
        .per_origin_max = 256,
        .opening_max = 1024,
        .opening_grace_ms = 500,
        .opening_limit_ms = 10000,
    };
}

static void append(ConnectionList *list, Connection *connection)
{
    ConnectionLink *link = connection_link(connection);
    link->next = NULL;
    link->previous = list->last;
    *(list->last == NULL ? &list->first : &connection_link(list->last)->next) = connection;
    list->last = connection;
}

static void unlink_connection(ConnectionList *list, Connection *connection)
{
    ConnectionLink *link = connection_link(connection);
    *(link->previous == NULL ? &list->first : &connection_link(link->previous)->next) = link->next;
    *(link->next == NULL ? &list->last : &connection_link(link->next)->previous) = link->previous;
}

static void poll_again(Listener *listener);

/* Called within connection_free. */
static void connection_freed(void *owner, Connection *connection)
{
    Listener *listener = owner;
    ConnectionLink *link = connection_link(connection);
    if (link->opening) {
        unlink_connection(&listener->opening, connection);
        listener->counts.opening--;
    } else {
        unlink_connection(&listener->established, connection);
        listener->counts.established--;
    }
    if (link->has_origin) {
        origin_counts_remove(&listener->origins, link->origin);
    }
    poll_again(listener);
}

/* --- Opening connections --------------------------------------------------------------------- */

/* Callback context of a connection that is opening, which belongs to the listener. */
typedef struct Handshake {
    Listener *listener;
    Connection *connection;
} Handshake;

static void handshake_ready(void *context)
{
    Handshake *handshake = context;
    Listener *listener = handshake->listener;
    Connection *connection = handshake->connection;
    ConnectionLink *link = connection_link(connection);
    free(handshake);
    unlink_connection(&listener->opening, connection);
    link->opening = false;
    listener->counts.opening--;
    append(&listener->established, connection);
    listener->counts.established++;
    listener->counts.accepted++;
    poll_again(listener);
    listener->options.accepted(listener->options.context, connection);
}

static void handshake_received(void *context, Str bytes)
{
    BUG("data received on a connection that is not ready");
}

static void handshake_drained(void *context)
{
}

static void handshake_closed(void *context, const Error *why)
{
    Handshake *handshake = context;
    Connection *connection = handshake->connection;
    handshake->listener->counts.failed++;
    log_debug("connection not established", LOG_C("peer", connection_peer(connection)->address),
              LOG_C("reason", why->text));
    free(handshake);
    connection_free(connection);
}

static const ConnectionEvents handshake_events = {
    .ready = handshake_ready,
    .received = handshake_received,
    .drained = handshake_drained,
    .closed = handshake_closed,
};

static void drop_opening(Listener *listener, Connection *connection)
{
    free(connection_context(connection));
    connection_free(connection);
}

/* --- Accepting ------------------------------------------------------------------------------- */

/* Whether there is capacity for another opening connection; closes those that exceeded their
 * time. */
static bool has_capacity(Listener *listener)
{
    int64_t now = loop_now_ms(listener->options.loop);
    if (listener->counts.opening < listener->options.opening_max) {
        return true;
    }
    Connection *oldest = listener->opening.first;
    int64_t age = now - connection_link(oldest)->since_ms;
    if (age < listener->options.opening_grace_ms) {
        loop_timer_start(&listener->timer, listener->options.opening_grace_ms - age);
        return false;
    }
    listener->counts.evicted++;
    drop_opening(listener, oldest);
    return true;
}

static void poll_again(Listener *listener)
{
    if (listener->watch != NULL && !loop_timer_started(&listener->timer)) {
        watch_set(listener->watch, listener->counts.opening < listener->options.opening_max, false);
    }
}

static void retry_accept(void *context)
{
    Listener *listener = context;
    watch_set(listener->watch, true, false);
}

static void start_handshake(Listener *listener, int descriptor, const SocketAddress *peer)
{
    const ListenerOptions *options = &listener->options;
    ConnectionLink link = { .since_ms = loop_now_ms(options->loop), .opening = true };
    link.has_origin = socket_address_origin(peer, &link.origin);
    if (listener->counts.established + listener->counts.opening >= options->connections_max) {
        listener->counts.refused_full++;
        close(descriptor);
        return;
    }
    if (link.has_origin &&
        origin_counts_get(&listener->origins, link.origin) >= options->per_origin_max) {
        listener->counts.refused_origin++;
        close(descriptor);
        return;
    }
    Handshake *handshake = memory_new(sizeof *handshake);
    Connection *connection =
        connection_adopt(&(ConnectionOptions){ .loop = options->loop,
                                               .tls = options->tls,
                                               .open_timeout_ms = options->opening_limit_ms,
                                               .events = &handshake_events,
                                               .context = handshake },
                         descriptor);
    *handshake = (Handshake){ listener, connection };
    *connection_link(connection) = link;
    connection_set_owner(connection, (ConnectionOwner){ connection_freed, listener });
    append(&listener->opening, connection);
    listener->counts.opening++;
    if (link.has_origin) {
        origin_counts_add(&listener->origins, link.origin);
    }
}

static void can_accept(void *context, bool can_read, bool can_write)
{
    Listener *listener = context;
    for (int i = 0; i < ACCEPT_BATCH; i++) {
        if (!has_capacity(listener)) {
            watch_set(listener->watch, false, false);
            return;
        }
        SocketAddress peer = { .len = sizeof peer.storage };
        int descriptor = accept4(listener->descriptor, (struct sockaddr *)&peer.storage, &peer.len,
                                 SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (descriptor >= 0) {
            start_handshake(listener, descriptor, &peer);
            continue;
        }
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            /* The kernel would report the same connection in a busy loop. */
            log_warning("out of file descriptors; new connections are delayed",
                        LOG_C("reason", strerror(errno)));
            watch_set(listener->watch, false, false);
            loop_timer_start(&listener->timer, DESCRIPTOR_RETRY_MS);
            return;
        }
        if (errno == EAGAIN) {
            return;
        }
        /* Other errors concern only that connection, which is already gone. */
    }
}

/* --- Lifecycle ------------------------------------------------------------------------------- */

static bool is_orphan_socket(const SocketAddress *address)
{
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    bool orphan =
        descriptor >= 0 &&
        connect(descriptor, (const struct sockaddr *)&address->storage, address->len) != 0 &&
        errno == ECONNREFUSED;
    if (descriptor >= 0) {
        close(descriptor);
    }
    return orphan;
}

static bool bind_to(Listener *listener, const Address *address, Error *err)
{
    SocketAddress socket_address = address_to_socket(address);
    const struct sockaddr *name = (const struct sockaddr *)&socket_address.storage;
    int on = 1;
    if (address->kind == ADDRESS_UNIX) {
        struct stat status;
        if (lstat(address->host, &status) == 0 && S_ISSOCK(status.st_mode) &&
            is_orphan_socket(&socket_address)) {
            unlink(address->host);
        }
    } else {
        setsockopt(listener->descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    }
    if (bind(listener->descriptor, name, socket_address.len) != 0) {
        return error_set(err, errno == EADDRINUSE ? ERROR_CONFLICT : ERROR_OS, "cannot listen: %s",
                         strerror(errno));
    }
    if (address->kind == ADDRESS_UNIX) {
        snprintf(listener->path, sizeof listener->path, "%s", address->host);
        /* No client can connect before it listens. */
        unsigned mode = listener->options.mode == 0 ? 0600 : listener->options.mode;
        /* Another user who owns the directory may have replaced the file. */
        if (fchmodat(AT_FDCWD, listener->path, mode, AT_SYMLINK_NOFOLLOW) != 0) {
            return error_set(err, ERROR_OS, "cannot set the socket mode: %s", strerror(errno));
        }
    }
    if (listen(listener->descriptor, BACKLOG) != 0) {
        return error_set(err, errno == EADDRINUSE ? ERROR_CONFLICT : ERROR_OS, "cannot listen: %s",
                         strerror(errno));
    }
    socket_address.len = sizeof socket_address.storage;
    if (getsockname(listener->descriptor, (struct sockaddr *)&socket_address.storage,
                    &socket_address.len) == 0) {
        listener->port = socket_address_port(&socket_address);
    }
    return true;
}

static bool open_on(Listener *listener, const Address *address, Error *err)
{
    if (address->kind == ADDRESS_NAME) {
        return error_set(err, ERROR_INVALID, "cannot listen on a host name; specify an IP address");
    }
    int family = address->kind == ADDRESS_UNIX        ? AF_UNIX
                 : strchr(address->host, ':') != NULL ? AF_INET6
                                                      : AF_INET;
    listener->descriptor = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (listener->descriptor < 0) {
        return error_set(err, ERROR_OS, "cannot create a socket: %s", strerror(errno));
    }
    if (!bind_to(listener, address, err) ||
        !watch_new(listener->options.loop, listener->descriptor, can_accept, listener,
                   &listener->watch, err)) {
        return false;
    }
    watch_set(listener->watch, true, false);
    return true;
}

bool listener_open(const ListenerOptions *options, const Address *address, Listener **out,
                   Error *err)
{
    BUG_IF(options->tls == NULL && address->kind != ADDRESS_UNIX && !options->is_without_tls);
    BUG_IF(options->opening_max == 0);
    Listener *listener = memory_new(sizeof *listener);
    listener->options = *options;
    listener->descriptor = -1;
    loop_timer_init(&listener->timer, options->loop, retry_accept, listener);
    if (!open_on(listener, address, err)) {
        AUTO_CLEAR(Buf) name = buf_make(ADDRESS_HOST_MAX + 16);
        address_format(address, &name);
        listener_close(listener);
        return error_wrap(err, "%" STR_FMT, STR_ARG(buf_str(&name)));
    }
    *out = listener;
    return true;
}

void listener_close(Listener *listener)
{
    if (listener == NULL) {
        return;
    }
    loop_timer_stop(&listener->timer);
    watch_free(TAKE(listener->watch));
    if (listener->path[0] != '\0') {
        unlink(listener->path);
    }
    if (listener->descriptor >= 0) {
        close(listener->descriptor);
    }
    while (listener->opening.first != NULL) {
        drop_opening(listener, listener->opening.first);
    }
    for (Connection *one = listener->established.first; one != NULL;
         one = connection_link(one)->next) {
        connection_set_owner(one, (ConnectionOwner){ 0 });
    }
    origin_counts_clear(&listener->origins);
    free(listener);
}

uint16_t listener_port(const Listener *listener)
{
    return listener->port;
}

ListenerCounts listener_counts(const Listener *listener)
{
    return listener->counts;
}
