/* Leaving a cluster, as decided by the server's response and the session states after it. */
#include "agent/node_leave.h"

#include "net/grpc_server.h"
#include "net/world.h"
#include "rpc/methods.h"

typedef struct Fixture {
    World world;
    Scratch *scratch;
    GrpcServer *server;
    GrpcClient *client;
    GrpcMethod method;
    GrpcStatus answer;
    NodeLeave *node_leave;
    bool has_answered, has_left;
    ErrorKind outcome;
} Fixture;

static void leave_message(GrpcCall *call, Str message)
{
    const Fixture *f = grpc_call_context(call);
    Error err;
    assert_true(str_find(message, STR("web1"), 0) != STR_NOT_FOUND);
    if (f->answer == GRPC_OK) {
        assert_true(grpc_call_send(call, STR_EMPTY, &err));
    }
    grpc_call_finish(call, f->answer, STR("as the server says"));
}

static void call_ended(GrpcCall *call, GrpcStatus status, Str text)
{
    Fixture *f = grpc_call_context(call);
    f->has_answered = true;
    loop_stop(f->world.loop);
}

static const GrpcHandler handler = { .message = leave_message, .ended = call_ended };

static void ready(void *context)
{
    Fixture *f = context;
    loop_stop(f->world.loop);
}

static void left(void *context, const Error *err)
{
    Fixture *f = context;
    assert_false(f->has_left);
    f->has_left = true;
    f->outcome = err == NULL ? ERROR_NONE : err->kind;
    loop_stop(f->world.loop);
}

static int set_up(void **state)
{
    scratch_set_up(state);
    Fixture *f = calloc(1, sizeof *f);
    Address address;
    const Listener *listener;
    Error err;
    f->scratch = *state;
    *state = f;
    world_open(&f->world);
    f->method = (GrpcMethod){ method_rows[METHOD_NODES_LEAVE].path, GRPC_UNARY, 1000, &handler };
    GrpcServerOptions server = grpc_server_defaults();
    server.loop = f->world.loop;
    server.methods = &f->method;
    server.method_count = 1;
    server.context = f;
    f->server = grpc_server_new(&server);
    ListenerOptions options = listener_defaults();
    assert_true(address_parse(str_from_c(scratch_place(f->scratch, "socket")), 0, &address, &err));
    assert_true(grpc_server_listen(f->server, &options, &address, &listener, &err));
    GrpcClientOptions client = grpc_client_defaults();
    client.loop = f->world.loop;
    client.address = address;
    client.ready = ready;
    client.context = f;
    f->client = grpc_client_new(&client);
    world_run(&f->world);
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    *state = f->scratch;
    grpc_client_free(f->client);
    grpc_server_free(f->server);
    world_pass(&f->world, 0);
    world_close(&f->world);
    free(f);
    return scratch_tear_down(state);
}

/* Sends the request and gets the response. */
static void leave(Fixture *f, GrpcStatus answer)
{
    Error err;
    f->answer = answer;
    f->has_answered = f->has_left = false;
    NodeLeaveOptions options = {
        .loop = f->world.loop, .client = f->client, .node = STR("web1"), .left = left, .context = f
    };
    assert_true(node_leave_new(&options, &f->node_leave, &err));
    node_leave_session_changed(f->node_leave, SESSION_LIVE,
                               NULL); /* no report while the call is pending */
    while (!f->has_answered) {
        world_run(&f->world);
    }
    world_pass(&f->world, 10);
}

static void check_left(Fixture *f, ErrorKind outcome)
{
    if (!f->has_left) {
        world_run(&f->world);
    }
    assert_true(f->has_left);
    assert_int_equal(f->outcome, outcome);
    node_leave_free(TAKE(f->node_leave));
}

static void the_response_decides(void **state)
{
    static const struct {
        GrpcStatus answer;
        ErrorKind outcome;
    } rows[] = { { GRPC_OK, ERROR_NONE },
                 { GRPC_NOT_FOUND, ERROR_NOT_FOUND },
                 { GRPC_PERMISSION_DENIED, ERROR_DENIED } };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        leave(*state, rows[i].answer);
        check_left(*state, rows[i].outcome);
    }
}

/* The connection was lost: only the next one shows whether the node was removed. */
static void without_a_response_the_next_connection_decides(void **state)
{
    static const GrpcStatus answers[] = { GRPC_UNAVAILABLE, GRPC_CANCELLED };
    Fixture *f = *state;
    Error denied, unreachable;
    error_set(&denied, ERROR_DENIED, "removed");
    error_set(&unreachable, ERROR_UNAVAILABLE, "no route");
    for (size_t i = 0; i < COUNT_OF(answers); i++) {
        leave(f, answers[i]);
        assert_false(f->has_left);
        node_leave_session_changed(f->node_leave, SESSION_WAITING, &unreachable);
        world_pass(&f->world, 1);
        assert_false(f->has_left);
        node_leave_session_changed(f->node_leave, SESSION_WAITING, &denied);
        node_leave_session_changed(f->node_leave, SESSION_LIVE,
                                   NULL); /* the first known reason is kept */
        check_left(f, ERROR_NONE);
        leave(f, answers[i]);
        node_leave_session_changed(f->node_leave, SESSION_LIVE, NULL);
        check_left(f, ERROR_UNAVAILABLE);
    }
}

static void it_can_be_freed_during_the_call(void **state)
{
    Fixture *f = *state;
    Error err;
    f->answer = GRPC_NOT_FOUND;
    NodeLeaveOptions options = {
        .loop = f->world.loop, .client = f->client, .node = STR("web1"), .left = left, .context = f
    };
    assert_true(node_leave_new(&options, &f->node_leave, &err));
    node_leave_free(TAKE(f->node_leave));
    while (!f->has_answered) {
        world_run(&f->world);
    }
    world_pass(&f->world, 10);
    assert_false(f->has_left);
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(the_response_decides),
        ROW(without_a_response_the_next_connection_decides),
        ROW(it_can_be_freed_during_the_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
