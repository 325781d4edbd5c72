#include "net/connection.h"

#include <errno.h>
#include <netinet/in.h>

#include "world.h"

typedef struct Fixture {
    World world;
    Scratch *scratch;
    Connection *connection, *other;
    uint32_t ready, closed, drained;
    size_t received;
    bool frees;
    Error why;
} Fixture;

static void ready(void *context)
{
    Fixture *f = context;
    f->ready++;
    if (f->frees) {
        connection_free(TAKE(f->connection));
    }
    loop_stop(f->world.loop);
}

static void received(void *context, Str bytes)
{
    Fixture *f = context;
    f->received += bytes.len;
    if (f->frees) {
        connection_free(TAKE(f->connection));
    }
}

static void drained(void *context)
{
    Fixture *f = context;
    f->drained++;
}

static void closed(void *context, const Error *why)
{
    Fixture *f = context;
    f->closed++;
    f->why = *why;
    if (f->frees) {
        connection_free(TAKE(f->connection));
    }
    loop_stop(f->world.loop);
}

static const ConnectionEvents events = { ready, received, drained, closed };

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
    connection_free(f->connection);
    connection_free(f->other);
    world_close(&f->world);
    *state = f->scratch;
    free(f);
    return scratch_tear_down(state);
}

static void connect_to(Fixture *f, const char *text, int64_t timeout_ms)
{
    Address address;
    Error err;
    assert_true(address_parse(str_from_c(text), 1, &address, &err));
    f->connection = connection_connect(
        &(ConnectionOptions){
            .loop = f->world.loop, .open_timeout_ms = timeout_ms, .events = &events, .context = f },
        &address);
}

/* A listening socket, and its port. */
static int listen_on(uint16_t *port, int backlog)
{
    struct sockaddr_in name = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof name;
    int descriptor = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(descriptor, (struct sockaddr *)&name, len), 0);
    assert_int_equal(getsockname(descriptor, (struct sockaddr *)&name, &len), 0);
    if (backlog >= 0) {
        assert_int_equal(listen(descriptor, backlog), 0);
    }
    *port = ntohs(name.sin_port);
    return descriptor;
}

/* One end of a pair as a connection, the other as a plain socket. */
static int adopt_pair(Fixture *f)
{
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    f->connection = connection_adopt(
        &(ConnectionOptions){
            .loop = f->world.loop, .open_timeout_ms = 1000, .events = &events, .context = f },
        ends[0]);
    assert_false(connection_is_ready(f->connection));
    return ends[1];
}

static void connection_refused(void **state)
{
    Fixture *f = *state;
    uint16_t port;
    int bound = listen_on(&port, -1);
    char text[40];
    snprintf(text, sizeof text, "127.0.0.1:%u", port);
    connect_to(f, text, 5000);
    world_run(&f->world);
    assert_int_equal(f->closed, 1);
    assert_int_equal(f->why.kind, ERROR_UNAVAILABLE);
    assert_non_null(strstr(f->why.text, text));
    close(bound);
}

static void names_are_resolved_and_all_addresses_tried(void **state)
{
    Fixture *f = *state;
    uint16_t port;
    int listening = listen_on(&port, 5);
    char text[40];
    snprintf(text, sizeof text, "localhost:%u", port);
    connect_to(f, text, 5000);
    world_run(&f->world);
    assert_int_equal(f->ready, 1);
    assert_memory_equal(connection_peer(f->connection)->address, "127.0.0.1:", 10);
    close(listening);
}

static void an_unknown_name_is_reported(void **state)
{
    Fixture *f = *state;
    connect_to(f, "no-such-host.invalid:1", 20000);
    world_run(&f->world);
    assert_int_equal(f->closed, 1);
    assert_non_null(strstr(f->why.text, "no-such-host.invalid"));
}

static void a_lookup_can_be_abandoned(void **state)
{
    Fixture *f = *state;
    connect_to(f, "no-such-host.invalid:1", 20000);
    world_pass(&f->world, 0);
    connection_free(TAKE(f->connection));
    uint32_t before = f->closed; /* in case the response was that fast */
    world_pass(&f->world, 50);
    assert_int_equal(f->closed, before);
}

static void an_unresponsive_peer_times_out(void **state)
{
    Fixture *f = *state;
    uint16_t port;
    /* A full queue of length one: the kernel does not answer further connections. */
    int listening = listen_on(&port, 0);
    struct sockaddr_in name = { .sin_family = AF_INET,
                                .sin_port = htons(port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int others[4];
    for (int i = 0; i < 4; i++) {
        others[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        assert_true(connect(others[i], (struct sockaddr *)&name, sizeof name) == 0 ||
                    errno == EINPROGRESS);
    }
    char text[40];
    snprintf(text, sizeof text, "127.0.0.1:%u", port);
    connect_to(f, text, 50);
    world_run(&f->world);
    assert_int_equal(f->closed, 1);
    assert_int_equal(f->why.kind, ERROR_TIMEOUT);
    assert_non_null(strstr(f->why.text, "connecting"));
    for (int i = 0; i < 4; i++) {
        close(others[i]);
    }
    close(listening);
}

static void bytes_are_sent_in_both_directions(void **state)
{
    Fixture *f = *state;
    int end = adopt_pair(f);
    world_run(&f->world);
    assert_int_equal(f->ready, 1);
    assert_true(connection_is_ready(f->connection));
    assert_true(connection_peer(f->connection)->is_local);
    connection_write(f->connection, STR("hello"));
    char got[10];
    assert_int_equal(read(end, got, sizeof got), 5);
    assert_int_equal(write(end, "answer", 6), 6);
    world_pass(&f->world, 5);
    assert_int_equal(f->received, 6);
    close(end);
    world_run(&f->world);
    assert_int_equal(f->closed, 1);
    assert_int_equal(f->why.kind, ERROR_NONE);
}

static void it_can_be_freed_from_within(void **state)
{
    Fixture *f = *state;
    f->frees = true;
    close(adopt_pair(f));
    world_run(&f->world);
    assert_int_equal(f->ready, 1);
    assert_null(f->connection);
    f->frees = false;
    int end = adopt_pair(f);
    world_run(&f->world);
    f->frees = true;
    assert_int_equal(write(end, "bytes", 5), 5);
    world_pass(&f->world, 5);
    assert_null(f->connection);
    close(end);
    f->frees = false;
    end = adopt_pair(f);
    world_run(&f->world);
    f->frees = true;
    close(end);
    world_run(&f->world);
    assert_null(f->connection);
    assert_int_equal(f->closed, 1);
}

static void unsent_data_is_sent_before_closing(void **state)
{
    Fixture *f = *state;
    static char bytes[1 << 20];
    int end = adopt_pair(f);
    world_run(&f->world);
    connection_write(f->connection, str_from(bytes, sizeof bytes));
    assert_true(connection_unsent(f->connection) > 0);
    connection_finish(f->connection, 10000);
    connection_write(f->connection, STR("too late"));
    size_t got = 0;
    for (ssize_t count = 1; count != 0;) {
        char chunk[1 << 16];
        count = read(end, chunk, sizeof chunk);
        got += count > 0 ? (size_t)count : 0;
        world_pass(&f->world, 1);
    }
    assert_int_equal(got, sizeof bytes);
    assert_int_equal(f->closed, 0); /* it waits for the other end to close */
    close(end);
    world_run(&f->world);
    assert_int_equal(f->closed, 1);
    assert_int_equal(f->why.kind, ERROR_NONE);
}

static void closing_does_not_wait_forever_for_a_peer(void **state)
{
    Fixture *f = *state;
    static char bytes[1 << 20];
    int end = adopt_pair(f);
    world_run(&f->world);
    connection_write(f->connection, str_from(bytes, sizeof bytes));
    connection_finish(f->connection, 20);
    world_run(&f->world);
    assert_int_equal(f->closed, 1);
    close(end);
}

static void a_reset_is_reported_once(void **state)
{
    Fixture *f = *state;
    static char bytes[1 << 20];
    int end = adopt_pair(f);
    world_run(&f->world);
    connection_write(f->connection, str_from(bytes, sizeof bytes));
    close(end); /* with unread bytes */
    connection_write(f->connection, STR("more"));
    world_run(&f->world);
    world_pass(&f->world, 5);
    assert_int_equal(f->closed, 1);
    assert_int_equal(f->why.kind, ERROR_UNAVAILABLE);
    connection_write(f->connection, STR("nobody"));
    assert_int_equal(connection_unsent(f->connection), 0);
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(connection_refused),
        ROW(names_are_resolved_and_all_addresses_tried),
        ROW(an_unknown_name_is_reported),
        ROW(a_lookup_can_be_abandoned),
        ROW(an_unresponsive_peer_times_out),
        ROW(bytes_are_sent_in_both_directions),
        ROW(it_can_be_freed_from_within),
        ROW(unsent_data_is_sent_before_closing),
        ROW(closing_does_not_wait_forever_for_a_peer),
        ROW(a_reset_is_reported_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
