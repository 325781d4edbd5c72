/* Input: bytes from a client to a gRPC server, in the form described in tests/fuzz/h2_peer.h; the
 * target-specific bit of the first byte selects whether calls are denied. Invariants: the server
 * processes all of it, every call that was started ends, and no memory is held afterward. */
#include "base/bug.h"
#include "h2_peer.h"
#include "net/grpc_server.h"

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
static void send_some(GrpcCall *call)
{
    static const char zeros[3000];
    Error err;
    while (grpc_call_send(call, str_from(zeros, sizeof zeros), &err)) {
    }
}

static void send_next_message(GrpcCall *call, Str message)
{
    send_some(call);
}

/* Pauses after each message; the next call resumes it. */
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

static void send_goaway(GrpcCall *call)
{
    grpc_call_finish(call, GRPC_OK, STR("bye"));
}

static const GrpcHandler echo = { .started = started, .message = echo_message, .ended = ended };
static const GrpcHandler pouring = {
    .started = started, .message = send_next_message, .writable = send_some, .ended = ended
};
static const GrpcHandler halting = {
    .started = started, .message = halting_message, .half_closed = send_goaway, .ended = ended
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

static bool is_connected(void *context)
{
    const World *world = context;
    return grpc_server_counts(world->server).connections > 0;
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
    world->connection = h2_peer_connect(world->loop, NULL, NULL);
    grpc_server_adopt(world->server, world->connection);
    h2_peer_run_pending(world->loop, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    World world = { .denies = (data[0] & H2_PEER_OWN) != 0 };
    world_init(&world);
    h2_peer_run(&(H2Peer){ .loop = world.loop,
                           .connection = world.connection,
                           .is_connected = is_connected,
                           .context = &world },
                data, size);
    GrpcServerCounts counts = grpc_server_counts(world.server);
    BUG_IF(counts.connections != 0 || counts.memory != 0);
    BUG_IF(world.started != world.ended || world.started != counts.calls);
    grpc_server_free(world.server);
    loop_free(world.loop);
    return 0;
}
