/* Replies to a renewal that do not match the request. */
#include "agent/trust.h"

#include "base/log.h"
#include "membership/node_state.h"
#include "net/grpc_server.h"
#include "net/world.h"
#include "pki/ca.h"
#include "pki/csr.h"
#include "pki/trust_notice.h"
#include "rpc/methods.h"
#include "service/pki_message.h"
#include "syncs.h"

typedef enum Bundle {
    BUNDLE_OWN,  /* the CA that the node knows */
    BUNDLE_BOTH, /* and that of another cluster */
    BUNDLE_NODE, /* and a certificate that is not a CA */
} Bundle;

/* The server's reply. */
typedef struct Reply {
    const char *cluster, *node;
    bool other_key, unknown_ca;
    Bundle bundle;
} Reply;

typedef struct Fixture {
    World world;
    Scratch *scratch;
    Arena *arena;
    Credential home, work, unknown; /* CAs: the first and the last of the same cluster */
    GrpcMethod method;
    GrpcServer *server;
    GrpcClient *client;
    Directory directory;
    Trust *trust;
    Reply reply;
    bool answered;
    Error err;
} Fixture;

/* --- The server ------------------------------------------------------------------------------ */

static Certificate issue(Fixture *f, const Credential *ca, const char *cluster, const char *node,
                         const P256Public *key)
{
    Certificate made;
    Error err;
    NodeCertificateSpec grant = { .enrollment = STR("4011223344556677"),
                                  .key = *key,
                                  .now_ms = loop_wall_ms(f->world.loop) };
    assert_true(identity_make(str_from_c(cluster), str_from_c(node), &grant.identity, &err));
    if (!ca_issue_node(f->arena, ca, &grant, &made, &err)) {
        fail_msg("%s", err.text);
    }
    return made;
}

static Str bundle_text(Fixture *f, Bundle bundle, const Certificate *node)
{
    Str own = certificate_pem(f->arena, &f->home.chain.items[0]);
    Str more = bundle == BUNDLE_BOTH   ? certificate_pem(f->arena, &f->work.chain.items[0])
               : bundle == BUNDLE_NODE ? certificate_pem(f->arena, node)
                                       : STR_EMPTY;
    return arena_join(f->arena, own, more, STR_EMPTY);
}

static void request_came(GrpcCall *call, Str message)
{
    Fixture *f = grpc_call_context(call);
    const Reply *reply = &f->reply;
    AUTO(P256Private) *other = NULL;
    P256Public key;
    Str csr;
    Error err;
    assert_true(renew_request_decode(f->arena, message, &csr, &err));
    assert_true(csr_read(csr, &key, &err));
    if (reply->other_key) {
        assert_true(p256_private_make(&other, &err) && p256_public_of(other, &key, &err));
    }
    const Credential *ca = reply->unknown_ca                     ? &f->unknown
                           : strcmp(reply->cluster, "home") == 0 ? &f->home
                                                                 : &f->work;
    Certificate made = issue(f, ca, reply->cluster, reply->node, &key);
    Buf out = buf_make_in(f->arena, BUF_UNLIMITED);
    renew_reply_encode(&(RenewReply){ .certificate = certificate_pem(f->arena, &made),
                                      .bundle = bundle_text(f, reply->bundle, &made) },
                       &out);
    assert_true(grpc_call_send(call, buf_str(&out), &err));
    grpc_call_finish(call, GRPC_OK, STR_EMPTY);
}

static void open_server(Fixture *f, Address *address)
{
    static const GrpcHandler handler = { .message = request_came };
    const MethodRow *row = &method_rows[METHOD_PKI_RENEW];
    GrpcServerOptions options = grpc_server_defaults();
    ListenerOptions listener = listener_defaults();
    const Listener *open;
    Error err;
    f->method = (GrpcMethod){ row->path, row->kind, row->request_max, &handler, NULL };
    options.loop = f->world.loop;
    options.methods = &f->method;
    options.method_count = 1;
    options.context = f;
    f->server = grpc_server_new(&options);
    assert_true(address_parse(str_from_c(scratch_place(f->scratch, "socket")), 0, address, &err));
    assert_true(grpc_server_listen(f->server, &listener, address, &open, &err));
}

/* --- The node -------------------------------------------------------------------------------- */

static void stop(void *context)
{
    Fixture *f = context;
    loop_stop(f->world.loop);
}

static void closed(void *context, const Error *why)
{
    fail_msg("%s", why->text);
}

static GrpcClient *client_of(void *context)
{
    return ((Fixture *)context)->client;
}

static bool report_came(void *context, Str body, Error *err)
{
    return true;
}

static void open_trust(Fixture *f)
{
    Error err;
    TrustOptions options = { .loop = f->world.loop,
                             .directory = &f->directory,
                             .client = client_of,
                             .report = report_came,
                             .context = f };
    if (!trust_open(&options, &f->trust, &err)) {
        fail_msg("%s", err.text);
    }
}

static int set_up(void **state)
{
    scratch_set_up(state);
    Fixture *f = calloc(1, sizeof *f);
    AUTO(P256Private) *key = NULL;
    P256Public public;
    Address address;
    Error err;
    f->scratch = *state;
    f->arena = &f->scratch->arena;
    *state = f;
    world_open(&f->world);
    int64_t now_ms = loop_wall_ms(f->world.loop);
    assert_true(ca_make(f->arena, STR("home"), now_ms, &f->home, &err));
    assert_true(ca_make(f->arena, STR("work"), now_ms, &f->work, &err));
    assert_true(ca_make(f->arena, STR("home"), now_ms, &f->unknown, &err));
    assert_true(p256_private_make(&key, &err) && p256_public_of(key, &public, &err));
    Certificate own = issue(f, &f->home, "home", "web1", &public);
    assert_true(directory_make(scratch_place(f->scratch, "agent"), &f->directory, &err));
    assert_true(
        credential_save(&f->directory, AGENT_CREDENTIAL, key, (CertificateSet){ &own, 1 }, &err));
    assert_true(
        directory_write(&f->directory, AGENT_BUNDLE, bundle_text(f, BUNDLE_OWN, NULL), true, &err));
    open_server(f, &address);
    GrpcClientOptions options = grpc_client_defaults();
    options.loop = f->world.loop;
    options.address = address;
    options.ready = stop;
    options.closed = closed;
    options.context = f;
    f->client = grpc_client_new(&options);
    world_run(&f->world);
    open_trust(f);
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    *state = f->scratch;
    grpc_client_free(f->client);
    grpc_server_free(f->server);
    world_pass(&f->world, 0);
    trust_free(f->trust);
    directory_close(&f->directory);
    world_close(&f->world);
    credential_clear(&f->home);
    credential_clear(&f->work);
    credential_clear(&f->unknown);
    free(f);
    return scratch_tear_down(state);
}

static void renewed(void *context, const Error *err)
{
    Fixture *f = context;
    f->answered = true;
    f->err = err == NULL ? (Error){ 0 } : *err;
    loop_stop(f->world.loop);
}

static void renew(Fixture *f, Reply reply)
{
    f->reply = reply;
    f->answered = false;
    trust_renew(f->trust, renewed, f);
    while (!f->answered) {
        world_run(&f->world);
    }
}

static Str on_disk(Fixture *f, const char *name)
{
    Str text;
    Error err;
    assert_true(directory_read(&f->directory, f->arena, name, AGENT_BUNDLE_MAX, &text, &err));
    return text;
}

/* --- Tests ----------------------------------------------------------------------------------- */

static void unexpected_certificates_are_rejected(void **state)
{
    Fixture *f = *state;
    static const struct {
        Reply reply;
        ErrorKind kind;
        const char *text;
    } rows[] = {
        { { "home", "web2" }, ERROR_DENIED, "for a different node" },
        { { "work", "web1", .bundle = BUNDLE_BOTH }, ERROR_DENIED, "for a different node" },
        { { "home", "web1", .other_key = true }, ERROR_DENIED, "for a different node" },
        { { "home", "web1", .unknown_ca = true }, ERROR_DENIED, "" },
        { { "home", "web1", .bundle = BUNDLE_NODE }, ERROR_INVALID, "is not a CA" },
    };
    Str before = on_disk(f, AGENT_CREDENTIAL);
    for (uint32_t i = 0; i < COUNT_OF(rows); i++) {
        renew(f, rows[i].reply);
        if (f->err.kind != rows[i].kind || strstr(f->err.text, rows[i].text) == NULL) {
            fail_msg("row %u: %s", i, f->err.text);
        }
        assert_true(str_eq(on_disk(f, AGENT_CREDENTIAL), before));
        TrustStatus status = trust_status(f->trust);
        assert_int_equal(status.failures, i + 1);
        assert_string_equal(status.why->text, f->err.text);
    }
    renew(f, (Reply){ "home", "web1" });
    assert_int_equal(f->err.kind, ERROR_NONE);
    assert_false(str_eq(on_disk(f, AGENT_CREDENTIAL), before));
    assert_int_equal(trust_status(f->trust).failures, 0);
    assert_null(trust_status(f->trust).why);
}

/* A node that loses a CA in a power failure cannot connect to any server. */
static void accepted_certificates_are_synced(void **state)
{
    Fixture *f = *state;
    syncs_forget();
    renew(f, (Reply){ "home", "web1", .bundle = BUNDLE_BOTH });
    assert_int_equal(f->err.kind, ERROR_NONE);
    assert_true(is_synced(scratch_place(f->scratch, "agent/" AGENT_BUNDLE)));
    assert_true(is_synced(scratch_place(f->scratch, "agent/" AGENT_CREDENTIAL)));
    Str serial = arena_copy(f->arena, str_from_c(trust_status(f->trust).certificate->serial));
    trust_free(f->trust);
    open_trust(f);
    assert_int_equal(trust_status(f->trust).bundle.count, 2);
    assert_true(str_eq_c(serial, trust_status(f->trust).certificate->serial));
}

static void renewal_waits_until_the_new_ca_signs(void **state)
{
    Fixture *f = *state;
    Buf text = buf_make_in(f->arena, BUF_UNLIMITED);
    TrustNotice notice = { .bundle = bundle_text(f, BUNDLE_BOTH, NULL),
                           .issuer = f->work.chain.items[0].pin,
                           .since_ms = loop_wall_ms(f->world.loop) + 3600 * 1000,
                           .unknown = value_missing() };
    trust_notice_print(&notice, &text);
    trust_notice(f->trust, buf_str(&text));
    RenewalPlan plan = trust_status(f->trust).plan;
    assert_int_equal(plan.state, RENEWAL_WAIT);
    assert_int_equal(plan.due_ms, notice.since_ms);
}

int main(void)
{
    log_set_sink((LogSink){ .level = LOG_LEVEL_OFF }); /* warnings are expected here */
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(unexpected_certificates_are_rejected),
        TEST(accepted_certificates_are_synced),
        TEST(renewal_waits_until_the_new_ca_signs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
