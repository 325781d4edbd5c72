#include "net/grpc_client.h"
#include "net/grpc_server.h"

#include "world.h"

/* A server on a Unix socket and a client, on one loop. */
typedef struct Fixture {
    World world;
    Scratch *scratch;
    GrpcServer *server;
    GrpcClient *client;
    const Listener *listener;
    Address address;
    /* The result of the call under test, and of the server's side of it. */
    GrpcStatus status;
    char text[200];
    char got[256];
    uint32_t messages, bytes;
    uint32_t ended, server_ended;
    GrpcStatus server_status;
    uint32_t server_messages;
    bool client_closed, denies, pauses;
    uint32_t to_send;
    GrpcCall *paused;
} Fixture;

static char payload[1 << 20];

/* --- The server's methods -------------------------------------------------------------------- */

static void echo_message(GrpcCall *call, Str message)
{
    Error err;
    if (str_eq_c(message, "fail")) {
        error_set(&err, ERROR_NOT_FOUND, "nothing 100%% like \xc3\xa4\n");
        grpc_call_fail(call, &err);
        return;
    }
    assert_true(grpc_call_send(call, message, &err));
    grpc_call_finish(call, GRPC_OK, STR_EMPTY);
}

static void note_ended(GrpcCall *call, GrpcStatus status, Str text)
{
    Fixture *f = grpc_call_context(call);
    f->server_ended++;
    f->server_status = status;
}

static void send_some(GrpcCall *call)
{
    Fixture *f = grpc_call_context(call);
    Error err;
    while (f->to_send > 0) {
        if (!grpc_call_send(call, str_from(payload, 10000), &err)) {
            assert_int_equal(err.kind, ERROR_LIMIT);
            assert_false(grpc_call_is_writable(call));
            return;
        }
        f->to_send--;
    }
    grpc_call_finish(call, GRPC_OK, STR_EMPTY);
}

static void download_message(GrpcCall *call, Str message)
{
    send_some(call);
}

static void upload_message(GrpcCall *call, Str message)
{
    Fixture *f = grpc_call_context(call);
    f->server_messages++;
    if (f->pauses) {
        grpc_call_pause(call);
        f->paused = call;
    }
}

static void upload_half_closed(GrpcCall *call)
{
    Fixture *f = grpc_call_context(call);
    char text[20];
    Error err;
    snprintf(text, sizeof text, "%u", f->server_messages);
    assert_true(grpc_call_send(call, str_from_c(text), &err));
    grpc_call_finish(call, GRPC_OK, STR_EMPTY);
}

static void chat_message(GrpcCall *call, Str message)
{
    Error err;
    assert_true(grpc_call_send(call, message, &err));
}

static void chat_half_closed(GrpcCall *call)
{
    grpc_call_finish(call, GRPC_OK, STR("bye"));
}

static const GrpcHandler echo = { .message = echo_message, .ended = note_ended };
static const GrpcHandler download = { .message = download_message,
                                      .writable = send_some,
                                      .ended = note_ended };
static const GrpcHandler upload = { .message = upload_message,
                                    .half_closed = upload_half_closed,
                                    .ended = note_ended };
static const GrpcHandler chat = { .message = chat_message,
                                  .half_closed = chat_half_closed,
                                  .ended = note_ended };
static const GrpcHandler nothing = { .ended = note_ended };

static const GrpcMethod methods[] = {
    { "/t.T/Echo", GRPC_UNARY, 100000, &echo },
    { "/t.T/Download", GRPC_SERVER_STREAM, 1000, &download },
    { "/t.T/Upload", GRPC_CLIENT_STREAM, 20000, &upload },
    { "/t.T/Chat", GRPC_BIDI_STREAM, 1000, &chat },
    { "/t.T/Wait", GRPC_BIDI_STREAM, 1000, &nothing },
};

static bool authorize(void *context, const Peer *peer, const GrpcMethod *method, Error *err)
{
    Fixture *f = context;
    assert_true(peer->is_local);
    assert_int_equal(peer->uid, getuid());
    return !f->denies || error_set(err, ERROR_DENIED, "not you");
}

/* --- The client ------------------------------------------------------------------------------ */

static void client_closed(void *context, const Error *why)
{
    Fixture *f = context;
    f->client_closed = true;
    loop_stop(f->world.loop);
}

static void connect_client(Fixture *f)
{
    GrpcClientOptions options = grpc_client_defaults();
    options.loop = f->world.loop;
    options.address = f->address;
    options.closed = client_closed;
    options.context = f;
    f->client = grpc_client_new(&options);
}

static int set_up_with(void **state, const GrpcServerOptions *limits)
{
    scratch_set_up(state);
    Scratch *scratch = *state;
    Fixture *f = calloc(1, sizeof *f);
    Error err;
    f->scratch = scratch;
    *state = f;
    memset(payload, 'x', sizeof payload);
    world_open(&f->world);
    GrpcServerOptions options = *limits;
    options.loop = f->world.loop;
    options.methods = methods;
    options.method_count = COUNT_OF(methods);
    options.authorize = authorize;
    options.context = f;
    f->server = grpc_server_new(&options);
    ListenerOptions listener = listener_defaults();
    assert_true(address_parse(str_from_c(scratch_place(scratch, "socket")), 0, &f->address, &err));
    assert_true(grpc_server_listen(f->server, &listener, &f->address, &f->listener, &err));
    connect_client(f);
    return 0;
}

static int set_up(void **state)
{
    GrpcServerOptions options = grpc_server_defaults();
    return set_up_with(state, &options);
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    grpc_client_free(f->client);
    grpc_server_free(f->server);
    world_close(&f->world);
    *state = f->scratch;
    free(f);
    return scratch_tear_down(state);
}

static void unary_done(void *context, GrpcStatus status, Str text, Str response)
{
    Fixture *f = context;
    f->ended++;
    f->status = status;
    f->bytes = (uint32_t)response.len;
    snprintf(f->text, sizeof f->text, "%" STR_FMT, STR_ARG(text));
    snprintf(f->got, sizeof f->got, "%" STR_FMT, STR_ARG(response));
    loop_stop(f->world.loop);
}

static void call_unary(Fixture *f, const char *path, Str request, int64_t timeout_ms)
{
    Error err = { 0 };
    assert_true(grpc_client_unary(f->client, path, request, timeout_ms, unary_done, f, &err));
    world_run(&f->world);
}

static void stream_message(GrpcCall *call, Str message)
{
    Fixture *f = grpc_call_data(call);
    f->messages++;
    f->bytes += (uint32_t)message.len;
    snprintf(f->got, sizeof f->got, "%" STR_FMT, STR_ARG(message));
}

static void stream_ended(GrpcCall *call, GrpcStatus status, Str text)
{
    Fixture *f = grpc_call_data(call);
    f->ended++;
    f->status = status;
    snprintf(f->text, sizeof f->text, "%" STR_FMT, STR_ARG(text));
    loop_stop(f->world.loop);
}

static const GrpcHandler stream = { .message = stream_message, .ended = stream_ended };

static GrpcCall *start(Fixture *f, const char *path, GrpcKind kind, const GrpcHandler *handler,
                       int64_t timeout_ms)
{
    GrpcCall *call;
    Error err;
    assert_true(grpc_client_start(f->client, path, kind, handler, f, timeout_ms, &call, &err));
    return call;
}

static void send_text(GrpcCall *call, const char *text)
{
    Error err;
    assert_true(grpc_call_send(call, str_from_c(text), &err));
}

/* --- Tests ----------------------------------------------------------------------------------- */

static void a_request_is_answered(void **state)
{
    Fixture *f = *state;
    call_unary(f, "/t.T/Echo", STR("hello"), 5000);
    assert_int_equal(f->status, GRPC_OK);
    assert_string_equal(f->got, "hello");
    assert_int_equal(f->server_ended, 1);
    assert_int_equal(f->server_status, GRPC_OK);
    call_unary(f, "/t.T/Echo", STR_EMPTY, 0);
    assert_int_equal(f->status, GRPC_OK);
    assert_int_equal(grpc_server_counts(f->server).calls, 2);
    assert_int_equal(listener_counts(f->listener).accepted, 1);
}

static void a_failure_preserves_its_message(void **state)
{
    Fixture *f = *state;
    call_unary(f, "/t.T/Echo", STR("fail"), 0);
    assert_int_equal(f->status, GRPC_NOT_FOUND);
    assert_string_equal(f->text, "nothing 100% like \xc3\xa4\n");
}

static void large_messages_are_sent_in_both_directions(void **state)
{
    Fixture *f = *state;
    call_unary(f, "/t.T/Echo", str_from(payload, 100000), 0);
    assert_int_equal(f->status, GRPC_OK);
    assert_int_equal(f->bytes, 100000);
    call_unary(f, "/t.T/Echo", str_from(payload, 100001), 0);
    assert_int_equal(f->status, GRPC_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(f->text, "100001"));
    call_unary(f, "/t.T/Echo", STR("still there"), 0);
    assert_int_equal(f->status, GRPC_OK);
}

static void an_unknown_method_is_reported_to_authorized_callers(void **state)
{
    Fixture *f = *state;
    call_unary(f, "/t.T/Missing", STR("x"), 0);
    assert_int_equal(f->status, GRPC_UNIMPLEMENTED);
    f->denies = true;
    call_unary(f, "/t.T/Missing", STR("x"), 0);
    assert_int_equal(f->status, GRPC_PERMISSION_DENIED);
    assert_string_equal(f->text, "not you");
    call_unary(f, "/t.T/Echo", STR("x"), 0);
    assert_int_equal(f->status, GRPC_PERMISSION_DENIED);
    assert_int_equal(f->server_ended, 0);
    assert_int_equal(grpc_server_counts(f->server).refused, 3);
}

static void a_stream_waits_for_its_reader(void **state)
{
    Fixture *f = *state;
    f->to_send = 500;
    GrpcCall *call = start(f, "/t.T/Download", GRPC_SERVER_STREAM, &stream, 0);
    grpc_call_pause(call);
    send_text(call, "go");
    grpc_call_end_sending(call);
    world_pass(&f->world, 50);
    uint32_t waiting = f->to_send;
    assert_true(waiting > 400);
    world_pass(&f->world, 50);
    assert_int_equal(f->to_send, waiting);
    assert_int_equal(f->messages, 0);
    grpc_call_resume(call);
    world_run(&f->world);
    assert_int_equal(f->status, GRPC_OK);
    assert_int_equal(f->messages, 500);
    assert_int_equal(f->bytes, 5000000);
}

static void requests_of_a_stream_are_counted(void **state)
{
    Fixture *f = *state;
    GrpcCall *call = start(f, "/t.T/Upload", GRPC_CLIENT_STREAM, &stream, 0);
    for (int i = 0; i < 20; i++) {
        send_text(call, "one");
    }
    grpc_call_end_sending(call);
    world_run(&f->world);
    assert_int_equal(f->status, GRPC_OK);
    assert_string_equal(f->got, "20");
}

static void a_paused_server_slows_its_client_down(void **state)
{
    Fixture *f = *state;
    Error err = { 0 };
    f->pauses = true;
    GrpcCall *call = start(f, "/t.T/Upload", GRPC_CLIENT_STREAM, &stream, 0);
    uint32_t count = 0;
    for (int i = 0; i < 10; i++) {
        while (grpc_call_send(call, str_from(payload, 20000), &err)) {
            count++;
        }
        assert_int_equal(err.kind, ERROR_LIMIT);
        world_pass(&f->world, 5);
    }
    /* The server's window and the client's queue, no more. */
    assert_in_range(count, 4, 12);
    assert_int_equal(f->server_messages, 1);
    f->pauses = false;
    grpc_call_resume(f->paused);
    grpc_call_end_sending(call);
    world_run(&f->world);
    assert_int_equal(f->status, GRPC_OK);
    assert_int_equal(f->server_messages, count);
}

static void both_sides_can_send(void **state)
{
    Fixture *f = *state;
    GrpcCall *call = start(f, "/t.T/Chat", GRPC_BIDI_STREAM, &stream, 0);
    send_text(call, "one");
    world_pass(&f->world, 5);
    send_text(call, "two");
    send_text(call, "");
    grpc_call_end_sending(call);
    world_run(&f->world);
    assert_int_equal(f->status, GRPC_OK);
    assert_int_equal(f->messages, 3);
    assert_string_equal(f->text, "bye");
}

static void a_deadline_cancels_both_sides(void **state)
{
    Fixture *f = *state;
    start(f, "/t.T/Wait", GRPC_BIDI_STREAM, &stream, 30);
    world_run(&f->world);
    assert_int_equal(f->status, GRPC_DEADLINE_EXCEEDED);
    world_pass(&f->world, 20);
    assert_int_equal(f->server_ended, 1);
    assert_true(f->server_status == GRPC_DEADLINE_EXCEEDED || f->server_status == GRPC_CANCELLED);
}

static void a_canceled_call_is_canceled_on_the_server(void **state)
{
    Fixture *f = *state;
    GrpcCall *call = start(f, "/t.T/Wait", GRPC_BIDI_STREAM, &stream, 0);
    world_pass(&f->world, 10);
    assert_int_equal(f->server_ended, 0);
    grpc_call_cancel(call);
    world_pass(&f->world, 10);
    assert_int_equal(f->server_ended, 1);
    assert_int_equal(f->server_status, GRPC_CANCELLED);
    assert_int_equal(f->ended, 0);
}

static void a_lost_connection_ends_its_calls(void **state)
{
    Fixture *f = *state;
    start(f, "/t.T/Wait", GRPC_BIDI_STREAM, &stream, 0);
    world_pass(&f->world, 10);
    grpc_client_free(TAKE(f->client));
    assert_int_equal(f->status, GRPC_CANCELLED);
    world_pass(&f->world, 10);
    assert_int_equal(f->server_ended, 1);
    assert_int_equal(f->server_status, GRPC_CANCELLED);
    assert_int_equal(grpc_server_counts(f->server).connections, 0);
}

static bool matches_all(void *context, const Peer *peer)
{
    return peer->is_local;
}

static void dropped_peers_are_disconnected(void **state)
{
    Fixture *f = *state;
    start(f, "/t.T/Wait", GRPC_BIDI_STREAM, &stream, 0);
    world_pass(&f->world, 10);
    grpc_server_drop(f->server, matches_all, NULL);
    assert_int_equal(f->server_ended, 1);
    world_run(&f->world);
    assert_int_equal(f->status, GRPC_UNAVAILABLE);
    world_pass(&f->world, 5);
    assert_true(f->client_closed);
    assert_false(grpc_client_is_open(f->client));
}

static void a_stopping_server_lets_calls_finish(void **state)
{
    Fixture *f = *state;
    GrpcCall *call = start(f, "/t.T/Chat", GRPC_BIDI_STREAM, &stream, 0);
    send_text(call, "one");
    world_pass(&f->world, 10);
    grpc_server_stop(f->server, 10000, world_stop, f->world.loop);
    world_pass(&f->world, 10);
    assert_int_equal(f->ended, 0);
    GrpcCall *late;
    Error err;
    assert_false(
        grpc_client_start(f->client, "/t.T/Chat", GRPC_BIDI_STREAM, &stream, f, 0, &late, &err));
    assert_int_equal(err.kind, ERROR_UNAVAILABLE);
    send_text(call, "two");
    grpc_call_end_sending(call);
    world_run(&f->world);
    assert_int_equal(f->status, GRPC_OK);
    assert_int_equal(f->messages, 2);
    world_run(&f->world);
    assert_int_equal(grpc_server_counts(f->server).connections, 0);
}

static void stopping_cancels_calls_that_do_not_finish(void **state)
{
    Fixture *f = *state;
    start(f, "/t.T/Wait", GRPC_BIDI_STREAM, &stream, 0);
    world_pass(&f->world, 10);
    grpc_server_stop(f->server, 20, NULL, NULL);
    world_run(&f->world);
    assert_int_equal(f->status, GRPC_UNAVAILABLE);
    assert_int_equal(f->server_ended, 1);
}

static void connection_refused(void **state)
{
    Fixture *f = *state;
    grpc_client_free(f->client);
    grpc_server_free(TAKE(f->server));
    connect_client(f);
    call_unary(f, "/t.T/Echo", STR("x"), 0);
    assert_int_equal(f->status, GRPC_UNAVAILABLE);
    assert_non_null(strstr(f->text, "socket"));
}

static void free_client(GrpcCall *call, Str message)
{
    Fixture *f = grpc_call_data(call);
    grpc_client_free(TAKE(f->client));
    loop_stop(f->world.loop);
}

static void a_handler_can_free_the_client(void **state)
{
    static const GrpcHandler handler = { .message = free_client, .ended = stream_ended };
    Fixture *f = *state;
    GrpcCall *call = start(f, "/t.T/Chat", GRPC_BIDI_STREAM, &handler, 0);
    send_text(call, "one");
    send_text(call, "two");
    world_run(&f->world);
    assert_int_equal(f->ended, 1);
    assert_int_equal(f->status, GRPC_CANCELLED);
}

static void many_calls_share_a_connection(void **state)
{
    Fixture *f = *state;
    Error err = { 0 };
    for (int i = 0; i < 300; i++) {
        assert_true(grpc_client_unary(f->client, "/t.T/Echo", STR("x"), 0, unary_done, f, &err));
    }
    while (f->ended < 300) {
        world_run(&f->world);
        assert_int_equal(f->status, GRPC_OK);
    }
    assert_int_equal(grpc_server_counts(f->server).connections, 1);
}

static int set_up_impatient(void **state)
{
    GrpcServerOptions options = grpc_server_defaults();
    options.request_timeout_ms = 20;
    options.http2.ping_after_ms = 30;
    options.http2.ping_timeout_ms = 5000;
    options.http2.settings_timeout_ms = 30;
    return set_up_with(state, &options);
}

static int set_up_narrow(void **state)
{
    GrpcServerOptions options = grpc_server_defaults();
    options.connection_max = 30000;
    return set_up_with(state, &options);
}

/* Two streams share a connection's limit. The one whose own queue is empty must also be notified
 * that there is space again. */
static void a_call_blocked_by_another_continues(void **state)
{
    Fixture *f = *state;
    f->to_send = 1000;
    GrpcCall *calls[2];
    for (int i = 0; i < 2; i++) {
        calls[i] = start(f, "/t.T/Download", GRPC_SERVER_STREAM, &stream, 0);
        grpc_call_pause(calls[i]);
        send_text(calls[i], "go");
        grpc_call_end_sending(calls[i]);
        world_pass(&f->world, 20);
    }
    assert_true(f->to_send > 900);
    grpc_call_resume(calls[0]);
    grpc_call_resume(calls[1]);
    while (f->ended < 2) {
        world_run(&f->world);
        assert_int_equal(f->status, GRPC_OK);
    }
    assert_int_equal(f->messages, 1000);
}

static void a_request_must_arrive_in_time(void **state)
{
    Fixture *f = *state;
    start(f, "/t.T/Echo", GRPC_UNARY, &stream, 0);
    world_run(&f->world);
    assert_int_equal(f->status, GRPC_DEADLINE_EXCEEDED);
    assert_int_equal(f->server_ended, 1);
}

static void pings_keep_a_silent_connection_alive(void **state)
{
    Fixture *f = *state;
    start(f, "/t.T/Wait", GRPC_BIDI_STREAM, &stream, 0);
    world_pass(&f->world, 200);
    assert_int_equal(f->ended, 0);
    assert_false(f->client_closed);
    assert_int_equal(grpc_server_counts(f->server).connections, 1);
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(a_request_is_answered),
        ROW(a_failure_preserves_its_message),
        ROW(large_messages_are_sent_in_both_directions),
        ROW(an_unknown_method_is_reported_to_authorized_callers),
        ROW(a_stream_waits_for_its_reader),
        ROW(requests_of_a_stream_are_counted),
        ROW(a_paused_server_slows_its_client_down),
        ROW(both_sides_can_send),
        ROW(a_deadline_cancels_both_sides),
        ROW(a_canceled_call_is_canceled_on_the_server),
        ROW(a_lost_connection_ends_its_calls),
        ROW(dropped_peers_are_disconnected),
        ROW(a_stopping_server_lets_calls_finish),
        ROW(stopping_cancels_calls_that_do_not_finish),
        ROW(connection_refused),
        ROW(a_handler_can_free_the_client),
        ROW(many_calls_share_a_connection),
        cmocka_unit_test_setup_teardown(a_call_blocked_by_another_continues, set_up_narrow,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_request_must_arrive_in_time, set_up_impatient, tear_down),
        cmocka_unit_test_setup_teardown(pings_keep_a_silent_connection_alive, set_up_impatient,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
