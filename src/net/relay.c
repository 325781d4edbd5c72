/* Forwards bytes between pairs of connections. Each side is paused while the other one has too many
 * unsent bytes. When one side closes, the other one is finished: what was received before is still
 * delivered. */
#include "net/relay.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bug.h"
#include "base/memory.h"
#include "net/connection.h"
#include "net/watch.h"

enum {
    BACKLOG = 128,
    CONNECT_MS = 5000,
    FINISH_MS = 30 * 1000,  /* time to deliver what one side sent before it closed */
    UNSENT_MAX = 256 * 1024 /* unsent bytes beyond which the other side is paused */
};

typedef struct Pair Pair;

typedef struct Side {
    Pair *pair;
    Connection *connection; /* NULL once closed */
} Side;

struct Pair {
    Relay *relay;
    Side client, target;
    Pair *next, *previous;
};

struct Relay {
    Loop *loop;
    int descriptor;
    uint16_t port;
    Address target;
    Watch *watch; /* NULL until started */
    Pair *first;
    uint32_t count;
};

/* --- Pairs ----------------------------------------------------------------------------------- */

static Side *other_side(Side *side)
{
    return side == &side->pair->client ? &side->pair->target : &side->pair->client;
}

static void pair_free(Pair *pair)
{
    Relay *relay = pair->relay;
    connection_free(pair->client.connection);
    connection_free(pair->target.connection);
    *(pair->previous == NULL ? &relay->first : &pair->previous->next) = pair->next;
    if (pair->next != NULL) {
        pair->next->previous = pair->previous;
    }
    relay->count--;
    if (relay->watch != NULL) {
        watch_set(relay->watch, true, false);
    }
    free(pair);
}

static void target_ready(void *context)
{
    Side *side = context;
    connection_resume(other_side(side)->connection);
}

/* Data from the client is only read once the target is connected. */
static void client_ready(void *context)
{
    Side *side = context;
    if (!connection_is_ready(other_side(side)->connection)) {
        connection_pause(side->connection);
    }
}

static void received(void *context, Str bytes)
{
    Side *side = context, *other = other_side(side);
    if (other->connection == NULL) {
        return;
    }
    connection_write(other->connection, bytes);
    if (connection_unsent(other->connection) > UNSENT_MAX) {
        connection_pause(side->connection);
    }
}

static void drained(void *context)
{
    Side *side = context, *other = other_side(side);
    if (other->connection != NULL) {
        connection_resume(other->connection);
    }
}

static void closed(void *context, const Error *why)
{
    Side *side = context, *other = other_side(side);
    connection_free(side->connection);
    side->connection = NULL;
    if (other->connection == NULL || !connection_is_ready(other->connection)) {
        pair_free(side->pair);
    } else {
        connection_finish(other->connection, FINISH_MS);
    }
}

static const ConnectionEvents client_events = {
    .ready = client_ready, .received = received, .drained = drained, .closed = closed
};
static const ConnectionEvents target_events = {
    .ready = target_ready, .received = received, .drained = drained, .closed = closed
};

static void pair_new(Relay *relay, int descriptor)
{
    Pair *pair = memory_new(sizeof *pair);
    pair->relay = relay;
    pair->client.pair = pair->target.pair = pair;
    pair->next = relay->first;
    if (pair->next != NULL) {
        pair->next->previous = pair;
    }
    relay->first = pair;
    relay->count++;
    ConnectionOptions options = { .loop = relay->loop, .open_timeout_ms = CONNECT_MS };
    options.events = &client_events;
    options.context = &pair->client;
    pair->client.connection = connection_adopt(&options, descriptor);
    options.events = &target_events;
    options.context = &pair->target;
    pair->target.connection = connection_connect(&options, &relay->target);
}

/* --- Listening ------------------------------------------------------------------------------- */

static void can_accept(void *context, bool can_read, bool can_write)
{
    Relay *relay = context;
    while (relay->count < RELAY_CONNECTIONS_MAX) {
        int descriptor = accept4(relay->descriptor, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (descriptor < 0) {
            return;
        }
        pair_new(relay, descriptor);
    }
    watch_set(relay->watch, false, false);
}

bool relay_open(Loop *loop, uint16_t port, Relay **out, Error *err)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_port = htons(port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof address;
    int on = 1, descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0 || setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(descriptor, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(descriptor, BACKLOG) != 0 ||
        getsockname(descriptor, (struct sockaddr *)&address, &len) != 0) {
        int number = errno;
        if (descriptor >= 0) {
            close(descriptor);
        }
        return error_set(err, number == EADDRINUSE ? ERROR_CONFLICT : ERROR_OS, "127.0.0.1:%u: %s",
                         port, strerror(number));
    }
    Relay *relay = memory_new(sizeof *relay);
    relay->loop = loop;
    relay->descriptor = descriptor;
    relay->port = ntohs(address.sin_port);
    *out = relay;
    return true;
}

void relay_close(Relay *relay)
{
    if (relay == NULL) {
        return;
    }
    watch_free(relay->watch);
    relay->watch = NULL;
    while (relay->first != NULL) {
        pair_free(relay->first);
    }
    close(relay->descriptor);
    free(relay);
}

uint16_t relay_port(const Relay *relay)
{
    return relay->port;
}

bool relay_start(Relay *relay, const Address *target, Error *err)
{
    BUG_IF(target->kind != ADDRESS_IP || relay->watch != NULL);
    relay->target = *target;
    if (!watch_new(relay->loop, relay->descriptor, can_accept, relay, &relay->watch, err)) {
        return false;
    }
    watch_set(relay->watch, true, false);
    return true;
}
