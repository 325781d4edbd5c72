/* Requests and responses over HTTP/2 with TLS, between the server and the client side of
 * http2.h. */
#include "certificates.h"
#include "net/http2.h"
#include "net/http_server.h"
#include "world.h"

enum {
    BODY_MAX = 100000,
    CHUNK = 10000,
    CALLS_MAX = 8
};

/* A request, as its client sees it. */
typedef struct Call {
    Http2Stream stream; /* the first */
    struct Fixture *fixture;
    int status;
    size_t taken;
    char body[200];           /* the start of it */
    bool over, stores_values; /* does not update its window */
    uint32_t code;
} Call;

typedef struct Fixture {
    World world;
    Scratch *scratch;
    TestCa ca;
    TlsContext *server_tls, *client_tls;
    HttpServer *server;
    HttpRequest *held[CALLS_MAX];
    uint32_t requests, drained, gone;
    size_t to_give, given;
    bool holds, stopped;
    size_t memory_max; /* 0: the default */
    uint32_t window;   /* of the client; 0: the default */
    Http2 *http2;
    Call calls[CALLS_MAX];
    uint32_t call_count;
    bool over;
} Fixture;

/* --- The server ------------------------------------------------------------------------------ */

static void give(void *context)
{
    static const char chunk[CHUNK] = "piece";
    Fixture *f = context;
    size_t count = f->to_give - f->given < CHUNK ? f->to_give - f->given : CHUNK;
    f->drained++;
    f->given += count;
    if (count > 0) {
        http_request_send_piece(f->held[0], str_from(chunk, count));
    } else if (f->held[0] != NULL) {
        http_request_end(TAKE(f->held[0]));
    }
}

static void requested(void *context, HttpRequest *request)
{
    Fixture *f = context;
    const Http1Head *head = http_request_head(request);
    assert_non_null(http1_find(head, "Host"));
    assert_string_equal(http_request_peer(request)->tls.protocol, "h2");
    if (f->to_give > 0) {
        f->held[0] = request;
        http_request_begin(request, 200, "text/plain", give, f);
        give(f);
    } else if (f->holds) {
        f->held[f->requests] = request;
    } else {
        http_request_add_header(request, "Upper-Case", STR("yes"));
        http_request_respond(request, 200, "text/plain", http_request_body(request));
    }
    f->requests++;
}

static void gone(void *context, HttpRequest *request)
{
    Fixture *f = context;
    f->gone++;
    for (uint32_t i = 0; i < CALLS_MAX; i++) {
        if (f->held[i] == request) {
            f->held[i] = NULL;
        }
    }
}

static TlsContext *make_tls(Fixture *f, TlsRole role)
{
    TestCertificate own = { 0 };
    TlsContext *made;
    Error err = { 0 };
    TlsOptions options = { .role = role, .protocol = "h2" };
    if (role != TLS_CLIENT) {
        own = test_certificate_make(
            &f->scratch->arena, &f->ca,
            &(TestCertificateOptions){ .names = "IP:127.0.0.1", .serial = 2 });
        options.protocol = "http/1.1";
        options.preferred = "h2";
    }
    if (!tls_context_new(f->world.loop, &options,
                         &(TlsMaterial){ own.pem, own.key, .ca = f->ca.pem }, &made, &err)) {
        fail_msg("%s", err.text);
    }
    return made;
}

/* --- The client ------------------------------------------------------------------------------ */

static void came(void *context, Http2Stream *stream, const Http2Headers *headers)
{
    Call *call = (Call *)stream;
    Str status = http2_headers_find(headers, ":status");
    assert_int_equal(status.len, 3);
    call->status =
        (status.data[0] - '0') * 100 + (status.data[1] - '0') * 10 + status.data[2] - '0';
    if (call->status == 200) {
        assert_true(http2_headers_find(headers, "content-type").len > 0);
    }
}

static void data_came(void *context, Http2Stream *stream, Str bytes)
{
    Call *call = (Call *)stream;
    for (size_t i = 0; i < bytes.len && call->taken + i < sizeof call->body - 1; i++) {
        call->body[call->taken + i] = bytes.data[i];
    }
    call->taken += bytes.len;
    if (!call->stores_values) {
        http2_stream_consumed(stream, bytes.len);
    }
}

static void happened(void *context, Http2Stream *stream)
{
}

static void call_closed(void *context, Http2Stream *stream, uint32_t code)
{
    Call *call = (Call *)stream;
    call->over = true;
    call->code = code;
}

static void ready(void *context)
{
}

static void is_over(void *context, const Error *why)
{
    Fixture *f = context;
    f->over = true;
    http2_free(TAKE(f->http2));
}

static const Http2Events events = { .headers = came,
                                    .data = data_came,
                                    .peer_ended = happened,
                                    .sent = happened,
                                    .closed = call_closed,
                                    .ready = ready,
                                    .connection_closed = is_over };

static void nothing(void *context)
{
}

static void received(void *context, Str bytes)
{
}

static void closed(void *context, const Error *why)
{
}

static const ConnectionEvents no_events = { nothing, received, nothing, closed };

static void start(Fixture *f, int64_t idle_timeout_ms, int64_t request_timeout_ms)
{
    const Listener *listener;
    Address address;
    Error err;
    HttpServerOptions options = http_server_defaults();
    options.loop = f->world.loop;
    options.body_max = BODY_MAX;
    options.idle_timeout_ms = idle_timeout_ms;
    options.request_timeout_ms = request_timeout_ms;
    options.memory_max = f->memory_max == 0 ? options.memory_max : f->memory_max;
    options.requested = requested;
    options.disconnected = gone;
    options.context = f;
    f->server = http_server_new(&options);
    ListenerOptions listening = listener_defaults();
    listening.loop = f->world.loop;
    listening.tls = f->server_tls;
    assert_true(address_parse(STR("127.0.0.1:0"), 0, &address, &err));
    assert_true(http_server_listen(f->server, &listening, &address, &listener, &err));
    address.port = listener_port(listener);
    Http2Options http2 = http2_defaults();
    http2.events = &events;
    http2.context = f;
    if (f->window > 0) {
        http2.stream_window = http2.connection_window = f->window;
    }
    f->http2 = http2_new(connection_connect(&(ConnectionOptions){ .loop = f->world.loop,
                                                                  .tls = f->client_tls,
                                                                  .tls_host = "127.0.0.1",
                                                                  .open_timeout_ms = 10000,
                                                                  .events = &no_events },
                                            &address),
                         &http2);
}

/* `body` NULL: none, and `more`: it continues. */
static Call *ask(Fixture *f, const char *method, const char *body, bool more)
{
    Call *call = &f->calls[f->call_count++];
    Error err;
    const Http2Header headers[] = { { STR(":method"), str_from_c(method) },
                                    { STR(":scheme"), STR("https") },
                                    { STR(":path"), STR("/a?b") },
                                    { STR(":authority"), STR("127.0.0.1") } };
    assert_true(http2_request(f->http2, &call->stream, headers, COUNT_OF(headers),
                              body == NULL && !more, &err));
    if (body != NULL) {
        http2_send(&call->stream, str_from_c(body));
        if (!more) {
            http2_end(&call->stream, NULL, 0);
        }
    }
    return call;
}

#define UNTIL(f, holds)             \
    while (!(holds)) {              \
        world_pass(&(f)->world, 1); \
    }

static int set_up(void **state)
{
    scratch_set_up(state);
    Fixture *f = calloc(1, sizeof *f);
    f->scratch = *state;
    *state = f;
    world_open(&f->world);
    f->ca = test_ca_make(&f->scratch->arena, "one");
    f->server_tls = make_tls(f, TLS_SERVER_PUBLIC);
    f->client_tls = make_tls(f, TLS_CLIENT);
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    http2_free(f->http2);
    http_server_free(f->server);
    tls_context_free(f->server_tls);
    tls_context_free(f->client_tls);
    test_ca_clear(&f->ca);
    world_close(&f->world);
    *state = f->scratch;
    free(f);
    return scratch_tear_down(state);
}

/* --- Tests ----------------------------------------------------------------------------------- */

static void requests_are_answered(void **state)
{
    Fixture *f = *state;
    start(f, 10000, 10000);
    Call *get = ask(f, "GET", NULL, false), *post = ask(f, "POST", "hello", false);
    UNTIL(f, get->over && post->over);
    assert_int_equal(get->status, 200);
    assert_int_equal(post->status, 200);
    assert_string_equal(post->body, "hello");
    assert_int_equal(f->requests, 2);
    assert_int_equal(f->gone, 0);
}

static void responses_can_be_out_of_order(void **state)
{
    Fixture *f = *state;
    f->holds = true;
    start(f, 10000, 10000);
    Call *first = ask(f, "GET", NULL, false), *second = ask(f, "GET", NULL, false);
    UNTIL(f, f->requests == 2);
    http_request_respond(TAKE(f->held[1]), 202, "text/plain", STR("second"));
    UNTIL(f, second->over);
    assert_false(first->over);
    http_request_respond(TAKE(f->held[0]), 204, "text/plain", STR_EMPTY);
    UNTIL(f, first->over);
    assert_int_equal(first->status, 204);
    assert_int_equal(second->status, 202);
    assert_string_equal(second->body, "second");
}

static void a_body_of_the_maximum_size_is_accepted(void **state)
{
    Fixture *f = *state;
    static char large[BODY_MAX + 1];
    memset(large, 'x', BODY_MAX);
    start(f, 10000, 10000);
    Call *fits = ask(f, "POST", large, false), *other = ask(f, "POST", large, true);
    http2_send(&other->stream, STR("y"));
    UNTIL(f, fits->over && other->status != 0);
    assert_int_equal(fits->status, 200);
    assert_int_equal(fits->taken, BODY_MAX);
    assert_int_equal(other->status, 413);
}

static void chunks_are_sent_as_they_are_read(void **state)
{
    Fixture *f = *state;
    f->to_give = 100 * CHUNK;
    start(f, 10000, 10000);
    Call *call = ask(f, "GET", NULL, false);
    call->stores_values = true;
    size_t given;
    do {
        given = f->given;
        world_pass(&f->world, 20);
    } while (f->given > given || given == 0);
    /* A window of the client, and a pending chunk. */
    assert_true(f->given < (256 << 10) + 2 * CHUNK);
    call->stores_values = false;
    http2_stream_consumed(&call->stream, call->taken);
    UNTIL(f, call->over);
    assert_int_equal(call->taken, f->to_give);
    assert_true(f->drained > 100);
    assert_int_equal(call->code, HTTP2_NO_ERROR);
    assert_int_equal(f->gone, 0);
}

static void a_head_response_has_no_chunks(void **state)
{
    Fixture *f = *state;
    f->to_give = 5 * CHUNK;
    start(f, 10000, 10000);
    Call *call = ask(f, "HEAD", NULL, false);
    UNTIL(f, call->over);
    assert_int_equal(call->status, 200);
    assert_int_equal(call->taken, 0);
    assert_int_equal(f->given, f->to_give);
    assert_int_equal(f->gone, 0);
}

static void a_reset_is_reported(void **state)
{
    Fixture *f = *state;
    f->holds = true;
    start(f, 10000, 10000);
    Call *call = ask(f, "GET", NULL, false);
    UNTIL(f, f->requests == 1);
    http2_reset(&call->stream, HTTP2_CANCEL);
    UNTIL(f, f->gone == 1);
    assert_null(f->held[0]);
    Call *other = ask(f, "GET", NULL, false);
    UNTIL(f, f->requests == 2);
    http_request_respond(TAKE(f->held[1]), 200, "text/plain", STR("fine"));
    UNTIL(f, other->over);
    assert_string_equal(other->body, "fine");
}

static void a_disconnect_is_reported_for_each_stream(void **state)
{
    Fixture *f = *state;
    f->holds = true;
    start(f, 10000, 10000);
    ask(f, "GET", NULL, false);
    ask(f, "GET", NULL, false);
    UNTIL(f, f->requests == 2);
    http2_free(TAKE(f->http2));
    UNTIL(f, f->gone == 2);
}

static void a_client_that_reads_nothing_is_disconnected(void **state)
{
    Fixture *f = *state;
    f->to_give = 100 * CHUNK;
    start(f, 30, 10000);
    Call *call = ask(f, "GET", NULL, false);
    call->stores_values = true;
    UNTIL(f, f->gone == 1 && call->over);
    assert_int_equal(call->code, HTTP2_CANCEL);
    assert_true(call->taken < f->to_give);
}

/* Output queued for all peers together has a limit. */
static void an_excessive_response_is_truncated(void **state)
{
    Fixture *f = *state;
    static const char much[400000] = "much";
    f->holds = true;
    f->memory_max = 100000;
    start(f, 10000, 10000);
    Call *call = ask(f, "GET", NULL, false);
    call->stores_values = true;
    UNTIL(f, f->held[0] != NULL);
    http_request_respond(TAKE(f->held[0]), 200, "text/plain", str_from(much, sizeof much));
    UNTIL(f, f->over);
    assert_true(call->taken < sizeof much);
}

static void a_slow_body_is_rejected(void **state)
{
    Fixture *f = *state;
    start(f, 10000, 30);
    Call *call = ask(f, "POST", "begin", true);
    UNTIL(f, call->status != 0);
    assert_int_equal(call->status, 408);
    assert_int_equal(f->requests, 0);
}

static void an_idle_connection_is_closed(void **state)
{
    Fixture *f = *state;
    start(f, 30, 10000);
    Call *call = ask(f, "GET", NULL, false);
    UNTIL(f, f->over);
    assert_int_equal(call->status, 200);
}

static void an_aborted_response_is_a_failure(void **state)
{
    Fixture *f = *state;
    f->holds = true;
    start(f, 10000, 10000);
    Call *call = ask(f, "GET", NULL, false);
    UNTIL(f, f->requests == 1);
    http_request_begin(f->held[0], 200, "text/plain", nothing, NULL);
    http_request_send_piece(f->held[0], STR("half"));
    UNTIL(f, call->taken == 4);
    http_request_abort(TAKE(f->held[0]));
    UNTIL(f, call->over);
    assert_int_equal(call->code, HTTP2_INTERNAL_ERROR);
    assert_int_equal(f->gone, 0);
    assert_false(f->over);
}

/* With large windows the kernel is what accepts no more: then a frame is complete and queued, and
 * its bytes are dropped with the stream. */
static void a_queued_response_can_be_aborted(void **state)
{
    enum {
        MUCH = 48 << 20 /* more than the buffers of two sockets */
    };
    Fixture *f = *state;
    size_t unsent;
    f->holds = true;
    f->window = 2 * MUCH;
    start(f, 10000, 10000);
    Call *call = ask(f, "GET", NULL, false);
    UNTIL(f, f->requests == 1);
    http_request_begin(f->held[0], 200, "text/plain", nothing, NULL);
    UNTIL(f, call->status == 200);
    connection_pause(http2_connection(f->http2));
    char *much = calloc(1, MUCH);
    http_request_send_piece(f->held[0], str_from(much, MUCH));
    free(much);
    do {
        unsent = http_request_unsent(f->held[0]);
        world_pass(&f->world, 20);
    } while (unsent == MUCH || http_request_unsent(f->held[0]) < unsent);
    assert_true(unsent > 0);
    http_request_abort(TAKE(f->held[0]));
    connection_resume(http2_connection(f->http2));
    UNTIL(f, call->over);
    assert_int_equal(call->code, HTTP2_INTERNAL_ERROR);
    assert_true(call->taken < MUCH);
    Call *other = ask(f, "GET", NULL, false);
    UNTIL(f, f->requests == 2);
    http_request_respond(TAKE(f->held[1]), 200, "text/plain", STR("fine"));
    UNTIL(f, other->over);
    assert_string_equal(other->body, "fine");
}

static void stopped(void *context)
{
    Fixture *f = context;
    f->stopped = true;
}

static void requests_in_progress_can_finish(void **state)
{
    Fixture *f = *state;
    f->holds = true;
    start(f, 10000, 10000);
    Call *whole = ask(f, "GET", NULL, false), *chunks = ask(f, "GET", NULL, false);
    UNTIL(f, f->requests == 2);
    Call *half = ask(f, "POST", "half", true);
    http_request_begin(f->held[1], 200, "text/plain", nothing, NULL);
    http_request_send_piece(f->held[1], STR("half"));
    UNTIL(f, chunks->taken == 4);
    http_server_stop(f->server, 10000, stopped, f);
    assert_int_equal(f->gone, 1);
    assert_null(f->held[1]);
    UNTIL(f, half->over && chunks->over);
    assert_int_equal(half->code, HTTP2_REFUSED_STREAM);
    assert_false(f->stopped);
    http_request_respond(TAKE(f->held[0]), 200, "text/plain", STR("late"));
    UNTIL(f, f->over && f->stopped);
    assert_string_equal(whole->body, "late");
    assert_int_equal(f->gone, 1);
}

static void requests_that_never_finish_are_cut_off(void **state)
{
    Fixture *f = *state;
    f->holds = true;
    start(f, 10000, 10000);
    ask(f, "GET", NULL, false);
    UNTIL(f, f->requests == 1);
    http_server_stop(f->server, 20, stopped, f);
    UNTIL(f, f->stopped);
    assert_int_equal(f->gone, 1);
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(requests_are_answered),
        ROW(responses_can_be_out_of_order),
        ROW(a_body_of_the_maximum_size_is_accepted),
        ROW(chunks_are_sent_as_they_are_read),
        ROW(a_head_response_has_no_chunks),
        ROW(a_reset_is_reported),
        ROW(a_disconnect_is_reported_for_each_stream),
        ROW(a_client_that_reads_nothing_is_disconnected),
        ROW(an_excessive_response_is_truncated),
        ROW(a_slow_body_is_rejected),
        ROW(an_idle_connection_is_closed),
        ROW(an_aborted_response_is_a_failure),
        ROW(a_queued_response_can_be_aborted),
        ROW(requests_in_progress_can_finish),
        ROW(requests_that_never_finish_are_cut_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
