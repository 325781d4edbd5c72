/* What a server gives to which clients, over real TLS. Tests are named after what they show:
 * docs/security.md refers to them. */
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>

#include "server_world.h"

/* --- Every method, every caller --------------------------------------------------------------- */

/* Calls it once, on a separate connection. */
static GrpcStatus call_as(Fixture *f, const TlsMaterial *material, int method, Str message)
{
    use_material(f, material);
    return ask(f, method_rows[method].path, message);
}

static void expect_none(Fixture *f, const char *who, const TlsMaterial *material)
{
    for (int method = 0; method < METHOD_COUNT; method++) {
        GrpcStatus status = call_as(f, material, method, STR_EMPTY);
        if (status != GRPC_UNAVAILABLE) {
            fail_msg("%s calls %s: status %d", who, method_rows[method].path, status);
        }
    }
}

static TlsMaterial material_of(Fixture *f, Shown shown)
{
    Str serial;
    return make_material(f, shown, &serial);
}

/* Covers the rows of methods.def automatically: no certificate, one from a foreign CA, expired, of
 * an unknown node, of another cluster, of an earlier enrollment. None gets past the handshake. */
static void every_method_is_closed_to_unauthenticated_clients(void **state)
{
    Fixture *f = *state;
    AUTO_CLEAR(Credential) foreign = { 0 };
    AUTO_CLEAR(Credential) green = { 0 };
    Error err;
    assert_true(ca_make(f->arena, STR("blue"), loop_wall_ms(f->world.loop), &foreign, &err));
    assert_true(ca_make(f->arena, STR("green"), loop_wall_ms(f->world.loop), &green, &err));
    put_node(f, "web1", ENROLLMENT);
    const struct {
        const char *who;
        Shown shown;
    } callers[] = {
        { "nobody", { 0 } },
        { "a node of a foreign CA", { &foreign, "blue", "web1", ENROLLMENT, 0, 0 } },
        { "a server of a foreign CA", { &foreign, "blue", "s1", ENROLLMENT, 0, 0 } },
        { "one that has expired", { &f->ca, "blue", "web1", ENROLLMENT, -3600000, 600000 } },
        { "one that is not yet good", { &f->ca, "blue", "web1", ENROLLMENT, 3600000, 600000 } },
        { "somebody unknown", { &f->ca, "blue", "web2", ENROLLMENT, 0, 0 } },
        { "a node of another cluster", { &green, "green", "web1", ENROLLMENT, 0, 0 } },
        { "one of an older enrollment", { &f->ca, "blue", "web1", OTHER, 0, 0 } },
    };
    for (size_t i = 0; i < COUNT_OF(callers); i++) {
        TlsMaterial material = material_of(f, callers[i].shown);
        expect_none(f, callers[i].who, &material);
    }
}

static void every_method_is_closed_to_revoked_nodes(void **state)
{
    Fixture *f = *state;
    Str serial;
    put_node(f, "web1", ENROLLMENT);
    TlsMaterial material =
        make_material(f, (Shown){ &f->ca, "blue", "web1", ENROLLMENT, 0, 0 }, &serial);
    /* It would be accepted, */
    assert_int_equal(call_as(f, &material, METHOD_STORE_STATUS, STR_EMPTY), GRPC_PERMISSION_DENIED);
    connect_server(f);
    revoke_serial(f, serial);
    expect_none(f, "one that is revoked", &material);
}

static void every_method_is_closed_to_the_wrong_role(void **state)
{
    Fixture *f = *state;
    put_node(f, "web1", ENROLLMENT);
    TlsMaterial node = material_of(f, (Shown){ &f->ca, "blue", "web1", ENROLLMENT, 0, 0 });
    for (int method = 0; method < METHOD_COUNT; method++) {
        const MethodRow *row = &method_rows[method];
        if ((row->callers & (CALLER_NODE | CALLER_SELF)) == 0 &&
            call_as(f, &node, method, STR_EMPTY) != GRPC_PERMISSION_DENIED) {
            fail_msg("a node calls %s: status %d", row->path, f->status);
        }
    }
    use_material(f, &node);
    assert_int_equal(ask(f, "/eden.v1.Store/Nothing", STR_EMPTY), GRPC_UNIMPLEMENTED);
}

static Str hello_of(Fixture *f, Str node, uint32_t version)
{
    Buf hello = buf_make_in(f->arena, BUF_UNLIMITED);
    node_message_encode(&(NodeMessage){ .kind = NODE_HELLO,
                                        .hello = { .protocol = version,
                                                   .node = node,
                                                   .boot_id = STR("b"),
                                                   .version = STR("1"),
                                                   .wall_ms = loop_wall_ms(f->world.loop),
                                                   .epoch = 1 } },
                        &hello);
    return buf_str(&hello);
}

/* A stream that starts with this message ends with this status. */
static GrpcStatus greet(Fixture *f, Str message)
{
    Stream stream = { 0 };
    Error err;
    assert_true(grpc_call_send(open_stream(f, METHOD_SESSION, &stream), message, &err));
    while (!stream.ended && stream.messages == 0) {
        world_pass(&f->world, 1);
    }
    GrpcStatus status = stream.ended ? stream.status : GRPC_OK;
    grpc_client_free(TAKE(f->client));
    return status;
}

/* CVE-2024-38822, CVE-2013-2275: whatever a message claims about its sender. */
static void identity_is_taken_from_the_certificate_alone(void **state)
{
    Fixture *f = *state;
    put_node(f, "web1", ENROLLMENT);
    put_node(f, "web2", OTHER);
    TlsMaterial node = material_of(f, (Shown){ &f->ca, "blue", "web1", ENROLLMENT, 0, 0 });
    for (int method = 0; method < METHOD_COUNT; method++) {
        const MethodRow *row = &method_rows[method];
        GrpcStatus status;
        if (method == METHOD_BLOBS_GET || method == METHOD_NODES_LIST) {
            continue; /* names no node: every node reads the same files, and the same list */
        }
        if (method == METHOD_SESSION) {
            use_material(f, &node);
            status = greet(f, hello_of(f, STR("web2"), SESSION_PROTOCOL));
        } else {
            /* The first field of a message is the name of the node that it is about. */
            status = call_as(f, &node, method, STR("\x0a\x04web2"));
        }
        if (status != GRPC_PERMISSION_DENIED) {
            fail_msg("web1 calls %s as web2: status %d", row->path, status);
        }
    }
    use_material(f, &node);
    assert_int_equal(greet(f, hello_of(f, STR("web1"), SESSION_PROTOCOL)), GRPC_OK);
}

/* --- Certificates ----------------------------------------------------------------------------- */

/* It presents the key of the certificate, but owns another one. */
static Str forged_key(Fixture *f, Str shown, Str own)
{
    EVP_PKEY *keys[2];
    const Str texts[] = { shown, own };
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        BIO *bio = BIO_new_mem_buf(texts[i].data, (int)texts[i].len);
        keys[i] = PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL);
        assert_non_null(keys[i]);
        BIO_free(bio);
    }
    unsigned char point[P256_PUBLIC_BYTES];
    size_t len;
    BIGNUM *secret = NULL;
    assert_int_equal(EVP_PKEY_get_octet_string_param(keys[0], OSSL_PKEY_PARAM_PUB_KEY, point,
                                                     sizeof point, &len),
                     1);
    assert_int_equal(EVP_PKEY_get_bn_param(keys[1], OSSL_PKEY_PARAM_PRIV_KEY, &secret), 1);
    OSSL_PARAM_BLD *parts = OSSL_PARAM_BLD_new();
    OSSL_PARAM_BLD_push_utf8_string(parts, OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0);
    OSSL_PARAM_BLD_push_octet_string(parts, OSSL_PKEY_PARAM_PUB_KEY, point, len);
    OSSL_PARAM_BLD_push_BN(parts, OSSL_PKEY_PARAM_PRIV_KEY, secret);
    OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(parts);
    EVP_PKEY_CTX *maker = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
    EVP_PKEY *forged = NULL;
    assert_int_equal(EVP_PKEY_fromdata_init(maker), 1);
    assert_int_equal(EVP_PKEY_fromdata(maker, &forged, EVP_PKEY_KEYPAIR, params), 1);
    BIO *out = BIO_new(BIO_s_mem());
    char *data;
    assert_int_equal(PEM_write_bio_PrivateKey(out, forged, NULL, NULL, 0, NULL, NULL), 1);
    long size = BIO_get_mem_data(out, &data);
    Str text = arena_copy(f->arena, str_from(data, (size_t)size));
    BIO_free(out);
    EVP_PKEY_free(forged);
    EVP_PKEY_CTX_free(maker);
    OSSL_PARAM_free(params);
    OSSL_PARAM_BLD_free(parts);
    BN_free(secret);
    EVP_PKEY_free(keys[0]);
    EVP_PKEY_free(keys[1]);
    return text;
}

/* CVE-2024-38825: certificates are not secret. */
static void certificate_without_its_key_gives_no_access(void **state)
{
    Fixture *f = *state;
    const Shown shown = { &f->ca, "blue", "web1", ENROLLMENT, 0, 0 };
    put_node(f, "web1", ENROLLMENT);
    TlsMaterial node = material_of(f, shown), other = material_of(f, shown);
    assert_int_equal(call_as(f, &node, METHOD_STORE_STATUS, STR_EMPTY), GRPC_PERMISSION_DENIED);
    TlsMaterial forged = node;
    forged.key = forged_key(f, node.key, other.key);
    expect_none(f, "one without its key", &forged);
}

static TlsMaterial credential_of(Fixture *f, const char *name)
{
    AUTO_CLEAR(Directory) own = { .descriptor = -1 };
    AUTO_CLEAR(Credential) credential = { 0 };
    KeyText text = { 0 };
    Error err;
    assert_true(directory_open(scratch_place(f->scratch, "state/server"), &own, &err));
    assert_true(credential_load(&own, name, f->arena, &credential, &err));
    assert_true(p256_private_text(credential.key, &text, &err));
    return (TlsMaterial){ .certificate = certificate_pem(f->arena, &credential.chain.items[0]),
                          .key = arena_copy(f->arena, str_from(text.text, text.len)),
                          .ca = certificate_pem(f->arena, &f->ca.chain.items[0]) };
}

/* Of a user with the same name as a node. */
static TlsMaterial material_of_user(Fixture *f, const char *name)
{
    AUTO(P256Private) *key = NULL;
    AUTO_CLEAR(KeyText) text = { 0 };
    Certificate made;
    UserCertificateSpec grant = { .now_ms = loop_wall_ms(f->world.loop) };
    Error err;
    assert_true(p256_private_make(&key, &err));
    assert_true(p256_public_of(key, &grant.key, &err));
    assert_true(p256_private_text(key, &text, &err));
    assert_true(user_identity_make(STR("blue"), str_from_c(name), &grant.identity, &err));
    assert_true(ca_issue_user(f->arena, &f->ca, &grant, &made, &err));
    return (TlsMaterial){ .certificate = certificate_pem(f->arena, &made),
                          .key = arena_copy(f->arena, str_from(text.text, text.len)),
                          .ca = certificate_pem(f->arena, &f->ca.chain.items[0]) };
}

/* CVE-2021-37219: certificates of the same CA for another purpose. */
static void other_certificates_give_no_access_to_the_node_port(void **state)
{
    Fixture *f = *state;
    TlsMaterial serving = credential_of(f, SERVER_SERVING), ca = credential_of(f, SERVER_CA);
    expect_none(f, "the certificate of the API", &serving);
    expect_none(f, "the CA itself", &ca);
    put_node(f, "web1", ENROLLMENT);
    TlsMaterial user = material_of_user(f, "web1"), server = material_of_user(f, "s1");
    expect_none(f, "a user", &user);
    expect_none(f, "a user called like the server", &server);
}

/* CVE-2021-3144, CVE-2022-22967: also on an open connection. */
static void a_certificate_that_expires_meanwhile_gives_no_access(void **state)
{
    Fixture *f = *state;
    put_node(f, "web1", ENROLLMENT);
    /* It started a minute ago, and is valid for three more seconds. */
    TlsMaterial node = material_of(
        f, (Shown){ &f->ca, "blue", "web1", ENROLLMENT, -PKI_MINUTE_MS, PKI_MINUTE_MS + 3000 });
    use_material(f, &node);
    assert_int_equal(ask_status(f), GRPC_PERMISSION_DENIED); /* it is connected */
    assert_int_equal(ask(f, method_rows[METHOD_PKI_RENEW].path, STR_EMPTY), GRPC_INVALID_ARGUMENT);
    /* Calls beyond the rate of renewals are limited, but the node stays connected. */
    while (ask(f, method_rows[METHOD_PKI_RENEW].path, STR_EMPTY) == GRPC_INVALID_ARGUMENT ||
           f->status == GRPC_RESOURCE_EXHAUSTED) {
        world_pass(&f->world, 20);
    }
    assert_true(f->status == GRPC_PERMISSION_DENIED || f->status == GRPC_UNAVAILABLE);
    assert_int_equal(call_as(f, &node, METHOD_PKI_RENEW, STR_EMPTY), GRPC_UNAVAILABLE);
}

/* --- Versions --------------------------------------------------------------------------------- */

/* CVE-2025-62349: there is only one version, and no downgrade. */
static void older_protocols_are_rejected(void **state)
{
    Fixture *f = *state;
    static const char *const versions[] = { "", "0", "1.0", "01x", "-1", "99999999999" };
    TlsMaterial own = credential_of(f, SERVER_NODE);
    for (size_t i = 0; i < COUNT_OF(versions); i++) {
        f->protocol.value = str_from_c(versions[i]);
        for (int method = 0; method < METHOD_COUNT; method++) {
            GrpcStatus status = call_as(f, &own, method, STR_EMPTY);
            if (status != GRPC_FAILED_PRECONDITION) {
                fail_msg("%s with protocol '%s': status %d", method_rows[method].path, versions[i],
                         status);
            }
        }
    }
    f->protocol.value = STR("1");
    use_material(f, &own);
    GrpcStatus status = greet(f, hello_of(f, STR("s1"), 0));
    assert_true(status != GRPC_OK && status != GRPC_UNAVAILABLE);
    /* And for joining. */
    const Pin *pin = &f->ca.chain.items[0].pin;
    assert_int_equal(request(f, pin, "POST", "/v1/join", STR("{\"format\":\"eden.join/0\"}")), 400);
    assert_non_null(strstr(arena_copy_c(f->arena, f->response), "expected 'eden.join/1'"));
}

/* --- Joining ---------------------------------------------------------------------------------- */

typedef struct Joiner {
    P256Private *key;
    Token token;
    JoinParams requested;
    char nonce[JOIN_NONCE_TEXT + 1];
    Str message;
} Joiner;

/* A machine that is about to request the name "web1". */
static Joiner make_joiner(Fixture *f, bool with_token)
{
    Joiner joiner = { 0 };
    Error err;
    if (with_token) {
        make_token(f, &joiner.token);
    }
    assert_true(p256_private_make(&joiner.key, &err));
    joiner.requested = (JoinParams){ .name = STR("web1"),
                                     .ca = f->ca.chain.items[0].pin,
                                     .key = joiner.key,
                                     .now_ms = loop_wall_ms(f->world.loop) };
    return joiner;
}

static int post_join(Fixture *f, Joiner *joiner)
{
    Error err;
    joiner->requested.token = joiner->token.id[0] == '\0' ? NULL : &joiner->token;
    assert_true(
        join_request_make(f->arena, &joiner->requested, &joiner->message, joiner->nonce, &err));
    return request(f, &joiner->requested.ca, "POST", "/v1/join", joiner->message);
}

/* Its credentials then, to be admitted. */
static TlsMaterial admission_of(Fixture *f, const Joiner *joiner)
{
    JoinReply reply;
    JoinAdmission admission;
    KeyText text = { 0 };
    Error err;
    assert_true(join_reply_read(f->arena, f->response, &reply, &err));
    if (!join_reply_accept(f->arena, &reply, &joiner->requested, joiner->nonce, &admission, &err)) {
        fail_msg("%s", err.text);
    }
    assert_true(p256_private_text(joiner->key, &text, &err));
    return (TlsMaterial){ .certificate = certificate_pem(f->arena, &admission.chain.items[0]),
                          .key = arena_copy(f->arena, str_from(text.text, text.len)),
                          .ca = certificate_pem(f->arena, &admission.bundle.items[0]) };
}

static void joiner_clear(Joiner *joiner)
{
    p256_private_free(joiner->key);
    token_clear(&joiner->token);
}

/* From a token to an admitted node. */
static void a_machine_with_a_token_becomes_a_node(void **state)
{
    Fixture *f = *state;
    Joiner joiner = make_joiner(f, true);
    assert_int_equal(post_join(f, &joiner), 200);
    TlsMaterial node = admission_of(f, &joiner);
    assert_int_equal(call_as(f, &node, METHOD_STORE_STATUS, STR_EMPTY), GRPC_PERMISSION_DENIED);
    grpc_client_free(TAKE(f->client));
    assert_int_equal(request(f, NULL, "GET", "/v1/nodes", STR_EMPTY), 200);
    assert_non_null(strstr(arena_copy_c(f->arena, f->response), "\"web1\""));
    joiner_clear(&joiner);
}

/* CVE-2024-38823: an attacker has recorded what a machine sent. */
static void a_replayed_join_is_rejected(void **state)
{
    Fixture *f = *state;
    Joiner joiner = make_joiner(f, true);
    const Pin *pin = &joiner.requested.ca;
    assert_int_equal(post_join(f, &joiner), 200);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(request(f, pin, "POST", "/v1/join", joiner.message), 403);
        assert_str(value_str(*value_get(answer(f), STR("reason"))), "replay");
    }
    /* Nor after the node is removed and its name is free. */
    assert_int_equal(request(f, NULL, "DELETE", "/v1/nodes/web1", STR_EMPTY), 200);
    assert_int_equal(request(f, pin, "POST", "/v1/join", joiner.message), 403);
    assert_int_equal(request(f, NULL, "GET", "/v1/nodes/web1", STR_EMPTY), 404);
    joiner_clear(&joiner);
}

/* CVE-2025-22241, and what naive signing does: however often it is requested. */
static void join_without_token_or_approval_stays_pending(void **state)
{
    Fixture *f = *state;
    Joiner joiner = make_joiner(f, false);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(post_join(f, &joiner), 202);
        assert_str(value_str(*value_get(answer(f), STR("result"))), "pending");
        assert_null(value_get(answer(f), STR("certificate")));
    }
    /* Another key was approved. */
    Joiner other = make_joiner(f, false);
    assert_int_equal(request(f, NULL, "GET", "/v1/nodes/web1", STR_EMPTY), 200);
    Str key = value_str(*value_get(*value_get(answer(f), STR("status")), STR("key")));
    assert_int_equal(request(f, NULL, "POST", "/v1/nodes/web1/approve",
                             arena_format(f->arena, "{\"key\":\"%" STR_FMT "\"}", STR_ARG(key))),
                     200);
    assert_int_equal(post_join(f, &other), 202);
    joiner_clear(&joiner);
    joiner_clear(&other);
}

static Value shown_node(Fixture *f)
{
    assert_int_equal(request(f, NULL, "GET", "/v1/nodes/web1", STR_EMPTY), 200);
    return answer(f);
}

/* CVE-2016-9639: the second machine of a name does not have what the first had; and the first has
 * nothing any more. */
static void reused_name_inherits_nothing(void **state)
{
    Fixture *f = *state;
    Joiner first = make_joiner(f, true), second = make_joiner(f, true);
    assert_int_equal(post_join(f, &first), 200);
    TlsMaterial old = admission_of(f, &first);
    assert_int_equal(request(f, NULL, "PATCH", "/v1/nodes/web1",
                             STR("{\"metadata\":{\"labels\":{\"role\":\"vault\"}}}")),
                     200);
    connect_server(f);
    Str order = cluster_key_orders(f->arena, KEYS_PREFIX, STR("web1"));
    order = arena_join(f->arena, order, STR("1"), STR_EMPTY);
    put(f, cluster_key_facts(f->arena, KEYS_PREFIX, STR("web1")), STR("{\"secret\":1}"));
    put(f, order, STR("secret"));
    grpc_client_free(TAKE(f->client));
    assert_int_equal(request(f, NULL, "DELETE", "/v1/nodes/web1", STR_EMPTY), 200);
    expect_none(f, "a removed node", &old);
    grpc_client_free(TAKE(f->client));
    assert_int_equal(post_join(f, &second), 200);
    TlsMaterial own = admission_of(f, &second);
    Value shown = shown_node(f);
    assert_int_equal(value_get(*value_get(shown, STR("metadata")), STR("labels"))->map->len, 0);
    assert_false(value_get(*value_get(shown, STR("status")), STR("facts"))->boolean);
    Str target = arena_join(f->arena, STR("/v1/store?key="), order, STR_EMPTY);
    assert_int_equal(request(f, NULL, "GET", arena_copy_c(f->arena, target), STR_EMPTY), 404);
    assert_int_equal(call_as(f, &own, METHOD_STORE_STATUS, STR_EMPTY), GRPC_PERMISSION_DENIED);
    expect_none(f, "who had the name before", &old);
    joiner_clear(&first);
    joiner_clear(&second);
}

/* --- Revocation ------------------------------------------------------------------------------- */

/* It states it itself: an open connection of a client that is no longer trusted. */
static void a_revoked_node_is_disconnected(void **state)
{
    Fixture *f = *state;
    put_node(f, "web1", ENROLLMENT);
    Str serial = connect_as(f, (Shown){ &f->ca, "blue", "web1", ENROLLMENT, 0, 0 });
    assert_int_equal(ask_status(f), GRPC_PERMISSION_DENIED); /* it is connected */
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

static void a_removed_node_is_disconnected(void **state)
{
    Fixture *f = *state;
    put_node(f, "web1", ENROLLMENT);
    connect_as(f, (Shown){ &f->ca, "blue", "web1", ENROLLMENT, 0, 0 });
    assert_int_equal(ask_status(f), GRPC_PERMISSION_DENIED);
    GrpcClient *web = TAKE(f->client);
    TlsContext *web_tls = TAKE(f->tls);
    connect_server(f);
    f->closed = false;
    StoreOp op = { .kind = STORE_DELETE,
                   .key = cluster_key_node(f->arena, KEYS_PREFIX, STR("web1")) };
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

static void a_server_with_another_ca_is_not_used(void **state)
{
    Fixture *f = *state;
    Pin wrong = f->ca.chain.items[0].pin;
    wrong.bytes[0] ^= 1;
    assert_int_equal(request(f, &wrong, "GET", "/v1/health", STR_EMPTY), 0);
    assert_int_equal(request(f, &f->ca.chain.items[0].pin, "GET", "/v1/health", STR_EMPTY), 200);
}

static void unauthenticated_clients_can_only_join(void **state)
{
    Fixture *f = *state;
    const Pin *pin = &f->ca.chain.items[0].pin;
    assert_int_equal(request(f, pin, "GET", "/v1/nodes", STR_EMPTY), 401);
    assert_int_equal(request(f, pin, "POST", "/v1/tokens", STR("{}")), 401);
    assert_int_equal(request(f, pin, "GET", "/v1/store?key=a", STR_EMPTY), 401);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(every_method_is_closed_to_unauthenticated_clients),
        ROW(every_method_is_closed_to_revoked_nodes),
        ROW(every_method_is_closed_to_the_wrong_role),
        ROW(identity_is_taken_from_the_certificate_alone),
        ROW(certificate_without_its_key_gives_no_access),
        ROW(other_certificates_give_no_access_to_the_node_port),
        ROW(a_certificate_that_expires_meanwhile_gives_no_access),
        ROW(older_protocols_are_rejected),
        ROW(a_machine_with_a_token_becomes_a_node),
        ROW(a_replayed_join_is_rejected),
        ROW(join_without_token_or_approval_stays_pending),
        ROW(reused_name_inherits_nothing),
        ROW(a_revoked_node_is_disconnected),
        ROW(a_removed_node_is_disconnected),
        ROW(a_server_with_another_ca_is_not_used),
        ROW(unauthenticated_clients_can_only_join),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
