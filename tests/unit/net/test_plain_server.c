/* A port without TLS, over real connections on loopback. */
#include "net/plain_server.h"

#include <errno.h>
#include <netinet/in.h>

#include "world.h"

typedef struct Fixture {
    World world;
    PlainServer *server;
    uint32_t answered;
    uint32_t stopped;
} Fixture;

static void answer_well(void *context, HttpRequest *request)
{
    Fixture *f = context;
    f->answered++;
    assert_false(http_request_peer(request)->is_local);
    assert_false(http_request_peer(request)->tls.has_identity);
    http_request_respond(request, 200, "text/plain", STR("well\n"));
}

static const PlainRoute routes[] = {
    { "/healthz", answer_well, "whether it is well" },
    { 0 },
};

static const Str names[] = { { "eden1.example.org", 17 } };

static void open_server(Fixture *f, int64_t request_ms)
{
    PlainServerOptions options = { .loop = f->world.loop,
                                   .routes = routes,
                                   .names = names,
                                   .name_count = 1,
                                   .request_ms = request_ms,
                                   .context = f };
    Address address = { .kind = ADDRESS_IP, .host = "127.0.0.1" };
    Error err;
    assert_true(plain_server_open(&options, &address, &f->server, &err));
}

static int set_up(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    *state = f;
    world_open(&f->world);
    open_server(f, 0);
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    plain_server_free(f->server);
    world_close(&f->world);
    free(f);
    return 0;
}

static int connect_one(Fixture *f)
{
    uint16_t port = listener_port(plain_server_listener(f->server));
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_port = htons(port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(descriptor, (struct sockaddr *)&to, sizeof to), 0);
    return descriptor;
}

/* Reads until the other side closes, or has sent `enough` bytes. */
static void read_all(Fixture *f, int descriptor, char *out, size_t size, size_t enough)
{
    size_t len = 0;
    for (;;) {
        ssize_t got = recv(descriptor, out + len, size - len - 1, MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno != EAGAIN)) {
            break;
        }
        len += got > 0 ? (size_t)got : 0;
        if (enough > 0 && len >= enough) {
            break;
        }
        world_pass(&f->world, 1);
    }
    out[len] = '\0';
}

static void try(Fixture *f, const char *request, char *out, size_t size)
{
    int descriptor = connect_one(f);
    assert_true(send(descriptor, request, strlen(request), 0) > 0);
    shutdown(descriptor, SHUT_WR);
    read_all(f, descriptor, out, size, 0);
    close(descriptor);
}

#define LINES(path, fields) "GET " path " HTTP/1.1\r\nConnection: close\r\n" fields "\r\n"

static void only_its_routes_are_answered(void **state)
{
    Fixture *f = *state;
    char got[4000];
    static const struct {
        const char *request, *reported;
    } cases[] = {
        { LINES("/healthz", "Host: 127.0.0.1\r\n"), "200 OK" },
        { LINES("/healthz", "Host: localhost:8080\r\n"), "200 OK" },
        { LINES("/healthz", "Host: EDEN1.example.org\r\n"), "200 OK" },
        { "HEAD /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n", "200 OK" },
        { "GET /healthz HTTP/1.0\r\n\r\n", "200 OK" },
        { LINES("/healthz", "Host: evil.example.org\r\n"), "421 Misdirected" },
        { LINES("/healthz", "Host: 10.0.0.1\r\n"), "421 Misdirected" },
        { LINES("/healthz", "Host: 127.0.0.1\r\nAuthorization: Bearer x\r\n"), "400 Bad" },
        { LINES("/healthz", "Host: 127.0.0.1\r\nCookie: a=b\r\n"), "400 Bad" },
        { LINES("/healthz", "Host: 127.0.0.1\r\nProxy-Authorization: Basic x\r\n"), "400 Bad" },
        { LINES("/v1/nodes", "Host: 127.0.0.1\r\nAuthorization: Bearer x\r\n"), "400 Bad" },
        { LINES("/v1/nodes", "Host: 127.0.0.1\r\n"), "404 Not Found" },
        { LINES("/healthz/", "Host: 127.0.0.1\r\n"), "404 Not Found" },
        { LINES("/%68ealthz", "Host: 127.0.0.1\r\n"), "404 Not Found" },
        { LINES("/", "Host: 127.0.0.1\r\n"), "404 Not Found" },
        { LINES("/healthz?a=b", "Host: 127.0.0.1\r\n"), "400 Bad" },
        { LINES("/healthz", "Host: 127.0.0.1\r\nContent-Length: 1\r\n"), "413 " },
        { LINES("/healthz",
                "Host: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n") "1\r\nx\r\n0\r\n\r\n",
          "413 " },
        { "POST /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n", "405 Method" },
        { "DELETE /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
          "405 Method" },
        { "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "501 Not" },
        { "\x16\x03\x01\x02\r\n\r\n", "400 Bad" },
    };
    uint32_t good = 0;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint32_t before = f->answered;
        try(f, cases[i].request, got, sizeof got);
        good += str_starts(str_from_c(cases[i].reported), STR("200"));
        if (!str_starts(str_from_c(got), STR("HTTP/1.1 ")) ||
            !str_starts(str_from_c(got + 9), str_from_c(cases[i].reported))) {
            fail_msg("%s: %s", cases[i].request, got);
        }
        assert_int_equal(f->answered - before,
                         str_starts(str_from_c(cases[i].reported), STR("200")) ? 1 : 0);
        assert_non_null(strstr(got, "\r\nCache-Control: no-store\r\n"));
        assert_null(strstr(got, "WWW-Authenticate"));
        assert_null(strstr(got, "Access-Control"));
    }
    assert_int_equal(f->answered, good);
}

static void an_incomplete_request_times_out(void **state)
{
    Fixture *f = *state;
    char got[2000];
    plain_server_free(f->server);
    open_server(f, 50);
    int descriptor = connect_one(f);
    assert_true(send(descriptor, "GET / HTTP/1.1\r\nHo", 18, 0) > 0);
    read_all(f, descriptor, got, sizeof got, 0);
    assert_non_null(strstr(got, "HTTP/1.1 408 "));
    close(descriptor);
}

static void connections_per_source_are_limited(void **state)
{
    Fixture *f = *state;
    int open[PLAIN_ORIGIN_MAX + 3];
    char got[100];
    for (size_t i = 0; i < COUNT_OF(open); i++) {
        open[i] = connect_one(f);
        world_pass(&f->world, 1);
    }
    while (listener_counts(plain_server_listener(f->server)).refused_origin < 3) {
        world_pass(&f->world, 1);
    }
    assert_int_equal(listener_counts(plain_server_listener(f->server)).established,
                     PLAIN_ORIGIN_MAX);
    read_all(f, open[PLAIN_ORIGIN_MAX], got, sizeof got, 0);
    assert_string_equal(got, "");
    for (size_t i = 0; i < COUNT_OF(open); i++) {
        close(open[i]);
    }
}

/* Checks once per turn of the loop. */
typedef struct Turns {
    Fixture *f;
    LoopTask look;
    uint32_t before, most;
} Turns;

static void look(void *context)
{
    Turns *turns = context;
    uint32_t answered = turns->f->answered - turns->before;
    turns->most = answered > turns->most ? answered : turns->most;
    turns->before = turns->f->answered;
    loop_defer(turns->f->world.loop, &turns->look);
}

static void pipelined_requests_leave_capacity_for_others(void **state)
{
    enum {
        REQUESTS = 400,
        TURN = 16
    };
    Fixture *f = *state;
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    Turns turns = { .f = f };
    char *got = calloc(1, 1 << 20);
    for (int i = 0; i < REQUESTS; i++) {
        buf_put_c(&text, "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    }
    loop_task_init(&turns.look, look, &turns);
    look(&turns);
    int descriptor = connect_one(f);
    assert_int_equal(send(descriptor, text.data, text.len, 0), text.len);
    shutdown(descriptor, SHUT_WR);
    read_all(f, descriptor, got, 1 << 20, 0);
    loop_task_stop(f->world.loop, &turns.look);
    assert_int_equal(f->answered, REQUESTS);
    assert_in_range(turns.most, 1, TURN);
    free(got);
    close(descriptor);
}

static void stopped(void *context)
{
    Fixture *f = context;
    f->stopped++;
    loop_stop(f->world.loop);
}

static void it_stops_cleanly(void **state)
{
    Fixture *f = *state;
    int idle = connect_one(f);
    world_pass(&f->world, 1);
    plain_server_stop(f->server, 1000, stopped, f);
    assert_null(plain_server_listener(f->server));
    world_run(&f->world);
    assert_int_equal(f->stopped, 1);
    close(idle);
}

static void an_address_is_written_in_full(void **state)
{
    static const struct {
        const char *text;
        bool is_good;
    } cases[] = {
        { "127.0.0.1:8080", true },
        { "[::1]:8080", true },
        { "10.0.0.5:80", true },
        { "0.0.0.0:8080", true },
        { "[::]:8080", true },
        { "", false },
        { "8080", false },
        { ":8080", false },
        { "*:8080", false },
        { "127.0.0.1", false },
        { "::1", false },
        { "127.0.0.1:0", false },
        { "0.0.0.0", false },
        { "localhost:8080", false },
        { "eden1.example.org:8080", false },
        { "/run/eden/health.sock", false },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Address address;
        Error err;
        if (plain_address_parse(str_from_c(cases[i].text), &address, &err) != cases[i].is_good) {
            fail_msg("%s", cases[i].text);
        }
    }
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(only_its_routes_are_answered),
        ROW(an_incomplete_request_times_out),
        ROW(connections_per_source_are_limited),
        ROW(it_stops_cleanly),
        ROW(pipelined_requests_leave_capacity_for_others),
        cmocka_unit_test(an_address_is_written_in_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
