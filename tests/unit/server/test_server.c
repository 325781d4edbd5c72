/* A server with its store on the disk, and clients over TLS: who gets what. */
#include "server/server.h"

#include "cluster/cluster_keys.h"
#include "cluster/node_record.h"
#include "lang/json.h"
#include "net/grpc_client.h"
#include "net/http_client.h"
#include "net/world.h"
#include "pki/ca.h"
#include "pki/join_reply.h"
#include "pki/revocation.h"
#include "rpc/access.h"
#include "rpc/session_message.h"
#include "server/founding.h"
#include "service/store_message.h"

typedef struct Fixture {
    World world;
    Scratch *scratch;
    Arena *arena;
    const char *state;
    Server *server;
    Credential ca;
    bool ready, closed;
    Error failure;
    TlsContext *tls;
    GrpcClient *client;
    GrpcStatus status;
    Str response;
    HttpCall *http;
    int http_status;
} Fixture;

static const Http2Header protocol[] = { { { PROTOCOL_HEADER, 13 }, { "1", 1 } } };

static void ready(void *context)
{
    Fixture *f = context;
    f->ready = true;
    loop_stop(f->world.loop);
}

static void failed(void *context, const Error *err)
{
    Fixture *f = context;
    f->failure = *err;
    loop_stop(f->world.loop);
}

static void open_server(Fixture *f)
{
    Error err;
    ServerOptions options = { .loop = f->world.loop,
                              .state_dir = f->state,
                              .socket = scratch_place(f->scratch, "socket"),
                              .ready = ready,
                              .failed = failed,
                              .context = f };
    f->ready = false;
    if (!server_open(&options, &f->server, &err)) {
        fail_msg("%s", err.text);
    }
    world_run(&f->world);
    assert_true(f->ready);
}

static int set_up(void **state)
{
    scratch_set_up(state);
    Fixture *f = calloc(1, sizeof *f);
    f->scratch = *state;
    *state = f;
    f->arena = &f->scratch->arena;
    f->state = scratch_place(f->scratch, "state");
    world_open(&f->world);
    const Str names[] = { STR("localhost") };
    Founding founding = { .state_dir = f->state,
                          .settings = { .cluster = "blue",
                                        .node = "s1",
                                        .rpc = STR("127.0.0.1:0"),
                                        .api = STR("127.0.0.1:0"),
                                        .names = names,
                                        .name_count = 1 },
                          /* So that something can have expired. */
                          .now_ms = loop_wall_ms(f->world.loop) - 2 * 60 * PKI_MINUTE_MS };
    Pin pin;
    Error err;
    AUTO_CLEAR(Directory) own = { .descriptor = -1 };
    assert_true(cluster_found(&founding, &pin, &err));
    assert_true(directory_open(scratch_place(f->scratch, "state/server"), &own, &err));
    assert_true(credential_load(&own, SERVER_CA, f->arena, &f->ca, &err));
    open_server(f);
    return 0;
}

static void gone(void *context)
{
    Fixture *f = context;
    f->server = NULL;
}

static void close_server(Fixture *f, int64_t grace_ms)
{
    server_close(f->server, grace_ms, gone, f);
    while (f->server != NULL) {
        world_pass(&f->world, 1);
    }
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    *state = f->scratch;
    if (f->server != NULL) {
        close_server(f, 0);
    }
    grpc_client_free(f->client);
    http_call_free(f->http);
    world_pass(&f->world, 0);
    tls_context_free(f->tls);
    credential_clear(&f->ca);
    world_close(&f->world);
    free(f);
    return scratch_tear_down(state);
}

/* --- Clients ------------------------------------------------------------------------------------ */

/* What a client shows; nothing when `ca` is NULL. */
typedef struct Shown {
    const Credential *ca;
    const char *cluster, *node, *enrolment;
    int64_t made_ms, life_ms; /* from now; 0: as usual */
} Shown;

static void closed(void *context, const Error *why)
{
    Fixture *f = context;
    f->closed = true;
    loop_stop(f->world.loop);
}

static void use_material(Fixture *f, const TlsMaterial *material)
{
    Error err;
    grpc_client_free(TAKE(f->client));
    tls_context_free(TAKE(f->tls));
    TlsOptions tls = { .role = TLS_CLIENT, .protocol = "h2" };
    if (!tls_context_new(f->world.loop, &tls, material, &f->tls, &err)) {
        fail_msg("%s", err.text);
    }
    GrpcClientOptions options = grpc_client_defaults();
    options.loop = f->world.loop;
    options.address =
        (Address){ .kind = ADDRESS_IP, .port = server_rpc_port(f->server), .host = "127.0.0.1" };
    options.tls = f->tls;
    options.metadata = protocol;
    options.metadata_count = 1;
    options.closed = closed;
    options.context = f;
    f->closed = false;
    f->client = grpc_client_new(&options);
}

/* Returns the certificate's serial number. */
static Str connect_as(Fixture *f, Shown shown)
{
    TlsMaterial material = { .ca = certificate_pem(f->arena, &f->ca.chain.items[0]) };
    AUTO(P256Private) *key = NULL;
    KeyText text = { 0 };
    Certificate certificate = { 0 };
    Error err;
    if (shown.ca != NULL) {
        NodeGrant grant = { .enrolment = str_from_c(shown.enrolment),
                            .now_ms = loop_wall_ms(f->world.loop) + shown.made_ms,
                            .life_ms = shown.life_ms };
        assert_true(p256_private_make(&key, &err));
        assert_true(p256_public_of(key, &grant.key, &err));
        assert_true(p256_private_text(key, &text, &err));
        assert_true(identity_make(str_from_c(shown.cluster), str_from_c(shown.node),
                                  &grant.identity, &err));
        if (!ca_issue_node(f->arena, shown.ca, &grant, &certificate, &err)) {
            fail_msg("%s", err.text);
        }
        material.certificate = certificate_pem(f->arena, &certificate);
        material.key = str_from(text.text, text.len);
    }
    use_material(f, &material);
    return arena_copy(f->arena, str_from_c(certificate.serial));
}

/* As the server's own node. */
static void connect_server(Fixture *f)
{
    AUTO_CLEAR(Directory) agent = { .descriptor = -1 };
    AUTO_CLEAR(Credential) node = { 0 };
    AUTO_CLEAR(KeyText) text = { 0 };
    Error err;
    assert_true(directory_open(scratch_place(f->scratch, "state/agent"), &agent, &err));
    assert_true(credential_load(&agent, AGENT_CREDENTIAL, f->arena, &node, &err));
    assert_true(p256_private_text(node.key, &text, &err));
    use_material(f, &(TlsMaterial){ .certificate = certificate_pem(f->arena, &node.chain.items[0]),
                                    .key = str_from(text.text, text.len),
                                    .ca = certificate_pem(f->arena, &f->ca.chain.items[0]) });
}

static void answered(void *context, GrpcStatus status, Str text, Str response)
{
    Fixture *f = context;
    f->status = status;
    f->response = arena_copy(f->arena, response);
    loop_stop(f->world.loop);
}

static GrpcStatus ask(Fixture *f, const char *path, Str request)
{
    Error err;
    f->status = GRPC_OK;
    if (!grpc_client_unary(f->client, path, request, 10000, answered, f, &err)) {
        return GRPC_UNAVAILABLE;
    }
    world_run(&f->world);
    return f->status;
}

static GrpcStatus ask_status(Fixture *f)
{
    return ask(f, method_rows[METHOD_STORE_STATUS].path, STR_EMPTY);
}

static void put(Fixture *f, Str key, Str value)
{
    StoreOp op = { .kind = STORE_PUT, .key = key, .value = value };
    Buf request = buf_make_in(f->arena, BUF_UNLIMITED);
    txn_request_encode(&(StoreTxn){ .success = &op, .success_count = 1 }, &request);
    assert_int_equal(ask(f, method_rows[METHOD_STORE_TXN].path, buf_str(&request)), GRPC_OK);
}

static void put_node(Fixture *f, const char *name, const char *enrolment)
{
    NodeRecord record = { .labels = value_missing() };
    Buf text = buf_make_in(f->arena, BUF_UNLIMITED);
    snprintf(record.name, sizeof record.name, "%s", name);
    snprintf(record.enrolment, sizeof record.enrolment, "%s", enrolment);
    node_record_print(&record, &text);
    connect_server(f);
    put(f, cluster_key_node(f->arena, STORE_KEYS_PREFIX, str_from_c(name)), buf_str(&text));
}

/* --- HTTP ---------------------------------------------------------------------------------------- */

static void http_done(void *context, const HttpAnswer *answer, const Error *err)
{
    Fixture *f = context;
    f->http_status = answer == NULL ? 0 : answer->head->status;
    f->response = arena_copy(f->arena, answer == NULL ? str_from_c(err->text) : answer->body);
    loop_stop(f->world.loop);
}

/* By TLS under the pin of the CA, or by the Unix socket when there is none. */
static int request(Fixture *f, const Pin *pin, const char *method, const char *target, Str body)
{
    HttpCallOptions options = { .loop = f->world.loop,
                                .method = method,
                                .target = target,
                                .content_type = body.len > 0 ? "application/json" : NULL,
                                .body = body,
                                .answer_max = JOIN_REPLY_MAX,
                                .timeout_ms = 10000,
                                .done = http_done,
                                .context = f };
    char text[PIN_TEXT + 1];
    Error err;
    http_call_free(TAKE(f->http));
    tls_context_free(TAKE(f->tls));
    if (pin == NULL) {
        Str path = str_from_c(scratch_place(f->scratch, "socket"));
        assert_true(address_parse(path, 0, &options.address, &err));
    } else {
        TlsOptions tls = { .role = TLS_CLIENT, .protocol = "http/1.1" };
        pin_text(pin, text);
        assert_true(tls_context_new(f->world.loop, &tls,
                                    &(TlsMaterial){ .ca_pin = str_from_c(text) }, &f->tls, &err));
        options.address = (Address){ .kind = ADDRESS_IP,
                                     .port = server_api_port(f->server),
                                     .host = "127.0.0.1" };
        options.tls = f->tls;
        options.tls_host = "localhost";
    }
    f->http = http_call_new(&options);
    world_run(&f->world);
    return f->http_status;
}

static Value answer(Fixture *f)
{
    Value value;
    Error err;
    if (!json_parse_text(f->arena, f->response, NULL, &value, &err)) {
        fail_msg("%s", err.text);
    }
    return value;
}

#define ENROLMENT "5a000000000000aa"
#define OTHER     "5a000000000000bb"

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

/* Every method there is, and whoever is no server of this cluster. */
static void strangers_get_no_method(void **state)
{
    Fixture *f = *state;
    AUTO_CLEAR(Credential) foreign = { 0 };
    Error err;
    int64_t now_ms = loop_wall_ms(f->world.loop);
    assert_true(ca_make(f->arena, STR("blue"), now_ms, &foreign, &err));
    put_node(f, "web1", ENROLMENT);
    const struct {
        const char *who;
        Shown shown;
        bool gets_in; /* and is told no */
    } callers[] = {
        { "nobody", { 0 }, false },
        { "of a foreign CA", { &foreign, "blue", "web1", ENROLMENT, 0, 0 }, false },
        { "a server's name of a foreign CA", { &foreign, "blue", "s1", ENROLMENT, 0, 0 }, false },
        { "expired", { &f->ca, "blue", "web1", ENROLMENT, -3600000, 600000 }, false },
        { "unknown", { &f->ca, "blue", "web2", ENROLMENT, 0, 0 }, false },
        { "of an older enrolment", { &f->ca, "blue", "web1", OTHER, 0, 0 }, false },
        { "a node", { &f->ca, "blue", "web1", ENROLMENT, 0, 0 }, true },
    };
    for (size_t i = 0; i < COUNT_OF(callers); i++) {
        for (int method = 0; method < METHOD_COUNT; method++) {
            if (callers[i].gets_in &&
                (method_rows[method].callers & (CALLER_NODE | CALLER_SELF)) != 0) {
                continue;
            }
            connect_as(f, callers[i].shown);
            GrpcStatus status = ask(f, method_rows[method].path, STR_EMPTY);
            GrpcStatus wanted = callers[i].gets_in ? GRPC_PERMISSION_DENIED : GRPC_UNAVAILABLE;
            if (status != wanted) {
                fail_msg("%s calls %s: status %d", callers[i].who, method_rows[method].path,
                         status);
            }
        }
    }
}

static void revoke_serial(Fixture *f, Str serial)
{
    RevocationList list = { 0 };
    Error err;
    Buf text = buf_make_in(f->arena, BUF_UNLIMITED);
    assert_true(revocation_add_serial(f->arena, &list, serial,
                                      loop_wall_ms(f->world.loop) + PKI_DAY_MS, &err));
    revocation_print(&list, &text);
    put(f, cluster_key_revocations(f->arena, STORE_KEYS_PREFIX), buf_str(&text));
}

/* It says so itself: an open connection of somebody who is no longer believed. */
static void who_is_revoked_is_cut_off(void **state)
{
    Fixture *f = *state;
    put_node(f, "web1", ENROLMENT);
    Str serial = connect_as(f, (Shown){ &f->ca, "blue", "web1", ENROLMENT, 0, 0 });
    assert_int_equal(ask_status(f), GRPC_PERMISSION_DENIED); /* it is in */
    GrpcClient *web = TAKE(f->client);
    TlsContext *web_tls = TAKE(f->tls);
    connect_server(f);
    f->closed = false;
    revoke_serial(f, serial);
    while (!f->closed) {
        world_pass(&f->world, 1);
    }
    assert_false(grpc_client_is_open(web));
    assert_true(grpc_client_is_open(f->client));
    grpc_client_free(web);
    tls_context_free(web_tls);
}

static void who_is_removed_is_cut_off(void **state)
{
    Fixture *f = *state;
    put_node(f, "web1", ENROLMENT);
    connect_as(f, (Shown){ &f->ca, "blue", "web1", ENROLMENT, 0, 0 });
    assert_int_equal(ask_status(f), GRPC_PERMISSION_DENIED);
    GrpcClient *web = TAKE(f->client);
    TlsContext *web_tls = TAKE(f->tls);
    connect_server(f);
    f->closed = false;
    StoreOp op = { .kind = STORE_DELETE,
                   .key = cluster_key_node(f->arena, STORE_KEYS_PREFIX, STR("web1")) };
    Buf request = buf_make_in(f->arena, BUF_UNLIMITED);
    txn_request_encode(&(StoreTxn){ .success = &op, .success_count = 1 }, &request);
    assert_int_equal(ask(f, method_rows[METHOD_STORE_TXN].path, buf_str(&request)), GRPC_OK);
    while (!f->closed) {
        world_pass(&f->world, 1);
    }
    assert_false(grpc_client_is_open(web));
    grpc_client_free(web);
    tls_context_free(web_tls);
}

/* A list that cannot be read lets nobody in, and says why it stops. */
static void damage_stops_it(void **state)
{
    Fixture *f = *state;
    connect_server(f);
    StoreOp op = { .kind = STORE_PUT,
                   .key = cluster_key_revocations(f->arena, STORE_KEYS_PREFIX),
                   .value = STR("x") };
    Buf request = buf_make_in(f->arena, BUF_UNLIMITED);
    txn_request_encode(&(StoreTxn){ .success = &op, .success_count = 1 }, &request);
    (void)ask(f, method_rows[METHOD_STORE_TXN].path, buf_str(&request));
    while (f->failure.kind == ERROR_NONE) {
        world_pass(&f->world, 1);
    }
    assert_non_null(strstr(f->failure.text, "revocations"));
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

static void make_token(Fixture *f, Token *out)
{
    Error err;
    assert_int_equal(request(f, NULL, "POST", "/v1/tokens", STR("{\"label\":\"test\"}")), 201);
    const Value *text = value_get(answer(f), STR("token"));
    assert_non_null(text);
    assert_true(token_parse(value_str(*text), out, &err));
}

/* From a token to a node that is let in. */
static void a_machine_with_a_token_becomes_a_node(void **state)
{
    Fixture *f = *state;
    AUTO_CLEAR(Token) token;
    AUTO(P256Private) *key = NULL;
    AUTO_CLEAR(KeyText) text = { 0 };
    const Pin *pin = &f->ca.chain.items[0].pin;
    char nonce[JOIN_NONCE_TEXT + 1];
    Str message;
    JoinReply reply;
    JoinGain gain;
    Error err;
    make_token(f, &token);
    assert_true(p256_private_make(&key, &err));
    JoinWish wish = { .name = STR("web1"),
                      .ca = *pin,
                      .token = &token,
                      .key = key,
                      .now_ms = loop_wall_ms(f->world.loop) };
    assert_true(join_request_make(f->arena, &wish, &message, nonce, &err));
    assert_int_equal(request(f, pin, "POST", "/v1/join", message), 200);
    assert_true(join_reply_read(f->arena, f->response, &reply, &err));
    assert_true(join_reply_accept(f->arena, &reply, &wish, nonce, &gain, &err));
    assert_true(p256_private_text(key, &text, &err));
    use_material(f, &(TlsMaterial){ .certificate = certificate_pem(f->arena, &gain.chain.items[0]),
                                    .key = str_from(text.text, text.len),
                                    .ca = certificate_pem(f->arena, &gain.bundle.items[0]) });
    assert_int_equal(ask_status(f), GRPC_PERMISSION_DENIED); /* it is in, and no server */
    grpc_client_free(TAKE(f->client));
    assert_int_equal(request(f, NULL, "GET", "/v1/nodes", STR_EMPTY), 200);
    assert_non_null(strstr(arena_copy_c(f->arena, f->response), "\"web1\""));
}

static void a_server_of_another_ca_is_not_asked(void **state)
{
    Fixture *f = *state;
    Pin wrong = f->ca.chain.items[0].pin;
    wrong.bytes[0] ^= 1;
    assert_int_equal(request(f, &wrong, "GET", "/v1/health", STR_EMPTY), 0);
    assert_int_equal(request(f, &f->ca.chain.items[0].pin, "GET", "/v1/health", STR_EMPTY), 200);
}

static void strangers_get_no_more_than_joining(void **state)
{
    Fixture *f = *state;
    const Pin *pin = &f->ca.chain.items[0].pin;
    assert_int_equal(request(f, pin, "GET", "/v1/nodes", STR_EMPTY), 401);
    assert_int_equal(request(f, pin, "POST", "/v1/tokens", STR("{}")), 401);
    assert_int_equal(request(f, pin, "GET", "/v1/store?key=a", STR_EMPTY), 401);
}

static void it_closes_in_order(void **state)
{
    Fixture *f = *state;
    connect_server(f);
    assert_int_equal(ask_status(f), GRPC_OK);
    close_server(f, 1000);
    assert_true(f->closed);
}

/* --- Streams that last ---------------------------------------------------------------------------- */

typedef struct Stream {
    uint32_t messages;
    GrpcStatus status;
    bool ended;
} Stream;

static void stream_message(GrpcCall *call, Str message)
{
    Stream *stream = grpc_call_data(call);
    stream->messages++;
}

static void stream_ended(GrpcCall *call, GrpcStatus status, Str text)
{
    Stream *stream = grpc_call_data(call);
    stream->status = status;
    stream->ended = true;
}

static const GrpcHandler stream_handler = { .message = stream_message, .ended = stream_ended };

static GrpcCall *open_stream(Fixture *f, Method method, Stream *stream)
{
    const MethodRow *row = &method_rows[method];
    Error err;
    GrpcCall *call;
    if (!grpc_client_start(f->client, row->path, row->kind, &stream_handler, stream, 0, &call,
                           &err)) {
        fail_msg("%s", err.text);
    }
    return call;
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

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(a_server_may_use_the_store),
        ROW(acknowledged_writes_survive_a_restart),
        ROW(strangers_get_no_method),
        ROW(who_is_revoked_is_cut_off),
        ROW(who_is_removed_is_cut_off),
        ROW(damage_stops_it),
        ROW(only_one_runs),
        ROW(it_closes_in_order),
        ROW(closing_ends_streams),
        ROW(a_machine_with_a_token_becomes_a_node),
        ROW(a_server_of_another_ca_is_not_asked),
        ROW(strangers_get_no_more_than_joining),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
