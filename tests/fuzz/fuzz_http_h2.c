/* Input: bytes from a client to an HTTP server after HTTP/2 was negotiated, in the form described
 * in tests/fuzz/h2_peer.h; the target-specific bit of the first byte selects whether the server
 * stops between the chunks. Invariants: the server processes all of it; every dispatched request is
 * answered or reported as gone; a dispatched request is also valid in HTTP/1.1; the server sends
 * complete frames; no memory is held afterward. */
#include <stdlib.h>

#include "base/bug.h"
#include "h2_peer.h"
#include "net/http_server_inner.h"

enum {
    BODY_MAX = 3000,
    SENT_MAX = 90000,
    HELD_MAX = 128,
    FRAME_HEAD = 9,
    FRAME_MAX = 16384,
    FRAME_TYPES = 10,
};

typedef struct World {
    Loop *loop;
    HttpServer *server;
    Connection *connection;
    HttpRequest *held[HELD_MAX];
    uint32_t dispatched, answered, gone;
    size_t sent;
    uint8_t frame[FRAME_HEAD]; /* header of the frame that the server is sending */
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

/* Sends until the window is full; the response then stays open. */
static void send_some(void *context)
{
    static const char zeros[3000];
    HttpRequest *request = context;
    World *world = request->client->server->options.context;
    if (world->sent < SENT_MAX) {
        world->sent += sizeof zeros;
        http_request_send_piece(request, str_from(zeros, sizeof zeros));
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

static void remove_held(World *world, const HttpRequest *request)
{
    for (uint32_t i = 0; i < HELD_MAX; i++) {
        if (world->held[i] == request) {
            world->held[i] = NULL;
            return;
        }
    }
    BUG("a request is gone that nobody had");
}

/* By the second letter of the path: immediate, in many chunks, aborted, delayed, never. */
static void requested(void *context, HttpRequest *request)
{
    World *world = context;
    check_request(request);
    BUG_IF(world->is_stopping && world->server->clients == NULL);
    world->dispatched++;
    Str path = http_request_head(request)->path;
    char kind = path.len > 1 ? path.data[1] : '\0';
    if (kind == 'p') {
        hold(world, request);
        http_request_begin(request, 200, "text/plain", send_some, request);
        send_some(request);
    } else if (kind == 'b') {
        world->answered++;
        http_request_begin(request, 200, "text/plain", nothing, NULL);
        send_some(request);
        http_request_abort(request);
    } else if (kind == 'l') {
        hold(world, request);
    } else {
        world->answered++;
        http_request_add_header(request, "Fuzz", STR("yes"));
        http_request_respond(request, kind == 'n' ? 204 : 200, "text/plain",
                             http_request_body(request));
    }
    /* Each releases the oldest delayed one. */
    for (uint32_t i = 0; kind == 'g' && i < HELD_MAX; i++) {
        HttpRequest *held = world->held[i];
        if (held != NULL) {
            world->held[i] = NULL;
            world->answered++;
            if (held->in_pieces) {
                http_request_end(held);
            } else {
                http_request_respond(held, 200, "text/plain", STR("late"));
            }
            break;
        }
    }
}

static void gone(void *context, HttpRequest *request)
{
    World *world = context;
    world->gone++;
    remove_held(world, request);
}

/* --- Output of the server -------------------------------------------------------------------- */

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

static void on_accepted(void *context, Str bytes)
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

static bool is_connected(void *context)
{
    const World *world = context;
    return world->server->clients != NULL;
}

static void stop(void *context)
{
    World *world = context;
    world->is_stopping = true;
    http_server_stop(world->server, 1000, nothing, NULL);
}

static void world_init(World *world)
{
    HttpServerOptions options = http_server_defaults();
    world->loop = loop_new_virtual(1);
    options.loop = world->loop;
    options.body_max = BODY_MAX;
    options.requested = requested;
    options.disconnected = gone;
    options.context = world;
    world->server = http_server_new(&options);
    world->connection = h2_peer_connect(world->loop, on_accepted, world);
    /* The server adopts it once it is ready. */
    h2_peer_run_pending(world->loop, 0);
    http_h2_adopt(world->server, world->connection);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    World world = { 0 };
    world_init(&world);
    h2_peer_run(&(H2Peer){ .loop = world.loop,
                           .connection = world.connection,
                           .is_connected = is_connected,
                           .between = (data[0] & H2_PEER_OWN) != 0 ? stop : NULL,
                           .context = &world },
                data, size);
    BUG_IF(world.server->clients != NULL || world.server->held != 0 || world.server->unsent != 0);
    BUG_IF(world.dispatched != world.answered + world.gone);
    http_server_free(world.server);
    loop_free(world.loop);
    return 0;
}
