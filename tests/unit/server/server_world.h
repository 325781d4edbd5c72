/* A server with its store on the disk, and clients over TLS. */
#pragma once

#include "cluster/cluster_keys.h"
#include "lang/json.h"
#include "membership/node_record.h"
#include "net/grpc_client.h"
#include "net/http_client.h"
#include "net/world.h"
#include "pki/ca.h"
#include "pki/join_reply.h"
#include "pki/revocation.h"
#include "rpc/access.h"
#include "rpc/session_message.h"
#include "server/create_cluster.h"
#include "server/server.h"
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
    Http2Header protocol; /* sent by clients; empty: not sent */
    HttpCall *http;
    HttpCallField said; /* an additional header of requests; without a name: none */
    int http_status;
} Fixture;

static inline void ready(void *context)
{
    Fixture *f = context;
    f->ready = true;
    loop_stop(f->world.loop);
}

static inline void failed(void *context, const Error *err)
{
    Fixture *f = context;
    f->failure = *err;
    loop_stop(f->world.loop);
}

static inline void open_server(Fixture *f)
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

static inline int set_up(void **state)
{
    scratch_set_up(state);
    Fixture *f = calloc(1, sizeof *f);
    f->scratch = *state;
    *state = f;
    f->arena = &f->scratch->arena;
    f->state = scratch_place(f->scratch, "state");
    f->protocol = (Http2Header){ STR(PROTOCOL_HEADER), STR("1") };
    world_open(&f->world);
    const Str names[] = { STR("localhost") };
    ClusterSpec founding = { .state_dir = f->state,
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
    assert_true(cluster_create(&founding, &pin, &err));
    assert_true(directory_open(scratch_place(f->scratch, "state/server"), &own, &err));
    assert_true(credential_load(&own, SERVER_CA, f->arena, &f->ca, &err));
    open_server(f);
    return 0;
}

static inline void gone(void *context)
{
    Fixture *f = context;
    f->server = NULL;
}

static inline void close_server(Fixture *f, int64_t grace_ms)
{
    server_close(f->server, grace_ms, gone, f);
    while (f->server != NULL) {
        world_pass(&f->world, 1);
    }
}

static inline int tear_down(void **state)
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

/* --- Clients ---------------------------------------------------------------------------------- */

/* A client's credentials; none if `ca` is NULL. */
typedef struct Shown {
    const Credential *ca;
    const char *cluster, *node, *enrollment;
    int64_t made_ms, lifetime_ms; /* relative to now; 0: the default */
} Shown;

static inline void closed(void *context, const Error *why)
{
    Fixture *f = context;
    f->closed = true;
    loop_stop(f->world.loop);
}

static inline void use_material(Fixture *f, const TlsMaterial *material)
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
    options.metadata = &f->protocol;
    options.metadata_count = f->protocol.value.len > 0 ? 1 : 0;
    options.closed = closed;
    options.context = f;
    f->closed = false;
    f->client = grpc_client_new(&options);
}

/* The identity that a client shows; `serial` is that of its certificate. */
static inline TlsMaterial make_material(Fixture *f, Shown shown, Str *serial)
{
    TlsMaterial material = { .ca = certificate_pem(f->arena, &f->ca.chain.items[0]) };
    AUTO(P256Private) *key = NULL;
    KeyText text = { 0 };
    Certificate certificate = { 0 };
    Error err;
    if (shown.ca != NULL) {
        NodeCertificateSpec grant = { .enrollment = str_from_c(shown.enrollment),
                                      .now_ms = loop_wall_ms(f->world.loop) + shown.made_ms,
                                      .lifetime_ms = shown.lifetime_ms };
        assert_true(p256_private_make(&key, &err));
        assert_true(p256_public_of(key, &grant.key, &err));
        assert_true(p256_private_text(key, &text, &err));
        assert_true(identity_make(str_from_c(shown.cluster), str_from_c(shown.node),
                                  &grant.identity, &err));
        if (!ca_issue_node(f->arena, shown.ca, &grant, &certificate, &err)) {
            fail_msg("%s", err.text);
        }
        material.certificate = certificate_pem(f->arena, &certificate);
        material.key = arena_copy(f->arena, str_from(text.text, text.len));
    }
    *serial = arena_copy(f->arena, str_from_c(certificate.serial));
    return material;
}

/* Returns the certificate's serial number. */
static inline Str connect_as(Fixture *f, Shown shown)
{
    Str serial;
    TlsMaterial material = make_material(f, shown, &serial);
    use_material(f, &material);
    return serial;
}

/* As the server's own node. */
static inline void connect_server(Fixture *f)
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

static inline void answered(void *context, GrpcStatus status, Str text, Str response)
{
    Fixture *f = context;
    f->status = status;
    f->response = arena_copy(f->arena, response);
    loop_stop(f->world.loop);
}

static inline GrpcStatus ask(Fixture *f, const char *path, Str request)
{
    Error err;
    f->status = GRPC_OK;
    if (!grpc_client_unary(f->client, path, request, 10000, answered, f, &err)) {
        return GRPC_UNAVAILABLE;
    }
    world_run(&f->world);
    return f->status;
}

static inline GrpcStatus ask_status(Fixture *f)
{
    return ask(f, method_rows[METHOD_STORE_STATUS].path, STR_EMPTY);
}

static inline void put(Fixture *f, Str key, Str value)
{
    StoreOp op = { .kind = STORE_PUT, .key = key, .value = value };
    Buf request = buf_make_in(f->arena, BUF_UNLIMITED);
    txn_request_encode(&(StoreTxn){ .success = &op, .success_count = 1 }, &request);
    assert_int_equal(ask(f, method_rows[METHOD_STORE_TXN].path, buf_str(&request)), GRPC_OK);
}

static inline void put_node(Fixture *f, const char *name, const char *enrollment)
{
    NodeRecord record = { .labels = value_missing() };
    Buf text = buf_make_in(f->arena, BUF_UNLIMITED);
    snprintf(record.name, sizeof record.name, "%s", name);
    snprintf(record.enrollment, sizeof record.enrollment, "%s", enrollment);
    node_record_print(&record, &text);
    connect_server(f);
    put(f, cluster_key_node(f->arena, KEYS_PREFIX, str_from_c(name)), buf_str(&text));
}

/* --- HTTP ------------------------------------------------------------------------------------- */

static inline void http_done(void *context, const HttpResponse *answer, const Error *err)
{
    Fixture *f = context;
    f->http_status = answer == NULL ? 0 : answer->head->status;
    f->response = arena_copy(f->arena, answer == NULL ? str_from_c(err->text) : answer->body);
    loop_stop(f->world.loop);
}

/* Over TLS with the pin of the CA, or over the Unix socket without one. */
static inline int request(Fixture *f, const Pin *pin, const char *method, const char *target,
                          Str body)
{
    HttpCallOptions options = { .loop = f->world.loop,
                                .method = method,
                                .target = target,
                                .content_type = body.len > 0 ? "application/json" : NULL,
                                .body = body,
                                .fields = &f->said,
                                .field_count = f->said.name == NULL ? 0 : 1,
                                .response_max = JOIN_REPLY_MAX,
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

static inline Value answer(Fixture *f)
{
    Value value;
    Error err;
    if (!json_parse_text(f->arena, f->response, NULL, &value, &err)) {
        fail_msg("%s", err.text);
    }
    return value;
}

#define ENROLLMENT "5a000000000000aa"
#define OTHER      "5a000000000000bb"

static inline void revoke_serial(Fixture *f, Str serial)
{
    RevocationList list = { 0 };
    Error err;
    Buf text = buf_make_in(f->arena, BUF_UNLIMITED);
    assert_true(revocation_add_serial(f->arena, &list, serial,
                                      loop_wall_ms(f->world.loop) + PKI_DAY_MS, &err));
    revocation_print(&list, &text);
    put(f, cluster_key_revocations(f->arena, KEYS_PREFIX), buf_str(&text));
}

static inline void make_token(Fixture *f, Token *out)
{
    Error err;
    assert_int_equal(request(f, NULL, "POST", "/v1/tokens", STR("{\"spec\":{}}")), 201);
    const Value *text = value_get(*value_get(answer(f), STR("status")), STR("secret"));
    assert_non_null(text);
    assert_true(token_parse(TOKEN_JOIN, value_str(*text), out, &err));
}

/* --- Long-lived streams ----------------------------------------------------------------------- */

typedef struct Stream {
    uint32_t messages;
    GrpcStatus status;
    bool ended;
} Stream;

static inline void stream_message(GrpcCall *call, Str message)
{
    Stream *stream = grpc_call_data(call);
    stream->messages++;
}

static inline void stream_ended(GrpcCall *call, GrpcStatus status, Str text)
{
    Stream *stream = grpc_call_data(call);
    stream->status = status;
    stream->ended = true;
}

static const GrpcHandler stream_handler = { .message = stream_message, .ended = stream_ended };

static inline GrpcCall *open_stream(Fixture *f, Method method, Stream *stream)
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

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
