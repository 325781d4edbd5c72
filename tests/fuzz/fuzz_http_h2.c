/* Any bytes from a client to an HTTP server that has agreed upon HTTP/2, on a connection in memory. The
 * first byte says whether the greeting stands before them, whether they come at once, in two parts or
 * in small pieces, what happens between the parts (time passes, the server stops), how much of the
 * answers the client takes, and whether it leaves at the end or stays and says nothing more. Whatever
 * it is, the server gets to the end of it, every request that was handed on is answered or told as
 * gone, what it was handed is a request as HTTP/1.1 would have it, what it says are whole frames, and
 * nothing is held afterwards. */
#include <stdlib.h>

#include "base/bug.h"
#include "memory_connection.h"
#include "net/http_server_inner.h"

enum {
    BODY_MAX = 3000,
    GREET = 1,
    SPLIT = 2,
    STOP = 4,
    SLOW = 8,  /* it takes little, until the second part has come */
    STAY = 16, /* the server has to end the connection */
    PAUSE_SHIFT = 5,
    PAUSE_MASK = 3,
    PIECES = 128,
    ROOM = 60000,
    LITTLE_ROOM = 300,
    SMALL_PIECE = 11,
    POURED_MAX = 90000,
    FOREVER_MS = 3600 * 1000,
    HELD_MAX = 128,
    FRAME_HEAD = 9,
    FRAME_MAX = 16384,
    FRAME_TYPES = 10,
};

/* Past what the server waits for bytes behind an answer, for a request, and for a new one. */
static const int64_t pauses_ms[PAUSE_MASK + 1] = { 0, 2500, 31000, 61000 };

typedef struct World {
    Loop *loop;
    HttpServer *server;
    Connection *connection;
    HttpRequest *held[HELD_MAX];
    uint32_t handed_on, answered, gone;
    size_t poured;
    uint8_t frame[FRAME_HEAD]; /* the head of the frame that the server says */
    size_t frame_at, frame_rest;
    bool is_stopping;
} World;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_request(const HttpRequest *request)
{
    const Http1Head *head = http_request_head(request);
    const Str *host = http1_find(head, "Host");
    BUG_IF(head->method.len == 0 || str_eq_c(head->method, "CONNECT"));
    BUG_IF(head->path.len == 0 || (head->path.data[0] != '/' && !str_eq_c(head->path, "*")));
    BUG_IF(host == NULL || host->len == 0);
    BUG_IF(http_request_body(request).len > BODY_MAX);
    BUG_IF(http1_find(head, "Content-Length") != NULL &&
           head->length != http_request_body(request).len);
    for (uint32_t i = 0; i < head->header_count; i++) {
        Str name = head->headers[i].name, value = head->headers[i].value;
        BUG_IF(name.len == 0 || name.data[0] == ':' || str_eq_c(name, "connection") ||
               str_eq_c(name, "transfer-encoding"));
        for (size_t j = 0; j < name.len; j++) {
            BUG_IF(name.data[j] >= 'A' && name.data[j] <= 'Z');
        }
        for (size_t j = 0; j < value.len; j++) {
            BUG_IF(value.data[j] == '\r' || value.data[j] == '\n' || value.data[j] == '\0');
        }
    }
}

/* Until the peer has had enough; the answer stays open then. */
static void pour(void *context)
{
    static const char zeros[3000];
    HttpRequest *request = context;
    World *world = request->client->server->options.context;
    if (world->poured < POURED_MAX) {
        world->poured += sizeof zeros;
        http_request_piece(request, str_from(zeros, sizeof zeros));
    }
}

static void nothing(void *context)
{
}

static void hold(World *world, HttpRequest *request)
{
    for (uint32_t i = 0; i < HELD_MAX; i++) {
        if (world->held[i] == NULL) {
            world->held[i] = request;
            return;
        }
    }
    BUG("more requests at once than streams");
}

static void forget(World *world, const HttpRequest *request)
{
    for (uint32_t i = 0; i < HELD_MAX; i++) {
        if (world->held[i] == request) {
            world->held[i] = NULL;
            return;
        }
    }
    BUG("a request is gone that nobody had");
}

/* By the second letter of the path: at once, in many pieces, broken off, later, never. */
static void requested(void *context, HttpRequest *request)
{
    World *world = context;
    check_request(request);
    BUG_IF(world->is_stopping && world->server->clients == NULL);
    world->handed_on++;
    Str path = http_request_head(request)->path;
    char kind = path.len > 1 ? path.data[1] : '\0';
    if (kind == 'p') {
        hold(world, request);
        http_request_begin(request, 200, "text/plain", pour, request);
        pour(request);
    } else if (kind == 'b') {
        world->answered++;
        http_request_begin(request, 200, "text/plain", nothing, NULL);
        pour(request);
        http_request_break(request);
    } else if (kind == 'l') {
        hold(world, request);
    } else {
        world->answered++;
        http_request_add_header(request, "Fuzz", STR("yes"));
        http_request_answer(request, kind == 'n' ? 204 : 200, "text/plain",
                            http_request_body(request));
    }
    /* Each lets the oldest of those go that wait. */
    for (uint32_t i = 0; kind == 'g' && i < HELD_MAX; i++) {
        HttpRequest *held = world->held[i];
        if (held != NULL) {
            world->held[i] = NULL;
            world->answered++;
            if (held->in_pieces) {
                http_request_end(held);
            } else {
                http_request_answer(held, 200, "text/plain", STR("late"));
            }
            break;
        }
    }
}

static void gone(void *context, HttpRequest *request)
{
    World *world = context;
    world->gone++;
    forget(world, request);
}

/* --- What the server says -------------------------------------------------------------------- */

static void check_frame(const uint8_t head[FRAME_HEAD])
{
    enum {
        DATA,
        HEADERS,
        RST_STREAM = 3,
        SETTINGS,
        PING = 6,
        GOAWAY,
        WINDOW_UPDATE,
        CONTINUATION
    };
    uint32_t type = head[3];
    uint32_t id =
        (uint32_t)head[5] << 24 | (uint32_t)head[6] << 16 | (uint32_t)head[7] << 8 | head[8];
    BUG_IF(type >= FRAME_TYPES);
    switch (type) {
    case DATA:
    case HEADERS:
    case RST_STREAM:
    case CONTINUATION: BUG_IF(id % 2 != 1); break;
    case SETTINGS:
    case PING:
    case GOAWAY: BUG_IF(id != 0); break;
    case WINDOW_UPDATE: BUG_IF(id != 0 && id % 2 != 1); break;
    default: BUG("a server has no such frame");
    }
}

static void taken(void *context, Str bytes)
{
    World *world = context;
    while (bytes.len > 0) {
        if (world->frame_rest > 0) {
            size_t count = bytes.len < world->frame_rest ? bytes.len : world->frame_rest;
            world->frame_rest -= count;
            bytes = str_from_offset(bytes, count);
            continue;
        }
        world->frame[world->frame_at++] = (uint8_t)bytes.data[0];
        bytes = str_from_offset(bytes, 1);
        if (world->frame_at == FRAME_HEAD) {
            const uint8_t *head = world->frame;
            world->frame_at = 0;
            world->frame_rest = (size_t)head[0] << 16 | (size_t)head[1] << 8 | head[2];
            BUG_IF(world->frame_rest > FRAME_MAX);
            check_frame(head);
        }
    }
}

/* --- One connection -------------------------------------------------------------------------- */

static void received(void *context, Str bytes)
{
}

static void closed(void *context, const Error *why)
{
}

static const ConnectionEvents no_events = { nothing, received, nothing, closed };

/* All that there is to do, and what becomes due meanwhile. */
static void pass(const World *world, int64_t ms)
{
    loop_run_virtual_until(world->loop, loop_now_ms(world->loop) + ms);
}

static void world_init(World *world)
{
    HttpServerOptions options = http_server_defaults();
    world->loop = loop_new_virtual(1);
    options.loop = world->loop;
    options.body_max = BODY_MAX;
    options.requested = requested;
    options.gone = gone;
    options.context = world;
    world->server = http_server_new(&options);
    world->connection = memory_connection_new(
        &(ConnectionOptions){ .loop = world->loop, .open_timeout_ms = 1000, .events = &no_events },
        taken, world);
    /* The server takes it over once it is ready. */
    pass(world, 0);
    http_h2_adopt(world->server, world->connection);
}

static void say(const World *world, Str bytes, size_t piece)
{
    if (bytes.len > 0 && world->server->clients != NULL) {
        memory_connection_say(world->connection, bytes, piece);
        pass(world, 0);
    }
}

static void between(World *world, uint8_t options)
{
    if ((options & STOP) != 0) {
        world->is_stopping = true;
        http_server_stop(world->server, 1000, nothing, NULL);
    }
    pass(world, pauses_ms[options >> PAUSE_SHIFT & PAUSE_MASK]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    uint8_t options = data[0];
    size_t piece = (options & PIECES) != 0 ? SMALL_PIECE : SIZE_MAX;
    Str bytes = str_from((const char *)data + 1, size - 1);
    size_t first = (options & SPLIT) != 0 ? bytes.len / 2 : bytes.len;
    World world = { 0 };
    world_init(&world);
    memory_connection_give_room(world.connection, (options & SLOW) != 0 ? LITTLE_ROOM : ROOM);
    if ((options & GREET) != 0) {
        say(&world, STR("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"), SIZE_MAX);
    }
    say(&world, str_slice(bytes, 0, first), piece);
    if (first < bytes.len) {
        between(&world, options);
        say(&world, str_from_offset(bytes, first), piece);
    }
    if ((options & SLOW) != 0 && world.server->clients != NULL) {
        memory_connection_give_room(world.connection, ROOM);
        pass(&world, 0);
    }
    if ((options & STAY) == 0 && world.server->clients != NULL) {
        memory_connection_hang_up(world.connection);
        pass(&world, 0);
    } else {
        pass(&world, FOREVER_MS);
    }
    BUG_IF(world.server->clients != NULL || world.server->held != 0 || world.server->unsent != 0);
    BUG_IF(world.handed_on != world.answered + world.gone);
    http_server_free(world.server);
    loop_free(world.loop);
    return 0;
}
