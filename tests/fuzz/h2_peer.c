#include "h2_peer.h"

enum {
    GREET = 1,
    SPLIT = 2,
    SLOW = 8,  /* it takes little, until the second part has come */
    STAY = 16, /* the server has to end the connection */
    PAUSE_SHIFT = 5,
    PAUSE_MASK = 3,
    PIECES = 128,
    ROOM = 60000,
    LITTLE_ROOM = 300,
    SMALL_PIECE = 11,
    FOREVER_MS = 3600 * 1000,
};

/* Past what servers wait for bytes behind an answer, for a request, and for a new one. */
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

Connection *h2_peer_connect(Loop *loop, MemoryTaken *taken, void *context)
{
    static const ConnectionEvents no_events = { nothing, received, nothing, closed };
    return memory_connection_new(
        &(ConnectionOptions){ .loop = loop, .open_timeout_ms = 1000, .events = &no_events }, taken,
        context);
}

void h2_peer_pass(Loop *loop, int64_t ms)
{
    loop_run_virtual_until(loop, loop_now_ms(loop) + ms);
}

static void say(const H2Peer *peer, Str bytes, size_t piece)
{
    if (bytes.len > 0 && peer->is_there(peer->context)) {
        memory_connection_say(peer->connection, bytes, piece);
        h2_peer_pass(peer->loop, 0);
    }
}

void h2_peer_run(const H2Peer *peer, const uint8_t *data, size_t size)
{
    uint8_t options = data[0];
    size_t piece = (options & PIECES) != 0 ? SMALL_PIECE : SIZE_MAX;
    Str bytes = str_from((const char *)data + 1, size - 1);
    size_t first = (options & SPLIT) != 0 ? bytes.len / 2 : bytes.len;
    memory_connection_give_room(peer->connection, (options & SLOW) != 0 ? LITTLE_ROOM : ROOM);
    if ((options & GREET) != 0) {
        say(peer, STR("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"), SIZE_MAX);
    }
    say(peer, str_slice(bytes, 0, first), piece);
    if (first < bytes.len) {
        if (peer->between != NULL) {
            peer->between(peer->context);
        }
        h2_peer_pass(peer->loop, pauses_ms[options >> PAUSE_SHIFT & PAUSE_MASK]);
        say(peer, str_from_offset(bytes, first), piece);
    }
    if ((options & SLOW) != 0 && peer->is_there(peer->context)) {
        memory_connection_give_room(peer->connection, ROOM);
        h2_peer_pass(peer->loop, 0);
    }
    if ((options & STAY) == 0 && peer->is_there(peer->context)) {
        memory_connection_hang_up(peer->connection);
        h2_peer_pass(peer->loop, 0);
    } else {
        h2_peer_pass(peer->loop, FOREVER_MS);
    }
}
