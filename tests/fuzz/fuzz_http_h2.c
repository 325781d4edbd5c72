/* Any bytes from a client to an HTTP server that has agreed upon HTTP/2, after what TLS would have
 * been: over a socket pair, on a loop. The first byte says whether the greeting stands before them,
 * whether they come at once or in two parts, and whether the server stops in between. Whatever it is,
 * the server gets to the end of it, every request that was handed on is answered or told as gone, what
 * it was handed is a request as HTTP/1.1 would have it, and nothing is held afterwards. */
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bug.h"
#include "net/http_server_inner.h"

enum {
    INPUT_MAX = 60000, /* what a socket takes without a reader */
    BODY_MAX = 3000,
    GREET = 1,
    SPLIT = 2,
    STOP = 4,
    HELD_MAX = 128,
};

typedef struct World {
    Loop *loop;
    HttpServer *server;
    LoopTimer look;
    HttpRequest *held[HELD_MAX];
    uint32_t handed_on, answered, gone;
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

static void pour(void *context)
{
    static const char zeros[3000];
    http_request_piece(context, str_from(zeros, sizeof zeros));
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

/* By the second letter of the path: at once, in pieces without end, broken off, later, never. */
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

/* --- One connection -------------------------------------------------------------------------- */

static void received(void *context, Str bytes)
{
}

static void closed(void *context, const Error *why)
{
}

static const ConnectionEvents no_events = { nothing, received, nothing, closed };

static void look(void *context)
{
    World *world = context;
    if (world->server->clients == NULL) {
        loop_stop(world->loop);
    } else {
        loop_timer_start(&world->look, 0);
    }
}

static void stop(void *context)
{
    loop_stop(context);
}

static void put(int descriptor, const void *bytes, size_t len)
{
    if (len > 0 && write(descriptor, bytes, len) != (ssize_t)len) {
        abort();
    }
}

static World *world_new(void)
{
    World *world = calloc(1, sizeof *world);
    HttpServerOptions options = http_server_defaults();
    world->loop = loop_new();
    options.loop = world->loop;
    options.body_max = BODY_MAX;
    options.requested = requested;
    options.gone = gone;
    options.context = world;
    world->server = http_server_new(&options);
    loop_timer_init(&world->look, world->loop, look, world);
    return world;
}

static void world_free(World *world)
{
    http_server_free(world->server);
    loop_free(world->loop);
    free(world);
}

/* The server takes it over once it is ready. */
static void adopt(World *world, int descriptor)
{
    Connection *connection = connection_adopt(
        &(ConnectionOptions){ .loop = world->loop, .open_timeout_ms = 1000, .events = &no_events },
        descriptor);
    LoopTimer pause;
    loop_timer_init(&pause, world->loop, stop, world->loop);
    while (!connection_is_ready(connection)) {
        loop_timer_start(&pause, 0);
        loop_run(world->loop);
    }
    loop_timer_stop(&pause);
    http_h2_adopt(world->server, connection);
}

static void between(World *world)
{
    LoopTimer pause;
    loop_timer_init(&pause, world->loop, stop, world->loop);
    loop_timer_start(&pause, 0);
    loop_run(world->loop);
    loop_timer_stop(&pause);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char greeting[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0";
    int ends[2];
    if (size == 0 || size > INPUT_MAX) {
        return 0;
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) {
        abort();
    }
    World *world = world_new();
    adopt(world, ends[0]);
    if ((data[0] & GREET) != 0) {
        put(ends[1], greeting, sizeof greeting - 1);
    }
    size_t first = (data[0] & SPLIT) != 0 ? (size - 1) / 2 : size - 1;
    put(ends[1], data + 1, first);
    loop_timer_start(&world->look, 0);
    if (first < size - 1) {
        /* The server sees the first part before there is a second. */
        between(world);
        if ((data[0] & STOP) != 0) {
            world->is_stopping = true;
            http_server_stop(world->server, 1000, nothing, NULL);
        }
        if (world->server->clients != NULL) {
            put(ends[1], data + 1 + first, size - 1 - first);
        }
        loop_timer_start(&world->look, 0);
    }
    shutdown(ends[1], SHUT_WR);
    loop_run(world->loop);
    loop_timer_stop(&world->look);
    BUG_IF(world->server->held != 0);
    BUG_IF(world->handed_on != world->answered + world->gone);
    close(ends[1]);
    world_free(world);
    return 0;
}
