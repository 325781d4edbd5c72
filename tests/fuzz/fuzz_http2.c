/* Any bytes from a client to a gRPC server, after what TLS would have been: over a socket pair, on
 * a loop. The first byte says whether the greeting of HTTP/2 stands before them and whether they
 * come at once or in two parts. Whatever it is, the server gets to the end of it, every call that
 * has started ends, and nothing is held afterwards. */
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bug.h"
#include "net/grpc_server.h"

enum {
    INPUT_MAX = 60000, /* what a socket takes without a reader */
    GREET = 1,
    SPLIT = 2,
    DENY = 4,
};

typedef struct World {
    Loop *loop;
    GrpcServer *server;
    LoopTimer look;
    uint32_t started, ended;
    bool denies;
    GrpcCall *paused;
} World;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void started(GrpcCall *call)
{
    World *world = grpc_call_context(call);
    world->started++;
    BUG_IF(grpc_call_header(call, ":path").len == 0);
}

static void ended(GrpcCall *call, GrpcStatus status, Str text)
{
    World *world = grpc_call_context(call);
    world->ended++;
    if (world->paused == call) {
        world->paused = NULL;
    }
}

static void echo_message(GrpcCall *call, Str message)
{
    Error err;
    if (grpc_call_send(call, message, &err)) {
        grpc_call_finish(call, GRPC_OK, STR("fine"));
    } else {
        grpc_call_fail(call, &err);
    }
}

/* Sends until the queue is full. */
static void pour(GrpcCall *call)
{
    static const char zeros[3000];
    Error err;
    while (grpc_call_send(call, str_from(zeros, sizeof zeros), &err)) {
    }
}

static void pour_message(GrpcCall *call, Str message)
{
    pour(call);
}

/* Stops after each message; the next call that comes lets it go on. */
static void halting_message(GrpcCall *call, Str message)
{
    World *world = grpc_call_context(call);
    if (world->paused != NULL) {
        grpc_call_resume(world->paused);
    }
    grpc_call_pause(call);
    world->paused = call;
    if (message.len == 3) {
        grpc_call_cancel(call);
        world->ended++;
        world->paused = NULL;
    }
}

static void bye(GrpcCall *call)
{
    grpc_call_finish(call, GRPC_OK, STR("bye"));
}

static const GrpcHandler echo = { .started = started, .message = echo_message, .ended = ended };
static const GrpcHandler pouring = {
    .started = started, .message = pour_message, .writable = pour, .ended = ended
};
static const GrpcHandler halting = {
    .started = started, .message = halting_message, .half_closed = bye, .ended = ended
};
static const GrpcMethod methods[] = {
    { "/E", GRPC_UNARY, 1000, &echo },
    { "/S", GRPC_SERVER_STREAM, 1000, &pouring },
    { "/C", GRPC_CLIENT_STREAM, 1000, &halting },
    { "/B", GRPC_BIDI_STREAM, 1000, &halting },
};

static bool authorize(void *context, const Peer *peer, const GrpcMethod *method, Error *err)
{
    const World *world = context;
    return !world->denies || error_set(err, ERROR_DENIED, "not today");
}

/* --- One connection -------------------------------------------------------------------------- */

static void nothing(void *context)
{
}

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
    if (grpc_server_counts(world->server).connections == 0) {
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
    GrpcServerOptions options = grpc_server_defaults();
    world->loop = loop_new();
    options.loop = world->loop;
    options.methods = methods;
    options.method_count = COUNT_OF(methods);
    options.authorize = authorize;
    options.context = world;
    world->server = grpc_server_new(&options);
    loop_timer_init(&world->look, world->loop, look, world);
    return world;
}

static void world_free(World *world)
{
    grpc_server_free(world->server);
    loop_free(world->loop);
    free(world);
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
    world->denies = (data[0] & DENY) != 0;
    grpc_server_adopt(world->server, connection_adopt(&(ConnectionOptions){ .loop = world->loop,
                                                                            .open_timeout_ms = 1000,
                                                                            .events = &no_events },
                                                      ends[0]));
    if ((data[0] & GREET) != 0) {
        put(ends[1], greeting, sizeof greeting - 1);
    }
    size_t first = (data[0] & SPLIT) != 0 ? (size - 1) / 2 : size - 1;
    put(ends[1], data + 1, first);
    loop_timer_start(&world->look, 0);
    if (first < size - 1) {
        /* The server sees the first part before there is a second. */
        LoopTimer pause;
        loop_timer_init(&pause, world->loop, stop, world->loop);
        loop_timer_start(&pause, 0);
        loop_run(world->loop);
        loop_timer_stop(&pause);
        if (grpc_server_counts(world->server).connections > 0) {
            put(ends[1], data + 1 + first, size - 1 - first);
        }
        loop_timer_start(&world->look, 0);
    }
    shutdown(ends[1], SHUT_WR);
    loop_run(world->loop);
    loop_timer_stop(&world->look);
    GrpcServerCounts counts = grpc_server_counts(world->server);
    BUG_IF(counts.connections != 0 || counts.memory != 0);
    BUG_IF(world->started != world->ended || world->started != counts.calls);
    close(ends[1]);
    world_free(world);
    return 0;
}
