/* A server with its store on the disk: it starts, keeps its data, and stops cleanly. */
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "server_world.h"

/* --- Tests ------------------------------------------------------------------------------------ */

static void a_server_can_use_the_store(void **state)
{
    Fixture *f = *state;
    StoreStatus status;
    Error err;
    connect_server(f);
    assert_int_equal(ask_status(f), GRPC_OK);
    assert_true(status_reply_decode(f->arena, f->response, &status, &err));
    assert_true(status.revision > 0);
}

static void acknowledged_writes_survive_a_restart(void **state)
{
    Fixture *f = *state;
    StoreReply reply;
    Error err;
    connect_server(f);
    put(f, STR("/eden/test"), STR("kept"));
    grpc_client_free(TAKE(f->client));
    close_server(f, 1000);
    open_server(f);
    connect_server(f);
    StoreOp op = { .kind = STORE_RANGE, .key = STR("/eden/test") };
    Buf request = buf_make_in(f->arena, BUF_UNLIMITED);
    txn_request_encode(&(StoreTxn){ .success = &op, .success_count = 1 }, &request);
    assert_int_equal(ask(f, method_rows[METHOD_STORE_TXN].path, buf_str(&request)), GRPC_OK);
    assert_true(txn_reply_decode(f->arena, f->response, &reply, &err));
    assert_true(str_eq(reply.ops[0].kvs[0].value, STR("kept")));
}

/* Revocations are unknown then: all nodes are locked out, and the server continues for
 * operators. */
static void an_unreadable_list_disconnects_all_nodes(void **state)
{
    Fixture *f = *state;
    connect_server(f);
    StoreOp op = { .kind = STORE_PUT,
                   .key = cluster_key_revocations(f->arena, KEYS_PREFIX),
                   .value = STR("x") };
    Buf request = buf_make_in(f->arena, BUF_UNLIMITED);
    txn_request_encode(&(StoreTxn){ .success = &op, .success_count = 1 }, &request);
    (void)ask(f, method_rows[METHOD_STORE_TXN].path, buf_str(&request));
    while (ask_status(f) == GRPC_OK) {
        world_pass(&f->world, 1);
    }
    assert_int_equal(f->failure.kind, ERROR_NONE);
}

static void only_one_runs(void **state)
{
    Fixture *f = *state;
    Server *second;
    Error err;
    ServerOptions options = { .loop = f->world.loop, .state_dir = f->state };
    assert_false(server_open(&options, &second, &err));
    assert_int_equal(err.kind, ERROR_CONFLICT);
    options.state_dir = scratch_place(f->scratch, "nothing");
    assert_false(server_open(&options, &second, &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    assert_non_null(strstr(err.text, "eden init"));
}

static void it_closes_cleanly(void **state)
{
    Fixture *f = *state;
    connect_server(f);
    assert_int_equal(ask_status(f), GRPC_OK);
    close_server(f, 1000);
    assert_true(f->closed);
}

/* A session sends hello, a watch waits; both are told to reconnect before the time is over. */
static void closing_ends_streams(void **state)
{
    Fixture *f = *state;
    Stream session = { 0 }, watch = { 0 };
    Error err;
    connect_server(f);
    Buf hello = buf_make_in(f->arena, BUF_UNLIMITED);
    NodeMessage message = { .kind = NODE_HELLO,
                            .hello = { .protocol = SESSION_PROTOCOL,
                                       .node = STR("s1"),
                                       .boot_id = STR("b"),
                                       .version = STR("1"),
                                       .wall_ms = loop_wall_ms(f->world.loop),
                                       .epoch = 1 } };
    node_message_encode(&message, &hello);
    assert_true(grpc_call_send(open_stream(f, METHOD_SESSION, &session), buf_str(&hello), &err));
    Buf request = buf_make_in(f->arena, BUF_UNLIMITED);
    watch_request_encode(&(StoreWatchSpec){ .key = STR("/eden/test") }, &request);
    GrpcCall *call = open_stream(f, METHOD_STORE_WATCH, &watch);
    assert_true(grpc_call_send(call, buf_str(&request), &err));
    grpc_call_end_sending(call);
    while (session.messages == 0) {
        world_pass(&f->world, 1);
    }
    close_server(f, 60 * 1000);
    while (!session.ended || !watch.ended) {
        world_pass(&f->world, 1);
    }
    assert_int_equal(session.status, GRPC_UNAVAILABLE);
    assert_int_equal(watch.status, GRPC_UNAVAILABLE);
}

static void an_unread_backup_is_abandoned(void **state)
{
    Fixture *f = *state;
    (void)request(f, NULL, "HEAD", "/v1/backup", STR_EMPTY);
    assert_int_equal(request(f, NULL, "GET", "/v1/nodes", STR_EMPTY), 200);
}

/* So many bytes that they are not sent at once. */
static void fill_store(Fixture *f)
{
    for (int i = 0; i < 16; i++) {
        Buf body = buf_make_in(f->arena, BUF_UNLIMITED);
        buf_put_c(&body, "{\"value\":\"");
        for (int k = 0; k < 1 << 20; k++) {
            buf_put_char(&body, 'x');
        }
        buf_put_c(&body, "\"}");
        char target[40];
        snprintf(target, sizeof target, "/v1/store?key=/test/%d", i);
        assert_int_equal(request(f, NULL, "PUT", target, buf_str(&body)), 200);
    }
}

/* The request was recorded, so its end must be. */
static void wait_for_failed_backup(Fixture *f)
{
    const char *outcome = "\"outcome\":\"failed\"";
    do {
        assert_int_equal(request(f, NULL, "GET", "/v1/audit?limit=1", STR_EMPTY), 200);
    } while (strstr(arena_copy_c(f->arena, f->response), outcome) == NULL);
    assert_non_null(strstr(arena_copy_c(f->arena, f->response), "\"kind\":\"Backup\""));
}

static void left(void *context, const HttpResponse *answer, const Error *err)
{
}

static void a_backup_can_be_abandoned_while_it_is_created(void **state)
{
    Fixture *f = *state;
    Error err;
    fill_store(f);
    HttpCallOptions options = { .loop = f->world.loop,
                                .method = "GET",
                                .target = "/v1/backup",
                                .response_max = 1 << 10,
                                .timeout_ms = 10000,
                                .done = left };
    Str path = str_from_c(scratch_place(f->scratch, "socket"));
    assert_true(address_parse(path, 0, &options.address, &err));
    HttpCall *backup = http_call_new(&options);
    const char *asked = "\"kind\":\"Backup\"";
    do {
        assert_int_equal(request(f, NULL, "GET", "/v1/audit?limit=1", STR_EMPTY), 200);
    } while (strstr(arena_copy_c(f->arena, f->response), asked) == NULL);
    http_call_free(backup);
    wait_for_failed_backup(f);
}

static void the_end_of_an_abandoned_backup_is_recorded(void **state)
{
    Fixture *f = *state;
    fill_store(f);
    assert_int_equal(request(f, NULL, "GET", "/v1/backup", STR_EMPTY),
                     0); /* more than it accepts */
    wait_for_failed_backup(f);
}

/* Reads what has arrived of the response; false: it has ended. */
static bool read_some(int peer, Buf *out)
{
    char bytes[64 << 10];
    ssize_t got = recv(peer, bytes, sizeof bytes, MSG_DONTWAIT);
    if (got > 0) {
        buf_put(out, str_from(bytes, (size_t)got));
    }
    return got > 0 || (got < 0 && errno == EAGAIN);
}

static int start_slow_backup(Fixture *f)
{
    static const char text[] = "GET /v1/backup HTTP/1.1\r\nHost: eden\r\n\r\n";
    struct sockaddr_un place = { .sun_family = AF_UNIX };
    int peer = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(place.sun_path, sizeof place.sun_path, "%s", scratch_place(f->scratch, "socket"));
    assert_int_equal(connect(peer, (struct sockaddr *)&place, sizeof place), 0);
    assert_int_equal(send(peer, text, sizeof text - 1, 0), sizeof text - 1);
    return peer;
}

/* The last keys are not read before the large ones are sent. */
static void a_failing_backup_reports_the_reason(void **state)
{
    Fixture *f = *state;
    AUTO_CLEAR(Buf) answer = buf_make(BUF_UNLIMITED);
    StoreStatus status;
    Error err;
    fill_store(f);
    connect_server(f);
    for (int i = 0; i < 60; i++) {
        char key[40];
        snprintf(key, sizeof key, "/test/small/%02d", i);
        put(f, str_from_c(key), STR("1"));
    }
    int peer = start_slow_backup(f);
    while (answer.len == 0) {
        assert_true(read_some(peer, &answer));
        world_pass(&f->world, 1);
    }
    put(f, STR("/test/later"), STR("1"));
    assert_int_equal(ask_status(f), GRPC_OK);
    assert_true(status_reply_decode(f->arena, f->response, &status, &err));
    Buf compact = buf_make_in(f->arena, BUF_UNLIMITED);
    compact_request_encode(status.revision, &compact);
    assert_int_equal(ask(f, method_rows[METHOD_STORE_COMPACT].path, buf_str(&compact)), GRPC_OK);
    while (read_some(peer, &answer)) {
        world_pass(&f->world, 0);
    }
    close(peer);
    Str end = str_from_offset(buf_str(&answer), answer.len - 500);
    assert_true(str_find(end, STR("was compacted beyond revision"), 0) != STR_NOT_FOUND);
    wait_for_failed_backup(f);
}

/* Some name their object only in the body. */
static void the_origin_of_a_certificate_is_recorded(void **state)
{
    Fixture *f = *state;
    assert_int_equal(request(f, NULL, "POST", "/v1/pki/revoke", STR("{\"node\":\"web9\"}")), 404);
    assert_int_equal(request(f, NULL, "GET", "/v1/audit?limit=1", STR_EMPTY), 200);
    assert_non_null(strstr(arena_copy_c(f->arena, f->response), "\"outcome\":\"failed\""));
    assert_non_null(strstr(arena_copy_c(f->arena, f->response), "\"name\":\"web9\""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(a_server_can_use_the_store),
        ROW(acknowledged_writes_survive_a_restart),
        ROW(an_unreadable_list_disconnects_all_nodes),
        ROW(only_one_runs),
        ROW(it_closes_cleanly),
        ROW(closing_ends_streams),
        ROW(an_unread_backup_is_abandoned),
        ROW(a_backup_can_be_abandoned_while_it_is_created),
        ROW(the_end_of_an_abandoned_backup_is_recorded),
        ROW(a_failing_backup_reports_the_reason),
        ROW(the_origin_of_a_certificate_is_recorded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
