#include "net/tls.h"

#include "certificates.h"
#include "net/listener.h"
#include "world.h"

/* A listener and a client that connects to it, and how far each gets. */
typedef struct Fixture {
    bool reloads; /* the client's context, as soon as it is connected */
    World world;
    Scratch *scratch;
    Arena *arena;
    TestCa ca, other_ca;
    TestCertificate server, client;
    TlsContext *server_tls, *client_tls;
    Listener *listener;
    Connection *accepted, *connection;
    uint16_t port;
    const char *host;
    char revoked[TLS_SERIAL_MAX + 1];
    TlsPeer seen; /* by the server's verify */
    uint32_t verified;
    bool client_ready, client_closed, server_closed;
    Error why;
    char got[100];
} Fixture;

static bool server_verify(void *context, const TlsPeer *peer, Error *err)
{
    Fixture *f = context;
    f->seen = *peer;
    f->verified++;
    return strcmp(peer->serial, f->revoked) != 0 || error_set(err, ERROR_DENIED, "revoked");
}

static void ready(void *context)
{
    Fixture *f = context;
    Error err;
    if (f->reloads) {
        assert_true(tls_context_reload(
            f->client_tls,
            &(TlsMaterial){ .certificate = f->client.pem, .key = f->client.key, .ca = f->ca.pem },
            &err));
    }
    f->client_ready = true;
    connection_write(f->connection, STR("hello"));
}

static void received(void *context, Str bytes)
{
    Fixture *f = context;
    snprintf(f->got, sizeof f->got, "%" STR_FMT, STR_ARG(bytes));
    loop_stop(f->world.loop);
}

static void drained(void *context)
{
}

static void closed(void *context, const Error *why)
{
    Fixture *f = context;
    f->client_closed = true;
    f->why = *why;
    loop_stop(f->world.loop);
}

static void server_closed(void *context, const Error *why)
{
    Fixture *f = context;
    f->server_closed = true;
    connection_free(TAKE(f->accepted));
}

static void answer(void *context, Str bytes)
{
    Fixture *f = context;
    connection_write(f->accepted, bytes);
}

static const ConnectionEvents client_events = { ready, received, drained, closed };
static const ConnectionEvents server_events = { drained, answer, drained, server_closed };

static void accepted(void *context, Connection *connection)
{
    Fixture *f = context;
    connection_free(f->accepted);
    f->accepted = connection;
    connection_set_events(connection, &server_events, f);
}

static TlsContext *make_context(Fixture *f, TlsRole role, TestCertificate own, Str ca)
{
    TlsContext *context;
    Error err = { 0 };
    if (!tls_context_new(f->world.loop,
                         &(TlsOptions){ .role = role,
                                        .protocol = "h2",
                                        .verify = role == TLS_CLIENT ? NULL : server_verify,
                                        .verify_context = f },
                         &(TlsMaterial){ .certificate = own.pem, .key = own.key, .ca = ca },
                         &context, &err)) {
        fail_msg("%s", err.text);
    }
    return context;
}

static TestCertificate make_certificate(Fixture *f, const TestCa *ca, const char *names,
                                        long serial)
{
    return test_certificate_make(f->arena, ca,
                                 &(TestCertificateOptions){ .names = names, .serial = serial });
}

static int set_up(void **state)
{
    scratch_set_up(state);
    Fixture *f = calloc(1, sizeof *f);
    f->scratch = *state;
    f->arena = &f->scratch->arena;
    *state = f;
    world_open(&f->world);
    f->ca = test_ca_make(f->arena, "one");
    f->other_ca = test_ca_make(f->arena, "other");
    f->server = make_certificate(f, &f->ca, "DNS:localhost,IP:127.0.0.1", 2);
    f->client = make_certificate(f, &f->ca, "URI:eden://blue/node/web1", 0x1234);
    f->server_tls = make_context(f, TLS_SERVER, f->server, f->ca.pem);
    f->client_tls = make_context(f, TLS_CLIENT, f->client, f->ca.pem);
    ListenerOptions options = listener_defaults();
    Address address;
    Error err;
    options.loop = f->world.loop;
    options.tls = f->server_tls;
    options.accepted = accepted;
    options.context = f;
    assert_true(address_parse(STR("127.0.0.1:0"), 0, &address, &err));
    assert_true(listener_open(&options, &address, &f->listener, &err));
    f->port = listener_port(f->listener);
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    connection_free(f->connection);
    connection_free(f->accepted);
    listener_close(f->listener);
    tls_context_free(f->server_tls);
    tls_context_free(f->client_tls);
    test_ca_clear(&f->ca);
    test_ca_clear(&f->other_ca);
    world_close(&f->world);
    *state = f->scratch;
    free(f);
    return scratch_tear_down(state);
}

/* Connects and waits for an echo, or for the end. */
static bool try(Fixture *f)
{
    Address address = { .kind = ADDRESS_IP, .port = f->port, .host = "127.0.0.1" };
    connection_free(f->connection);
    f->client_closed = false;
    f->got[0] = '\0';
    f->connection = connection_connect(&(ConnectionOptions){ .loop = f->world.loop,
                                                             .tls = f->client_tls,
                                                             .tls_host = f->host,
                                                             .open_timeout_ms = 5000,
                                                             .events = &client_events,
                                                             .context = f },
                                       &address);
    world_run(&f->world);
    return strcmp(f->got, "hello") == 0;
}

static void use_client(Fixture *f, TestCertificate own, Str ca)
{
    connection_free(TAKE(f->connection));
    tls_context_free(f->client_tls);
    f->client_tls = make_context(f, TLS_CLIENT, own, ca);
}

static void both_sides_are_authenticated(void **state)
{
    Fixture *f = *state;
    assert_true(try(f));
    const Peer *peer = connection_peer(f->accepted);
    assert_true(peer->tls.has_certificate);
    assert_true(peer->tls.has_identity);
    assert_string_equal(peer->tls.identity.cluster, "blue");
    assert_string_equal(peer->tls.identity.node, "web1");
    assert_string_equal(peer->tls.serial, "1234");
    assert_int_equal(strlen(peer->tls.fingerprint), TLS_FINGERPRINT_HEX);
    assert_in_range(peer->tls.not_after_s - peer->tls.not_before_s, 7199, 7201);
    assert_false(peer->tls.resumed);
    assert_false(peer->is_local);
    assert_memory_equal(peer->address, "127.0.0.1:", 10);
    assert_false(connection_peer(f->connection)->tls.has_identity);
    assert_true(connection_peer(f->connection)->tls.has_certificate);
}

static void unauthenticated_clients_are_rejected(void **state)
{
    Fixture *f = *state;
    static const TestCertificate none = { { "", 0 }, { "", 0 } };
    use_client(f, none, f->ca.pem);
    assert_false(try(f));
    use_client(f, make_certificate(f, &f->other_ca, "URI:eden://blue/node/web1", 5), f->ca.pem);
    assert_false(try(f));
    use_client(
        f,
        test_certificate_make(f->arena, &f->ca,
                              &(TestCertificateOptions){ .names = "URI:eden://blue/node/web1",
                                                         .not_before_s = -7200,
                                                         .not_after_s = -3600 }),
        f->ca.pem);
    assert_false(try(f));
    use_client(
        f,
        test_certificate_make(f->arena, &f->ca,
                              &(TestCertificateOptions){ .names = "URI:eden://blue/node/web1",
                                                         .not_before_s = 3600,
                                                         .not_after_s = 7200 }),
        f->ca.pem);
    assert_false(try(f));
    assert_int_equal(f->verified, 0);
    assert_int_equal(listener_counts(f->listener).failed, 4);
    assert_int_equal(listener_counts(f->listener).accepted, 0);
    /* The other way around: the client does not know the server's CA. */
    use_client(f, f->client, f->other_ca.pem);
    assert_false(try(f));
    assert_int_equal(f->why.kind, ERROR_DENIED);
    assert_non_null(strstr(f->why.text, "certificate"));
    assert_non_null(
        strstr(f->why.text, "it includes no CA, but the trusted CA has the pin sha256:"));
}

static void a_server_with_another_time_is_rejected_with_both_clocks(void **state)
{
    Fixture *f = *state;
    TestCertificate server = test_certificate_make(
        f->arena, &f->ca,
        &(TestCertificateOptions){
            .names = "DNS:localhost", .not_before_s = 3600, .not_after_s = 7200 });
    Error err;
    assert_true(tls_context_reload(
        f->server_tls,
        &(TlsMaterial){ .certificate = server.pem, .key = server.key, .ca = f->ca.pem }, &err));
    assert_false(try(f));
    assert_int_equal(f->why.kind, ERROR_DENIED);
    assert_non_null(strstr(f->why.text, "not yet valid: " TLS_TEXT_VALIDITY " 2"));
    assert_non_null(strstr(f->why.text, ", but this machine's clock shows 2"));
}

static void a_revoked_peer_is_rejected_also_on_resumption(void **state)
{
    Fixture *f = *state;
    assert_true(try(f));
    assert_true(try(f));
    assert_true(f->seen.resumed);
    strcpy(f->revoked, "1234");
    /* Each gets the reason: it has to show its certificate again. */
    for (int i = 0; i < 3; i++) {
        assert_false(try(f));
        assert_false(f->seen.resumed);
        assert_int_equal(f->why.kind, ERROR_DENIED);
        assert_non_null(strstr(f->why.text, "its certificate is revoked"));
    }
    f->revoked[0] = '\0';
    assert_true(try(f));
}

static void a_returning_client_resumes(void **state)
{
    Fixture *f = *state;
    assert_true(try(f));
    assert_false(f->seen.resumed);
    for (int i = 0; i < 3; i++) {
        assert_true(try(f));
        assert_true(f->seen.resumed);
        assert_true(f->seen.has_identity);
        assert_string_equal(f->seen.identity.node, "web1");
    }
}

static void new_certificates_invalidate_old_sessions(void **state)
{
    Fixture *f = *state;
    Error err;
    assert_true(try(f));
    /* The server trusts another CA from now on, and has a certificate signed by it. */
    TestCertificate server = make_certificate(f, &f->other_ca, "DNS:localhost", 7);
    assert_true(tls_context_reload(
        f->server_tls,
        &(TlsMaterial){ .certificate = server.pem, .key = server.key, .ca = f->other_ca.pem },
        &err));
    /* The open connection continues. */
    f->got[0] = '\0';
    connection_write(f->connection, STR("hello"));
    world_run(&f->world);
    assert_string_equal(f->got, "hello");
    assert_false(try(f));
    use_client(f, make_certificate(f, &f->other_ca, "URI:eden://blue/node/web2", 8),
               f->other_ca.pem);
    assert_true(try(f));
    assert_string_equal(f->seen.identity.node, "web2");
}

static void invalid_material_changes_nothing(void **state)
{
    Fixture *f = *state;
    Error err;
    TestCertificate other = make_certificate(f, &f->ca, "DNS:localhost", 9);
    const TlsMaterial bad[] = {
        { .certificate = f->server.pem, .key = other.key, .ca = f->ca.pem },
        { .certificate = f->server.pem, .key = STR("none"), .ca = f->ca.pem },
        { .certificate = STR_EMPTY, .key = f->server.key, .ca = f->ca.pem },
        { .certificate = f->server.pem, .key = f->server.key, .ca = STR("none") },
        { .certificate = f->server.pem, .key = f->server.key, .ca = str_slice(f->ca.pem, 0, 100) },
        { .certificate = str_slice(f->server.pem, 0, 99), .key = f->server.key, .ca = f->ca.pem },
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_false(tls_context_reload(f->server_tls, &bad[i], &err));
        assert_int_equal(err.kind, ERROR_INVALID);
    }
    assert_true(try(f));
}

static void an_identity_must_be_the_only_name(void **state)
{
    static const char *const names[] = {
        "URI:eden://blue/node/web1,URI:eden://blue/node/web2",
        "URI:eden://blue/node/web1,DNS:web1",
        "URI:eden://blue/node/Web1",
        "URI:eden://blue/node/web1/",
        "URI:http://blue/node/web1",
        "DNS:web1",
        NULL,
    };
    Fixture *f = *state;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        use_client(f, make_certificate(f, &f->ca, names[i], 20), f->ca.pem);
        assert_true(try(f));
        assert_true(f->seen.has_certificate);
        assert_false(f->seen.has_identity);
    }
}

static void a_user_certificate_is_recognized(void **state)
{
    Fixture *f = *state;
    use_client(f, make_certificate(f, &f->ca, "URI:eden://blue/user/ann", 21), f->ca.pem);
    assert_true(try(f));
    assert_true(f->seen.has_user);
    assert_false(f->seen.has_identity);
    assert_string_equal(f->seen.user.cluster, "blue");
    assert_string_equal(f->seen.user.user, "ann");
    static const char *const names[] = {
        "URI:eden://blue/user/ann,URI:eden://blue/user/bob",
        "URI:eden://blue/user/ann,URI:eden://blue/node/web1",
        "URI:eden://blue/user/ann,DNS:ann",
        "URI:eden://blue/user/Ann",
        "URI:eden://blue/node/web1",
    };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        use_client(f, make_certificate(f, &f->ca, names[i], 22), f->ca.pem);
        assert_true(try(f));
        assert_false(f->seen.has_user);
    }
}

static void a_client_can_require_a_host(void **state)
{
    Fixture *f = *state;
    f->host = "localhost";
    assert_true(try(f));
    f->host = "127.0.0.1";
    assert_true(try(f));
    f->host = "elsewhere";
    use_client(f, f->client, f->ca.pem);
    assert_false(try(f));
    assert_non_null(strstr(f->why.text, "mismatch: " TLS_TEXT_NAMES " localhost, "));
    f->host = "127.0.0.2";
    assert_false(try(f));
    assert_non_null(strstr(f->why.text, "mismatch: " TLS_TEXT_NAMES " localhost, 127.0.0.1"));
}

/* Tickets arrive after the handshake: one that arrives after a reload belongs to the old trust. */
static void a_session_from_before_a_reload_is_dropped(void **state)
{
    Fixture *f = *state;
    assert_true(try(f));
    assert_true(try(f));
    assert_true(connection_peer(f->accepted)->tls.resumed);
    use_client(f, f->client, f->ca.pem);
    f->reloads = true;
    assert_true(try(f));
    f->reloads = false;
    assert_true(try(f));
    assert_false(connection_peer(f->accepted)->tls.resumed);
}

static Str pin_of(Fixture *f, const TestCa *ca)
{
    unsigned char *der = NULL, digest[32];
    int len = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(ca->certificate), &der);
    EVP_Digest(der, (size_t)len, digest, NULL, EVP_sha256(), NULL);
    OPENSSL_free(der);
    Buf pin = buf_make_in(f->arena, 100);
    buf_put(&pin, STR("sha256:"));
    for (size_t i = 0; i < sizeof digest; i++) {
        buf_put_format(&pin, "%02x", digest[i]);
    }
    return buf_str(&pin);
}

static void a_pinned_ca_is_enough(void **state)
{
    Fixture *f = *state;
    Error err;
    TlsMaterial material = { .certificate = f->client.pem,
                             .key = f->client.key,
                             .ca_pin = pin_of(f, &f->ca) };
    assert_true(tls_context_reload(f->client_tls, &material, &err));
    assert_false(try(f)); /* the server does not send its CA */
    Str chain =
        arena_format(f->arena, "%" STR_FMT "%" STR_FMT, STR_ARG(f->server.pem), STR_ARG(f->ca.pem));
    assert_true(tls_context_reload(
        f->server_tls,
        &(TlsMaterial){ .certificate = chain, .key = f->server.key, .ca = f->ca.pem }, &err));
    assert_true(try(f));
    material.ca_pin = pin_of(f, &f->other_ca);
    assert_true(tls_context_reload(f->client_tls, &material, &err));
    assert_false(try(f));
    assert_non_null(strstr(
        f->why.text, arena_format(f->arena, TLS_TEXT_CA " the pin %" STR_FMT ", not %" STR_FMT,
                                  STR_ARG(pin_of(f, &f->ca)), STR_ARG(material.ca_pin))
                         .data));
    material.ca_pin = STR("sha256:12");
    assert_false(tls_context_reload(f->client_tls, &material, &err));
}

static Str with_ca(Fixture *f, Str certificate, const TestCa *ca)
{
    return arena_format(f->arena, "%" STR_FMT "%" STR_FMT, STR_ARG(certificate), STR_ARG(ca->pem));
}

/* Any identity, but always the same. */
static void without_a_ca_the_first_one_is_accepted(void **state)
{
    Fixture *f = *state;
    Error err;
    char pin[TLS_PIN_TEXT + 1];
    TlsMaterial material = { .certificate = f->client.pem,
                             .key = f->client.key,
                             .ca_on_first_use = true };
    assert_true(tls_context_reload(f->client_tls, &material, &err));
    assert_false(try(f)); /* the server does not send its CA */
    assert_false(tls_context_accepted_ca(f->client_tls, pin));
    /* A CA that did not sign the certificate is rejected. */
    assert_true(
        tls_context_reload(f->server_tls,
                           &(TlsMaterial){ .certificate = with_ca(f, f->server.pem, &f->other_ca),
                                           .key = f->server.key,
                                           .ca = f->ca.pem },
                           &err));
    assert_false(try(f));
    assert_false(tls_context_accepted_ca(f->client_tls, pin));
    assert_str(tls_context_ca(f->client_tls), "");
    assert_true(tls_context_reload(f->server_tls,
                                   &(TlsMaterial){ .certificate = with_ca(f, f->server.pem, &f->ca),
                                                   .key = f->server.key,
                                                   .ca = f->ca.pem },
                                   &err));
    assert_true(try(f));
    assert_true(tls_context_accepted_ca(f->client_tls, pin));
    assert_str(pin_of(f, &f->ca), pin);
    assert_true(str_eq(tls_context_ca(f->client_tls), f->ca.pem));
    TestCertificate other = make_certificate(f, &f->other_ca, "DNS:localhost,IP:127.0.0.1", 5);
    assert_true(tls_context_reload(
        f->server_tls,
        &(TlsMaterial){
            .certificate = with_ca(f, other.pem, &f->other_ca), .key = other.key, .ca = f->ca.pem },
        &err));
    assert_false(try(f));
    assert_true(tls_context_accepted_ca(f->client_tls, pin));
    assert_str(pin_of(f, &f->ca), pin);
}

/* No handshakes, but one client that sends nothing, and one that sends garbage. */
static void incomplete_handshakes_time_out(void **state)
{
    Fixture *f = *state;
    Address address = { .kind = ADDRESS_IP, .port = f->port, .host = "127.0.0.1" };
    SocketAddress to = address_to_socket(&address);
    int descriptor = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(descriptor, (struct sockaddr *)&to.storage, to.len), 0);
    world_pass(&f->world, 10);
    assert_int_equal(listener_counts(f->listener).opening, 1);
    assert_int_equal(write(descriptor, "GET / HTTP/1.1\r\n\r\n", 18), 18);
    world_pass(&f->world, 10);
    assert_int_equal(listener_counts(f->listener).opening, 0);
    assert_int_equal(listener_counts(f->listener).failed, 1);
    close(descriptor);
    assert_true(try(f));
}

static void an_open_connection_is_closed_cleanly(void **state)
{
    Fixture *f = *state;
    assert_true(try(f));
    connection_finish(f->connection, 5000);
    world_run(&f->world);
    assert_true(f->client_closed);
    assert_int_equal(f->why.kind, ERROR_NONE);
    assert_true(f->server_closed);
}

static void a_freed_context_stays_valid_for_its_connections(void **state)
{
    Fixture *f = *state;
    assert_true(try(f));
    tls_context_free(TAKE(f->client_tls));
    f->got[0] = '\0';
    connection_write(f->connection, STR("hello"));
    world_run(&f->world);
    assert_string_equal(f->got, "hello");
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(both_sides_are_authenticated),
        ROW(unauthenticated_clients_are_rejected),
        ROW(a_revoked_peer_is_rejected_also_on_resumption),
        ROW(a_returning_client_resumes),
        ROW(new_certificates_invalidate_old_sessions),
        ROW(invalid_material_changes_nothing),
        ROW(an_identity_must_be_the_only_name),
        ROW(a_server_with_another_time_is_rejected_with_both_clocks),
        ROW(a_user_certificate_is_recognized),
        ROW(a_client_can_require_a_host),
        ROW(a_pinned_ca_is_enough),
        ROW(a_session_from_before_a_reload_is_dropped),
        ROW(without_a_ca_the_first_one_is_accepted),
        ROW(incomplete_handshakes_time_out),
        ROW(an_open_connection_is_closed_cleanly),
        ROW(a_freed_context_stays_valid_for_its_connections),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
