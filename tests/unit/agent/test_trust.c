/* Nodes and a real server on one loop, over TLS: certificates are renewed and revoked, and the CA
 * is rotated while connections are open. */
#include "agent/trust.h"

#include <dlfcn.h>
#include <openssl/x509.h>

#include "lang/json.h"
#include "membership/node_state.h"
#include "net/http_client.h"
#include "net/world.h"
#include "pki/ca.h"
#include "pki/csr.h"
#include "pki/trust_notice.h"
#include "rpc/access.h"
#include "server/create_cluster.h"
#include "server/server.h"
#include "service/pki_message.h"

/* Replaces that of libcrypto, for this program only. */
static bool cannot_sign;

int X509_REQ_sign(X509_REQ *x, EVP_PKEY *pkey, const EVP_MD *md)
{
    int (*real)(X509_REQ *, EVP_PKEY *, const EVP_MD *) = dlsym(RTLD_NEXT, "X509_REQ_sign");
    return cannot_sign ? 0 : real(x, pkey, md);
}

typedef struct Fixture Fixture;

typedef struct Member {
    Fixture *f;
    const char *name;
    Directory directory;
    Trust *trust;
    GrpcClient *client;
    bool open, closed;
    bool asked, answered;
    Error err;
    GrpcStatus status;
    Str response;
    Buf report;           /* the last one */
    int reports, refused; /* how many were received, and how many of them are rejected */
    int looks;            /* for a missing connection */
} Member;

enum {
    S1,
    WEB1,
    MEMBERS
};

struct Fixture {
    World world;
    Scratch *scratch;
    Arena *arena;
    Server *server;
    bool ready;
    HttpCall *http;
    int status;
    Str body;
    Member members[MEMBERS];
};

/* --- The server ------------------------------------------------------------------------------- */

static void ready(void *context)
{
    Fixture *f = context;
    f->ready = true;
    loop_stop(f->world.loop);
}

static void failed(void *context, const Error *err)
{
    fail_msg("%s", err->text);
}

static void gone(void *context)
{
    Fixture *f = context;
    f->server = NULL;
}

static void open_server(Fixture *f)
{
    Error err;
    ServerOptions options = { .loop = f->world.loop,
                              .state_dir = scratch_place(f->scratch, "state"),
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

static void http_done(void *context, const HttpResponse *answer, const Error *err)
{
    Fixture *f = context;
    f->status = answer == NULL ? 0 : answer->head->status;
    f->body = arena_copy(f->arena, answer == NULL ? str_from_c(err->text) : answer->body);
    loop_stop(f->world.loop);
}

/* As an operator. */
static Value ask(Fixture *f, const char *method, const char *target, Str body)
{
    HttpCallOptions options = { .loop = f->world.loop,
                                .method = method,
                                .target = target,
                                .content_type = body.len > 0 ? "application/json" : NULL,
                                .body = body,
                                .response_max = 1 << 20,
                                .timeout_ms = 10000,
                                .done = http_done,
                                .context = f };
    Value answer;
    Error err;
    http_call_free(TAKE(f->http));
    assert_true(
        address_parse(str_from_c(scratch_place(f->scratch, "socket")), 0, &options.address, &err));
    f->http = http_call_new(&options);
    world_run(&f->world);
    if (!json_parse_text(f->arena, f->body, NULL, &answer, &err)) {
        fail_msg("%s", err.text);
    }
    return answer;
}

static Str text_of(Value map, const char *key)
{
    const MapEntry *entry = map_find_str(map.map, str_from_c(key));
    assert_non_null(entry);
    return value_str(entry->value);
}

static Value map_of(Value map, const char *key)
{
    const MapEntry *entry = map_find_str(map.map, str_from_c(key));
    assert_non_null(entry);
    return entry->value;
}

static Str json_of(Fixture *f, Value value)
{
    Buf text = buf_make_in(f->arena, BUF_UNLIMITED);
    Error err;
    assert_true(json_print(&text, value, NULL, &err));
    return buf_str(&text);
}

/* --- Members ---------------------------------------------------------------------------------- */

static GrpcClient *client_of(void *context)
{
    const Member *member = context;
    return member->open && !member->closed ? member->client : NULL;
}

static bool report_came(void *context, Str body, Error *err)
{
    Member *member = context;
    buf_reset(&member->report);
    buf_put(&member->report, body);
    return ++member->reports > member->refused || error_set(err, ERROR_LIMIT, "the outbox is full");
}

static void opened(void *context)
{
    Member *member = context;
    member->open = true;
    loop_stop(member->f->world.loop);
}

static void closed(void *context, const Error *why)
{
    Member *member = context;
    member->closed = true;
    loop_stop(member->f->world.loop);
}

static void connect_member(Member *member)
{
    static const Http2Header protocol[] = { { { PROTOCOL_HEADER, 13 }, { "1", 1 } } };
    Fixture *f = member->f;
    GrpcClientOptions options = grpc_client_defaults();
    grpc_client_free(TAKE(member->client));
    options.loop = f->world.loop;
    options.address =
        (Address){ .kind = ADDRESS_IP, .port = server_rpc_port(f->server), .host = "127.0.0.1" };
    options.tls = trust_tls(member->trust);
    options.metadata = protocol;
    options.metadata_count = 1;
    options.ready = opened;
    options.closed = closed;
    options.context = member;
    member->open = member->closed = false;
    member->client = grpc_client_new(&options);
    world_run(&f->world);
}

static void open_member(Fixture *f, Member *member, const char *place)
{
    Error err;
    if (member->directory.descriptor < 0) {
        assert_true(directory_make(scratch_place(f->scratch, place), &member->directory, &err));
    }
    TrustOptions options = { .loop = f->world.loop,
                             .directory = &member->directory,
                             .client = client_of,
                             .report = report_came,
                             .context = member };
    if (!trust_open(&options, &member->trust, &err)) {
        fail_msg("%s", err.text);
    }
    connect_member(member);
    assert_true(member->open);
}

/* Admits a machine, like `eden pki issue`. */
static void admit(Fixture *f, Member *member, const char *place)
{
    AUTO(P256Private) *key = NULL;
    Map *request = map_new(f->arena, 2);
    Certificate *chain;
    uint32_t count;
    Str csr;
    Error err;
    assert_true(p256_private_make(&key, &err));
    assert_true(csr_make(f->arena, key, &csr, &err));
    map_set_str(f->arena, request, STR("name"), value_string(str_from_c(member->name)));
    map_set_str(f->arena, request, STR("csr"), value_string(csr));
    Value given = ask(f, "POST", "/v1/pki/issue", json_of(f, value_map(request)));
    assert_int_equal(f->status, 200);
    assert_true(
        certificates_from_pem(f->arena, text_of(given, "certificate"), &chain, &count, &err));
    assert_true(directory_make(scratch_place(f->scratch, place), &member->directory, &err));
    assert_true(credential_save(&member->directory, AGENT_CREDENTIAL, key,
                                (CertificateSet){ chain, count }, &err));
    assert_true(
        directory_write(&member->directory, AGENT_BUNDLE, text_of(given, "bundle"), true, &err));
}

static int set_up(void **state)
{
    scratch_set_up(state);
    Fixture *f = calloc(1, sizeof *f);
    const Str names[] = { STR("localhost") };
    Pin pin;
    Error err;
    f->scratch = *state;
    f->arena = &f->scratch->arena;
    *state = f;
    world_open(&f->world);
    ClusterSpec founding = { .state_dir = scratch_place(f->scratch, "state"),
                             .settings = { .cluster = "blue",
                                           .node = "s1",
                                           .rpc = STR("127.0.0.1:0"),
                                           .api = STR("127.0.0.1:0"),
                                           .names = names,
                                           .name_count = 1 },
                             .now_ms = loop_wall_ms(f->world.loop) };
    assert_true(cluster_create(&founding, &pin, &err));
    for (int i = 0; i < MEMBERS; i++) {
        f->members[i] = (Member){ .f = f,
                                  .name = i == S1 ? "s1" : "web1",
                                  .directory = { .descriptor = -1 },
                                  .report = buf_make(TRUST_REPORT_MAX) };
    }
    open_server(f);
    admit(f, &f->members[WEB1], "web1");
    open_member(f, &f->members[S1], "state/agent");
    open_member(f, &f->members[WEB1], "web1");
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    *state = f->scratch;
    for (int i = 0; i < MEMBERS; i++) {
        Member *member = &f->members[i];
        grpc_client_free(member->client);
        world_pass(&f->world, 0);
        trust_free(member->trust);
        directory_close(&member->directory);
        buf_clear(&member->report);
    }
    http_call_free(f->http);
    server_close(f->server, 0, gone, f);
    while (f->server != NULL) {
        world_pass(&f->world, 1);
    }
    world_close(&f->world);
    free(f);
    return scratch_tear_down(state);
}

static void renewed(void *context, const Error *err)
{
    Member *member = context;
    member->answered = true;
    member->err = err == NULL ? (Error){ 0 } : *err;
    loop_stop(member->f->world.loop);
}

static ErrorKind renew(Member *member)
{
    member->answered = false;
    trust_renew(member->trust, renewed, member);
    if (!member->answered) {
        world_run(&member->f->world);
    }
    return member->err.kind;
}

static Str serial_on_disk(Member *member)
{
    AUTO_CLEAR(Credential) kept = { 0 };
    Arena *arena = member->f->arena;
    Error err;
    assert_true(credential_load(&member->directory, AGENT_CREDENTIAL, arena, &kept, &err));
    return arena_copy(arena, str_from_c(kept.chain.items[0].serial));
}

static Value node_in_list(Fixture *f, const char *name)
{
    Value pki = ask(f, "GET", "/v1/pki", STR_EMPTY);
    const List *nodes = map_of(pki, "nodes").list;
    for (uint32_t i = 0; i < nodes->len; i++) {
        if (str_eq_c(text_of(nodes->items[i], "name"), name)) {
            return nodes->items[i];
        }
    }
    fail_msg("no node '%s'", name);
    return value_missing();
}

/* --- Tests ------------------------------------------------------------------------------------ */

static void a_node_renews_over_the_open_connection(void **state)
{
    Fixture *f = *state;
    Member *web = &f->members[WEB1];
    Str first = serial_on_disk(web);
    Pin key = trust_status(web->trust).certificate->pin;
    assert_int_equal(renew(web), ERROR_NONE);
    Str second = serial_on_disk(web);
    assert_false(str_eq(first, second));
    /* The same enrollment, another key; and the record has it. */
    assert_true(
        str_eq(str_slice(first, 0, ENROLLMENT_TEXT), str_slice(second, 0, ENROLLMENT_TEXT)));
    assert_false(pin_equal(&key, &trust_status(web->trust).certificate->pin));
    assert_true(str_eq(text_of(node_in_list(f, "web1"), "serial"), second));
    assert_false(web->closed);
    assert_int_equal(renew(web), ERROR_NONE);
    /* And the next connection uses the new one. */
    connect_member(web);
    assert_true(web->open);
    TrustReport report;
    Error err;
    assert_true(trust_report_read(f->arena, buf_str(&web->report), &report, &err));
    assert_true(str_eq(str_from_c(report.serial), serial_on_disk(web)));
}

static void a_missing_connection_is_reported(void **state)
{
    Fixture *f = *state;
    Member *web = &f->members[WEB1];
    grpc_client_free(TAKE(web->client));
    web->open = false;
    assert_int_equal(renew(web), ERROR_UNAVAILABLE);
}

static void a_renewal_that_cannot_begin_is_reported(void **state)
{
    Fixture *f = *state;
    Member *web = &f->members[WEB1];
    web->answered = false;
    cannot_sign = true;
    trust_renew(web->trust, renewed, web);
    cannot_sign = false;
    assert_true(web->answered);
    assert_int_equal(web->err.kind, ERROR_OS);
}

static void one_renewal_at_a_time(void **state)
{
    Fixture *f = *state;
    Member *web = &f->members[WEB1];
    trust_renew(web->trust, renewed, web);
    assert_false(web->answered);
    trust_renew(web->trust, renewed, web);
    assert_true(web->answered);
    assert_int_equal(web->err.kind, ERROR_CONFLICT);
    web->answered = false;
    while (!web->answered) {
        world_run(&f->world);
    }
    assert_int_equal(web->err.kind, ERROR_NONE);
}

static void a_connection_that_was_just_lost_is_reported(void **state)
{
    Fixture *f = *state;
    Member *web = &f->members[WEB1];
    GrpcClientOptions options = grpc_client_defaults();
    Error err;
    options.loop = f->world.loop;
    options.closed = closed;
    options.context = web;
    assert_true(
        address_parse(str_from_c(scratch_place(f->scratch, "nobody")), 0, &options.address, &err));
    grpc_client_free(TAKE(web->client));
    web->closed = false;
    web->client = grpc_client_new(&options);
    while (!web->closed) {
        world_run(&f->world);
    }
    assert_int_equal(renew(web), ERROR_UNAVAILABLE);
}

static void revoking_a_node_cuts_it_off(void **state)
{
    Fixture *f = *state;
    Member *web = &f->members[WEB1];
    assert_int_equal(renew(web), ERROR_NONE); /* it now has two */
    ask(f, "POST", "/v1/pki/revoke", STR("{\"node\":\"web1\"}"));
    assert_int_equal(f->status, 200);
    while (!web->closed) {
        world_pass(&f->world, 1);
    }
    assert_false(f->members[S1].closed);
    assert_str(text_of(node_in_list(f, "web1"), "state"), "revoked");
    connect_member(web);
    assert_true(!web->open || web->closed);
    ask(f, "POST", "/v1/pki/revoke", STR("{\"node\":\"s1\"}"));
    assert_int_equal(f->status, 409);
    ask(f, "POST", "/v1/pki/revoke", STR("{\"node\":\"web2\"}"));
    assert_int_equal(f->status, 404);
}

static void revoking_one_certificate_leaves_the_next(void **state)
{
    Fixture *f = *state;
    Member *web = &f->members[WEB1];
    Str first = serial_on_disk(web);
    assert_int_equal(renew(web), ERROR_NONE);
    connect_member(web);
    Str body = arena_format(f->arena, "{\"serial\":\"%" STR_FMT "\"}", STR_ARG(first));
    ask(f, "POST", "/v1/pki/revoke", body);
    assert_int_equal(f->status, 200);
    assert_str(text_of(node_in_list(f, "web1"), "state"), "good");
    world_pass(&f->world, 50);
    assert_false(web->closed);
    body = arena_format(f->arena, "{\"serial\":\"%" STR_FMT "\"}", STR_ARG(serial_on_disk(web)));
    ask(f, "POST", "/v1/pki/revoke", body);
    while (!web->closed) {
        world_pass(&f->world, 1);
    }
    ask(f, "POST", "/v1/pki/revoke", STR("{\"serial\":\"4a0000000000000000000000000000aa\"}"));
    assert_int_equal(f->status, 404);
}

static void a_name_is_issued_once(void **state)
{
    Fixture *f = *state;
    AUTO(P256Private) *key = NULL;
    Str csr;
    Error err;
    Map *request = map_new(f->arena, 2);
    assert_true(p256_private_make(&key, &err));
    assert_true(csr_make(f->arena, key, &csr, &err));
    map_set_str(f->arena, request, STR("name"), value_string(STR("web1")));
    map_set_str(f->arena, request, STR("csr"), value_string(csr));
    ask(f, "POST", "/v1/pki/issue", json_of(f, value_map(request)));
    assert_int_equal(f->status, 409);
    map_set_str(f->arena, request, STR("csr"), value_string(STR("none")));
    ask(f, "POST", "/v1/pki/issue", json_of(f, value_map(request)));
    assert_int_equal(f->status, 400);
}

static void invalid_requests_are_rejected(void **state)
{
    Fixture *f = *state;
    static const struct {
        const char *target, *body;
        int status;
    } cases[] = {
        { "/v1/pki/issue", "{\"name\":\"web2\"}", 400 },
        { "/v1/pki/issue", "{\"name\":\"-x\",\"csr\":\"\"}", 400 },
        { "/v1/pki/revoke", "{}", 400 },
        { "/v1/pki/revoke", "{\"node\":\"web1\",\"serial\":\"aa\"}", 400 },
        { "/v1/pki/revoke", "{\"serial\":\"aa\"}", 400 },
        { "/v1/pki/renew", "{\"certificate\":\"ca\"}", 400 },
        { "/v1/pki/rotate", "{\"action\":\"end\"}", 400 },
        { "/v1/pki/rotate", "{\"action\":\"without\"}", 400 },
        { "/v1/pki/rotate", "{\"action\":\"begin\",\"node\":\"web1\"}", 400 },
        { "/v1/pki/rotate", "{\"action\":\"abort\"}", 409 },
        { "/v1/pki/rotate", "{\"action\":\"without\",\"node\":\"web1\"}", 409 },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        ask(f, "POST", cases[i].target, str_from_c(cases[i].body));
        if (f->status != cases[i].status) {
            fail_msg("%s %s: status %d", cases[i].target, cases[i].body, f->status);
        }
    }
}

static void renew_answered(void *context, GrpcStatus status, Str text, Str response)
{
    Member *member = context;
    member->status = status;
    loop_stop(member->f->world.loop);
}

/* Every caller gets a certificate for its own name, whatever the request contains. */
static void a_node_cannot_renew_for_another(void **state)
{
    Fixture *f = *state;
    Member *web = &f->members[WEB1];
    Error err;
    assert_true(grpc_client_unary(web->client, method_rows[METHOD_PKI_RENEW].path,
                                  STR("\x0a\x02s1\x12\x01x"), 10000, renew_answered, web, &err));
    world_run(&f->world);
    assert_int_equal(web->status, GRPC_PERMISSION_DENIED);
    assert_true(grpc_client_unary(web->client, method_rows[METHOD_PKI_RENEW].path, STR("\x12\x01x"),
                                  10000, renew_answered, web, &err));
    world_run(&f->world);
    assert_int_equal(web->status, GRPC_INVALID_ARGUMENT);
}

/* What a session would carry: the notice down, reports up. */
static void carry(Fixture *f)
{
    for (int i = 0; i < MEMBERS; i++) {
        Member *member = &f->members[i];
        Value notice = ask(f, "GET", "/v1/store?key=/eden/internal/pki/trust", STR_EMPTY);
        trust_notice(member->trust, text_of(notice, "value"));
        world_pass(&f->world, 20);
        Map *body = map_new(f->arena, 1);
        map_set_str(f->arena, body, STR("value"), value_string(buf_str(&member->report)));
        const char *target =
            arena_format(f->arena, "/v1/store?key=/eden/trust/%s%c", member->name, '\0').data;
        ask(f, "PUT", target, json_of(f, value_map(body)));
        assert_int_equal(f->status, 200);
    }
}

static Str rotation_state(Fixture *f)
{
    return text_of(map_of(ask(f, "GET", "/v1/pki", STR_EMPTY), "rotation"), "state");
}

static void the_ca_is_rotated_while_all_stay_connected(void **state)
{
    Fixture *f = *state;
    Member *web = &f->members[WEB1];
    Pin before = trust_status(web->trust).bundle.items[0].pin;
    ask(f, "POST", "/v1/pki/rotate", STR("{\"action\":\"begin\"}"));
    assert_int_equal(f->status, 200);
    int rounds = 0;
    do {
        carry(f);
        world_pass(&f->world, 100);
        assert_true(rounds++ < 200);
    } while (!str_eq_c(rotation_state(f), "steady"));
    for (int i = 0; i < MEMBERS; i++) {
        Member *member = &f->members[i];
        TrustStatus status = trust_status(member->trust);
        assert_false(member->closed);
        assert_int_equal(status.bundle.count, 1);
        assert_false(pin_equal(&status.bundle.items[0].pin, &before));
        assert_true(certificate_names_issuer(status.certificate, &status.bundle.items[0].pin));
        connect_member(member); /* both sides use certificates of the next CA */
        assert_true(member->open);
    }
}

static void an_invalid_notice_changes_nothing(void **state)
{
    Fixture *f = *state;
    Member *web = &f->members[WEB1];
    Pin before = trust_status(web->trust).bundle.items[0].pin;
    trust_notice(web->trust, STR("{}"));
    trust_notice(web->trust, STR(""));
    trust_notice(web->trust, STR("{\"format\":\"eden.trust/2\"}"));
    assert_true(pin_equal(&before, &trust_status(web->trust).bundle.items[0].pin));
}

/* The response arrives after the caller is gone. */
static void it_can_be_freed_during_a_request(void **state)
{
    Fixture *f = *state;
    Member *web = &f->members[WEB1];
    trust_renew(web->trust, renewed, web);
    /* A client must not outlive the TLS context it uses before it is connected; this one is
     * connected. */
    trust_free(TAKE(web->trust));
    world_pass(&f->world, 100);
    assert_false(web->answered);
    open_member(f, web, "web1");
}

static void a_report_is_repeated_until_accepted(void **state)
{
    Fixture *f = *state;
    Member *web = &f->members[WEB1];
    AUTO(Loop) *loop = loop_new_virtual(1);
    TrustOptions options = { .loop = loop,
                             .directory = &web->directory,
                             .client = client_of,
                             .report = report_came,
                             .context = web };
    Trust *trust;
    Error err;
    assert_true(trust_open(&options, &trust, &err));
    web->reports = 0;
    web->refused = 2;
    loop_run_virtual_until(loop, loop_now_ms(loop) + 1000);
    assert_int_equal(web->reports, 1);
    loop_run_virtual_until(loop, loop_now_ms(loop) + 59000);
    assert_int_equal(web->reports, 3);
    trust_free(trust);
}

static GrpcClient *no_client_yet(void *context)
{
    Member *member = context;
    member->looks++;
    return NULL;
}

static void a_connection_is_used_at_once_when_renewal_is_due(void **state)
{
    Fixture *f = *state;
    Member *web = &f->members[WEB1];
    AUTO(Loop) *loop = loop_new_virtual(1);
    loop_virtual_set_wall(loop, trust_status(web->trust).certificate->not_after_ms - 1000000);
    TrustOptions options = { .loop = loop,
                             .directory = &web->directory,
                             .client = no_client_yet,
                             .report = report_came,
                             .context = web };
    Trust *trust;
    Error err;
    assert_true(trust_open(&options, &trust, &err));
    loop_run_virtual_until(loop, loop_now_ms(loop) + 10);
    assert_int_equal(web->looks, 1);
    loop_run_virtual_until(loop, loop_now_ms(loop) + 10);
    assert_int_equal(web->looks, 1); /* it waits for one */
    trust_connected(trust);
    loop_run_virtual_until(loop, loop_now_ms(loop) + 10);
    assert_int_equal(web->looks, 2);
    trust_free(trust);
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(a_node_renews_over_the_open_connection),
        ROW(a_missing_connection_is_reported),
        ROW(a_renewal_that_cannot_begin_is_reported),
        ROW(one_renewal_at_a_time),
        ROW(a_connection_that_was_just_lost_is_reported),
        ROW(revoking_a_node_cuts_it_off),
        ROW(revoking_one_certificate_leaves_the_next),
        ROW(a_name_is_issued_once),
        ROW(invalid_requests_are_rejected),
        ROW(a_node_cannot_renew_for_another),
        ROW(the_ca_is_rotated_while_all_stay_connected),
        ROW(an_invalid_notice_changes_nothing),
        ROW(it_can_be_freed_during_a_request),
        ROW(a_report_is_repeated_until_accepted),
        ROW(a_connection_is_used_at_once_when_renewal_is_due),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
