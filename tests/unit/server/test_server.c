/* A server with its store on the disk: it starts, keeps what it was given, and ends in order. */
#include <dirent.h>
#include <unistd.h>

#include "server_world.h"

/* --- Tests -------------------------------------------------------------------------------------- */

static void a_server_may_use_the_store(void **state)
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

/* Who is revoked is not known then: all are out, and the server goes on for operators. */
static void a_list_that_cannot_be_read_cuts_off_everybody(void **state)
{
    Fixture *f = *state;
    connect_server(f);
    StoreOp op = { .kind = STORE_PUT,
                   .key = cluster_key_revocations(f->arena, STORE_KEYS_PREFIX),
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

static void it_closes_in_order(void **state)
{
    Fixture *f = *state;
    connect_server(f);
    assert_int_equal(ask_status(f), GRPC_OK);
    close_server(f, 1000);
    assert_true(f->closed);
}

/* A session greets, a watch waits; both are told to go elsewhere before the time is over. */
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

/* Whether a snapshot of the store is open in this process. */
static bool holds_snapshot(void)
{
    bool found = false;
    DIR *all = opendir("/proc/self/fd");
    const struct dirent *entry;
    assert_non_null(all);
    while ((entry = readdir(all)) != NULL) {
        char path[512] = "";
        ssize_t len = readlinkat(dirfd(all), entry->d_name, path, sizeof path - 1);
        found = found || (len > 0 && strstr(path, "/backup-") != NULL);
    }
    closedir(all);
    return found;
}

static void a_backup_that_nobody_takes_is_let_go(void **state)
{
    Fixture *f = *state;
    (void)request(f, NULL, "HEAD", "/v1/backup", STR_EMPTY);
    assert_false(holds_snapshot());
}

/* So many bytes that a snapshot of them takes a while, and does not go out at once. */
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

static bool has_snapshot(const Fixture *f)
{
    bool found = false;
    DIR *all = opendir(scratch_place(f->scratch, "state/server"));
    const struct dirent *entry;
    assert_non_null(all);
    while ((entry = readdir(all)) != NULL) {
        found = found || strncmp(entry->d_name, "backup-", 7) == 0;
    }
    closedir(all);
    return found;
}

/* That it was asked for is recorded, so its end must be. */
static void wait_for_failed_backup(Fixture *f)
{
    const char *outcome = "\"outcome\":\"failed\"";
    do {
        assert_int_equal(request(f, NULL, "GET", "/v1/audit?limit=1", STR_EMPTY), 200);
    } while (strstr(arena_copy_c(f->arena, f->response), outcome) == NULL);
    assert_non_null(strstr(arena_copy_c(f->arena, f->response), "\"kind\":\"Backup\""));
}

static void a_backup_may_be_left_while_it_is_made(void **state)
{
    Fixture *f = *state;
    Error err;
    fill_store(f);
    HttpCallOptions options = { .loop = f->world.loop,
                                .method = "GET",
                                .target = "/v1/backup",
                                .answer_max = 1 << 10,
                                .timeout_ms = 10000,
                                .done = http_done,
                                .context = f };
    Str path = str_from_c(scratch_place(f->scratch, "socket"));
    assert_true(address_parse(path, 0, &options.address, &err));
    http_call_free(TAKE(f->http));
    f->http = http_call_new(&options);
    while (!has_snapshot(f)) {
        world_pass(&f->world, 0);
    }
    http_call_free(TAKE(f->http));
    wait_for_failed_backup(f);
    assert_false(holds_snapshot());
}

static void the_end_of_a_backup_that_was_left_is_recorded(void **state)
{
    Fixture *f = *state;
    fill_store(f);
    assert_int_equal(request(f, NULL, "GET", "/v1/backup", STR_EMPTY), 0); /* more than it takes */
    wait_for_failed_backup(f);
    assert_false(holds_snapshot());
}

/* Some name what they are about in their body only. */
static void what_a_certificate_was_taken_from_is_recorded(void **state)
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
        ROW(a_server_may_use_the_store),
        ROW(acknowledged_writes_survive_a_restart),
        ROW(a_list_that_cannot_be_read_cuts_off_everybody),
        ROW(only_one_runs),
        ROW(it_closes_in_order),
        ROW(closing_ends_streams),
        ROW(a_backup_that_nobody_takes_is_let_go),
        ROW(a_backup_may_be_left_while_it_is_made),
        ROW(the_end_of_a_backup_that_was_left_is_recorded),
        ROW(what_a_certificate_was_taken_from_is_recorded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
