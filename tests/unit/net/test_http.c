/* Requests and responses over a real connection, here over a Unix socket. */
#include <sys/un.h>

#include "net/http_client.h"
#include "net/http_server.h"
#include "world.h"

typedef struct Fixture {
    World world;
    Scratch *scratch;
    HttpServer *server;
    Address address;
    HttpCall *call;
    HttpRequest *held; /* one that the test answers itself */
    bool holds;
    uint32_t gone, requests;
    bool over, stopped;
    int status;
    char body[200];
    Error err;
} Fixture;

/* Echoes what it receives. */
static void requested(void *context, HttpRequest *request)
{
    Fixture *f = context;
    const Http1Head *head = http_request_head(request);
    f->requests++;
    if (f->holds) {
        f->held = request;
        return;
    }
    Buf text = buf_make(BUF_UNLIMITED);
    buf_put_format(&text, "%.*s %.*s ", (int)head->method.len, head->method.data,
                   (int)head->path.len, head->path.data);
    buf_put(&text, http_request_body(request));
    assert_true(http_request_peer(request)->is_local);
    http_request_respond(request, 200, "text/plain", buf_str(&text));
    buf_clear(&text);
}

static void gone(void *context, HttpRequest *request)
{
    Fixture *f = context;
    assert_ptr_equal(request, f->held);
    f->held = NULL;
    f->gone++;
}

static void serve(Fixture *f, const HttpServerOptions *limits)
{
    HttpServerOptions options = *limits;
    const Listener *listener;
    Error err;
    options.loop = f->world.loop;
    options.requested = requested;
    options.disconnected = gone;
    options.context = f;
    f->server = http_server_new(&options);
    ListenerOptions listening = listener_defaults();
    listening.loop = f->world.loop;
    assert_true(
        address_parse(str_from_c(scratch_place(f->scratch, "socket")), 0, &f->address, &err));
    assert_true(http_server_listen(f->server, &listening, &f->address, &listener, &err));
}

static int set_up(void **state)
{
    scratch_set_up(state);
    Fixture *f = calloc(1, sizeof *f);
    f->scratch = *state;
    *state = f;
    world_open(&f->world);
    HttpServerOptions limits = http_server_defaults();
    limits.body_max = 100;
    limits.request_timeout_ms = 50;
    serve(f, &limits);
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    http_call_free(f->call);
    http_server_free(f->server);
    world_close(&f->world);
    *state = f->scratch;
    free(f);
    return scratch_tear_down(state);
}

static void done(void *context, const HttpResponse *answer, const Error *err)
{
    Fixture *f = context;
    assert_false(f->over);
    f->over = true;
    f->status = answer == NULL ? 0 : answer->head->status;
    f->err = *err;
    if (answer != NULL) {
        memcpy(f->body, answer->body.data, answer->body.len);
        f->body[answer->body.len] = '\0';
    }
    loop_stop(f->world.loop);
}

static void start(Fixture *f, const char *method, Str body, int64_t timeout_ms)
{
    HttpCallOptions options = { .loop = f->world.loop,
                                .address = f->address,
                                .method = method,
                                .target = "/a/b?c",
                                .content_type = body.len > 0 ? "text/plain" : NULL,
                                .body = body,
                                .response_max = 150,
                                .timeout_ms = timeout_ms,
                                .done = done,
                                .context = f };
    http_call_free(f->call);
    f->over = false;
    f->call = http_call_new(&options);
}

static void try(Fixture *f, const char *method, Str body)
{
    start(f, method, body, 5000);
    world_run(&f->world);
    assert_true(f->over);
}

static void a_request_is_answered(void **state)
{
    Fixture *f = *state;
    try(f, "GET", STR_EMPTY);
    assert_int_equal(f->status, 200);
    assert_string_equal(f->body, "GET /a/b ");
    try(f, "POST", STR("hello"));
    assert_string_equal(f->body, "POST /a/b hello");
}

static void a_body_that_is_too_large_is_rejected(void **state)
{
    Fixture *f = *state;
    char large[101];
    memset(large, 'x', sizeof large);
    try(f, "POST", str_from(large, sizeof large));
    assert_int_equal(f->status, 413);
    try(f, "POST", str_from(large, 100));
    assert_int_equal(f->status, 200);
}

static void a_response_can_be_delayed(void **state)
{
    Fixture *f = *state;
    f->holds = true;
    start(f, "GET", STR_EMPTY, 5000);
    while (f->held == NULL) {
        world_pass(&f->world, 1);
    }
    http_request_respond(f->held, 202, "text/plain", STR("later"));
    world_run(&f->world);
    assert_int_equal(f->status, 202);
    assert_string_equal(f->body, "later");
    assert_int_equal(f->gone, 0);
}

static void a_disconnect_is_reported(void **state)
{
    Fixture *f = *state;
    f->holds = true;
    start(f, "GET", STR_EMPTY, 5000);
    while (f->held == NULL) {
        world_pass(&f->world, 1);
    }
    http_call_free(TAKE(f->call));
    while (f->gone == 0) {
        world_pass(&f->world, 1);
    }
    assert_null(f->held);
}

static void no_response_is_a_failure(void **state)
{
    Fixture *f = *state;
    f->holds = true;
    start(f, "GET", STR_EMPTY, 20);
    world_run(&f->world);
    assert_int_equal(f->status, 0);
    assert_int_equal(f->err.kind, ERROR_TIMEOUT);
}

static void connection_refused_is_a_failure(void **state)
{
    Fixture *f = *state;
    http_server_free(TAKE(f->server));
    try(f, "GET", STR_EMPTY);
    assert_int_equal(f->status, 0);
    assert_int_not_equal(f->err.kind, ERROR_NONE);
}

/* --- Third-party clients --------------------------------------------------------------------- */

static int connect_raw(Fixture *f)
{
    SocketAddress to = address_to_socket(&f->address);
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    assert_int_equal(connect(descriptor, (struct sockaddr *)&to.storage, to.len), 0);
    return descriptor;
}

/* Everything received until the server closes the connection or `wanted` bytes have arrived. */
static size_t read_raw(Fixture *f, int descriptor, char *to, size_t room, size_t wanted)
{
    size_t len = 0;
    for (;;) {
        ssize_t got = recv(descriptor, to + len, room - len - 1, 0);
        len += got > 0 ? (size_t)got : 0;
        to[len] = '\0';
        if (got == 0 || (wanted > 0 && len >= wanted)) {
            return len;
        }
        world_pass(&f->world, 1);
    }
}

static uint32_t count(const char *text, const char *chunk)
{
    uint32_t found = 0;
    for (const char *at = strstr(text, chunk); at != NULL; at = strstr(at + 1, chunk)) {
        found++;
    }
    return found;
}

static void requests_can_be_pipelined(void **state)
{
    Fixture *f = *state;
    char got[2000];
    static const char requests[] = "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n"
                                   "POST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nxy"
                                   "GET /3 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
                                   "GET /4 HTTP/1.1\r\nHost: a\r\n\r\n";
    int descriptor = connect_raw(f);
    f->holds = true;
    assert_true(send(descriptor, requests, strlen(requests), 0) > 0);
    while (f->held == NULL) {
        world_pass(&f->world, 1);
    }
    f->holds = false;
    http_request_respond(f->held, 200, "text/plain", STR("held "));
    read_raw(f, descriptor, got, sizeof got, 0);
    assert_int_equal(count(got, "HTTP/1.1 200 OK\r\n"), 3);
    assert_non_null(strstr(got, "POST /2 xy"));
    assert_non_null(strstr(got, "GET /3 "));
    assert_null(strstr(got, "GET /4 "));
    close(descriptor);
}

/* A response with another address is not followed. */
static void redirects_are_not_followed(void **state)
{
    Fixture *f = *state;
    f->holds = true;
    start(f, "GET", STR_EMPTY, 5000);
    while (f->held == NULL) {
        world_pass(&f->world, 1);
    }
    HttpRequest *request = TAKE(f->held);
    http_request_add_header(request, "Location", STR("/elsewhere"));
    http_request_respond(request, 302, "text/plain", STR("go"));
    while (!f->over) {
        world_run(&f->world);
    }
    assert_int_equal(f->status, 302);
    assert_string_equal(f->body, "go");
    world_pass(&f->world, 5);
    assert_null(f->held); /* no further request */
}

static void a_response_can_have_its_own_headers(void **state)
{
    Fixture *f = *state;
    char got[2000];
    static const char requests[] = "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n"
                                   "GET /2 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    int descriptor = connect_raw(f);
    f->holds = true;
    assert_true(send(descriptor, requests, strlen(requests), 0) > 0);
    while (f->held == NULL) {
        world_pass(&f->world, 1);
    }
    f->holds = false;
    http_request_add_header(f->held, "Allow", STR("GET"));
    http_request_respond(f->held, 405, "text/plain", STR("no"));
    read_raw(f, descriptor, got, sizeof got, 0);
    assert_int_equal(count(got, "HTTP/1.1 "), 2);
    assert_int_equal(count(got, "\r\nAllow: GET\r\n"), 1);
    close(descriptor);
}

static void default_headers_can_be_overridden(void **state)
{
    Fixture *f = *state;
    char got[2000], own[ADDRESS_TEXT_MAX];
    static const char requests[] = "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n"
                                   "GET /2 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    int descriptor = connect_raw(f);
    f->holds = true;
    assert_true(send(descriptor, requests, strlen(requests), 0) > 0);
    while (f->held == NULL) {
        world_pass(&f->world, 1);
    }
    f->holds = false;
    http_request_own_address(f->held, own);
    assert_string_equal(own, "unix");
    http_request_add_header(f->held, "cache-control", STR("no-cache"));
    http_request_respond(f->held, 304, "text/plain", STR("nobody is told"));
    read_raw(f, descriptor, got, sizeof got, 0);
    assert_int_equal(count(got, "\r\ncache-control: no-cache\r\n"), 1);
    assert_int_equal(count(got, "\r\nCache-Control: no-store\r\n"), 1);
    assert_int_equal(count(got, "\r\nX-Content-Type-Options: nosniff\r\n"), 2);
    assert_int_equal(count(got, "\r\nContent-Length: "), 1);
    assert_int_equal(count(got, "told"), 0);
    close(descriptor);
}

static void a_head_is_answered_without_a_body(void **state)
{
    Fixture *f = *state;
    char got[2000];
    static const char request[] = "HEAD /1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    int descriptor = connect_raw(f);
    assert_true(send(descriptor, request, strlen(request), 0) > 0);
    read_raw(f, descriptor, got, sizeof got, 0);
    assert_non_null(strstr(got, "Content-Length: 8\r\n\r\n"));
    assert_null(strstr(got, "HEAD /1"));
    close(descriptor);
}

static void invalid_http_is_rejected_and_closed(void **state)
{
    Fixture *f = *state;
    char got[2000];
    int descriptor = connect_raw(f);
    assert_true(send(descriptor, "hello\n", 6, 0) > 0);
    read_raw(f, descriptor, got, sizeof got, 0);
    assert_non_null(strstr(got, "HTTP/1.1 400 Bad Request\r\n"));
    close(descriptor);
}

static const char *refuse_own_way(void *context, int status, const char *why, Buf *out)
{
    buf_put_format(out, "<%d %s>", status, why);
    return "text/x-own";
}

static void the_server_formats_rejections(void **state)
{
    Fixture *f = *state;
    char got[2000];
    static const struct {
        const char *request, *reported;
    } cases[] = {
        { "hello\n", "<400 invalid HTTP: " },
        { "GET / HTTP/1.1\r\nHo", "<408 the request was not received in time>" },
        { "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 101\r\n\r\n",
          "<413 request body of 101 bytes is larger than the limit of 100>" },
    };
    HttpServerOptions limits = http_server_defaults();
    limits.body_max = 100;
    limits.request_timeout_ms = 50;
    limits.write_error = refuse_own_way;
    http_server_free(f->server);
    serve(f, &limits);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        int descriptor = connect_raw(f);
        assert_true(send(descriptor, cases[i].request, strlen(cases[i].request), 0) > 0);
        read_raw(f, descriptor, got, sizeof got, 0);
        assert_non_null(strstr(got, "Content-Type: text/x-own\r\n"));
        assert_non_null(strstr(got, cases[i].reported));
        close(descriptor);
    }
}

/* By its path: /none, or the number of bytes it accepts. */
static bool reads_as_many_bytes_as_the_path_says(void *context, const HttpRequest *request,
                                                 uint64_t *max)
{
    return str_to_u64(str_from_offset(http_request_head(request)->path, 1), max);
}

static void each_request_has_its_own_body_limit(void **state)
{
    Fixture *f = *state;
    char got[2000];
    HttpServerOptions limits = http_server_defaults();
    limits.body_max = 100;
    limits.reads_body = reads_as_many_bytes_as_the_path_says;
    http_server_free(f->server);
    serve(f, &limits);
    static const char several[] = "PUT /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab"
                                  "PUT /9 HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabcdefghi"
                                  "GET /0 HTTP/1.1\r\nHost: a\r\n\r\n"
                                  "PUT /3 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                                  "2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n";
    int descriptor = connect_raw(f);
    assert_true(send(descriptor, several, strlen(several), 0) > 0);
    read_raw(f, descriptor, got, sizeof got, 0);
    assert_non_null(strstr(got, "PUT /2 ab"));
    assert_non_null(strstr(got, "PUT /9 abcdefghi"));
    assert_non_null(strstr(got, "GET /0 "));
    assert_non_null(strstr(got, "body is larger than the limit of 3 bytes"));
    assert_null(strstr(got, "PUT /3"));
    close(descriptor);
}

/* It is dispatched once its head is complete, and is the last: where the next one starts is
 * unknown. */
static void an_unwanted_body_is_not_read(void **state)
{
    Fixture *f = *state;
    char got[2000];
    HttpServerOptions limits = http_server_defaults();
    limits.body_max = 1 << 20;
    limits.reads_body = reads_as_many_bytes_as_the_path_says;
    http_server_free(f->server);
    serve(f, &limits);
    static const char head[] = "PUT /none HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n"
                               "Expect: 100-continue\r\n\r\nGET /0 HTTP/1.1\r\nHost: a\r\n\r\n";
    int descriptor = connect_raw(f);
    assert_true(send(descriptor, head, strlen(head), 0) > 0);
    read_raw(f, descriptor, got, sizeof got, 0);
    assert_true(str_starts(str_from_c(got), STR("HTTP/1.1 200 OK\r\n")));
    assert_non_null(strstr(got, "Connection: close\r\n"));
    assert_non_null(strstr(got, "PUT /none "));
    assert_null(strstr(got, "GET /0"));
    assert_int_equal(f->requests, 1);
    close(descriptor);
}

static void an_incomplete_request_times_out(void **state)
{
    Fixture *f = *state;
    char got[2000];
    int descriptor = connect_raw(f);
    assert_true(send(descriptor, "GET / HTTP/1.1\r\nHo", 18, 0) > 0);
    read_raw(f, descriptor, got, sizeof got, 0);
    assert_non_null(strstr(got, "HTTP/1.1 408 Request Timeout\r\n"));
    close(descriptor);
}

static void expect_continue_gets_a_100(void **state)
{
    Fixture *f = *state;
    char got[2000];
    static const char head[] = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n"
                               "Expect: 100-continue\r\nConnection: close\r\n\r\n";
    int descriptor = connect_raw(f);
    assert_true(send(descriptor, head, strlen(head), 0) > 0);
    read_raw(f, descriptor, got, sizeof got, strlen("HTTP/1.1 100 Continue\r\n\r\n"));
    assert_string_equal(got, "HTTP/1.1 100 Continue\r\n\r\n");
    assert_true(send(descriptor, "xy", 2, 0) > 0);
    read_raw(f, descriptor, got, sizeof got, 0);
    assert_non_null(strstr(got, "POST / xy"));
    close(descriptor);
}

/* A peer that sends many requests and reads no responses: no more requests are processed for it.
 * When it reads, it gets everything. */
static void a_client_that_reads_nothing_is_paused(void **state)
{
    Fixture *f = *state;
    static const char request[] = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    const size_t len = strlen(request);
    int descriptor = connect_raw(f);
    size_t sent = 0;
    uint32_t seen, same = 0;
    while (same < 20) {
        for (ssize_t put = 1; put > 0;) {
            put = send(descriptor, request + sent % len, len - sent % len, MSG_NOSIGNAL);
            sent += put > 0 ? (size_t)put : 0;
        }
        seen = f->requests;
        world_pass(&f->world, 1);
        same = f->requests == seen ? same + 1 : 0;
    }
    assert_true(f->requests > 0 && f->requests < sent / len);
    uint32_t answers = 0;
    char got[4096], last[] = "HTTP/1.1 200 OK";
    size_t matched = 0;
    while (answers < sent / len) {
        ssize_t count_got = recv(descriptor, got, sizeof got, 0);
        for (ssize_t i = 0; i < count_got; i++) {
            matched = got[i] == last[matched] ? matched + 1 : got[i] == last[0];
            if (last[matched] == '\0') {
                answers++;
                matched = 0;
            }
        }
        if (count_got < 0) {
            world_pass(&f->world, 1);
        }
        assert_int_not_equal(count_got, 0);
    }
    assert_int_equal(f->requests, sent / len);
    close(descriptor);
}

/* Bodies of all peers together have a limit, and a request beyond it gets an error. */
static void bodies_that_exceed_the_total_limit_are_rejected(void **state)
{
    Fixture *f = *state;
    static const char head[] = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 40000\r\n\r\n";
    static char body[39999], got[1000];
    memset(body, 'x', sizeof body);
    int peers[3];
    HttpServerOptions limits = http_server_defaults();
    limits.memory_max = 70000;
    http_server_free(f->server);
    serve(f, &limits);
    for (uint32_t i = 0; i < COUNT_OF(peers); i++) {
        peers[i] = connect_raw(f);
        assert_true(send(peers[i], head, strlen(head), 0) > 0);
        assert_int_equal(send(peers[i], body, sizeof body, 0), sizeof body);
    }
    bool refused = false;
    while (!refused) {
        world_pass(&f->world, 1);
        for (uint32_t i = 0; i < COUNT_OF(peers); i++) {
            refused = refused || recv(peers[i], got, 1, MSG_PEEK) > 0;
        }
    }
    uint32_t taken = 0;
    for (uint32_t i = 0; i < COUNT_OF(peers); i++) {
        (void)send(peers[i], "x", 1, MSG_NOSIGNAL);
        read_raw(f, peers[i], got, sizeof got, 200);
        taken += strncmp(got, "HTTP/1.1 200 ", 13) == 0;
        assert_true(strncmp(got, "HTTP/1.1 200 ", 13) == 0 ||
                    strstr(got, "\r\nRetry-After: 1\r\n") != NULL);
        close(peers[i]);
    }
    assert_true(taken > 0 && taken < COUNT_OF(peers));
}

/* Because the following ones read nothing of their responses, one of them is aborted; the remaining
 * one gets its own. */
static void unread_responses_are_aborted(void **state)
{
    Fixture *f = *state;
    enum {
        BODY = 400000
    };
    static char printed[BODY + 200], got[BODY + 1000];
    int peers[6];
    HttpServerOptions limits = http_server_defaults();
    limits.memory_max = 2 * BODY;
    http_server_free(f->server);
    serve(f, &limits);
    int len = snprintf(
        printed, sizeof printed,
        "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: %d\r\n\r\n", BODY);
    memset(printed + len, 'x', BODY);
    for (uint32_t i = 0; i < COUNT_OF(peers); i++) {
        size_t sent = 0;
        peers[i] = connect_raw(f);
        while (f->requests == i) {
            ssize_t put = send(peers[i], printed + sent, (size_t)len + BODY - sent, MSG_NOSIGNAL);
            sent += put > 0 ? (size_t)put : 0;
            world_pass(&f->world, 1);
        }
    }
    uint32_t whole = 0;
    for (uint32_t i = 0; i < COUNT_OF(peers); i++) {
        whole += read_raw(f, peers[i], got, sizeof got, 0) > BODY;
        close(peers[i]);
    }
    assert_true(whole > 0 && whole < COUNT_OF(peers));
}

/* More than may wait behind a pending request. */
static void an_endless_sender_is_disconnected(void **state)
{
    Fixture *f = *state;
    char much[4096];
    int descriptor = connect_raw(f);
    memset(much, 'x', sizeof much);
    f->holds = true;
    static const char request[] = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    assert_true(send(descriptor, request, strlen(request), 0) > 0);
    while (f->gone == 0) {
        (void)send(descriptor, much, sizeof much, MSG_NOSIGNAL);
        world_pass(&f->world, 1);
    }
    close(descriptor);
}

static void stopped(void *context)
{
    Fixture *f = context;
    f->stopped = true;
    loop_stop(f->world.loop);
}

/* Holds a request, and stops. */
static void hold_and_stop(Fixture *f, int64_t grace_ms)
{
    f->holds = true;
    start(f, "GET", STR_EMPTY, 5000);
    while (f->held == NULL) {
        world_pass(&f->world, 1);
    }
    http_server_stop(f->server, grace_ms, stopped, f);
    world_pass(&f->world, 1);
}

static void stopping_finishes_responses_first(void **state)
{
    Fixture *f = *state;
    hold_and_stop(f, 60 * 1000);
    assert_false(f->stopped);
    http_request_respond(f->held, 200, "text/plain", STR("late"));
    while (!f->stopped || !f->over) {
        world_pass(&f->world, 1);
    }
    assert_string_equal(f->body, "late");
    try(f, "GET", STR_EMPTY);
    assert_int_equal(f->status, 0);
}

static void stopping_does_not_wait_forever(void **state)
{
    Fixture *f = *state;
    hold_and_stop(f, 2);
    while (!f->stopped || !f->over) {
        world_pass(&f->world, 1);
    }
    assert_int_equal(f->gone, 1);
    assert_int_equal(f->status, 0);
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(a_request_is_answered),
        ROW(a_body_that_is_too_large_is_rejected),
        ROW(a_response_can_be_delayed),
        ROW(a_disconnect_is_reported),
        ROW(no_response_is_a_failure),
        ROW(connection_refused_is_a_failure),
        ROW(requests_can_be_pipelined),
        ROW(redirects_are_not_followed),
        ROW(a_response_can_have_its_own_headers),
        ROW(default_headers_can_be_overridden),
        ROW(a_head_is_answered_without_a_body),
        ROW(invalid_http_is_rejected_and_closed),
        ROW(the_server_formats_rejections),
        ROW(each_request_has_its_own_body_limit),
        ROW(an_unwanted_body_is_not_read),
        ROW(an_incomplete_request_times_out),
        ROW(expect_continue_gets_a_100),
        ROW(an_endless_sender_is_disconnected),
        ROW(a_client_that_reads_nothing_is_paused),
        ROW(bodies_that_exceed_the_total_limit_are_rejected),
        ROW(unread_responses_are_aborted),
        ROW(stopping_finishes_responses_first),
        ROW(stopping_does_not_wait_forever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
