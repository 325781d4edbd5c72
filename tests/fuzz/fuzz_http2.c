/* Any bytes from a client to a gRPC server, on a connection in memory. The first byte says whether the
 * greeting of HTTP/2 stands before them, whether they come at once, in two parts with time between them
 * or in small pieces, whether calls are allowed, how much of the answers the client takes, and whether
 * it leaves at the end or stays and says nothing more. Whatever it is, the server gets to the end of it,
 * every call that has started ends, and nothing is held afterwards. */
#include "base/bug.h"
#include "memory_connection.h"
#include "net/grpc_server.h"

enum {
    GREET = 1,
    SPLIT = 2,
    DENY = 4,
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

/* Past what a call may take, and what a peer may say nothing. */
static const int64_t pauses_ms[PAUSE_MASK + 1] = { 0, 2500, 31000, 61000 };

typedef struct World {
    Loop *loop;
    GrpcServer *server;
    Connection *connection;
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

/* All that there is to do, and what becomes due meanwhile. */
static void pass(const World *world, int64_t ms)
{
    loop_run_virtual_until(world->loop, loop_now_ms(world->loop) + ms);
}

static void world_init(World *world)
{
    GrpcServerOptions options = grpc_server_defaults();
    world->loop = loop_new_virtual(1);
    options.loop = world->loop;
    options.methods = methods;
    options.method_count = COUNT_OF(methods);
    options.authorize = authorize;
    options.context = world;
    world->server = grpc_server_new(&options);
    world->connection = memory_connection_new(
        &(ConnectionOptions){ .loop = world->loop, .open_timeout_ms = 1000, .events = &no_events },
        NULL, NULL);
    grpc_server_adopt(world->server, world->connection);
    pass(world, 0);
}

static bool is_there(const World *world)
{
    return grpc_server_counts(world->server).connections > 0;
}

static void say(const World *world, Str bytes, size_t piece)
{
    if (bytes.len > 0 && is_there(world)) {
        memory_connection_say(world->connection, bytes, piece);
        pass(world, 0);
    }
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
    World world = { .denies = (options & DENY) != 0 };
    world_init(&world);
    memory_connection_give_room(world.connection, (options & SLOW) != 0 ? LITTLE_ROOM : ROOM);
    if ((options & GREET) != 0) {
        say(&world, STR("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"), SIZE_MAX);
    }
    say(&world, str_slice(bytes, 0, first), piece);
    if (first < bytes.len) {
        pass(&world, pauses_ms[options >> PAUSE_SHIFT & PAUSE_MASK]);
        say(&world, str_from_offset(bytes, first), piece);
    }
    if ((options & SLOW) != 0 && is_there(&world)) {
        memory_connection_give_room(world.connection, ROOM);
        pass(&world, 0);
    }
    if ((options & STAY) == 0 && is_there(&world)) {
        memory_connection_hang_up(world.connection);
        pass(&world, 0);
    } else {
        pass(&world, FOREVER_MS);
    }
    GrpcServerCounts counts = grpc_server_counts(world.server);
    BUG_IF(counts.connections != 0 || counts.memory != 0);
    BUG_IF(world.started != world.ended || world.started != counts.calls);
    grpc_server_free(world.server);
    loop_free(world.loop);
    return 0;
}
