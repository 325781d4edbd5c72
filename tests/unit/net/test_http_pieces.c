/* Responses of unknown length, from their sender to their receiver, and what either does when the
 * other is slow or gone. */
#include <sys/un.h>

#include "certificates.h"
#include "net/http_client.h"
#include "net/http_server.h"
#include "world.h"

enum {
    CHUNK = 32 << 10
};

typedef struct Fixture {
    World world;
    Scratch *scratch;
    HttpServer *server;
    Address address;
    TestCa ca;
    TlsContext *server_tls, *client_tls; /* of the tests for TLS */

    HttpRequest *request;
    size_t to_give, given; /* bytes sent gradually */
    bool stays;            /* the response does not end by itself */
    uint32_t requests, drained, gone;
    bool old;

    HttpCall *call;
    size_t taken;
    uint32_t chunks;
    bool pauses, frees, over;
    int status;
    char body[64];
    Error err;
} Fixture;

/* --- The sender ------------------------------------------------------------------------------ */

static char letter(size_t place)
{
    return (char)('a' + place / 7 % 26);
}

static void give(void *context)
{
    Fixture *f = context;
    char chunk[CHUNK];
    size_t count = f->to_give - f->given < CHUNK ? f->to_give - f->given : CHUNK;
    f->drained++;
    if (count > 0) {
        for (size_t i = 0; i < count; i++) {
            chunk[i] = letter(f->given + i);
        }
        f->given += count;
        http_request_send_piece(f->request, str_from(chunk, count));
    } else if (!f->stays) {
        http_request_end(TAKE(f->request));
    }
}

static void end_drained(void *context)
{
    Fixture *f = context;
    f->drained++;
    assert_int_equal(http_request_unsent(f->request), 0);
    http_request_end(TAKE(f->request));
}

/* Two in one turn, of which the first is sent immediately and the second cannot be. */
static void give_two(Fixture *f, HttpRequest *request)
{
    char *text = malloc(f->to_give);
    for (size_t i = 0; i < f->to_give; i++) {
        text[i] = letter(i);
    }
    http_request_begin(request, 200, "text/plain", end_drained, f);
    http_request_send_piece(request, str_from(text, 1));
    assert_int_equal(http_request_unsent(request), 0);
    http_request_send_piece(request, str_from(text + 1, f->to_give - 1));
    assert_int_not_equal(http_request_unsent(request), 0);
    free(text);
}

static void requested(void *context, HttpRequest *request)
{
    Fixture *f = context;
    f->requests++;
    f->given = 0;
    f->request = request;
    if (str_eq_c(http_request_head(request)->path, "/no")) {
        http_request_respond(request, 404, "text/plain", STR("not here"));
    } else if (!http_request_supports_pieces(request)) {
        f->old = true;
        http_request_respond(request, 505, "text/plain", STR("too old"));
    } else if (str_eq_c(http_request_head(request)->path, "/two")) {
        give_two(f, request);
    } else {
        http_request_begin(request, 200, "text/plain", give, f);
        give(f);
    }
}

static void gone(void *context, HttpRequest *request)
{
    Fixture *f = context;
    assert_ptr_equal(request, f->request);
    f->request = NULL;
    f->gone++;
}

static void serve(Fixture *f, int64_t idle_timeout_ms, const char *address, TlsContext *tls)
{
    const Listener *listener;
    Error err;
    HttpServerOptions options = http_server_defaults();
    options.loop = f->world.loop;
    options.idle_timeout_ms = idle_timeout_ms;
    options.requested = requested;
    options.disconnected = gone;
    options.context = f;
    f->server = http_server_new(&options);
    ListenerOptions listening = listener_defaults();
    listening.loop = f->world.loop;
    listening.tls = tls;
    assert_true(address_parse(str_from_c(address), 0, &f->address, &err));
    assert_true(http_server_listen(f->server, &listening, &f->address, &listener, &err));
    if (tls != NULL) {
        f->address.port = listener_port(listener);
    }
}

static void serve_local(Fixture *f, int64_t idle_timeout_ms)
{
    serve(f, idle_timeout_ms, scratch_place(f->scratch, "socket"), NULL);
}

static TlsContext *make_tls(Fixture *f, TlsRole role)
{
    TestCertificate own = { 0 };
    TlsContext *made;
    Error err = { 0 };
    if (role != TLS_CLIENT) {
        own = test_certificate_make(
            &f->scratch->arena, &f->ca,
            &(TestCertificateOptions){ .names = "IP:127.0.0.1", .serial = 2 });
    }
    if (!tls_context_new(f->world.loop, &(TlsOptions){ .role = role, .protocol = "http/1.1" },
                         &(TlsMaterial){ own.pem, own.key, .ca = f->ca.pem }, &made, &err)) {
        fail_msg("%s", err.text);
    }
    return made;
}

static void serve_tls(Fixture *f)
{
    f->ca = test_ca_make(&f->scratch->arena, "one");
    f->server_tls = make_tls(f, TLS_SERVER_PUBLIC);
    f->client_tls = make_tls(f, TLS_CLIENT);
    serve(f, 10000, "127.0.0.1:0", f->server_tls);
}

/* --- The receiver ---------------------------------------------------------------------------- */

static void chunk(void *context, const Http1Head *head, Str bytes)
{
    Fixture *f = context;
    assert_int_equal(head->status, 200);
    assert_false(f->over);
    for (size_t i = 0; i < bytes.len; i++) {
        assert_int_equal(bytes.data[i], letter(f->taken + i));
    }
    f->taken += bytes.len;
    f->chunks++;
    if (f->pauses) {
        http_call_pause(f->call);
    } else if (f->frees) {
        http_call_free(TAKE(f->call));
        loop_stop(f->world.loop);
    }
}

static void done(void *context, const HttpResponse *answer, const Error *err)
{
    Fixture *f = context;
    assert_false(f->over);
    f->over = true;
    f->status = answer == NULL ? 0 : answer->head->status;
    f->err = *err;
    if (answer != NULL) {
        snprintf(f->body, sizeof f->body, "%" STR_FMT, STR_ARG(answer->body));
    }
    loop_stop(f->world.loop);
}

static void start(Fixture *f, const char *target, int64_t idle_timeout_ms)
{
    HttpCallOptions options = { .loop = f->world.loop,
                                .address = f->address,
                                .tls = f->client_tls,
                                .tls_host = f->client_tls == NULL ? NULL : "127.0.0.1",
                                .method = "GET",
                                .target = target,
                                .response_max = UINT64_MAX,
                                .timeout_ms = 10000,
                                .piece = chunk,
                                .idle_timeout_ms = idle_timeout_ms,
                                .done = done,
                                .context = f };
    f->call = http_call_new(&options);
}

static void finish(Fixture *f)
{
    world_run(&f->world);
    assert_true(f->over);
}

static int set_up(void **state)
{
    scratch_set_up(state);
    Fixture *f = calloc(1, sizeof *f);
    f->scratch = *state;
    *state = f;
    world_open(&f->world);
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    http_call_free(f->call);
    http_server_free(f->server);
    tls_context_free(f->server_tls);
    tls_context_free(f->client_tls);
    test_ca_clear(&f->ca);
    world_close(&f->world);
    *state = f->scratch;
    free(f);
    return scratch_tear_down(state);
}

/* --- Our client and server ------------------------------------------------------------------- */

static void chunks_arrive_one_by_one(void **state)
{
    Fixture *f = *state;
    serve_local(f, 10000);
    f->to_give = 10 * CHUNK + 17;
    start(f, "/", 10000);
    finish(f);
    assert_int_equal(f->status, 200);
    assert_int_equal(f->taken, f->to_give);
    assert_string_equal(f->body, "");
    assert_true(f->chunks > 10);
    assert_int_equal(f->gone, 0);
}

static void a_complete_response_is_collected(void **state)
{
    Fixture *f = *state;
    serve_local(f, 10000);
    f->to_give = 8 << 20;
    start(f, "/two", 10000);
    finish(f);
    assert_int_equal(f->status, 200);
    assert_int_equal(f->taken, f->to_give);
    assert_int_equal(f->drained, 1);
}

static void a_response_without_chunks_is_complete(void **state)
{
    Fixture *f = *state;
    serve_local(f, 10000);
    start(f, "/", 10000);
    finish(f);
    assert_int_equal(f->status, 200);
    assert_int_equal(f->chunks, 0);
}

static void a_rejection_is_not_a_chunk(void **state)
{
    Fixture *f = *state;
    serve_local(f, 10000);
    start(f, "/no", 10000);
    finish(f);
    assert_int_equal(f->status, 404);
    assert_string_equal(f->body, "not here");
    assert_int_equal(f->chunks, 0);
}

static void an_aborted_response_is_a_failure(void **state)
{
    Fixture *f = *state;
    serve_local(f, 10000);
    f->to_give = 3 * CHUNK;
    f->stays = true;
    start(f, "/", 10000);
    while (f->taken < f->to_give) {
        world_pass(&f->world, 1);
    }
    http_request_abort(TAKE(f->request));
    finish(f);
    assert_int_equal(f->status, 0);
    assert_int_not_equal(f->err.kind, ERROR_NONE);
    assert_int_equal(f->gone, 0);
}

static void a_stopping_server_truncates_the_response(void **state)
{
    Fixture *f = *state;
    serve_local(f, 10000);
    f->to_give = 100;
    f->stays = true;
    start(f, "/", 10000);
    while (f->taken < f->to_give) {
        world_pass(&f->world, 1);
    }
    http_server_free(TAKE(f->server));
    assert_int_equal(f->gone, 1);
    finish(f);
    assert_int_equal(f->status, 0);
    assert_int_not_equal(f->err.kind, ERROR_NONE);
}

static void silence_times_out(void **state)
{
    Fixture *f = *state;
    serve_local(f, 10000);
    f->to_give = 100;
    f->stays = true;
    start(f, "/", 20);
    finish(f);
    assert_int_equal(f->status, 0);
    assert_int_equal(f->err.kind, ERROR_TIMEOUT);
    assert_int_equal(f->taken, 100);
}

static void check_pause(Fixture *f)
{
    f->to_give = 8 << 20;
    f->pauses = true;
    start(f, "/", 5000);
    while (f->chunks == 0) {
        world_pass(&f->world, 1);
    }
    /* Kernel buffers fill up, then the sender waits. */
    size_t given;
    do {
        given = f->given;
        world_pass(&f->world, 20);
    } while (f->given > given);
    assert_true(f->given < f->to_give);
    assert_int_equal(f->chunks, 1);
    for (uint32_t i = 2; i < 10; i++) {
        http_call_resume(f->call);
        while (f->chunks < i) {
            world_pass(&f->world, 1);
        }
        assert_int_equal(f->chunks, i);
    }
    f->pauses = false;
    http_call_resume(f->call);
    finish(f);
    assert_int_equal(f->status, 200);
    assert_int_equal(f->taken, f->to_give);
}

static void pausing_slows_the_server_down(void **state)
{
    Fixture *f = *state;
    serve_local(f, 10000);
    check_pause(f);
}

static void pausing_slows_the_server_down_over_tls(void **state)
{
    Fixture *f = *state;
    serve_tls(f);
    check_pause(f);
}

static void a_call_can_be_freed_by_a_callback(void **state)
{
    Fixture *f = *state;
    serve_local(f, 10000);
    f->to_give = 1 << 20;
    f->frees = true;
    start(f, "/", 10000);
    world_run(&f->world);
    assert_int_equal(f->chunks, 1);
    assert_false(f->over);
    while (f->gone == 0) {
        world_pass(&f->world, 1);
    }
}

/* --- Third-party clients --------------------------------------------------------------------- */

static int ask(Fixture *f, const char *request)
{
    SocketAddress to = address_to_socket(&f->address);
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    assert_int_equal(connect(descriptor, (struct sockaddr *)&to.storage, to.len), 0);
    assert_int_equal(send(descriptor, request, strlen(request), 0), strlen(request));
    return descriptor;
}

static size_t read_until_closed(Fixture *f, int descriptor, char *to, size_t room)
{
    size_t len = 0;
    for (;;) {
        ssize_t got = recv(descriptor, to + len, room - len - 1, 0);
        len += got > 0 ? (size_t)got : 0;
        to[len] = '\0';
        if (got == 0) {
            return len;
        }
        world_pass(&f->world, 1);
    }
}

#define GET   "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
#define CLOSE "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"

static void the_last_chunk_is_flushed(void **state)
{
    Fixture *f = *state;
    char got[4000];
    serve_local(f, 10000);
    f->to_give = 20;
    int descriptor = ask(f, GET CLOSE);
    read_until_closed(f, descriptor, got, sizeof got);
    static const char body[] = "\r\nTransfer-Encoding: chunked\r\n\r\n"
                               "14\r\naaaaaaabbbbbbbcccccc\r\n0\r\n\r\n";
    char *first = strstr(got, body);
    assert_non_null(first);
    assert_non_null(strstr(first + 1, body));
    assert_null(strstr(got, "Content-Length"));
    assert_int_equal(f->requests, 2);
    close(descriptor);
}

static void a_head_response_has_no_chunks(void **state)
{
    Fixture *f = *state;
    char got[2000];
    serve_local(f, 10000);
    f->to_give = 5 * CHUNK;
    int descriptor = ask(f, "HEAD / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    size_t len = read_until_closed(f, descriptor, got, sizeof got);
    assert_string_equal(got + len - 4, "\r\n\r\n");
    assert_int_equal(f->given, f->to_give);
    close(descriptor);
}

static void http_1_0_gets_no_chunks(void **state)
{
    Fixture *f = *state;
    char got[2000];
    serve_local(f, 10000);
    int descriptor = ask(f, "GET / HTTP/1.0\r\n\r\n");
    read_until_closed(f, descriptor, got, sizeof got);
    assert_non_null(strstr(got, "HTTP/1.1 505 "));
    assert_true(f->old);
    close(descriptor);
}

static void a_slow_client_is_waited_for(void **state)
{
    Fixture *f = *state;
    static char got[6 << 20];
    serve_local(f, 10000);
    f->to_give = 4 << 20;
    int descriptor = ask(f, CLOSE);
    size_t given;
    do {
        given = f->given;
        world_pass(&f->world, 20);
    } while (f->given > given || given == 0);
    assert_true(f->given < f->to_give);
    uint32_t drained = f->drained;
    world_pass(&f->world, 20);
    assert_int_equal(f->drained, drained);
    size_t len = read_until_closed(f, descriptor, got, sizeof got);
    assert_true(len > f->to_give);
    assert_string_equal(got + len - 5, "0\r\n\r\n");
    close(descriptor);
}

static void a_client_that_does_not_read_for_too_long_is_disconnected(void **state)
{
    Fixture *f = *state;
    serve_local(f, 30);
    f->to_give = 4 << 20;
    int descriptor = ask(f, CLOSE);
    while (f->gone == 0) {
        world_pass(&f->world, 1);
    }
    assert_null(f->request);
    close(descriptor);
}

/* A single chunk that the kernel accepts in many parts: each of them counts. */
static void a_slow_reader_is_not_disconnected(void **state)
{
    Fixture *f = *state;
    static char large[4 << 20], got[64 << 10];
    serve_local(f, 300);
    f->stays = true;
    int descriptor = ask(f, CLOSE);
    while (f->request == NULL) {
        world_pass(&f->world, 1);
    }
    http_request_send_piece(f->request, str_from(large, sizeof large));
    for (int i = 0; i < 4; i++) {
        while (recv(descriptor, got, sizeof got, 0) > 0) {
        }
        world_pass(&f->world, 200);
        assert_int_equal(f->gone, 0);
    }
    close(descriptor);
}

static void a_disconnect_in_the_middle_is_reported(void **state)
{
    Fixture *f = *state;
    char got[2000];
    serve_local(f, 10000);
    f->to_give = 4 << 20;
    int descriptor = ask(f, CLOSE);
    while (recv(descriptor, got, sizeof got, 0) < 0) {
        world_pass(&f->world, 1);
    }
    close(descriptor);
    while (f->gone == 0) {
        world_pass(&f->world, 1);
    }
    assert_true(f->given < f->to_give);
}

static void an_endless_sender_is_disconnected_meanwhile(void **state)
{
    Fixture *f = *state;
    char much[4096];
    memset(much, 'x', sizeof much);
    serve_local(f, 10000);
    f->to_give = SIZE_MAX;
    int descriptor = ask(f, GET);
    while (f->gone == 0) {
        (void)send(descriptor, much, sizeof much, MSG_NOSIGNAL);
        while (recv(descriptor, much, sizeof much, 0) > 0) {
        }
        world_pass(&f->world, 1);
    }
    close(descriptor);
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(chunks_arrive_one_by_one),
        ROW(a_complete_response_is_collected),
        ROW(a_response_without_chunks_is_complete),
        ROW(a_rejection_is_not_a_chunk),
        ROW(an_aborted_response_is_a_failure),
        ROW(a_stopping_server_truncates_the_response),
        ROW(silence_times_out),
        ROW(pausing_slows_the_server_down),
        ROW(pausing_slows_the_server_down_over_tls),
        ROW(a_call_can_be_freed_by_a_callback),
        ROW(the_last_chunk_is_flushed),
        ROW(a_head_response_has_no_chunks),
        ROW(http_1_0_gets_no_chunks),
        ROW(a_slow_client_is_waited_for),
        ROW(a_client_that_does_not_read_for_too_long_is_disconnected),
        ROW(a_slow_reader_is_not_disconnected),
        ROW(a_disconnect_in_the_middle_is_reported),
        ROW(an_endless_sender_is_disconnected_meanwhile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
