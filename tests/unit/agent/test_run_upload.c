/* Uploading events to a server that responds as the test specifies. */
#include "agent/run_upload.h"

#include "net/grpc_server.h"
#include "net/world.h"
#include "rpc/methods.h"
#include "rpc/run_append.h"
#include "syncs.h"

typedef struct Fixture {
    World world;
    Scratch *scratch;
    GrpcServer *server;
    GrpcClient *client;
    GrpcMethod method;
    bool is_connected;
    GrpcStatus answer;
    bool is_full;          /* the server answers, but stores nothing */
    uint64_t next;         /* expected by the server */
    uint32_t calls, lines; /* received */
    uint64_t froms[16];
    Directory directory;
    AppendFile file;
    uint64_t written;
    RunUpload *upload;
} Fixture;

static void take(Fixture *f, const RunAppend *request)
{
    uint64_t n = request->from;
    Str rest = request->lines, line;
    while (str_split_next(&rest, '\n', &line)) {
        if (line.len > 0 && n == f->next) {
            f->next++;
        }
        n += line.len > 0;
        f->lines += line.len > 0;
    }
}

static void append_message(GrpcCall *call, Str message)
{
    Fixture *f = grpc_call_context(call);
    AUTO_CLEAR(Arena) arena;
    AUTO_CLEAR(Buf) reply = buf_make(BUF_UNLIMITED);
    arena_init(&arena, ARENA_UNLIMITED);
    RunAppend request;
    Error err;
    assert_true(run_append_decode(&arena, message, &request, &err));
    assert_str(request.node, "web1");
    assert_str(request.run, "r1");
    assert_true(f->calls < COUNT_OF(f->froms));
    f->froms[f->calls++] = request.from;
    if (f->answer == GRPC_OK) {
        if (!f->is_full) {
            take(f, &request);
        }
        run_append_reply_encode(f->next, &reply);
        assert_true(grpc_call_send(call, buf_str(&reply), &err));
    }
    grpc_call_finish(call, f->answer, STR("as the test says"));
    loop_stop(f->world.loop);
}

static void call_ended(GrpcCall *call, GrpcStatus status, Str text)
{
}

static const GrpcHandler handler = { .message = append_message, .ended = call_ended };

static void ready(void *context)
{
    loop_stop(((Fixture *)context)->world.loop);
}

static GrpcClient *client_of(void *context)
{
    const Fixture *f = context;
    return f->is_connected ? f->client : NULL;
}

static void moved(void *context)
{
    loop_stop(((Fixture *)context)->world.loop);
}

static void connect_to_server(Fixture *f)
{
    Address address;
    const Listener *listener;
    Error err;
    f->method = (GrpcMethod){ method_rows[METHOD_RUNS_APPEND].path, GRPC_UNARY,
                              RUN_LINES_MAX + 1000, &handler };
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
}

static void open_upload(Fixture *f)
{
    RunUploadOptions options = { .loop = f->world.loop,
                                 .directory = &f->directory,
                                 .name = "events",
                                 .node = STR("web1"),
                                 .run = STR("r1"),
                                 .client = client_of,
                                 .progressed = moved,
                                 .context = f };
    Error err;
    run_upload_free(TAKE(f->upload));
    assert_true(run_upload_new(&options, &f->upload, &err));
}

static int set_up(void **state)
{
    scratch_set_up(state);
    Fixture *f = calloc(1, sizeof *f);
    Error err;
    f->scratch = *state;
    *state = f;
    f->next = 1;
    f->is_connected = true;
    world_open(&f->world);
    connect_to_server(f);
    assert_true(directory_open(f->scratch->path, &f->directory, &err));
    assert_true(append_file_open(&f->directory, "events", &f->file, &err));
    open_upload(f);
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    *state = f->scratch;
    run_upload_free(f->upload);
    grpc_client_free(f->client);
    grpc_server_free(f->server);
    world_pass(&f->world, 0);
    world_close(&f->world);
    append_file_close(&f->file);
    directory_close(&f->directory);
    free(f);
    return scratch_tear_down(state);
}

static void write_events(Fixture *f, uint32_t count, uint32_t size)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    char *filler = arena_alloc_zero(&arena, size + 1);
    memset(filler, 'x', size);
    for (uint32_t i = 0; i < count; i++) {
        Error err;
        Str line =
            arena_format(&arena, "{\"n\":%llu,\"at_ms\":1,\"event\":\"line\",\"text\":\"%s\"}\n",
                         (unsigned long long)++f->written, filler);
        assert_true(append_file_add(&f->file, line, &err));
    }
}

static void wait_complete(Fixture *f)
{
    while (!run_upload_is_complete(f->upload, f->written)) {
        world_run(&f->world);
    }
}

static void events_are_sent_as_they_arrive(void **state)
{
    Fixture *f = *state;
    write_events(f, 3, 10);
    run_upload_check(f->upload);
    assert_false(run_upload_is_complete(f->upload, 3));
    wait_complete(f);
    assert_int_equal(f->next, 4);
    write_events(f, 2, 10);
    run_upload_check(f->upload);
    wait_complete(f);
    assert_int_equal(f->calls, 2);
    assert_int_equal(f->froms[1], 4);
}

static void many_events_need_several_calls(void **state)
{
    Fixture *f = *state;
    write_events(f, 10, UPLOAD_BYTES / 4);
    run_upload_check(f->upload);
    wait_complete(f);
    assert_int_equal(f->calls, 4);
    write_events(f, 2, UPLOAD_BYTES);
    run_upload_check(f->upload);
    wait_complete(f);
    assert_int_equal(f->calls, 6);
    assert_int_equal(f->next, 13);
}

static void the_server_says_where_to_continue(void **state)
{
    Fixture *f = *state;
    f->next = 6; /* an earlier agent has sent five */
    write_events(f, 8, 10);
    run_upload_check(f->upload);
    wait_complete(f);
    assert_int_equal(f->next, 9);
    f->next = 3; /* it has lost some */
    write_events(f, 1, 10);
    run_upload_check(f->upload);
    while (f->next < 10) {
        world_run(&f->world);
    }
    assert_int_equal(f->froms[f->calls - 1], 3);
}

static void a_server_that_has_more_than_the_node_is_satisfied(void **state)
{
    Fixture *f = *state;
    f->next = 100;
    write_events(f, 3, 10);
    run_upload_check(f->upload);
    wait_complete(f);
    assert_int_equal(f->calls, 1);
}

static void without_a_connection_it_waits(void **state)
{
    Fixture *f = *state;
    f->is_connected = false;
    write_events(f, 3, 10);
    run_upload_check(f->upload);
    world_pass(&f->world, 2 * UPLOAD_SETTLE_MS);
    assert_int_equal(f->calls, 0);
    f->is_connected = true;
    run_upload_connected(f->upload);
    wait_complete(f);
    assert_int_equal(f->next, 4);
}

static void a_failed_call_is_retried(void **state)
{
    Fixture *f = *state;
    f->answer = GRPC_UNAVAILABLE;
    write_events(f, 3, 10);
    run_upload_check(f->upload);
    world_run(&f->world);
    f->answer = GRPC_OK;
    wait_complete(f);
    assert_int_equal(f->calls, 2);
    assert_int_equal(f->froms[1], 1);
}

static void a_server_that_rejects_them_is_not_retried(void **state)
{
    Fixture *f = *state;
    f->answer = GRPC_UNIMPLEMENTED;
    write_events(f, 3, 10);
    run_upload_check(f->upload);
    wait_complete(f);
    write_events(f, 3, 10);
    run_upload_check(f->upload);
    run_upload_connected(f->upload);
    world_pass(&f->world, 2 * UPLOAD_SETTLE_MS);
    assert_int_equal(f->calls, 1);
}

static void an_upload_stops_when_the_run_is_unknown_twice(void **state)
{
    Fixture *f = *state;
    f->answer = GRPC_NOT_FOUND;
    write_events(f, 1, 10);
    run_upload_check(f->upload);
    wait_complete(f);
    assert_int_equal(f->calls, 2);
}

static void rejections_are_final(void **state)
{
    static const GrpcStatus answers[] = { GRPC_UNIMPLEMENTED, GRPC_PERMISSION_DENIED,
                                          GRPC_INVALID_ARGUMENT, GRPC_FAILED_PRECONDITION };
    Fixture *f = *state;
    write_events(f, 1, 10);
    for (size_t i = 0; i < COUNT_OF(answers); i++) {
        open_upload(f);
        f->answer = answers[i];
        run_upload_check(f->upload);
        wait_complete(f);
        assert_int_equal(f->calls, i + 1);
    }
}

/* Their numbers would be reused after a power failure. */
static void events_are_durable_before_they_are_sent(void **state)
{
    Fixture *f = *state;
    write_events(f, 1, 10);
    syncs_forget();
    syncs_fail = true;
    run_upload_check(f->upload);
    world_pass(&f->world, 2 * UPLOAD_SETTLE_MS);
    syncs_fail = false;
    assert_int_equal(f->calls, 0);
    assert_true(is_synced(scratch_place(f->scratch, "events")));
    wait_complete(f);
    assert_int_equal(f->calls, 1);
    syncs_forget();
    run_upload_connected(f->upload);
    world_pass(&f->world, UPLOAD_SETTLE_MS);
    assert_int_equal(syncs, 0); /* there is nothing new */
}

/* A server whose disk is full. */
static void a_server_that_stores_nothing_is_not_flooded(void **state)
{
    Fixture *f = *state;
    f->is_full = true;
    write_events(f, 2, 10);
    run_upload_check(f->upload);
    world_pass(&f->world, UPLOAD_RETRY_MS / 2);
    assert_int_equal(f->calls, 1);
    f->is_full = false;
    wait_complete(f);
    assert_int_equal(f->calls, 2);
}

static void an_invalid_reply_is_retried(void **state)
{
    Fixture *f = *state;
    f->next = 0; /* no event has that number */
    f->is_full = true;
    write_events(f, 2, 10);
    run_upload_check(f->upload);
    world_pass(&f->world, UPLOAD_RETRY_MS / 2);
    assert_int_equal(f->calls, 1);
    assert_false(run_upload_is_complete(f->upload, 2));
    f->next = 1;
    f->is_full = false;
    wait_complete(f);
    assert_int_equal(f->froms[1], 1);
}

/* A failure is retried sooner when the connection is back. */
static void a_new_connection_is_used_at_once(void **state)
{
    Fixture *f = *state;
    f->answer = GRPC_UNAVAILABLE;
    write_events(f, 1, 10);
    run_upload_check(f->upload);
    world_run(&f->world);
    world_pass(&f->world, UPLOAD_SETTLE_MS);
    f->answer = GRPC_OK;
    run_upload_check(f->upload); /* another event does not make it any sooner */
    world_pass(&f->world, UPLOAD_SETTLE_MS);
    assert_int_equal(f->calls, 1);
    run_upload_connected(f->upload);
    world_pass(&f->world, UPLOAD_SETTLE_MS);
    assert_int_equal(f->calls, 2);
    assert_true(run_upload_is_complete(f->upload, 1));
}

/* The server would reject all of them, and with them the rest of the run. */
static void a_damaged_file_is_sent_up_to_the_damage(void **state)
{
    Fixture *f = *state;
    write_events(f, 2, 10);
    f->written = 4;
    write_events(f, 2, 10);
    run_upload_check(f->upload);
    while (f->calls == 0) {
        world_run(&f->world);
    }
    world_pass(&f->world, 2 * UPLOAD_SETTLE_MS);
    assert_int_equal(f->lines, 2);
    assert_int_equal(f->calls, 1);
    assert_true(run_upload_is_complete(f->upload, 2));
}

static void a_torn_line_is_not_sent(void **state)
{
    Fixture *f = *state;
    Error err;
    write_events(f, 2, 10);
    assert_true(append_file_add(&f->file, STR("{\"n\":3,\"at_ms\":1,\"eve"), &err));
    run_upload_check(f->upload);
    wait_complete(f);
    run_upload_connected(f->upload);
    world_pass(&f->world, 2 * UPLOAD_SETTLE_MS);
    assert_int_equal(f->calls, 1);
    assert_int_equal(f->next, 3);
}

static void it_can_be_freed_during_a_call(void **state)
{
    Fixture *f = *state;
    write_events(f, 2, 10);
    run_upload_check(f->upload);
    world_run(&f->world); /* the server has it, the response is in transit */
    run_upload_free(TAKE(f->upload));
    world_pass(&f->world, UPLOAD_SETTLE_MS);
    assert_int_equal(f->next, 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(events_are_sent_as_they_arrive),
        TEST(many_events_need_several_calls),
        TEST(the_server_says_where_to_continue),
        TEST(a_server_that_has_more_than_the_node_is_satisfied),
        TEST(without_a_connection_it_waits),
        TEST(a_failed_call_is_retried),
        TEST(a_server_that_rejects_them_is_not_retried),
        TEST(an_upload_stops_when_the_run_is_unknown_twice),
        TEST(rejections_are_final),
        TEST(events_are_durable_before_they_are_sent),
        TEST(a_server_that_stores_nothing_is_not_flooded),
        TEST(an_invalid_reply_is_retried),
        TEST(a_new_connection_is_used_at_once),
        TEST(a_damaged_file_is_sent_up_to_the_damage),
        TEST(a_torn_line_is_not_sent),
        TEST(it_can_be_freed_during_a_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
