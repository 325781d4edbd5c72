#include "h2_peer.h"

enum {
    GREET = 1,
    SPLIT = 2,
    SLOW = 8,  /* it reads little until the second part has arrived */
    STAY = 16, /* the server has to close the connection */
    PAUSE_SHIFT = 5,
    PAUSE_MASK = 3,
    CHUNKS = 128,
    ROOM = 60000,
    LITTLE_ROOM = 300,
    SMALL_CHUNK = 11,
    FOREVER_MS = 3600 * 1000,
};

/* Longer than a server waits for a client to read a response, complete a request, or send a new
 * one. */
static const int64_t pauses_ms[PAUSE_MASK + 1] = { 0, 2500, 31000, 61000 };

static void nothing(void *context)
{
}

static void received(void *context, Str bytes)
{
}

static void closed(void *context, const Error *why)
{
}

Connection *h2_peer_connect(Loop *loop, MemoryAccepted *on_accepted, void *context)
{
    static const ConnectionEvents no_events = { nothing, received, nothing, closed };
    return memory_connection_new(
        &(ConnectionOptions){ .loop = loop, .open_timeout_ms = 1000, .events = &no_events },
        on_accepted, context);
}

void h2_peer_run_pending(Loop *loop, int64_t ms)
{
    loop_run_virtual_until(loop, loop_now_ms(loop) + ms);
}

static void send_bytes(const H2Peer *peer, Str bytes, size_t chunk)
{
    if (bytes.len > 0 && peer->is_connected(peer->context)) {
        memory_connection_send(peer->connection, bytes, chunk);
        h2_peer_run_pending(peer->loop, 0);
    }
}

void h2_peer_run(const H2Peer *peer, const uint8_t *data, size_t size)
{
    uint8_t options = data[0];
    size_t chunk = (options & CHUNKS) != 0 ? SMALL_CHUNK : SIZE_MAX;
    Str bytes = str_from((const char *)data + 1, size - 1);
    size_t first = (options & SPLIT) != 0 ? bytes.len / 2 : bytes.len;
    memory_connection_add_room(peer->connection, (options & SLOW) != 0 ? LITTLE_ROOM : ROOM);
    if ((options & GREET) != 0) {
        send_bytes(peer, STR("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"), SIZE_MAX);
    }
    send_bytes(peer, str_slice(bytes, 0, first), chunk);
    if (first < bytes.len) {
        if (peer->between != NULL) {
            peer->between(peer->context);
        }
        h2_peer_run_pending(peer->loop, pauses_ms[options >> PAUSE_SHIFT & PAUSE_MASK]);
        send_bytes(peer, str_from_offset(bytes, first), chunk);
    }
    if ((options & SLOW) != 0 && peer->is_connected(peer->context)) {
        memory_connection_add_room(peer->connection, ROOM);
        h2_peer_run_pending(peer->loop, 0);
    }
    if ((options & STAY) == 0 && peer->is_connected(peer->context)) {
        memory_connection_hang_up(peer->connection);
        h2_peer_run_pending(peer->loop, 0);
    } else {
        h2_peer_run_pending(peer->loop, FOREVER_MS);
    }
}
